#include <algorithm>

#include "core/text/template/arguments.h"
#include "core/text/template/attributes.h"
#include "core/text/template/convert.h"
#include "core/text/template/filter_tables.h"
#include "core/text/template/operators.h"
#include "core/text/template/string_tools.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {

void AttributePath::parse(Machine& machine, const Value& attribute) {
    steps_.clear();
    if (attribute.is_missing() || attribute.is_none()) return;
    if (!attribute.is_string()) {
        steps_.push_back(attribute);
        return;
    }
    for (Text& part : split_at(attribute.as<StringObject>().text, ".", -1, false)) {
        std::int64_t number = 0;
        bool digits = part.size() != 0 && part.size() < 19;
        for (const char c : part.bytes) {
            digits = digits && c >= '0' && c <= '9';
            if (digits) number = number * 10 + (c - '0');
        }
        steps_.push_back(digits ? Value::integer(number) : machine.string(std::move(part)));
    }
}

Value AttributePath::get(Machine& machine, const Value& item, const Value& fallback) const {
    Value value = item;
    for (const Value& step : steps_) {
        value = get_item(machine, value, step);
        if (machine.failed()) return {};
        if (value.is_undefined() && !fallback.is_missing() && !fallback.is_none()) value = fallback;
    }
    return value;
}

namespace {

Value default_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "default", {"default_value", "boolean"});
    if (!bound.ok()) return {};
    if (!value.is_undefined() && !(bound.truth(1, false) && !truthy(value))) return value;
    return bound.given(0) ? bound[0] : machine.string("");
}

Value length_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "length", {}, 0, Bound::Names::Refused);
    if (!bound.ok()) return {};
    if (value.is(Kind::Loop)) return Value::integer(value.as<LoopObject>().length(machine));
    const std::int64_t length = length_of(value);
    if (length < 0) return machine.fail("object of type '" + type_name(value) + "' has no len()");
    return Value::integer(length);
}

Value list_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "list", {});
    Values items;
    if (!bound.ok() || !collect(machine, value, items)) return {};
    return machine.list(std::move(items));
}

Value first_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "first", {});
    Cursor cursor;
    if (!bound.ok() || !cursor.open(machine, value)) return {};
    Value item;
    if (cursor.next(machine, item)) return item;
    return machine.failed() ? Value() : machine.undefined("No first item, sequence was empty.");
}

// reversed(): for what has a length and an order.
bool is_reversible(const Value& value) {
    return value.is_undefined() || value.is_string() || value.is_sequence_object() || value.is(Kind::Dict) ||
           value.is(Kind::DictView) || value.is(Kind::Range);
}

Value last_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "last", {});
    if (!bound.ok()) return {};
    if (!is_reversible(value)) return machine.fail("'" + type_name(value) + "' object is not reversible");
    if (length_of(value) == 0) return machine.undefined("No last item, sequence was empty.");
    if (value.is_string() || value.is_sequence_object() || value.is(Kind::Range)) {
        return get_item(machine, value, Value::integer(-1));
    }
    const bool view = value.is(Kind::DictView);
    const auto& dict = view ? value.as<DictViewObject>().dict.as<DictObject>() : value.as<DictObject>();
    return view ? view_item(machine, value.as<DictViewObject>(), dict.size() - 1) : dict.entries.back().first;
}

Value reverse_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "reverse", {});
    if (!bound.ok()) return {};
    if (value.is_string()) return get_slice(machine, value, {}, {}, Value::integer(-1));
    if (!is_iterable(value)) return machine.fail("argument must be iterable");
    Values items;
    if (!collect(machine, value, items)) return {};
    std::reverse(items.begin(), items.end());
    if (!is_reversible(value)) return machine.list(std::move(items));
    return iterator_over(machine, std::move(items),
                         value.is(Kind::List) ? "list_reverseiterator" : "reversed");
}

Value join_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "join", {"d", "attribute"});
    if (!bound.ok()) return {};
    Values items;
    if (!collect(machine, value, items)) return {};
    AttributePath path;
    path.parse(machine, bound[1]);
    if (bound.given(1) && !bound[1].is_none()) {
        for (Value& item : items) {
            item = path.get(machine, item, {});
            if (machine.failed()) return {};
        }
    }
    return join(machine, bound.given(0) ? to_text(machine, bound[0]) : Text(), items, true);
}

