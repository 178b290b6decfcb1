#include <cmath>
#include <limits>

#include "core/text/template/arguments.h"
#include "core/text/template/convert.h"
#include "core/text/template/filter_tables.h"
#include "core/text/template/literals.h"

namespace vitrine::jinja {
namespace {

constexpr double two_to_63 = 9223372036854775808.0;

Value abs_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "abs", {}, 0, Bound::Names::Refused);
    if (!bound.ok()) return {};
    if (value.is(Kind::Float)) return Value::real(std::abs(value.as_real()), value.tainted());
    if (!value.is_integral()) return machine.fail("bad operand type for abs(): '" + type_name(value) + "'");
    if (value.as_int() == std::numeric_limits<std::int64_t>::min()) return machine.fail_number();
    return Value::integer(std::abs(value.as_int()), value.tainted());
}

// int(float): toward zero. Infinity and too large numbers fail; not a number is false.
bool truncate_real(Machine& machine, double real, std::int64_t& whole) {
    if (std::isnan(real)) return false;
    if (std::isinf(real)) {
        machine.fail("cannot convert float infinity to integer");
        return false;
    }
    if (real >= two_to_63 || real < -two_to_63) {
        machine.fail_number();
        return false;
    }
    whole = static_cast<std::int64_t>(real);
    return true;
}

Value int_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "int", {"default", "base"});
    if (!bound.ok()) return {};
    const Value fallback = bound.given(0) ? bound[0] : Value::integer(0);
    const std::int64_t base = bound.integer(1, 10);
    if (!bound.ok()) return {};
    if (value.is_undefined()) return machine.fail_undefined(value);
    if (value.is_integral()) return Value::integer(value.as_int(), value.tainted());
    std::int64_t whole = 0;
    if (value.is(Kind::Float)) {
        if (truncate_real(machine, value.as_real(), whole)) return Value::integer(whole, value.tainted());
        return machine.failed() ? Value() : fallback;
    }
    if (!value.is_string()) return fallback;
    const Text& text = value.as<StringObject>().text;
    if (base == 0 || (base >= 2 && base <= 36)) {
        const ParsedInteger parsed = parse_integer(text.bytes, static_cast<int>(base));
        if (parsed.status == IntegerStatus::TooLarge) return machine.fail_number();
        if (parsed.status == IntegerStatus::Ok) return Value::integer(parsed.value, text.any_untrusted());
    }
    double real = 0;
    if (!parse_float(text.bytes, real) || std::isinf(real)) return fallback;
    if (truncate_real(machine, real, whole)) return Value::integer(whole, text.any_untrusted());
    return machine.failed() ? Value() : fallback;
}

Value float_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "float", {"default"});
    if (!bound.ok()) return {};
    if (value.is_undefined()) return machine.fail_undefined(value);
    if (value.is_number()) return Value::real(value.as_real(), value.tainted());
    double real = 0;
    if (value.is_string() && parse_float(value.as<StringObject>().text.bytes, real)) {
        return Value::real(real, value.as<StringObject>().text.any_untrusted());
    }
    return bound.given(0) ? bound[0] : Value::real(0.0);
}

// round(int, n) with n < 0: to the next power of ten, halves to the even side.
Value round_integer(Machine& machine, std::int64_t value, std::int64_t precision, bool tainted) {
    if (precision >= 0) return Value::integer(value, tainted);
    if (precision < -18) return Value::integer(0, tainted);
    std::int64_t unit = 1;
    for (std::int64_t i = 0; i < -precision; ++i) unit *= 10;
    std::int64_t rest = value % unit;
    if (rest < 0) rest += unit;
    const bool odd = ((value - rest) / unit) % 2 != 0;
    const bool up = rest > unit - rest || (rest == unit - rest && odd);
    std::int64_t result = 0;
    if (__builtin_add_overflow(value - rest, up ? unit : 0, &result)) return machine.fail_number();
    return Value::integer(result, tainted);
}

