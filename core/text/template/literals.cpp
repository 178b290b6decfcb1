#include "core/text/template/literals.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <unicode/uchar.h>

#include "core/text/template/unicode.h"
#include "core/text/utf8.h"

namespace vitrine::jinja {
namespace {

bool is_digit_of(char c, int base) {
    int value = 99;
    if (c >= '0' && c <= '9') value = c - '0';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') value = c - 'A' + 10;
    return value < base;
}

// (_?digit)* from position at.
std::size_t scan_underscored(std::string_view text, std::size_t at, int base) {
    for (;;) {
        const std::size_t digit = at < text.size() && text[at] == '_' ? at + 1 : at;
        if (digit >= text.size() || !is_digit_of(text[digit], base)) return at;
        at = digit + 1;
    }
}

// digit(_?digit)*; returns at where there is no digit.
std::size_t scan_digits(std::string_view text, std::size_t at) {
    if (at >= text.size() || !is_digit_of(text[at], 10)) return at;
    return scan_underscored(text, at + 1, 10);
}

std::string_view strip(std::string_view text) {
    std::size_t begin = 0;
    while (begin < text.size()) {
        std::size_t next = begin;
        if (!is_space(next_code_point(text, next))) break;
        begin = next;
    }
    std::size_t end = text.size();
    while (end > begin) {
        const std::size_t before = previous_position(text, end);
        std::size_t next = before;
        if (!is_space(next_code_point(text, next))) break;
        end = before;
    }
    return text.substr(begin, end - begin);
}

// Decimal digits of any script become ASCII ones.
std::string ascii_digits(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = next_code_point(text, at);
        const int digit = decimal_value(c);
        if (digit >= 0) {
            out.push_back(static_cast<char>('0' + digit));
        } else {
            append_utf8(out, c);
        }
    }
    return out;
}

// Underscores only between digits.
bool drop_underscores(std::string& text, int base) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') continue;
        if (i == 0 || i + 1 >= text.size() || !is_digit_of(text[i - 1], base) ||
            !is_digit_of(text[i + 1], base)) {
            return false;
        }
    }
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    return true;
}

int prefix_base(std::string_view text) {
    if (text.size() < 2 || text[0] != '0') return 0;
    switch (text[1]) {
        case 'x':
        case 'X': return 16;
        case 'o':
        case 'O': return 8;
        case 'b':
        case 'B': return 2;
        default: return 0;
    }
}

}  // namespace

std::size_t scan_float(std::string_view text) {
    const std::size_t whole = scan_digits(text, 0);
    if (whole == 0) return 0;
    std::size_t end = whole;
    if (end < text.size() && text[end] == '.') {
        const std::size_t fraction = scan_digits(text, end + 1);
        if (fraction > end + 1) end = fraction;
    }
    if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
        const std::size_t sign =
            end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-') ? 1 : 0;
        const std::size_t exponent = scan_digits(text, end + 1 + sign);
        if (exponent > end + 1 + sign) return exponent;
    }
    return end > whole ? end : 0;
}

std::size_t scan_integer(std::string_view text) {
    if (text.empty() || !is_digit_of(text[0], 10)) return 0;
    if (const int base = prefix_base(text); base != 0) {
        const std::size_t end = scan_underscored(text, 2, base);
        if (end > 2) return end;
    }
    if (text[0] != '0') return scan_underscored(text, 1, 10);
    std::size_t at = 1;
    for (;;) {
        const std::size_t zero = at < text.size() && text[at] == '_' ? at + 1 : at;
        if (zero >= text.size() || text[zero] != '0') return at;
        at = zero + 1;
    }
}

ParsedInteger parse_integer(std::string_view raw, int base) {
    std::string text = ascii_digits(strip(raw));
    bool negative = false;
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
        negative = text[0] == '-';
        text.erase(0, 1);
    }
    const int prefix = prefix_base(text);
    if (base == 0) {
        base = prefix == 0 ? 10 : prefix;
        const bool leading_zero = prefix == 0 && text.size() > 1 && text[0] == '0';
        if (leading_zero && text.find_first_not_of("0_") != std::string::npos) return {};
    }
    if (prefix == base && prefix != 0) {
        text.erase(0, 2);
        if (!text.empty() && text[0] == '_') text.erase(0, 1);
    }
    if (!drop_underscores(text, base) || text.empty()) return {};
    if (!std::all_of(text.begin(), text.end(), [base](char c) { return is_digit_of(c, base); })) return {};
    if (negative) text.insert(0, 1, '-');
    ParsedInteger result;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), result.value, base);
    result.status = status == std::errc() ? IntegerStatus::Ok : IntegerStatus::TooLarge;
    return result;
}