Value sum_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "sum", {"attribute", "start"});
    Cursor cursor;
    if (!bound.ok() || !cursor.open(machine, value)) return {};
    AttributePath path;
    path.parse(machine, bound[0]);
    Value total = bound.given(1) ? bound[1] : Value::integer(0);
    if (total.is_string()) return machine.fail("sum() can't sum strings [use ''.join(seq) instead]");
    Value item;
    while (cursor.next(machine, item))
        total = binary_operation(machine, Op::Add, total, path.get(machine, item, {}));
    return total;
}

Values part_of(const Values& items, std::size_t begin, std::size_t size) {
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(begin);
    return {first, first + static_cast<std::ptrdiff_t>(size)};
}

bool make_batches(Machine& machine, const Value& source, std::int64_t size, const Value& fill,
                  Values& batches) {
    Values items;
    if (!collect(machine, source, items) || items.empty()) return false;
    // Jinja hands out the empty batch that is full from the start; and a negative size is never reached.
    if (size == 0) batches.push_back(machine.list({}));
    const std::size_t each = size <= 0 ? items.size() : static_cast<std::size_t>(size);
    for (std::size_t at = 0; at < items.size() && machine.tick(); at += std::min(each, items.size() - at)) {
        Values batch = part_of(items, at, std::min(each, items.size() - at));
        if (!fill.is_missing() && !fill.is_none() && size > 0 && batch.size() < each) {
            if (!machine.fits_items(each)) return false;
            batch.resize(each, fill);
        }
        batches.push_back(machine.list(std::move(batch)));
    }
    return !machine.failed();
}

Value batch_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "batch", {"linecount", "fill_with"}, 1);
    const std::int64_t size = bound.ok() ? bound.integer(0, 1) : 0;
    if (!bound.ok()) return {};
    const Value fill = bound[1];
    return generator(machine, value, {fill}, [size, fill](Machine& m, const Value& source, Values& batches) {
        return make_batches(m, source, size, fill, batches);
    });
}

bool make_slices(Machine& machine, const Value& source, std::int64_t slices, const Value& fill,
                 Values& parts) {
    Values items;
    if (!collect(machine, source, items)) return false;
    if (slices == 0) machine.fail("integer division or modulo by zero");
    if (slices <= 0 || !machine.fits_items(static_cast<std::uint64_t>(slices))) return false;
    const auto count = static_cast<std::size_t>(slices);
    const std::size_t each = items.size() / count;
    const std::size_t longer = items.size() % count;
    std::size_t at = 0;
    for (std::size_t i = 0; i < count && machine.tick(); ++i) {
        Values part = part_of(items, at, each + (i < longer ? 1 : 0));
        at += part.size();
        if (!fill.is_missing() && !fill.is_none() && i >= longer) part.push_back(fill);
        parts.push_back(machine.list(std::move(part)));
    }
    return !machine.failed();
}

Value slice_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "slice", {"slices", "fill_with"}, 1);
    const std::int64_t slices = bound.ok() ? bound.integer(0, 1) : 0;
    if (!bound.ok()) return {};
    const Value fill = bound[1];
    return generator(machine, value, {fill}, [slices, fill](Machine& m, const Value& source, Values& parts) {
        return make_slices(m, source, slices, fill, parts);
    });
}

Value items_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "items", {});
    if (!bound.ok()) return {};
    return generator(machine, value, {}, [](Machine& m, const Value& source, Values& pairs) {
        if (source.is_undefined()) return true;
        if (!source.is(Kind::Dict)) {
            m.fail("Can only get item pairs from a mapping.");
            return false;
        }
        for (const auto& [key, item] : source.as<DictObject>().entries) {
            pairs.push_back(m.tuple({key, item}));
            if (!m.tick()) return false;
        }
        return true;
    });
}

Value attr_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "attr", {"name"}, 1);
    const StringObject* name = bound.ok() ? bound.text(0) : nullptr;
    if (name == nullptr) return {};
    Value found = find_attribute(machine, value, name->text.bytes);
    if (!found.is_missing() || machine.failed()) return found;
    return machine.undefined(quote(object_name(value)) + " has no attribute " + quote(name->text.bytes));
}

constexpr FilterEntry table[] = {
    {"default", default_filter}, {"d", default_filter},       {"length", length_filter},
    {"count", length_filter},    {"list", list_filter},       {"first", first_filter},
    {"last", last_filter},       {"reverse", reverse_filter}, {"join", join_filter},
    {"sum", sum_filter},         {"batch", batch_filter},     {"slice", slice_filter},
    {"items", items_filter},     {"attr", attr_filter},
};

}  // namespace

std::span<const FilterEntry> list_filters() { return table; }

}  // namespace vitrine::jinja
