#include "core/text/template/brace_format.h"

#include <algorithm>
#include <cmath>

#include "core/text/template/attributes.h"
#include "core/text/template/convert.h"
#include "core/text/template/number_text.h"
#include "core/text/template/string_tools.h"
#include "core/text/template/unicode.h"
#include "core/text/utf8.h"

namespace vitrine::jinja {
namespace {

// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
struct Spec {
    std::string fill = " ";
    char align = 0;
    char sign = '-';
    bool alternate = false;
    std::int64_t width = 0;
    char grouping = 0;
    std::int64_t precision = -1;
    char type = 0;
};

// A float with a precision but no type: as 'g', with a digit behind the point, and with an exponent already
// where all the digits stand in front of it.
std::string short_float(double value, int precision, bool alternate) {
    std::string general = format_float(value, 'g', precision, alternate);
    if (!std::isfinite(value) || general.find('e') != std::string::npos) return general;
    if (alternate || general.find('.') != std::string::npos) return general;
    if (general.size() < static_cast<std::size_t>(precision)) return general + ".0";
    std::string scientific = format_float(value, 'e', precision - 1);
    const std::size_t e = scientific.find('e');
    if (scientific.find('.') == std::string::npos) return scientific;
    const std::size_t last = scientific.find_last_not_of("0.", e - 1);
    return scientific.substr(0, last + 1) + scientific.substr(e);
}

bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

class BraceFormat {
  public:
    BraceFormat(Machine& machine, const Arguments& arguments) : machine_(machine), arguments_(arguments) {}

    Text run(const Text& format, int depth) {
        Text result;
        if (depth > 2) {
            machine_.fail("Max string recursion exceeded");
            return result;
        }
        const std::string& bytes = format.bytes;
        for (std::size_t at = 0; at < bytes.size() && machine_.tick();) {
            const char c = bytes[at];
            if (c != '{' && c != '}') {
                const std::size_t end = std::min(bytes.find_first_of("{}", at), bytes.size());
                result.append(format, at, end);
                at = end;
            } else if (at + 1 < bytes.size() && bytes[at + 1] == c) {
                result.append(format, at, at + 1);
                at += 2;
            } else if (c == '}') {
                machine_.fail("Single '}' encountered in format string");
            } else {
                at = field(format, at + 1, depth, result);
            }
            if (!machine_.fits(result.size())) break;
        }
        return result;
    }

  private:
    // A field from behind its brace; the position behind its end.
    std::size_t field(const Text& format, std::size_t begin, int depth, Text& result) {
        const std::string& bytes = format.bytes;
        std::size_t end = begin;
        std::size_t colon = std::string::npos;
        std::size_t bang = std::string::npos;
        int open = 1;
        int brackets = 0;
        for (; end < bytes.size(); ++end) {
            const char c = bytes[end];
            if (c == '{') ++open;
            if (c == '}' && --open == 0) break;
            if (colon != std::string::npos || bang != std::string::npos) {
                if (c == ':' && colon == std::string::npos) colon = end;
                continue;
            }
            if (c == '[') ++brackets;
            if (c == ']' && brackets > 0) --brackets;
            if (brackets > 0) continue;
            if (c == ':') colon = end;
            if (c == '!') bang = end;
        }
        if (end >= bytes.size()) {
            machine_.fail(begin >= bytes.size() ? "Single '{' encountered in format string"
                                                : "expected '}' before end of string");
            return bytes.size();
        }
        const std::size_t name_end = std::min({end, colon, bang});
        Value value = lookup(bytes.substr(begin, name_end - begin));
        if (machine_.failed()) return bytes.size();
        if (bang != std::string::npos) {
            const std::size_t conversion_end = std::min(end, colon);
            const std::string conversion = bytes.substr(bang + 1, conversion_end - bang - 1);
            if (conversion == "s") {
                value = machine_.string(to_text(machine_, value));
            } else if (conversion == "r") {
                value = machine_.string(repr(machine_, value));
            } else if (conversion == "a") {
                value = machine_.string(ascii(machine_, value));
            } else {
                machine_.fail("Unknown conversion specifier " + conversion);
            }
        }
        if (machine_.failed()) return bytes.size();
        Text spec;
        if (colon != std::string::npos) spec = run(format.slice(colon + 1, end), depth + 1);
        if (!machine_.failed()) format_value(value, spec, result);
        return end + 1;
    }