double round_real(double value, std::int64_t precision) {
    if (!std::isfinite(value) || precision > 323) return value;
    if (precision < -308) return std::copysign(0.0, value);
    if (precision >= 0)
        return parse_plain_float(format_float(std::abs(value), 'f', static_cast<int>(precision))) *
               (std::signbit(value) ? -1 : 1);
    // Decimal digits of the whole, cut by hand: the exact decimal value decides about halves.
    const std::string exact = format_float(std::abs(value), 'f', 60);
    const auto cut = static_cast<std::size_t>(-precision);
    std::string whole = exact.substr(0, exact.find('.'));
    const std::string fraction = exact.substr(exact.find('.') + 1);
    if (whole.size() < cut) return std::copysign(0.0, value);
    std::string kept = whole.substr(0, whole.size() - cut);
    const std::string dropped = whole.substr(whole.size() - cut) + fraction;
    const std::string half = "5" + std::string(dropped.size() - 1, '0');
    const bool odd = !kept.empty() && (kept.back() - '0') % 2 != 0;
    const bool up = dropped > half || (dropped == half && odd);
    if (up) {
        std::size_t i = kept.size();
        while (i > 0 && kept[i - 1] == '9') kept[--i] = '0';
        if (i == 0) {
            kept.insert(0, 1, '1');
        } else {
            ++kept[i - 1];
        }
    }
    if (kept.empty()) return std::copysign(0.0, value);
    return std::copysign(parse_plain_float(kept + std::string(cut, '0')), value);
}

Value round_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "round", {"precision", "method"});
    const StringObject* method = bound.text(1);
    const std::int64_t precision = bound.integer(0, 0);
    if (!bound.ok()) return {};
    const std::string how = method == nullptr ? "common" : method->text.bytes;
    if (how != "common" && how != "ceil" && how != "floor")
        return machine.fail("method must be common, ceil or floor");
    if (value.is_undefined() && how != "common") return machine.fail_undefined(value);
    if (!value.is_number())
        return machine.fail("type " + type_name(value) + " doesn't define __round__ method");
    if (how == "common") {
        if (value.is_integral()) return round_integer(machine, value.as_int(), precision, value.tainted());
        return Value::real(round_real(value.as_real(), precision), value.tainted());
    }
    const double power = std::pow(10.0, static_cast<double>(precision));
    const double scaled = value.as_real() * power;
    if (!std::isfinite(scaled)) return machine.fail("cannot convert float to integer");
    const double rounded = how == "ceil" ? std::ceil(scaled) : std::floor(scaled);
    if (power == 0) return machine.fail("division by zero");
    return Value::real((rounded == 0 ? 0.0 : rounded) / power, value.tainted());
}

Value filesizeformat_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "filesizeformat", {"binary"});
    if (!bound.ok()) return {};
    if (value.is_undefined()) return machine.fail_undefined(value);
    double size = value.is_number() ? value.as_real() : 0;
    if (!value.is_number() &&
        !(value.is_string() && parse_float(value.as<StringObject>().text.bytes, size))) {
        return machine.fail("filesizeformat() needs a number, got " + type_name(value));
    }
    const bool binary = bound.truth(0, false);
    const double base = binary ? 1024 : 1000;
    if (size == 1) return machine.string("1 Byte");
    if (size < base) return machine.string(integer_text(static_cast<std::int64_t>(size)) + " Bytes");
    double unit = base;
    std::string_view letters = "kMGTPEZY";
    std::size_t i = 0;
    for (unit *= base; i + 1 < letters.size() && size >= unit; ++i) unit *= base;
    const char letter = binary && letters[i] == 'k' ? 'K' : letters[i];
    return machine.string(format_float(base * size / unit, 'f', 1) + " " + letter + (binary ? "iB" : "B"));
}

constexpr FilterEntry table[] = {
    {"abs", abs_filter},
    {"int", int_filter},
    {"float", float_filter},
    {"round", round_filter},
    {"filesizeformat", filesizeformat_filter},
};

}  // namespace

std::span<const FilterEntry> number_filters() { return table; }

}  // namespace vitrine::jinja