double parse_plain_float(std::string_view text) {
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc::result_out_of_range) return value;
    // Which side: the power of ten of the first digit that is not zero.
    const std::size_t e = text.find_first_of("eE");
    std::string_view mantissa = text.substr(0, e);
    std::int64_t exponent = 0;
    if (e != std::string_view::npos) {
        std::string_view digits = text.substr(e + 1);
        if (digits.starts_with('+')) digits.remove_prefix(1);
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
        if (parsed.ec == std::errc::result_out_of_range) {
            return digits.starts_with('-') ? 0.0 : std::numeric_limits<double>::infinity();
        }
    }
    const std::size_t first = mantissa.find_first_not_of("0.");
    const std::size_t dot = std::min(mantissa.find('.'), mantissa.size());
    const auto place = static_cast<std::int64_t>(dot) - static_cast<std::int64_t>(first);
    return exponent + place > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

bool parse_float(std::string_view raw, double& value) {
    std::string text = ascii_digits(strip(raw));
    bool negative = false;
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
        negative = text[0] == '-';
        text.erase(0, 1);
    }
    std::string small = text;
    for (char& c : small) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (small == "inf" || small == "infinity") {
        value = std::numeric_limits<double>::infinity();
    } else if (small == "nan") {
        value = std::numeric_limits<double>::quiet_NaN();
    } else {
        if (!drop_underscores(text, 10)) return false;
        // digits [. digits] [e[+-]digits], with a digit on at least one side of the dot.
        std::size_t at = 0;
        const auto digits = [&] {
            const std::size_t begin = at;
            while (at < text.size() && is_digit_of(text[at], 10)) ++at;
            return at - begin;
        };
        std::size_t count = digits();
        if (at < text.size() && text[at] == '.') {
            ++at;
            count += digits();
        }
        if (count == 0) return false;
        if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
            ++at;
            if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
            if (digits() == 0) return false;
        }
        if (at != text.size()) return false;
        value = parse_plain_float(text);
    }
    if (negative) value = -value;
    return true;
}

namespace {

// Reads count hexadecimal digits at position; false where they are not there.
bool read_hex(std::string_view raw, std::size_t& at, int count, char32_t& c) {
    c = 0;
    for (int i = 0; i < count; ++i, ++at) {
        if (at >= raw.size() || !is_digit_of(raw[at], 16)) return false;
        const char digit = raw[at];
        c = c * 16 + static_cast<char32_t>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return true;
}

// Python turns other characters behind a backslash into an escape of their own, and that into text.
void append_as_escape(std::string& out, char32_t c) {
    const int width = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
    out += c < 0x100 ? "x" : c < 0x10000 ? "u" : "U";
    for (int i = width - 1; i >= 0; --i) {
        out.push_back("0123456789abcdef"[(c >> (4U * static_cast<unsigned>(i))) & 0xFU]);
    }
}

}  // namespace

std::string unescape(std::string_view raw, std::string& problem) {
    std::string out;
    out.reserve(raw.size());
    for (std::size_t at = 0; at < raw.size();) {
        if (raw[at] != '\\') {
            out.push_back(raw[at++]);
            continue;
        }
        ++at;
        if (at >= raw.size()) {
            problem = "a string ends in a backslash";
            break;
        }
        const char escape = raw[at++];
        char32_t c = 0;
        bool ok = true;
        switch (escape) {
            case '\n': break;
            case '\\':
            case '\'':
            case '"': out.push_back(escape); break;
            case 'a': out.push_back('\a'); break;
            case 'b': out.push_back('\b'); break;
            case 'f': out.push_back('\f'); break;
            case 'n': out.push_back('\n'); break;
            case 'r': out.push_back('\r'); break;
            case 't': out.push_back('\t'); break;
            case 'v': out.push_back('\v'); break;
            case 'x': ok = read_hex(raw, at, 2, c); break;
            case 'u': ok = read_hex(raw, at, 4, c); break;
            case 'U': ok = read_hex(raw, at, 8, c); break;
            case 'N': {
                const std::size_t close = raw.find('}', at);
                ok = at < raw.size() && raw[at] == '{' && close != std::string_view::npos && close - at < 128;
                if (!ok) break;
                const std::string name(raw.substr(at + 1, close - at - 1));
                UErrorCode status = U_ZERO_ERROR;
                c = static_cast<char32_t>(u_charFromName(U_EXTENDED_CHAR_NAME, name.c_str(), &status));
                ok = U_SUCCESS(status);
                at = close + 1;
                break;
            }
            default:
                if (escape >= '0' && escape <= '7') {
                    c = static_cast<char32_t>(escape - '0');
                    for (int i = 0; i < 2 && at < raw.size() && raw[at] >= '0' && raw[at] <= '7'; ++i, ++at) {
                        c = c * 8 + static_cast<char32_t>(raw[at] - '0');
                    }
                    append_utf8(out, c);
                    break;
                }
                out.push_back('\\');
                if (static_cast<unsigned char>(escape) < 0x80) {
                    out.push_back(escape);
                } else {
                    --at;
                    append_as_escape(out, next_code_point(raw, at));
                }
        }
        if (!ok || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
            problem = std::string("a string has a broken \\") + escape + " escape";
            break;
        }
        if (escape == 'x' || escape == 'u' || escape == 'U' || escape == 'N') append_utf8(out, c);
    }
    return out;
}

}  // namespace vitrine::jinja
