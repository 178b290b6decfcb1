#include <algorithm>
#include <vector>

#include "core/text/template/arguments.h"
#include "core/text/template/compare.h"
#include "core/text/template/convert.h"
#include "core/text/template/filter_tables.h"
#include "core/text/template/string_tools.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {

Value ignore_case(Machine& machine, const Value& value) {
    if (!value.is_string()) return value;
    const Text& text = value.as<StringObject>().text;
    return machine.tick_bytes(text.size()) ? machine.string(Text::make(lower(text.bytes), false)) : Value();
}

namespace {

struct Keyed {
    Value key;
    Value item;
};

// sorted(): stable, and equal items keep their order when reversed too.
bool sort_keyed(Machine& machine, std::vector<Keyed>& items, bool reverse) {
    std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
        if (machine.failed()) return false;
        return reverse ? compare(machine, Op::Less, b.key, a.key) : compare(machine, Op::Less, a.key, b.key);
    });
    return !machine.failed();
}

bool key_items(Machine& machine, const Value& value, const AttributePath& path, bool case_sensitive,
               const Value& fallback, std::vector<Keyed>& keyed) {
    Cursor cursor;
    if (!cursor.open(machine, value)) return false;
    Value item;
    while (cursor.next(machine, item)) {
        if (keyed.size() % 256 == 0 && !machine.fits_items(keyed.size() * 2)) return false;
        Value key = path.get(machine, item, fallback);
        if (!case_sensitive && !machine.failed()) key = ignore_case(machine, key);
        keyed.push_back({std::move(key), item});
    }
    return !machine.failed();
}

Value list_of_items(Machine& machine, const std::vector<Keyed>& keyed) {
    Values items;
    items.reserve(keyed.size());
    for (const Keyed& entry : keyed) items.push_back(entry.item);
    return machine.list(std::move(items));
}

Value sort_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "sort", {"reverse", "case_sensitive", "attribute"});
    Cursor cursor;
    if (!bound.ok() || !cursor.open(machine, value)) return {};
    // Several attributes, by commas, are compared one after the other.
    std::vector<AttributePath> paths;
    if (bound[2].is_string()) {
        for (Text& part : split_at(bound[2].as<StringObject>().text, ",", -1, false)) {
            paths.emplace_back().parse(machine, machine.string(std::move(part)));
        }
    } else {
        paths.emplace_back().parse(machine, bound[2]);
    }
    const bool case_sensitive = bound.truth(1, false);
    std::vector<Keyed> keyed;
    Value item;
    while (cursor.next(machine, item)) {
        if (keyed.size() % 256 == 0 && !machine.fits_items(keyed.size() * 2)) return {};
        Values keys;
        for (const AttributePath& path : paths) {
            Value key = path.get(machine, item, {});
            if (machine.failed()) return {};
            keys.push_back(case_sensitive ? key : ignore_case(machine, key));
        }
        keyed.push_back({machine.list(std::move(keys)), item});
    }
    if (machine.failed() || !sort_keyed(machine, keyed, bound.truth(0, false))) return {};
    return list_of_items(machine, keyed);
}

Value dictsort_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "dictsort", {"case_sensitive", "by", "reverse"});
    if (!bound.ok()) return {};
    const std::string by = !bound.given(1)        ? "key"
                           : bound[1].is_string() ? bound[1].as<StringObject>().text.bytes
                                                  : "";
    if (by != "key" && by != "value") return machine.fail("You can only sort by either \"key\" or \"value\"");
    if (value.is_undefined()) return machine.fail_undefined(value);
    if (!value.is(Kind::Dict))
        return machine.fail("'" + type_name(value) + "' object has no attribute 'items'");
    std::vector<Keyed> keyed;
    for (const auto& [key, item] : value.as<DictObject>().entries) {
        const Value& compared = by == "key" ? key : item;
        keyed.push_back(
            {bound.truth(0, false) ? compared : ignore_case(machine, compared), machine.tuple({key, item})});
        if (!machine.tick()) return {};
    }
    if (!sort_keyed(machine, keyed, bound.truth(2, false))) return {};
    return list_of_items(machine, keyed);
}

