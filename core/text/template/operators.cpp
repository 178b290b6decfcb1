#include "core/text/template/operators.h"

#include <cmath>
#include <limits>

#include "core/base/checked.h"
#include "core/text/template/convert.h"
#include "core/text/template/machine.h"
#include "core/text/template/percent_format.h"

namespace vitrine::jinja {
namespace {

const char* spelling(Op op) {
    switch (op) {
        case Op::Add: return "+";
        case Op::Subtract: return "-";
        case Op::Multiply: return "*";
        case Op::Divide: return "/";
        case Op::FloorDivide: return "//";
        case Op::Modulo: return "%";
        default: return "** or pow()";
    }
}

Value unsupported(Machine& machine, Op op, const Value& a, const Value& b) {
    return machine.fail(std::string("unsupported operand type(s) for ") + spelling(op) + ": '" +
                        type_name(a) + "' and '" + type_name(b) + "'");
}

Value power_of_integers(Machine& machine, std::int64_t base, std::int64_t exponent, bool tainted) {
    if (exponent < 0) {
        if (base == 0) return machine.fail("0.0 cannot be raised to a negative power");
        return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)), tainted);
    }
    std::int64_t result = 1;
    std::int64_t square = base;
    bool square_fits = true;
    for (std::int64_t rest = exponent; rest > 0; rest >>= 1) {
        if ((rest & 1) != 0) {
            const auto product = square_fits ? checked_mul(result, square) : std::nullopt;
            if (!product) return machine.fail_number();
            result = *product;
        }
        const auto squared = square_fits ? checked_mul(square, square) : std::nullopt;
        square_fits = squared.has_value();
        square = squared.value_or(0);
    }
    return Value::integer(result, tainted);
}

// Quotient toward minus infinity, and the remainder with the sign of the divisor.
Value divide_floor(Machine& machine, Op op, std::int64_t a, std::int64_t b, bool tainted) {
    if (b == 0) return machine.fail("integer division or modulo by zero");
    if (b == -1) {
        if (op == Op::Modulo) return Value::integer(0, tainted);
        if (a == std::numeric_limits<std::int64_t>::min()) return machine.fail_number();
        return Value::integer(-a, tainted);
    }
    const std::int64_t remainder = a % b;
    const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
    if (op == Op::Modulo) return Value::integer(adjust ? remainder + b : remainder, tainted);
    return Value::integer(adjust ? a / b - 1 : a / b, tainted);
}

Value integers(Machine& machine, Op op, const Value& left, const Value& right) {
    const std::int64_t a = left.as_int();
    const std::int64_t b = right.as_int();
    const bool tainted = left.tainted() || right.tainted();
    std::int64_t result = 0;
    switch (op) {
        case Op::Add:
            if (__builtin_add_overflow(a, b, &result)) return machine.fail_number();
            return Value::integer(result, tainted);
        case Op::Subtract:
            if (__builtin_sub_overflow(a, b, &result)) return machine.fail_number();
            return Value::integer(result, tainted);
        case Op::Multiply:
            if (__builtin_mul_overflow(a, b, &result)) return machine.fail_number();
            return Value::integer(result, tainted);
        case Op::Divide:
            if (b == 0) return machine.fail("division by zero");
            return Value::real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)),
                               tainted);
        case Op::Power: return power_of_integers(machine, a, b, tainted);
        default: return divide_floor(machine, op, a, b, tainted);
    }
}

Value divide_floor(Machine& machine, Op op, double a, double b, bool tainted) {
    if (b == 0) return machine.fail(op == Op::Modulo ? "float modulo" : "float floor division by zero");
    double remainder = std::fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0) {
        if ((b < 0) != (remainder < 0)) {
            remainder += b;
            quotient -= 1;
        }
    } else {
        remainder = std::copysign(0.0, b);
    }
    if (op == Op::Modulo) return Value::real(remainder, tainted);
    double floored = 0;
    if (quotient != 0) {
        floored = std::floor(quotient);
        if (quotient - floored > 0.5) floored += 1;
    } else {
        floored = std::copysign(0.0, a / b);
    }
    return Value::real(floored, tainted);
}

Value reals(Machine& machine, Op op, const Value& left, const Value& right) {
    const double a = left.as_real();
    const double b = right.as_real();
    const bool tainted = left.tainted() || right.tainted();
    switch (op) {
        case Op::Add: return Value::real(a + b, tainted);
        case Op::Subtract: return Value::real(a - b, tainted);
        case Op::Multiply: return Value::real(a * b, tainted);
        case Op::Divide:
            if (b == 0) return machine.fail("float division by zero");
            return Value::real(a / b, tainted);
        case Op::Power: {
            if (a == 0 && b < 0) return machine.fail("0.0 cannot be raised to a negative power");
            if (a < 0 && std::isfinite(a) && std::isfinite(b) && std::floor(b) != b) {
                return machine.fail("the power of a negative number is complex, which is not supported");
            }
            const double result = std::pow(a, b);
            if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
                return machine.fail("(34, 'Numerical result out of range')");
            }
            return Value::real(result, tainted);
        }
        default: return divide_floor(machine, op, a, b, tainted);
    }
}

