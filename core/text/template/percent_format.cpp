#include "core/text/template/percent_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/text/template/attributes.h"
#include "core/text/template/convert.h"
#include "core/text/template/machine.h"
#include "core/text/template/number_text.h"
#include "core/text/template/string_tools.h"
#include "core/text/template/unicode.h"
#include "core/text/utf8.h"

namespace vitrine::jinja {

std::string digits_of(std::int64_t value, int base, bool capitals) {
    const std::uint64_t magnitude =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    std::array<char, 68> buffer{};
    const auto made = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base);
    std::string digits(buffer.data(), made.ptr);
    if (capitals) {
        for (char& c : digits) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    }
    return digits;
}

std::string group_digits(const std::string& number, char separator, std::size_t group) {
    const std::size_t end = std::min(number.find_first_of(".e"), number.size());
    std::string out;
    for (std::size_t i = 0; i < end; ++i) {
        if (i > 0 && (end - i) % group == 0) out.push_back(separator);
        out.push_back(number[i]);
    }
    return out + number.substr(end);
}

namespace {

struct Directive {
    bool minus = false, plus = false, space = false, alternate = false, zero = false;
    std::int64_t width = 0;
    std::int64_t precision = -1;
    char type = 0;
};

class PercentFormat {
  public:
    PercentFormat(Machine& machine, const Text& format, const Value& values)
        : machine_(machine), format_(format), values_(values) {
        is_tuple_ = values.is(Kind::Tuple);
        is_mapping_ = !is_tuple_ && (values.is(Kind::Dict) || values.is(Kind::List) ||
                                     values.is(Kind::Range) || values.is_undefined());
    }

    Text run() {
        while (at_ < format_.size() && machine_.tick()) {
            const std::size_t percent = std::min(format_.bytes.find('%', at_), format_.size());
            result_.append(format_, at_, percent);
            at_ = percent;
            if (at_ >= format_.size()) break;
            ++at_;
            directive();
        }
        const std::size_t wanted = is_tuple_ ? values_.as<SequenceObject>().items.size() : 1;
        if (!machine_.failed() && !is_mapping_ && next_ < wanted) {
            machine_.fail("not all arguments converted during string formatting");
        }
        return std::move(result_);
    }

  private:
    char peek() const { return at_ < format_.size() ? format_.bytes[at_] : '\0'; }

    void directive() {
        Directive d;
        Value by_name;
        if (peek() == '(') {
            by_name = named();
            if (machine_.failed()) return;
        }
        for (;; ++at_) {
            const char c = peek();
            if (c == '-') {
                d.minus = true;
            } else if (c == '+') {
                d.plus = true;
            } else if (c == ' ') {
                d.space = true;
            } else if (c == '#') {
                d.alternate = true;
            } else if (c == '0') {
                d.zero = true;
            } else {
                break;
            }
        }
        if (!number(d.width, by_name)) return;
        if (d.width < 0) {
            d.minus = true;
            d.width = -d.width;
        }
        if (peek() == '.') {
            ++at_;
            d.precision = 0;
            if (!number(d.precision, by_name)) return;
            d.precision = std::max<std::int64_t>(0, d.precision);
        }
        if (peek() == 'h' || peek() == 'l' || peek() == 'L') ++at_;
        if (at_ >= format_.size()) {
            machine_.fail("incomplete format");
            return;
        }
        d.type = format_.bytes[at_++];
        if (d.type == '%') {
            result_.append("%", false);
            return;
        }
        const Value value = !by_name.is_missing() ? by_name : next();
        if (!machine_.failed()) convert(d, value);
    }

    Value named() {
        std::size_t depth = 1;
        const std::size_t begin = ++at_;
        while (at_ < format_.size() && depth > 0) {
            if (format_.bytes[at_] == '(') ++depth;
            if (format_.bytes[at_] == ')') --depth;
            ++at_;
        }
        if (depth > 0) return machine_.fail("incomplete format key");
        if (!is_mapping_) return machine_.fail("format requires a mapping");
        const std::string key = format_.bytes.substr(begin, at_ - 1 - begin);
        if (values_.is_undefined()) return machine_.fail_undefined(values_);
        if (!values_.is(Kind::Dict)) return machine_.fail("list indices must be integers or slices, not str");
        const auto& dict = values_.as<DictObject>();
        const std::int64_t entry = dict.find(key);
        if (entry < 0) return machine_.fail(quote(key));
        return dict.entries[static_cast<std::size_t>(entry)].second;
    }

    // Digits or *; false on failure.
    bool number(std::int64_t& value, const Value& by_name) {
        if (peek() == '*') {
            ++at_;
            if (!by_name.is_missing()) {
                machine_.fail("* wants int");
                return false;
            }
            const Value argument = next();
            if (machine_.failed()) return false;
            if (!argument.is_integral()) {
                machine_.fail("* wants int");
                return false;
            }
            value = argument.as_int();
            if (value < -(std::int64_t{1} << 31) || value > (std::int64_t{1} << 31)) machine_.fail_size();
            return !machine_.failed();
        }
        for (; peek() >= '0' && peek() <= '9'; ++at_) {
            value = value * 10 + (peek() - '0');
            if (value > (std::int64_t{1} << 31)) {
                machine_.fail_size();
                return false;
            }
        }
        return true;
    }

