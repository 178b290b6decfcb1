#include "core/text/template/attributes.h"

#include <algorithm>
#include <limits>

#include "core/text/template/convert.h"
#include "core/text/template/iterate.h"
#include "core/text/template/machine.h"
#include "core/text/template/methods.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

Value loop_attribute(Machine& machine, const Value& object, std::string_view name) {
    auto& loop = object.as<LoopObject>();
    if (name == "index") return Value::integer(loop.index0 + 1);
    if (name == "index0") return Value::integer(loop.index0);
    if (name == "first") return Value::boolean(loop.index0 == 0);
    if (name == "last") return Value::boolean(!loop.peek(machine));
    if (name == "length") return Value::integer(loop.length(machine));
    if (name == "revindex") return Value::integer(loop.length(machine) - loop.index0);
    if (name == "revindex0") return Value::integer(loop.length(machine) - loop.index0 - 1);
    if (name == "depth") return Value::integer(loop.depth0 + 1);
    if (name == "depth0") return Value::integer(loop.depth0);
    if (name == "previtem")
        return loop.index0 == 0 ? machine.undefined("there is no previous item") : loop.previous;
    if (name == "nextitem")
        return loop.peek(machine) ? loop.following : machine.undefined("there is no next item");
    if (name == "cycle") return machine.make<MethodObject>(object, "cycle");
    if (name == "changed") return machine.make<MethodObject>(object, "changed");
    return {};
}

Value macro_attribute(Machine& machine, const MacroObject& macro, std::string_view name) {
    const Stmt& definition = macro.definition;
    if (name == "name")
        return definition.kind == StmtKind::Macro ? machine.string(definition.text) : Value::none();
    if (name == "arguments") {
        Values names;
        for (const Expr* parameter : definition.targets) names.push_back(machine.string(parameter->text));
        return machine.tuple(std::move(names));
    }
    if (name == "catch_kwargs") return Value::boolean(definition.wants_kwargs);
    if (name == "catch_varargs") return Value::boolean(definition.wants_varargs);
    if (name == "caller") return Value::boolean(definition.wants_caller);
    if (name == "explicit_caller") {
        return Value::boolean(std::any_of(definition.targets.begin(), definition.targets.end(),
                                          [](const Expr* p) { return p->text == "caller"; }));
    }
    return {};
}

Value number_attribute(const Value& number, std::string_view name) {
    const bool real = number.is(Kind::Float);
    if (name == "real") return real ? number : Value::integer(number.as_int(), number.tainted());
    if (name == "imag") return real ? Value::real(0) : Value::integer(0);
    if (!real && name == "numerator") return Value::integer(number.as_int(), number.tainted());
    if (!real && name == "denominator") return Value::integer(1);
    return {};
}

Value own_attribute(Machine& machine, const Value& object, std::string_view name) {
    switch (object.kind()) {
        case Kind::Loop: return loop_attribute(machine, object, name);
        case Kind::Macro: return macro_attribute(machine, object.as<MacroObject>(), name);
        case Kind::Namespace: {
            const Value* value = object.as<NamespaceObject>().find(name);
            return value == nullptr ? Value() : *value;
        }
        case Kind::Range: {
            const auto& range = object.as<RangeObject>();
            if (name == "start") return Value::integer(range.begin);
            if (name == "stop") return Value::integer(range.end);
            if (name == "step") return Value::integer(range.step);
            break;
        }
        case Kind::Tuple: {
            const auto& tuple = object.as<SequenceObject>();
            if (tuple.is_group && name == "grouper") return tuple.items[0];
            if (tuple.is_group && name == "list") return tuple.items[1];
            break;
        }
        case Kind::Cycler: {
            const auto& cycler = object.as<CyclerObject>();
            if (name == "current") return cycler.items[cycler.position];
            if (name == "next") return machine.make<MethodObject>(object, "next");
            if (name == "reset") return machine.make<MethodObject>(object, "reset");
            return {};
        }
        case Kind::Bool:
        case Kind::Int:
        case Kind::Float: {
            Value value = number_attribute(object, name);
            if (!value.is_missing()) return value;
            break;
        }
        default: break;
    }
    if (const MethodEntry* method = find_method(object, name))
        return machine.make<MethodObject>(object, method->name);
    return {};
}