    // "0.name[key]": an argument, then attributes and items.
    Value lookup(const std::string& name) {
        const std::size_t first_end = std::min(name.find_first_of(".["), name.size());
        const std::string first = name.substr(0, first_end);
        Value value;
        const bool digits = !first.empty() && std::all_of(first.begin(), first.end(),
                                                          [](char c) { return c >= '0' && c <= '9'; });
        if (first.empty() || digits) {
            if (first.empty() ? manual_ : automatic_) {
                return machine_.fail(
                    first.empty()
                        ? "cannot switch from manual field specification to automatic field numbering"
                        : "cannot switch from automatic field numbering to manual field specification");
            }
            (first.empty() ? automatic_ : manual_) = true;
            const std::size_t index = first.empty()      ? next_++
                                      : first.size() > 6 ? 999999
                                                         : static_cast<std::size_t>(std::stoul(first));
            if (index >= arguments_.positional.size())
                return machine_.fail("Replacement index " + std::to_string(index) +
                                     " out of range for positional args tuple");
            value = arguments_.positional[index];
        } else {
            const Value* named = arguments_.keyword(first);
            if (named == nullptr) return machine_.fail(quote(first));
            value = *named;
        }
        for (std::size_t at = first_end; at < name.size() && !machine_.failed();) {
            if (name[at] == '.') {
                const std::size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
                if (end == at + 1) return machine_.fail("Empty attribute in format string");
                value = get_attribute(machine_, value, name.substr(at + 1, end - at - 1));
                at = end;
            } else if (name[at] == '[') {
                const std::size_t end = name.find(']', at);
                if (end == std::string::npos) return machine_.fail("Missing ']' in format string");
                const std::string key = name.substr(at + 1, end - at - 1);
                if (key.empty()) return machine_.fail("Empty attribute in format string");
                const bool number = key.size() < 19 && std::all_of(key.begin(), key.end(), [](char c) {
                                        return c >= '0' && c <= '9';
                                    });
                value = get_item(machine_, value,
                                 number ? Value::integer(std::stoll(key)) : machine_.string(key));
                at = end + 1;
            } else {
                return machine_.fail("Only '.' or '[' may follow ']' in format field specifier");
            }
        }
        return value;
    }

    void fail_spec(const std::string& spec, const Value& value) {
        machine_.fail("Invalid format specifier '" + spec + "' for object of type '" + type_name(value) +
                      "'");
    }

    bool parse_spec(const std::string& text, const Value& value, Spec& spec) {
        std::size_t at = 0;
        bool fill_given = false;
        if (!text.empty()) {
            std::size_t next = 0;
            next_code_point(text, next);
            if (next < text.size() && is_align(text[next])) {
                spec.fill = text.substr(0, next);
                spec.align = text[next];
                fill_given = true;
                at = next + 1;
            } else if (is_align(text[0])) {
                spec.align = text[0];
                at = 1;
            }
        }
        const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
        const auto number = [&](std::int64_t& n) {
            const std::size_t begin = at;
            n = 0;
            for (; peek() >= '0' && peek() <= '9'; ++at)
                n = std::min<std::int64_t>(n * 10 + (peek() - '0'), std::int64_t{1} << 40);
            return at > begin;
        };
        if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = text[at++];
        if (peek() == '#') {
            spec.alternate = true;
            ++at;
        }
        if (peek() == '0' && !fill_given) {
            spec.fill = "0";
            if (spec.align == 0) spec.align = value.is_string() ? '<' : '=';
            ++at;
        }
        number(spec.width);
        if (peek() == ',' || peek() == '_') spec.grouping = text[at++];
        if (peek() == '.') {
            ++at;
            if (!number(spec.precision)) {
                machine_.fail("Format specifier missing precision");
                return false;
            }
        }
        if (at < text.size()) spec.type = text[at++];
        if (at < text.size()) {
            fail_spec(text, value);
            return false;
        }
        return machine_.fits(static_cast<std::size_t>(spec.width) * spec.fill.size()) &&
               machine_.fits(static_cast<std::size_t>(std::max<std::int64_t>(0, spec.precision)));
    }

    void format_value(const Value& value, const Text& spec_text, Text& result) {
        const bool plain = value.is_string() || value.is_number();
        if (!plain || spec_text.size() == 0) {
            if (!plain && spec_text.size() != 0) {
                machine_.fail("unsupported format string passed to " + type_name(value) + ".__format__");
                return;
            }
            result.append(to_text(machine_, value));
            return;
        }
        Spec spec;
        if (!parse_spec(spec_text.bytes, value, spec)) return;
        if (value.is_string()) {
            text(value, spec, result);
        } else {
            const bool as_real = value.is(Kind::Float) ||
                                 std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
            if (spec.type != 0 && as_real) {
                real(value, spec, result);
            } else if (value.is(Kind::Float)) {
                real(value, spec, result);
            } else {
                integer(value, spec, result);
            }
        }
    }