Value extreme(Machine& machine, const Value& value, const Arguments& arguments, const char* who, Op better) {
    const Bound bound(machine, arguments, who, {"case_sensitive", "attribute"});
    if (!bound.ok()) return {};
    AttributePath path;
    path.parse(machine, bound[1]);
    std::vector<Keyed> keyed;
    if (!key_items(machine, value, path, bound.truth(0, false), {}, keyed)) return {};
    if (keyed.empty()) return machine.undefined("No aggregated item, sequence was empty.");
    std::size_t best = 0;
    for (std::size_t i = 1; i < keyed.size(); ++i) {
        if (compare(machine, better, keyed[i].key, keyed[best].key)) best = i;
        if (machine.failed()) return {};
    }
    return keyed[best].item;
}

Value min_filter(Machine& m, const Value& v, const Arguments& a) { return extreme(m, v, a, "min", Op::Less); }
Value max_filter(Machine& m, const Value& v, const Arguments& a) {
    return extreme(m, v, a, "max", Op::Greater);
}

struct UniqueItems final : IteratorObject {
    using IteratorObject::IteratorObject;
    bool next(Machine& machine, Value& item) override {
        if (seen.is_missing()) {
            seen = machine.make<DictObject>();
            if (!cursor.open(machine, source)) return false;
        }
        auto& known = seen.as<DictObject>();
        while (cursor.next(machine, item)) {
            Value key = path.get(machine, item, {});
            if (!case_sensitive && !machine.failed()) key = ignore_case(machine, key);
            if (machine.failed() || known.find(machine, key) >= 0) continue;
            known.set(machine, std::move(key), Value::none());
            machine.check_object(seen);
            return !machine.failed();
        }
        return false;
    }
    Value source, seen;
    Cursor cursor;
    AttributePath path;
    bool case_sensitive = false;
};

Value unique_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "unique", {"case_sensitive", "attribute"});
    if (!bound.ok()) return {};
    Value result = machine.make<UniqueItems>("generator");
    auto& unique = result.as<UniqueItems>();
    unique.nest(value);
    unique.source = value;
    unique.case_sensitive = bound.truth(0, false);
    unique.path.parse(machine, bound[1]);
    machine.check_object(result);
    return result;
}

Value groupby_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "groupby", {"attribute", "default", "case_sensitive"}, 1);
    if (!bound.ok()) return {};
    AttributePath path;
    path.parse(machine, bound[0]);
    const bool case_sensitive = bound.truth(2, false);
    std::vector<Keyed> keyed;
    if (!key_items(machine, value, path, case_sensitive, bound[1], keyed) ||
        !sort_keyed(machine, keyed, false))
        return {};
    Values groups;
    for (std::size_t begin = 0; begin < keyed.size();) {
        std::size_t end = begin + 1;
        while (end < keyed.size() && equals(machine, keyed[begin].key, keyed[end].key)) ++end;
        Values members;
        for (std::size_t i = begin; i < end; ++i) members.push_back(keyed[i].item);
        Value grouper = case_sensitive ? keyed[begin].key : path.get(machine, keyed[begin].item, bound[1]);
        if (machine.failed()) return {};
        Value group = machine.tuple({std::move(grouper), machine.list(std::move(members))});
        if (machine.failed()) return {};
        group.as<SequenceObject>().is_group = true;
        groups.push_back(std::move(group));
        begin = end;
    }
    return machine.list(std::move(groups));
}

constexpr FilterEntry table[] = {
    {"sort", sort_filter}, {"dictsort", dictsort_filter}, {"min", min_filter},
    {"max", max_filter},   {"unique", unique_filter},     {"groupby", groupby_filter},
};

}  // namespace

std::span<const FilterEntry> order_filters() { return table; }

}  // namespace vitrine::jinja