Value add_texts(Machine& machine, const Value& a, const Value& b) {
    const auto& left = a.as<StringObject>();
    const auto& right = b.as<StringObject>();
    if (left.markup != right.markup) {
        const Value escaped = escape_markup(machine, left.markup ? b : a);
        return machine.failed() ? Value()
               : left.markup    ? add_texts(machine, a, escaped)
                                : add_texts(machine, escaped, b);
    }
    if (!machine.fits(left.text.size() + right.text.size())) return {};
    Text text;
    text.bytes.reserve(left.text.size() + right.text.size());
    text.append(left.text);
    text.append(right.text);
    return machine.string(std::move(text), left.markup);
}

Value repeat(Machine& machine, const Value& sequence, const Value& count) {
    const std::int64_t times = std::max<std::int64_t>(0, count.as_int());
    if (sequence.is_string()) {
        const auto& string = sequence.as<StringObject>();
        const auto total = checked_mul<std::uint64_t>(string.text.size(), static_cast<std::uint64_t>(times));
        if (!total || !machine.fits(*total)) return machine.fail_size();
        Text text;
        if (string.text.any_untrusted() || string.text.size() > 16) {
            for (std::int64_t i = 0; i < times && string.text.size() != 0; ++i) text.append(string.text);
        } else {
            std::string bytes;
            bytes.reserve(*total);
            for (std::int64_t i = 0; i < times && string.text.size() != 0; ++i) bytes += string.text.bytes;
            text = Text::make(std::move(bytes), false);
        }
        return machine.string(std::move(text), string.markup);
    }
    const auto& object = sequence.as<SequenceObject>();
    const auto total = checked_mul<std::uint64_t>(object.items.size(), static_cast<std::uint64_t>(times));
    if (!total || !machine.fits_items(*total)) return machine.fail_size();
    Values items;
    items.reserve(*total);
    for (std::int64_t i = 0; i < times && !object.items.empty(); ++i) {
        items.insert(items.end(), object.items.begin(), object.items.end());
    }
    return sequence.is(Kind::List) ? machine.list(std::move(items)) : machine.tuple(std::move(items));
}

Value join_sequences(Machine& machine, const Value& a, const Value& b) {
    const Values& left = a.as<SequenceObject>().items;
    const Values& right = b.as<SequenceObject>().items;
    if (!machine.fits_items(left.size() + right.size())) return machine.fail_size();
    Values items;
    items.reserve(left.size() + right.size());
    items.insert(items.end(), left.begin(), left.end());
    items.insert(items.end(), right.begin(), right.end());
    return a.is(Kind::List) ? machine.list(std::move(items)) : machine.tuple(std::move(items));
}

}  // namespace

Value binary_operation(Machine& machine, Op op, const Value& a, const Value& b) {
    if (machine.failed()) return {};
    if (a.is_integral() && b.is_integral()) return integers(machine, op, a, b);
    if (a.is_number() && b.is_number()) return reals(machine, op, a, b);
    if (op == Op::Modulo && a.is_string()) return percent_format(machine, a, b);
    if (a.is_undefined()) return machine.fail_undefined(a);
    if (b.is_undefined()) return machine.fail_undefined(b);
    if (op == Op::Add) {
        if (a.is_string() && b.is_string()) return add_texts(machine, a, b);
        if (a.is_sequence_object() && a.kind() == b.kind()) return join_sequences(machine, a, b);
        if (a.is_string() || a.is_sequence_object()) {
            return machine.fail("can only concatenate " + type_name(a) + " (not \"" + type_name(b) +
                                "\") to " + type_name(a));
        }
    }
    if (op == Op::Multiply) {
        const auto repeats = [](const Value& v) { return v.is_string() || v.is_sequence_object(); };
        if (repeats(a) && b.is_integral()) return repeat(machine, a, b);
        if (repeats(b) && a.is_integral()) return repeat(machine, b, a);
        if (repeats(a) || repeats(b)) {
            return machine.fail("can't multiply sequence by non-int of type '" +
                                type_name(repeats(a) ? b : a) + "'");
        }
    }
    return unsupported(machine, op, a, b);
}

Value unary_operation(Machine& machine, Op op, const Value& value) {
    if (op == Op::Not) return Value::boolean(!truthy(value), value.tainted());
    if (value.is_undefined()) return machine.fail_undefined(value);
    if (!value.is_number()) {
        return machine.fail(std::string("bad operand type for unary ") + (op == Op::Negative ? "-" : "+") +
                            ": '" + type_name(value) + "'");
    }
    if (value.is(Kind::Float))
        return Value::real(op == Op::Negative ? -value.as_real() : value.as_real(), value.tainted());
    if (op == Op::Positive) return Value::integer(value.as_int(), value.tainted());
    if (value.as_int() == std::numeric_limits<std::int64_t>::min()) return machine.fail_number();
    return Value::integer(-value.as_int(), value.tainted());
}

Value escape_markup(Machine& machine, const Value& value) {
    if (value.is_string() && value.as<StringObject>().markup) return value;
    const Text text = to_text(machine, value);
    Text out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text.bytes[i];
        const char* entity = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '"'  ? "&#34;"
                             : c == '\'' ? "&#39;"
                                         : nullptr;
        if (entity != nullptr) {
            out.append(entity, text.untrusted_at(i));
        } else {
            out.append(text, i, i + 1);
        }
    }
    if (!machine.fits(out.size())) return {};
    return machine.string(std::move(out), true);
}

}  // namespace vitrine::jinja
