#include "core/text/template/functions.h"

#include "core/text/chat_template.h"
#include "core/text/template/arguments.h"
#include "core/text/template/convert.h"
#include "core/text/template/iterate.h"

namespace vitrine::jinja {
namespace {

constexpr std::uint64_t longest_range = 100000;  // Jinja's sandbox allows no more

Value make_range(Machine& machine, const Arguments& arguments) {
    if (!arguments.keywords.empty()) return machine.fail("range() takes no keyword arguments");
    const Values& given = arguments.positional;
    if (given.empty() || given.size() > 3)
        return machine.fail("range expected 1 to 3 arguments, got " + std::to_string(given.size()));
    for (const Value& value : given) {
        if (value.is_undefined())
            return machine.fail("'Undefined' object cannot be interpreted as an integer");
        if (!value.is_integral())
            return machine.fail("'" + type_name(value) + "' object cannot be interpreted as an integer");
    }
    const std::int64_t begin = given.size() > 1 ? given[0].as_int() : 0;
    const std::int64_t end = given[given.size() > 1 ? 1 : 0].as_int();
    const std::int64_t step = given.size() > 2 ? given[2].as_int() : 1;
    if (step == 0) return machine.fail("range() arg 3 must not be zero");
    const bool any = step > 0 ? begin < end : begin > end;
    std::uint64_t length = 0;
    if (any) {
        const auto low = static_cast<std::uint64_t>(step > 0 ? begin : end);
        const auto high = static_cast<std::uint64_t>(step > 0 ? end : begin);
        const auto stride =
            step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
        length = (high - low - 1) / stride + 1;
    }
    if (length > longest_range) {
        return machine.fail_as(ErrorKind::TooLarge,
                               "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
    }
    return machine.make<RangeObject>(begin, end, step, static_cast<std::int64_t>(length));
}

// dict(mapping or pairs, **keywords), into a dictionary.
Value make_dict(Machine& machine, const Arguments& arguments, const char* who) {
    if (arguments.positional.size() > 1) {
        return machine.fail(std::string(who) + " expected at most 1 argument, got " +
                            std::to_string(arguments.positional.size()));
    }
    Value result = machine.make<DictObject>();
    if (machine.failed()) return {};
    auto& dict = result.as<DictObject>();
    if (!arguments.positional.empty()) {
        const Value& source = arguments.positional[0];
        if (source.is(Kind::Dict)) {
            for (const auto& [key, value] : source.as<DictObject>().entries) dict.set(machine, key, value);
        } else {
            Cursor cursor;
            if (!cursor.open(machine, source)) return {};
            Value item;
            while (cursor.next(machine, item)) {
                Values pair;
                if (!is_iterable(item))
                    return machine.fail("cannot convert dictionary update sequence element to a sequence");
                if (!collect(machine, item, pair)) return {};
                if (pair.size() != 2)
                    return machine.fail("dictionary update sequence element has length " +
                                        std::to_string(pair.size()) + "; 2 is required");
                dict.set(machine, pair[0], pair[1]);
            }
        }
    }
    for (const auto& [key, value] : arguments.keywords) dict.set(machine, key, value);
    machine.check_object(result);
    return result;
}

Value make_namespace(Machine& machine, const Arguments& arguments) {
    const Value dict = make_dict(machine, arguments, "namespace");
    if (machine.failed()) return {};
    Value space = machine.new_namespace();
    auto& object = space.as<NamespaceObject>();
    for (const auto& [key, value] : dict.as<DictObject>().entries) {
        if (!key.is_string()) return machine.fail("the names of a namespace must be strings");
        object.attributes.emplace_back(key, value);
        object.charge(2 * sizeof(Value));
    }
    object.depth = dict.depth();
    return space;
}

}  // namespace

Value call_function(Machine& machine, Function function, const Arguments& arguments) {
    switch (function) {
        case Function::Range: return make_range(machine, arguments);
        case Function::Dict: return make_dict(machine, arguments, "dict");
        case Function::Namespace: return make_namespace(machine, arguments);
        case Function::Cycler:
            if (!arguments.keywords.empty()) return machine.fail("cycler takes no keyword arguments");
            if (arguments.positional.empty()) return machine.fail("at least one item has to be provided");
            return machine.make<CyclerObject>(arguments.positional);
        case Function::Joiner: {
            const Bound bound(machine, arguments, "joiner", {"sep"});
            if (!bound.ok()) return {};
            return machine.make<JoinerObject>(bound.given(0) ? bound[0] : machine.string(", "));
        }
        case Function::RaiseException: {
            const Bound bound(machine, arguments, "raise_exception", {"message"}, 1);
            if (!bound.ok()) return {};
            return machine.fail_as(ErrorKind::Template, to_text(machine, bound[0]).bytes);
        }
        case Function::StrftimeNow: {
            Bound bound(machine, arguments, "strftime_now", {"format"}, 1);
            if (!bound.ok()) return {};
            const StringObject* format = bound.text(0);
            if (format == nullptr) return {};
            std::string text = format_time(format->text.bytes, machine.input().now);
            return machine.string(Text::make(std::move(text), format->text.any_untrusted()));
        }
    }
    return {};
}

}  // namespace vitrine::jinja
