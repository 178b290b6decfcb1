// map, select and their kin: generators that apply a filter, a test or an attribute to each item.
#include "core/text/template/arguments.h"
#include "core/text/template/convert.h"
#include "core/text/template/filter_tables.h"

namespace vitrine::jinja {
namespace {

enum class Mode : std::uint8_t { Map, Select, Reject };

// Nothing is looked at before the first item is asked for, wrong arguments included: as in Python.
struct PerItem final : IteratorObject {
    using IteratorObject::IteratorObject;

    bool next(Machine& machine, Value& item) override {
        if (!started) {
            started = true;
            done = !truthy_source() || !prepare(machine) || !cursor.open(machine, source);
        }
        if (done) return false;
        Value candidate;
        while (cursor.next(machine, candidate)) {
            const Value subject = by_attribute ? path.get(machine, candidate, fallback) : candidate;
            if (machine.failed()) return false;
            if (mode == Mode::Map) {
                item = name.is_missing() ? subject : apply_filter(machine, text(name), subject, rest);
                return !machine.failed();
            }
            const bool passes =
                name.is_missing() ? truthy(subject) : apply_test(machine, text(name), subject, rest);
            if (machine.failed()) return false;
            if (passes == (mode == Mode::Select)) {
                item = candidate;
                return true;
            }
        }
        done = true;
        return false;
    }

    bool truthy_source() const { return source.is(Kind::Iterator) || truthy(source); }

    static std::string text(const Value& value) {
        return value.is_string() ? value.as<StringObject>().text.bytes : type_name(value);
    }

    bool prepare(Machine& machine) {
        std::size_t used = 0;
        if (mode == Mode::Map && arguments.positional.empty() && arguments.keyword("attribute") != nullptr) {
            by_attribute = true;
            path.parse(machine, *arguments.keyword("attribute"));
            if (const Value* value = arguments.keyword("default")) fallback = *value;
            for (const auto& [key, value] : arguments.keywords) {
                const std::string& known = key.as<StringObject>().text.bytes;
                if (known != "attribute" && known != "default")
                    machine.fail("Unexpected keyword argument " + quote(known));
            }
            return !machine.failed();
        }
        if (mode == Mode::Map && arguments.positional.empty()) {
            machine.fail("map requires a filter argument");
            return false;
        }
        if (by_attribute) {
            if (arguments.positional.empty()) {
                machine.fail("Missing parameter for attribute name");
                return false;
            }
            path.parse(machine, arguments.positional[used++]);
        }
        if (used < arguments.positional.size()) {
            name = arguments.positional[used++];
            rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(used),
                                   arguments.positional.end());
            rest.keywords = arguments.keywords;
        }
        return !machine.failed();
    }

    Mode mode = Mode::Map;
    bool by_attribute = false, started = false, done = false;
    Value source, name, fallback;
    Arguments arguments, rest;
    AttributePath path;
    Cursor cursor;
};

Value per_item(Machine& machine, const Value& value, const Arguments& arguments, Mode mode,
               bool by_attribute) {
    Value result = machine.make<PerItem>("generator");
    if (machine.failed()) return {};
    auto& items = result.as<PerItem>();
    items.mode = mode;
    items.by_attribute = by_attribute;
    items.source = value;
    items.arguments = arguments;
    std::uint16_t deepest = value.depth();
    for (const Value& argument : arguments.positional) deepest = std::max(deepest, argument.depth());
    for (const auto& [key, argument] : arguments.keywords) deepest = std::max(deepest, argument.depth());
    items.depth = static_cast<std::uint16_t>(deepest + 1);
    items.charge((arguments.positional.size() + arguments.keywords.size() * 2) * 2 * sizeof(Value));
    machine.check_object(result);
    return result;
}

Value map_filter(Machine& m, const Value& v, const Arguments& a) {
    return per_item(m, v, a, Mode::Map, false);
}
Value select_filter(Machine& m, const Value& v, const Arguments& a) {
    return per_item(m, v, a, Mode::Select, false);
}
Value reject_filter(Machine& m, const Value& v, const Arguments& a) {
    return per_item(m, v, a, Mode::Reject, false);
}
Value selectattr_filter(Machine& m, const Value& v, const Arguments& a) {
    return per_item(m, v, a, Mode::Select, true);
}
Value rejectattr_filter(Machine& m, const Value& v, const Arguments& a) {
    return per_item(m, v, a, Mode::Reject, true);
}

constexpr FilterEntry table[] = {
    {"map", map_filter},
    {"select", select_filter},
    {"reject", reject_filter},
    {"selectattr", selectattr_filter},
    {"rejectattr", rejectattr_filter},
};

}  // namespace

std::span<const FilterEntry> item_filters() { return table; }

}  // namespace vitrine::jinja