// Every Python object has these; templates get at none of them.
bool is_internal(std::string_view name) {
    static constexpr std::string_view known[] = {"__class__",    "__dict__",         "__doc__",
                                                 "__init__",     "__new__",          "__repr__",
                                                 "__str__",      "__hash__",         "__eq__",
                                                 "__ne__",       "__lt__",           "__le__",
                                                 "__gt__",       "__ge__",           "__getattribute__",
                                                 "__setattr__",  "__delattr__",      "__dir__",
                                                 "__format__",   "__reduce__",       "__reduce_ex__",
                                                 "__sizeof__",   "__subclasshook__", "__init_subclass__",
                                                 "__getstate__", "__len__",          "__iter__",
                                                 "__contains__", "__getitem__",      "__setitem__",
                                                 "__delitem__",  "__reversed__",     "__class_getitem__",
                                                 "__or__",       "__ror__",          "__ior__",
                                                 "__module__",   "__globals__",      "__code__",
                                                 "__closure__",  "__defaults__",     "__func__",
                                                 "__self__",     "__call__",         "__name__",
                                                 "__qualname__"};
    return std::find(std::begin(known), std::end(known), name) != std::end(known);
}

Value no_attribute(Machine& machine, const Value& object, std::string_view name) {
    return machine.undefined(quote(object_name(object)) + " has no attribute " + quote(name));
}

// A Python index: negative ones count from the end. False where it is outside.
bool locate(std::int64_t& index, std::int64_t length) {
    if (index < 0) index += length;
    return index >= 0 && index < length;
}

Value indexed(Machine& machine, const Value& object, std::int64_t index) {
    if (!locate(index, length_of(object))) return {};
    switch (object.kind()) {
        case Kind::List:
        case Kind::Tuple: return object.as<SequenceObject>().items[static_cast<std::size_t>(index)];
        case Kind::Range: return Value::integer(range_item(object.as<RangeObject>(), index));
        default: {
            const auto& string = object.as<StringObject>();
            const std::string& bytes = string.text.bytes;
            std::size_t begin = static_cast<std::size_t>(index);
            if (string.length() != bytes.size()) {
                machine.tick_bytes(bytes.size());
                begin = byte_position(bytes, begin);
            }
            std::size_t end = begin;
            next_code_point(bytes, end);
            return machine.string(string.text.slice(begin, end), string.markup);
        }
    }
}

bool is_indexable(const Value& value) {
    return value.is_string() || value.is_sequence_object() || value.is(Kind::Range);
}

}  // namespace

Value find_attribute(Machine& machine, const Value& object, std::string_view name) {
    if (object.is_undefined())
        return is_internal(name) ? machine.unsafe(object, name) : machine.fail_undefined(object);
    Value value = own_attribute(machine, object, name);
    if (machine.failed()) return {};
    const bool exists = !value.is_missing() || is_changing_method(object, name) ||
                        (is_internal(name) && !object.is(Kind::Namespace));
    if (!exists) return {};
    if (name.starts_with('_') || value.is_missing()) return machine.unsafe(object, name);
    return value;
}

Value get_attribute(Machine& machine, const Value& object, std::string_view name) {
    // The way of nearly every access: a key of a message.
    if (object.is(Kind::Dict) && find_method(object, name) == nullptr && !is_changing_method(object, name) &&
        !is_internal(name)) {
        const auto& dict = object.as<DictObject>();
        const std::int64_t entry = dict.find(name);
        if (entry >= 0) return dict.entries[static_cast<std::size_t>(entry)].second;
        return no_attribute(machine, object, name);
    }
    Value value = find_attribute(machine, object, name);
    if (!value.is_missing() || machine.failed()) return value;
    return no_attribute(machine, object, name);
}

Value get_item(Machine& machine, const Value& object, const Value& key) {
    if (object.is_undefined()) return machine.fail_undefined(object);
    if (object.is(Kind::Dict)) {
        const bool hashable = !key.is(Kind::List) && !key.is(Kind::Dict);
        const std::int64_t entry = hashable ? object.as<DictObject>().find(machine, key) : -1;
        if (machine.failed()) return {};
        if (entry >= 0) return object.as<DictObject>().entries[static_cast<std::size_t>(entry)].second;
    } else if (is_indexable(object) && key.is_integral()) {
        Value value = indexed(machine, object, key.as_int());
        if (!value.is_missing() || machine.failed()) return value;
    }
    if (key.is_string()) {
        const std::string& name = key.as<StringObject>().text.bytes;
        Value value = find_attribute(machine, object, name);
        if (!value.is_missing() || machine.failed()) return value;
        return no_attribute(machine, object, name);
    }
    const Text shown = repr(machine, key);
    return machine.undefined(object_name(object) + " has no element " + shown.bytes);
}

