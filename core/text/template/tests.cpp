// The tests behind "is", and the look-up of filters and tests by name.
#include <algorithm>
#include <unordered_map>

#include "core/text/template/arguments.h"
#include "core/text/template/compare.h"
#include "core/text/template/convert.h"
#include "core/text/template/filter_tables.h"
#include "core/text/template/operators.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

// A test of the value alone, named for complaints.
template <class Holds>
bool plain(Machine& machine, const Arguments& arguments, const char* who, Holds holds) {
    const Bound bound(machine, arguments, who, {});
    return bound.ok() && holds();
}

bool remainder_is(Machine& machine, const Value& value, const Value& divisor, std::int64_t wanted) {
    const Value rest = binary_operation(machine, Op::Modulo, value, divisor);
    return !machine.failed() && equals(machine, rest, Value::integer(wanted));
}

bool compared(Machine& machine, const Value& value, const Arguments& arguments, Op op) {
    const Bound bound(machine, arguments, "the comparison", {"other"}, 1, Bound::Names::Refused);
    return bound.ok() && compare(machine, op, value, bound[0]);
}

// str.isupper and str.islower: only letters of the case, and at least one.
bool has_case(Machine& machine, const Value& value, bool (*wanted)(char32_t), bool (*other)(char32_t)) {
    const Text text = to_text(machine, value);
    bool any = false;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = next_code_point(text.bytes, at);
        if (other(c) || is_title(c)) return false;
        any = any || wanted(c);
    }
    return any;
}

bool is_callable(const Value& value) {
    return value.is(Kind::Macro) || value.is(Kind::Function) || value.is(Kind::Method) ||
           value.is(Kind::Loop) || value.is(Kind::Joiner) || value.is_undefined();
}

bool known_name(Machine& machine, const Value& value, bool filters) {
    if (value.is(Kind::List) || value.is(Kind::Dict)) {
        machine.fail("unhashable type: '" + type_name(value) + "'");
        return false;
    }
    if (!value.is_string()) return false;
    const std::string& name = value.as<StringObject>().text.bytes;
    return filters ? find_filter(name) != nullptr : find_test(name) != nullptr;
}

#define VITRINE_PLAIN_TEST(function, name, condition)                                 \
    bool function(Machine& machine, const Value& value, const Arguments& arguments) { \
        return plain(machine, arguments, name, [&]() -> bool { return condition; });  \
    }
VITRINE_PLAIN_TEST(odd_test, "odd", remainder_is(machine, value, Value::integer(2), 1))
VITRINE_PLAIN_TEST(even_test, "even", remainder_is(machine, value, Value::integer(2), 0))
VITRINE_PLAIN_TEST(defined_test, "defined", !value.is_undefined())
VITRINE_PLAIN_TEST(undefined_test, "undefined", value.is_undefined())
VITRINE_PLAIN_TEST(none_test, "none", value.is_none())
VITRINE_PLAIN_TEST(boolean_test, "boolean", value.is(Kind::Bool))
VITRINE_PLAIN_TEST(false_test, "false", value.is(Kind::Bool) && !value.as_bool())
VITRINE_PLAIN_TEST(true_test, "true", value.is(Kind::Bool) && value.as_bool())
VITRINE_PLAIN_TEST(integer_test, "integer", value.is(Kind::Int))
VITRINE_PLAIN_TEST(float_test, "float", value.is(Kind::Float))
VITRINE_PLAIN_TEST(lower_test, "lower", has_case(machine, value, is_lower, is_upper))
VITRINE_PLAIN_TEST(upper_test, "upper", has_case(machine, value, is_upper, is_lower))
VITRINE_PLAIN_TEST(string_test, "string", value.is_string())
VITRINE_PLAIN_TEST(mapping_test, "mapping", value.is(Kind::Dict))
VITRINE_PLAIN_TEST(number_test, "number", value.is_number())
VITRINE_PLAIN_TEST(sequence_test, "sequence",
                   value.is_undefined() || value.is_string() || value.is_sequence_object() ||
                       value.is(Kind::Dict) || value.is(Kind::Range))
