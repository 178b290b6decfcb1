#include "core/text/template/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "core/text/template/convert.h"
#include "core/text/template/iterate.h"
#include "core/text/template/machine.h"
#include "core/text/template/search.h"

namespace vitrine::jinja {
namespace {

constexpr double two_to_63 = 9223372036854775808.0;

// -1, 0, 1; 2 where one is not a number. Exact, also beyond 2^53.
int compare_numbers(const Value& a, const Value& b) {
    const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
    if (a.is_integral() && b.is_integral()) return sign(a.as_int(), b.as_int());
    if (a.is(Kind::Float) && b.is(Kind::Float)) {
        if (std::isnan(a.as_real()) || std::isnan(b.as_real())) return 2;
        return sign(a.as_real(), b.as_real());
    }
    if (a.is(Kind::Float)) {
        const int opposite = compare_numbers(b, a);
        return opposite == 2 ? 2 : -opposite;
    }
    const double real = b.as_real();
    if (std::isnan(real)) return 2;
    if (real >= two_to_63) return -1;
    if (real < -two_to_63) return 1;
    const double whole = std::floor(real);
    const int by_whole = sign(a.as_int(), static_cast<std::int64_t>(whole));
    return by_whole == 0 && real > whole ? -1 : by_whole;
}

std::string_view bytes(const Value& value) { return value.as<StringObject>().text.bytes; }

// Items must be equal where both are the same object, even one that is not equal to itself.
bool equal_items(Machine& machine, const Value& a, const Value& b) {
    return (a.is(Kind::Float) ? false : is_same(a, b)) || equals(machine, a, b);
}

bool equal_sequences(Machine& machine, const Values& a, const Values& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!equal_items(machine, a[i], b[i])) return false;
    }
    return true;
}

bool equal_dicts(Machine& machine, const DictObject& a, const DictObject& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [key, value] : a.entries) {
        const std::int64_t found = b.find(machine, key);
        if (found < 0 || !equal_items(machine, value, b.entries[static_cast<std::size_t>(found)].second))
            return false;
    }
    return true;
}

bool equal_ranges(const RangeObject& a, const RangeObject& b) {
    if (a.length != b.length) return false;
    if (a.length == 0) return true;
    return a.begin == b.begin && (a.length == 1 || a.step == b.step);
}

// Keys and items views are sets.
bool equal_views(Machine& machine, const DictViewObject& a, const DictViewObject& b) {
    if (a.view == ViewKind::Members || a.view != b.view) return &a == &b;
    const auto& left = a.dict.as<DictObject>();
    const auto& right = b.dict.as<DictObject>();
    if (a.view == ViewKind::Items) return equal_dicts(machine, left, right);
    if (left.size() != right.size()) return false;
    for (const auto& [key, value] : left.entries) {
        if (right.find(machine, key) < 0) return false;
    }
    return true;
}

const char* spelling(Op op) {
    switch (op) {
        case Op::Less: return "<";
        case Op::LessEqual: return "<=";
        case Op::Greater: return ">";
        default: return ">=";
    }
}

bool holds(Op op, int order) {
    switch (op) {
        case Op::Less: return order == -1;
        case Op::LessEqual: return order == -1 || order == 0;
        case Op::Greater: return order == 1;
        default: return order == 1 || order == 0;
    }
}

bool ordered(Machine& machine, Op op, const Value& a, const Value& b) {
    if (!machine.tick() || !machine.enough_stack()) return false;
    if (a.is_undefined() || b.is_undefined()) {
        machine.fail_undefined(a.is_undefined() ? a : b);
        return false;
    }
    if (a.is_number() && b.is_number()) return holds(op, compare_numbers(a, b));
    if (a.is_string() && b.is_string()) {
        // UTF-8 sorts like code points.
        const int order = bytes(a).compare(bytes(b));
        return holds(op, order < 0 ? -1 : order > 0 ? 1 : 0);
    }
    if (a.kind() == b.kind() && a.is_sequence_object()) {
        const Values& left = a.as<SequenceObject>().items;
        const Values& right = b.as<SequenceObject>().items;
        for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
            if (!equal_items(machine, left[i], right[i]))
                return !machine.failed() && ordered(machine, op, left[i], right[i]);
        }
        return holds(op, left.size() < right.size() ? -1 : left.size() > right.size() ? 1 : 0);
    }
    machine.fail(std::string("'") + spelling(op) + "' not supported between instances of '" + type_name(a) +
                 "' and '" + type_name(b) + "'");
    return false;
}

}  // namespace

bool is_same(const Value& a, const Value& b) {
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::Missing:
        case Kind::None: return true;
        case Kind::Bool:
        case Kind::Int: return a.as_int() == b.as_int();
        case Kind::Float: return a.as_real() == b.as_real();
        case Kind::String: return a.object() == b.object() || bytes(a) == bytes(b);
        case Kind::Function: return a.as<FunctionObject>().function == b.as<FunctionObject>().function;
        default: return a.object() == b.object();
    }
}

