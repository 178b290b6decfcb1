#include "core/text/template/methods.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/text/template/arguments.h"
#include "core/text/template/compare.h"
#include "core/text/template/convert.h"

namespace vitrine::jinja {
namespace {

using Names = Bound::Names;

template <ViewKind view>
Value view_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "the dictionary method", {}, 0, Names::Refused);
    return bound.ok() ? machine.make<DictViewObject>(self, view) : Value();
}

Value get_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "get", {"key", "default"}, 1, Names::Refused);
    if (!bound.ok()) return {};
    const auto& dict = self.as<DictObject>();
    const std::int64_t entry = dict.find(machine, bound[0]);
    if (entry >= 0) return dict.entries[static_cast<std::size_t>(entry)].second;
    return bound.given(1) ? bound[1] : Value::none();
}

Value copy_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "copy", {}, 0, Names::Refused);
    // Nothing ever changes, so a copy need not be one.
    return bound.ok() ? self : Value();
}

Value fromkeys_method(Machine& machine, const Value&, const Arguments& arguments) {
    const Bound bound(machine, arguments, "fromkeys", {"iterable", "value"}, 1, Names::Refused);
    Cursor cursor;
    if (!bound.ok() || !cursor.open(machine, bound[0])) return {};
    Value result = machine.make<DictObject>();
    Value key;
    while (cursor.next(machine, key)) {
        result.as<DictObject>().set(machine, key, bound.given(1) ? bound[1] : Value::none());
        machine.check_object(result);
    }
    return result;
}

Value count_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "count", {"value"}, 1, Names::Refused);
    Cursor cursor;
    if (!bound.ok() || !cursor.open(machine, self)) return {};
    std::int64_t count = 0;
    Value item;
    while (cursor.next(machine, item)) count += equals(machine, item, bound[0]) ? 1 : 0;
    return Value::integer(count);
}

Value index_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "index", {"value", "start", "stop"}, 1, Names::Refused);
    if (!bound.ok()) return {};
    const std::int64_t length = length_of(self);
    const auto limit = [&](std::size_t i, std::int64_t fallback) {
        std::int64_t value = bound.integer(i, fallback);
        if (value < 0) value = value < -length ? 0 : value + length;
        return value;
    };
    const std::int64_t start = limit(1, 0);
    const std::int64_t stop = limit(2, length);
    Cursor cursor;
    if (!bound.ok() || !cursor.open(machine, self)) return {};
    Value item;
    for (std::int64_t i = 0; cursor.next(machine, item); ++i) {
        if (i >= start && i < stop && equals(machine, item, bound[0])) return Value::integer(i);
    }
    return machine.fail("the value is not in the " + type_name(self));
}

Value is_integer_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "is_integer", {}, 0, Names::Refused);
    return bound.ok()
               ? Value::boolean(std::floor(self.as_real()) == self.as_real() && std::isfinite(self.as_real()))
               : Value();
}

Value bit_length_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "bit_length", {}, 0, Names::Refused);
    if (!bound.ok()) return {};
    auto magnitude = static_cast<std::uint64_t>(self.as_int());
    if (self.as_int() < 0) magnitude = 0 - magnitude;
    std::int64_t bits = 0;
    for (; magnitude != 0; magnitude >>= 1U) ++bits;
    return Value::integer(bits);
}

Value conjugate_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "conjugate", {}, 0, Names::Refused);
    return bound.ok() ? self : Value();
}

Value cycle_method(Machine& machine, const Value& self, const Arguments& arguments) {
    if (!arguments.keywords.empty()) return machine.fail("cycle() takes no keyword arguments");
    if (arguments.positional.empty()) return machine.fail("no items for cycling given");
    const auto turn = static_cast<std::size_t>(self.as<LoopObject>().index0);
    return arguments.positional[turn % arguments.positional.size()];
}

Value changed_method(Machine& machine, const Value& self, const Arguments& arguments) {
    if (!arguments.keywords.empty()) return machine.fail("changed() takes no keyword arguments");
    auto& loop = self.as<LoopObject>();
    Value values = machine.tuple(arguments.positional);
    if (machine.failed()) return {};
    if (!loop.last_changed.is_missing() && equals(machine, loop.last_changed, values))
        return Value::boolean(false);
    loop.last_changed = std::move(values);
    return Value::boolean(true);
}

Value next_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "next", {});
    if (!bound.ok()) return {};
    auto& cycler = self.as<CyclerObject>();
    Value current = cycler.items[cycler.position];
    cycler.position = (cycler.position + 1) % cycler.items.size();
    return current;
}

Value reset_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "reset", {});
    if (!bound.ok()) return {};
    self.as<CyclerObject>().position = 0;
    return Value::none();
}

constexpr MethodEntry dict_methods[] = {
    {"get", get_method},
    {"items", view_method<ViewKind::Items>},
    {"keys", view_method<ViewKind::Keys>},
    {"values", view_method<ViewKind::Members>},
    {"copy", copy_method},
    {"fromkeys", fromkeys_method},
};
constexpr MethodEntry list_methods[] = {
    {"count", count_method}, {"index", index_method}, {"copy", copy_method}};
constexpr MethodEntry tuple_methods[] = {{"count", count_method}, {"index", index_method}};
constexpr MethodEntry float_methods[] = {{"is_integer", is_integer_method}, {"conjugate", conjugate_method}};
constexpr MethodEntry int_methods[] = {{"bit_length", bit_length_method}, {"conjugate", conjugate_method}};
constexpr MethodEntry loop_methods[] = {{"cycle", cycle_method}, {"changed", changed_method}};
constexpr MethodEntry cycler_methods[] = {{"next", next_method}, {"reset", reset_method}};

std::span<const MethodEntry> methods_of(Kind kind) {
    switch (kind) {
        case Kind::Dict: return dict_methods;
        case Kind::List: return list_methods;
        case Kind::Tuple:
        case Kind::Range: return tuple_methods;
        case Kind::Float: return float_methods;
        case Kind::Bool:
        case Kind::Int: return int_methods;
        case Kind::Loop: return loop_methods;
        case Kind::Cycler: return cycler_methods;
        default: return {};
    }
}

}  // namespace

const MethodEntry* find_method(const Value& self, std::string_view name) {
    if (self.is_string()) return find_string_method(name);
    for (const MethodEntry& entry : methods_of(self.kind())) {
        if (entry.name == name) return &entry;
    }
    return nullptr;
}

bool is_changing_method(const Value& self, std::string_view name) {
    static constexpr std::string_view of_dict[] = {"clear", "pop", "popitem", "setdefault", "update"};
    static constexpr std::string_view of_list[] = {"append", "clear",  "extend",  "insert",
                                                   "pop",    "remove", "reverse", "sort"};
    if (self.is(Kind::Dict))
        return std::find(std::begin(of_dict), std::end(of_dict), name) != std::end(of_dict);
    if (self.is(Kind::List))
        return std::find(std::begin(of_list), std::end(of_list), name) != std::end(of_list);
    return false;
}

Value call_method(Machine& machine, const MethodObject& method, const Arguments& arguments) {
    const MethodEntry* entry = find_method(method.self, method.name);
    return entry == nullptr ? machine.fail("there is no method " + quote(method.name))
                            : entry->call(machine, method.self, arguments);
}

}  // namespace vitrine::jinja