    void text(const Value& value, const Spec& spec, Text& result) {
        if (spec.type != 0 && spec.type != 's') {
            machine_.fail(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
        } else if (spec.align == '=') {
            machine_.fail("'=' alignment not allowed in string format specifier");
        } else if (spec.sign != '-' || spec.alternate || spec.grouping != 0) {
            machine_.fail("Sign, '#' and grouping are not allowed in a string format specifier");
        } else {
            Text body = value.as<StringObject>().text;
            if (spec.precision >= 0)
                body = body.slice(0, byte_position(body.bytes, static_cast<std::size_t>(spec.precision)));
            place(spec, Text(), body, '<', result);
        }
    }

    void integer(const Value& value, const Spec& spec, Text& result) {
        int base = 10;
        std::string prefix;
        switch (spec.type) {
            case 0:
            case 'd':
            case 'n': break;
            case 'b': base = 2, prefix = "0b"; break;
            case 'o': base = 8, prefix = "0o"; break;
            case 'x': base = 16, prefix = "0x"; break;
            case 'X': base = 16, prefix = "0X"; break;
            case 'c': {
                std::string bytes;
                append_utf8(bytes,
                            static_cast<char32_t>(std::clamp<std::int64_t>(value.as_int(), 0, 0x10FFFF)));
                place(spec, Text(), Text::make(std::move(bytes), value.tainted()), '<', result);
                return;
            }
            default:
                machine_.fail(std::string("Unknown format code '") + spec.type +
                              "' for object of type 'int'");
                return;
        }
        if (spec.precision >= 0) {
            machine_.fail("Precision not allowed in integer format specifier");
            return;
        }
        std::string front = sign(spec, value.as_int() < 0);
        if (spec.alternate) front += prefix;
        number(value, spec, front, digits_of(value.as_int(), base, spec.type == 'X'), base == 10 ? 3 : 4,
               result);
    }

    void real(const Value& value, const Spec& spec, Text& result) {
        const double number_value = value.as_real() * (spec.type == '%' ? 100 : 1);
        const double magnitude = std::abs(number_value);
        std::string digits;
        if (spec.type == 0 && spec.precision < 0) {
            digits = float_repr(magnitude);
        } else if (spec.type == 0) {
            digits = short_float(magnitude, static_cast<int>(std::max<std::int64_t>(1, spec.precision)),
                                 spec.alternate);
        } else if (std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
            digits = format_float(magnitude, spec.type == '%' ? 'f' : spec.type,
                                  static_cast<int>(spec.precision < 0 ? 6 : spec.precision), spec.alternate);
            if (spec.type == '%') digits += '%';
        } else {
            machine_.fail(std::string("Unknown format code '") + spec.type + "' for object of type '" +
                          type_name(value) + "'");
            return;
        }
        number(value, spec, sign(spec, std::signbit(number_value) && !std::isnan(number_value)), digits, 3,
               result);
    }

    static std::string sign(const Spec& spec, bool negative) {
        return negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    }

    void number(const Value& value, const Spec& spec, const std::string& front, std::string digits,
                std::size_t group, Text& result) {
        if (spec.grouping != 0) {
            const std::size_t percent = digits.ends_with('%') ? 1 : 0;
            // Zeros that fill up are grouped too.
            if (spec.fill == "0" && spec.align == '=') {
                const auto width = static_cast<std::size_t>(spec.width);
                while (front.size() + group_digits(digits, spec.grouping, group).size() < width)
                    digits.insert(0, 1, '0');
            }
            digits = group_digits(digits.substr(0, digits.size() - percent), spec.grouping, group) +
                     (percent != 0 ? "%" : "");
        }
        place(spec, Text::make(front, value.tainted()), Text::make(std::move(digits), value.tainted()), '>',
              result);
    }

    void place(const Spec& spec, const Text& front, const Text& body, char otherwise, Text& result) {
        const auto length =
            static_cast<std::int64_t>(count_code_points(front.bytes) + count_code_points(body.bytes));
        const auto missing = static_cast<std::uint64_t>(std::max<std::int64_t>(0, spec.width - length));
        if (!machine_.fits(result.size() + front.size() + body.size() + missing * spec.fill.size())) return;
        const char align = spec.align == 0 ? otherwise : spec.align;
        const std::uint64_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
        const std::uint64_t between = align == '=' ? missing : 0;
        result.append(repeated(spec.fill, before, false));
        result.append(front);
        result.append(repeated(spec.fill, between, false));
        result.append(body);
        result.append(repeated(spec.fill, missing - before - between, false));
    }

    Machine& machine_;
    const Arguments& arguments_;
    std::size_t next_ = 0;
    bool automatic_ = false, manual_ = false;
};

}  // namespace

Value brace_format(Machine& machine, const Value& text, const Arguments& arguments) {
    const auto& format = text.as<StringObject>();
    Text result = BraceFormat(machine, arguments).run(format.text, 1);
    return machine.failed() ? Value() : machine.string(std::move(result), format.markup);
}

}  // namespace vitrine::jinja