namespace {

struct SliceBounds {
    std::int64_t start = 0, stop = 0, step = 1, count = 0;
};

// slice.indices(): false, and failed, where a bound is no whole number.
bool slice_bounds(Machine& machine, const Value& start, const Value& stop, const Value& step,
                  std::int64_t length, SliceBounds& bounds) {
    const auto given = [](const Value& v) { return !v.is_missing() && !v.is_none(); };
    for (const Value* bound : {&start, &stop, &step}) {
        if (given(*bound) && !bound->is_integral()) {
            machine.fail("slice indices must be integers or None or have an __index__ method");
            return false;
        }
    }
    bounds.step = given(step) ? step.as_int() : 1;
    if (bounds.step == 0) {
        machine.fail("slice step cannot be zero");
        return false;
    }
    const bool backward = bounds.step < 0;
    const std::int64_t least = backward ? -1 : 0;
    const std::int64_t most = backward ? length - 1 : length;
    const auto clip = [&](const Value& bound, std::int64_t otherwise) {
        if (!given(bound)) return otherwise;
        std::int64_t index = bound.as_int();
        if (index < 0) index = index < -length ? least : index + length;
        return std::clamp(index, least, std::max(least, most));
    };
    bounds.start = clip(start, backward ? most : least);
    const std::int64_t end = clip(stop, backward ? least : most);
    bounds.stop = end;
    // Unsigned, because the most negative step has no positive twin.
    const auto distance = static_cast<std::uint64_t>(backward ? bounds.start - end : end - bounds.start);
    const auto stride =
        backward ? 0 - static_cast<std::uint64_t>(bounds.step) : static_cast<std::uint64_t>(bounds.step);
    const bool any = backward ? bounds.start > end : bounds.start < end;
    bounds.count = any ? static_cast<std::int64_t>((distance - 1) / stride + 1) : 0;
    return true;
}

Value slice_string(Machine& machine, const StringObject& string, const SliceBounds& bounds) {
    const std::string& bytes = string.text.bytes;
    if (!machine.tick_bytes(bytes.size())) return {};
    const bool ascii = string.length() == bytes.size();
    if (bounds.step == 1) {
        const auto begin_index = static_cast<std::size_t>(bounds.start);
        const auto count = static_cast<std::size_t>(bounds.count);
        const std::size_t begin = ascii ? begin_index : byte_position(bytes, begin_index);
        const std::size_t end =
            begin + (ascii ? count : byte_position(std::string_view(bytes).substr(begin), count));
        return machine.string(string.text.slice(begin, end), string.markup);
    }
    std::vector<std::size_t> starts;
    starts.reserve(string.length() + 1);
    for (std::size_t at = 0; at < bytes.size();) {
        starts.push_back(at);
        next_code_point(bytes, at);
    }
    starts.push_back(bytes.size());
    Text text;
    std::int64_t index = bounds.start;
    for (std::int64_t i = 0; i < bounds.count; ++i) {
        const auto at = static_cast<std::size_t>(index);
        text.append(string.text, starts[at], starts[at + 1]);
        if (i + 1 < bounds.count) index += bounds.step;
    }
    return machine.string(std::move(text), string.markup);
}

}  // namespace

Value get_slice(Machine& machine, const Value& object, const Value& start, const Value& stop,
                const Value& step) {
    if (machine.failed()) return {};
    if (object.is_undefined()) return machine.fail_undefined(object);
    if (!is_indexable(object)) {
        if (object.is(Kind::Dict)) return machine.fail("unhashable type: 'slice'");
        return machine.fail("'" + type_name(object) + "' object is not subscriptable");
    }
    SliceBounds bounds;
    if (!slice_bounds(machine, start, stop, step, length_of(object), bounds)) return {};
    if (object.is_string()) return slice_string(machine, object.as<StringObject>(), bounds);
    if (object.is(Kind::Range)) {
        const auto& range = object.as<RangeObject>();
        std::int64_t stride = 0;
        if (__builtin_mul_overflow(range.step, bounds.step, &stride)) return machine.fail_number();
        const std::int64_t begin = range.begin + bounds.start * range.step;
        const std::int64_t end = range.begin + bounds.stop * range.step;
        return machine.make<RangeObject>(begin, end, stride, bounds.count);
    }
    const Values& items = object.as<SequenceObject>().items;
    if (!machine.fits_items(static_cast<std::uint64_t>(bounds.count))) return {};
    Values picked;
    picked.reserve(static_cast<std::size_t>(bounds.count));
    std::int64_t index = bounds.start;
    for (std::int64_t i = 0; i < bounds.count; ++i) {
        picked.push_back(items[static_cast<std::size_t>(index)]);
        if (i + 1 < bounds.count) index += bounds.step;
    }
    return object.is(Kind::List) ? machine.list(std::move(picked)) : machine.tuple(std::move(picked));
}

}  // namespace vitrine::jinja