VITRINE_PLAIN_TEST(iterable_test, "iterable", is_iterable(value) || value.is(Kind::Loop))
VITRINE_PLAIN_TEST(callable_test, "callable", is_callable(value))
VITRINE_PLAIN_TEST(escaped_test, "escaped", value.is_string() && value.as<StringObject>().markup)
VITRINE_PLAIN_TEST(filter_test, "filter", known_name(machine, value, true))
VITRINE_PLAIN_TEST(test_test, "test", known_name(machine, value, false))
#undef VITRINE_PLAIN_TEST

bool divisibleby_test(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "divisibleby", {"num"}, 1);
    return bound.ok() && remainder_is(machine, value, bound[0], 0);
}

bool sameas_test(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "sameas", {"other"}, 1);
    return bound.ok() && is_same(value, bound[0]);
}

bool in_test(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "in", {"seq"}, 1);
    return bound.ok() && contains(machine, bound[0], value);
}

template <Op op>
bool comparison_test(Machine& machine, const Value& value, const Arguments& arguments) {
    return compared(machine, value, arguments, op);
}

constexpr TestEntry table[] = {
    {"odd", odd_test},
    {"even", even_test},
    {"divisibleby", divisibleby_test},
    {"defined", defined_test},
    {"undefined", undefined_test},
    {"filter", filter_test},
    {"test", test_test},
    {"none", none_test},
    {"boolean", boolean_test},
    {"false", false_test},
    {"true", true_test},
    {"integer", integer_test},
    {"float", float_test},
    {"lower", lower_test},
    {"upper", upper_test},
    {"string", string_test},
    {"mapping", mapping_test},
    {"number", number_test},
    {"sequence", sequence_test},
    {"iterable", iterable_test},
    {"callable", callable_test},
    {"sameas", sameas_test},
    {"escaped", escaped_test},
    {"in", in_test},
    {"==", comparison_test<Op::Equal>},
    {"eq", comparison_test<Op::Equal>},
    {"equalto", comparison_test<Op::Equal>},
    {"!=", comparison_test<Op::NotEqual>},
    {"ne", comparison_test<Op::NotEqual>},
    {">", comparison_test<Op::Greater>},
    {"gt", comparison_test<Op::Greater>},
    {"greaterthan", comparison_test<Op::Greater>},
    {"ge", comparison_test<Op::GreaterEqual>},
    {">=", comparison_test<Op::GreaterEqual>},
    {"<", comparison_test<Op::Less>},
    {"lt", comparison_test<Op::Less>},
    {"lessthan", comparison_test<Op::Less>},
    {"<=", comparison_test<Op::LessEqual>},
    {"le", comparison_test<Op::LessEqual>},
};

}  // namespace

const FilterEntry* find_filter(std::string_view name) {
    static const auto index = [] {
        std::unordered_map<std::string_view, const FilterEntry*> filters;
        for (const auto entries :
             {text_filters(), number_filters(), list_filters(), order_filters(), item_filters()}) {
            for (const FilterEntry& entry : entries) filters.emplace(entry.name, &entry);
        }
        return filters;
    }();
    const auto found = index.find(name);
    return found == index.end() ? nullptr : found->second;
}

const TestEntry* find_test(std::string_view name) {
    static const auto index = [] {
        std::unordered_map<std::string_view, const TestEntry*> tests;
        for (const TestEntry& entry : table) tests.emplace(entry.name, &entry);
        return tests;
    }();
    const auto found = index.find(name);
    return found == index.end() ? nullptr : found->second;
}

Value apply_filter(Machine& machine, std::string_view name, const Value& value, const Arguments& arguments) {
    const FilterEntry* filter = find_filter(name);
    if (filter == nullptr) return machine.fail("No filter named " + quote(name) + ".");
    if (!machine.tick() || !machine.enough_stack()) return {};
    return filter->apply(machine, value, arguments);
}

bool apply_test(Machine& machine, std::string_view name, const Value& value, const Arguments& arguments) {
    const TestEntry* test = find_test(name);
    if (test == nullptr) {
        machine.fail("No test named " + quote(name) + ".");
        return false;
    }
    return machine.tick() && machine.enough_stack() && test->holds(machine, value, arguments);
}

}  // namespace vitrine::jinja