    Value next() {
        if (is_tuple_) {
            const Values& items = values_.as<SequenceObject>().items;
            if (next_ < items.size()) return items[next_++];
        } else if (next_ == 0) {
            ++next_;
            return values_;
        }
        return machine_.fail("not enough arguments for format string");
    }

    void convert(const Directive& d, const Value& value) {
        switch (d.type) {
            case 's': text(d, to_text(machine_, value)); break;
            case 'r': text(d, repr(machine_, value)); break;
            case 'a': text(d, ascii(machine_, value)); break;
            case 'c': character(d, value); break;
            case 'd':
            case 'i':
            case 'u':
            case 'x':
            case 'X':
            case 'o': integer(d, value); break;
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G': real(d, value); break;
            default: machine_.fail(std::string("unsupported format character '") + d.type + "'");
        }
    }

    void text(const Directive& d, Text text) {
        if (d.precision >= 0)
            text = text.slice(0, byte_position(text.bytes, static_cast<std::size_t>(d.precision)));
        fill(d, Text(), std::move(text), false);
    }

    void character(const Directive& d, const Value& value) {
        if (value.is_string() && value.as<StringObject>().length() == 1) {
            fill(d, Text(), value.as<StringObject>().text, false);
        } else if (value.is_integral() && value.as_int() >= 0 && value.as_int() <= 0x10FFFF) {
            std::string bytes;
            append_utf8(bytes, static_cast<char32_t>(value.as_int()));
            fill(d, Text(), Text::make(std::move(bytes), value.tainted()), false);
        } else {
            machine_.fail("%c requires int or char");
        }
    }

    void integer(const Directive& d, const Value& value) {
        const bool decimal = d.type == 'd' || d.type == 'i' || d.type == 'u';
        if (value.is_undefined()) {
            machine_.fail_undefined(value);
            return;
        }
        if (!value.is_number() || (!decimal && value.is(Kind::Float))) {
            machine_.fail(std::string("%") + d.type +
                          " format: " + (decimal ? "a real number" : "an integer") + " is required, not " +
                          type_name(value));
            return;
        }
        std::int64_t whole = value.is(Kind::Float) ? 0 : value.as_int();
        if (value.is(Kind::Float)) {
            if (!std::isfinite(value.as_real())) {
                machine_.fail(std::isnan(value.as_real()) ? "cannot convert float NaN to integer"
                                                          : "cannot convert float infinity to integer");
                return;
            }
            if (std::abs(value.as_real()) >= 9223372036854775808.0) {
                machine_.fail_number();
                return;
            }
            whole = static_cast<std::int64_t>(value.as_real());
        }
        const bool capitals = d.type == 'X';
        std::string digits = digits_of(whole, decimal ? 10 : d.type == 'o' ? 8 : 16, capitals);
        const auto precision = static_cast<std::size_t>(std::max<std::int64_t>(0, d.precision));
        if (!machine_.fits(precision)) return;
        if (digits.size() < precision) digits.insert(0, precision - digits.size(), '0');
        std::string front = sign(d, whole < 0);
        if (d.alternate && !decimal) front += d.type == 'o' ? "0o" : capitals ? "0X" : "0x";
        fill(d, Text::make(front, value.tainted()), Text::make(digits, value.tainted()), d.zero);
    }

    void real(const Directive& d, const Value& value) {
        if (value.is_undefined()) {
            machine_.fail_undefined(value);
            return;
        }
        if (!value.is_number()) {
            machine_.fail("must be real number, not " + type_name(value));
            return;
        }
        const std::int64_t precision = d.precision < 0 ? 6 : d.precision;
        if (!machine_.fits(static_cast<std::size_t>(precision))) return;
        const double number = value.as_real();
        std::string digits = format_float(std::abs(number), d.type, static_cast<int>(precision), d.alternate);
        fill(d, Text::make(sign(d, std::signbit(number) && !std::isnan(number)), value.tainted()),
             Text::make(std::move(digits), value.tainted()), d.zero && std::isfinite(number));
    }

    static std::string sign(const Directive& d, bool negative) {
        return negative ? "-" : d.plus ? "+" : d.space ? " " : "";
    }

    void fill(const Directive& d, const Text& front, Text body, bool zeros) {
        const auto length =
            static_cast<std::int64_t>(count_code_points(front.bytes) + count_code_points(body.bytes));
        const auto missing = static_cast<std::size_t>(std::max<std::int64_t>(0, d.width - length));
        if (!machine_.fits(result_.size() + front.size() + body.size() + missing)) return;
        if (!d.minus && !zeros) result_.append(std::string(missing, ' '), false);
        result_.append(front);
        if (!d.minus && zeros) result_.append(std::string(missing, '0'), false);
        result_.append(body);
        if (d.minus) result_.append(std::string(missing, ' '), false);
    }

    Machine& machine_;
    const Text& format_;
    const Value& values_;
    bool is_tuple_ = false, is_mapping_ = false;
    std::size_t at_ = 0, next_ = 0;
    Text result_;
};

}  // namespace

Value percent_format(Machine& machine, const Value& text, const Value& values) {
    if (machine.failed()) return {};
    const auto& format = text.as<StringObject>();
    Text result = PercentFormat(machine, format.text, values).run();
    return machine.failed() ? Value() : machine.string(std::move(result), format.markup);
}

}  // namespace vitrine::jinja