bool equals(Machine& machine, const Value& a, const Value& b) {
    if (!machine.tick()) return false;
    if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::None:
        case Kind::Undefined: return true;
        case Kind::String:
            return a.object() == b.object() ||
                   (machine.tick_bytes(bytes(a).size() == bytes(b).size() ? bytes(a).size() : 0) &&
                    bytes(a) == bytes(b));
        case Kind::List:
        case Kind::Tuple:
            if (!machine.enough_stack()) return false;
            return equal_sequences(machine, a.as<SequenceObject>().items, b.as<SequenceObject>().items);
        case Kind::Dict:
            if (!machine.enough_stack()) return false;
            return equal_dicts(machine, a.as<DictObject>(), b.as<DictObject>());
        case Kind::Range: return equal_ranges(a.as<RangeObject>(), b.as<RangeObject>());
        case Kind::DictView: return equal_views(machine, a.as<DictViewObject>(), b.as<DictViewObject>());
        case Kind::Method: {
            const auto& left = a.as<MethodObject>();
            const auto& right = b.as<MethodObject>();
            return left.name == right.name && left.self.holds_object() && right.self.holds_object() &&
                   left.self.object() == right.self.object();
        }
        default: return is_same(a, b);
    }
}

bool contains(Machine& machine, const Value& container, const Value& item) {
    if (machine.failed()) return false;
    switch (container.kind()) {
        case Kind::String:
            if (!item.is_string()) {
                if (item.is_undefined()) {
                    machine.fail("'in <string>' requires string as left operand, not Undefined");
                } else {
                    machine.fail("'in <string>' requires string as left operand, not " + type_name(item));
                }
                return false;
            }
            return machine.tick_bytes(bytes(container).size()) &&
                   find_text(bytes(container), bytes(item)) != std::string_view::npos;
        case Kind::Dict: return container.as<DictObject>().find(machine, item) >= 0;
        case Kind::DictView: {
            const auto& view = container.as<DictViewObject>();
            if (view.view == ViewKind::Keys) return view.dict.as<DictObject>().find(machine, item) >= 0;
            break;
        }
        case Kind::Range: {
            const auto& range = container.as<RangeObject>();
            if (!item.is_number()) return false;
            const double real = item.as_real();
            if (item.is(Kind::Float) && (std::floor(real) != real || std::abs(real) >= two_to_63))
                return false;
            const std::int64_t whole = item.is(Kind::Float) ? static_cast<std::int64_t>(real) : item.as_int();
            const std::int64_t last = range_item(range, range.length - 1);
            if (range.length == 0 || whole < std::min(range.begin, last) ||
                whole > std::max(range.begin, last))
                return false;
            return (whole - range.begin) % range.step == 0;
        }
        default: break;
    }
    if (!is_iterable(container)) {
        machine.fail("argument of type '" + type_name(container) + "' is not iterable");
        return false;
    }
    Cursor cursor;
    if (!cursor.open(machine, container)) return false;
    Value candidate;
    while (cursor.next(machine, candidate)) {
        if (equal_items(machine, candidate, item)) return true;
    }
    return false;
}

bool compare(Machine& machine, Op op, const Value& a, const Value& b) {
    switch (op) {
        case Op::Equal: return equals(machine, a, b);
        case Op::NotEqual: return !equals(machine, a, b);
        case Op::In: return contains(machine, b, a);
        case Op::NotIn: return !contains(machine, b, a);
        default: return ordered(machine, op, a, b);
    }
}

std::uint64_t hash_value(Machine& machine, const Value& value) {
    if (!machine.tick()) return 0;
    switch (value.kind()) {
        case Kind::Bool:
        case Kind::Int: return std::hash<std::int64_t>{}(value.as_int()) * 0x9E3779B97F4A7C15U;
        case Kind::Float: {
            const double real = value.as_real();
            if (std::floor(real) == real && std::abs(real) < two_to_63) {
                return std::hash<std::int64_t>{}(static_cast<std::int64_t>(real)) * 0x9E3779B97F4A7C15U;
            }
            return std::hash<double>{}(real);
        }
        case Kind::String: return std::hash<std::string_view>{}(bytes(value));
        case Kind::Tuple: {
            if (!machine.enough_stack()) return 0;
            std::uint64_t hash = 0x345678;
            for (const Value& item : value.as<SequenceObject>().items)
                hash = (hash ^ hash_value(machine, item)) * 1000003U;
            return hash;
        }
        case Kind::List:
        case Kind::Dict: machine.fail("unhashable type: '" + type_name(value) + "'"); return 0;
        case Kind::None: return 0xFCA86420;
        case Kind::Undefined: return 0x51ED270B;
        case Kind::Range: return static_cast<std::uint64_t>(value.as<RangeObject>().length);
        case Kind::DictView: machine.fail("unhashable type: '" + type_name(value) + "'"); return 0;
        default: return std::hash<const void*>{}(value.object());
    }
}

}  // namespace vitrine::jinja
