#include "core/text/template/unicode.h"

#include <algorithm>
#include <array>

#include <unicode/casemap.h>
#include <unicode/uchar.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "core/text/utf8.h"

namespace vitrine::jinja {
namespace {

constexpr char32_t replacement = 0xFFFD;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

UChar32 icu(char32_t c) { return static_cast<UChar32>(c); }

// One code point through an ICU string mapping, appended to out.
using Mapping = std::int32_t (*)(char16_t*, std::int32_t, const char16_t*, std::int32_t);

void append_mapped(std::string& out, char32_t c, Mapping mapping) {
    std::array<char16_t, 2> source{};
    std::int32_t length = 0;
    U16_APPEND_UNSAFE(source, length, c);
    std::array<char16_t, 16> target{};
    const std::int32_t made =
        mapping(target.data(), static_cast<std::int32_t>(target.size()), source.data(), length);
    if (made < 0) {
        append_utf8(out, c);
        return;
    }
    for (std::int32_t i = 0; i < made;) {
        UChar32 mapped = 0;
        U16_NEXT(target, i, made, mapped);
        append_utf8(out, static_cast<char32_t>(mapped));
    }
}

std::int32_t checked(std::int32_t length, UErrorCode status, std::int32_t capacity) {
    return U_FAILURE(status) || length > capacity ? -1 : length;
}

std::int32_t to_upper(char16_t* out, std::int32_t room, const char16_t* in, std::int32_t length) {
    UErrorCode status = U_ZERO_ERROR;
    return checked(u_strToUpper(out, room, in, length, "", &status), status, room);
}

std::int32_t to_lower(char16_t* out, std::int32_t room, const char16_t* in, std::int32_t length) {
    UErrorCode status = U_ZERO_ERROR;
    return checked(u_strToLower(out, room, in, length, "", &status), status, room);
}

std::int32_t to_title(char16_t* out, std::int32_t room, const char16_t* in, std::int32_t length) {
    UErrorCode status = U_ZERO_ERROR;
    const std::int32_t made =
        icu::CaseMap::toTitle("", U_TITLECASE_WHOLE_STRING | U_TITLECASE_NO_BREAK_ADJUSTMENT, nullptr, in,
                              length, out, room, nullptr, status);
    return checked(made, status, room);
}

std::int32_t to_folded(char16_t* out, std::int32_t room, const char16_t* in, std::int32_t length) {
    UErrorCode status = U_ZERO_ERROR;
    return checked(u_strFoldCase(out, room, in, length, U_FOLD_CASE_DEFAULT, &status), status, room);
}

bool is_cased(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_CASED) != 0; }
bool is_case_ignorable(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_CASE_IGNORABLE) != 0; }

// A sigma ends a word where a cased letter is before it and none behind, case-ignorable ones aside.
bool is_final_sigma(std::string_view text, std::size_t begin, std::size_t end) {
    std::size_t at = begin;
    bool before = false;
    while (at > 0) {
        at = previous_position(text, at);
        std::size_t position = at;
        const char32_t c = next_code_point(text, position);
        if (is_case_ignorable(c)) continue;
        before = is_cased(c);
        break;
    }
    if (!before) return false;
    while (end < text.size()) {
        const char32_t c = next_code_point(text, end);
        if (is_case_ignorable(c)) continue;
        return !is_cased(c);
    }
    return true;
}

void append_lower(std::string& out, std::string_view text, char32_t c, std::size_t begin, std::size_t end) {
    if (c < 0x80) {
        out.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
    } else if (c == 0x3A3) {
        append_utf8(out, is_final_sigma(text, begin, end) ? 0x3C2 : 0x3C3);
    } else {
        append_mapped(out, c, to_lower);
    }
}

void append_upper(std::string& out, char32_t c) {
    if (c < 0x80) {
        out.push_back(static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
    } else {
        append_mapped(out, c, to_upper);
    }
}

int numeric_type(char32_t c) { return u_getIntPropertyValue(icu(c), UCHAR_NUMERIC_TYPE); }

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& position) {
    const Utf8Unit unit = next_utf8(text, position);
    position += unit.size;
    return unit.kind == Utf8Kind::Whole ? unit.character : replacement;
}

std::size_t previous_position(std::string_view text, std::size_t position) {
    std::size_t at = position - 1;
    while (at > 0 && position - at < 4 && is_continuation(text[at])) --at;
    std::size_t end = at;
    next_code_point(text, end);
    return end == position ? at : position - 1;
}

std::size_t count_code_points(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++count) next_code_point(text, at);
    return count;
}

std::size_t byte_position(std::string_view text, std::size_t index) {
    std::size_t at = 0;
    for (; index > 0 && at < text.size(); --index) next_code_point(text, at);
    return at;
}

bool is_valid_utf8(std::string_view text, std::size_t& bad_position) {
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Unit unit = next_utf8(text, at);
        if (unit.kind != Utf8Kind::Whole) {
            bad_position = at;
            return false;
        }
        at += unit.size;
    }
    return true;
}

bool is_space(char32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
    return (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_alpha(char32_t c) { return u_isalpha(icu(c)) != 0; }
bool is_decimal(char32_t c) { return numeric_type(c) == U_NT_DECIMAL; }
bool is_digit(char32_t c) { return numeric_type(c) == U_NT_DECIMAL || numeric_type(c) == U_NT_DIGIT; }
bool is_numeric(char32_t c) { return numeric_type(c) != U_NT_NONE; }
bool is_alnum(char32_t c) {
    if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_alpha(c) || is_numeric(c);
}

bool is_printable(char32_t c) {
    if (c == ' ') return true;
    constexpr std::uint32_t hidden = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK |
                                     U_GC_CN_MASK | U_GC_ZL_MASK | U_GC_ZP_MASK | U_GC_ZS_MASK;
    return (U_GET_GC_MASK(icu(c)) & hidden) == 0;
}

bool is_upper(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_UPPERCASE) != 0; }
bool is_lower(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_LOWERCASE) != 0; }
bool is_title(char32_t c) { return u_charType(icu(c)) == U_TITLECASE_LETTER; }
bool is_identifier_start(char32_t c) {
    if (c < 0x80) return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return u_hasBinaryProperty(icu(c), UCHAR_XID_START) != 0;
}
bool is_identifier_part(char32_t c) {
    if (c < 0x80) return c == '_' || is_alnum(c);
    return u_hasBinaryProperty(icu(c), UCHAR_XID_CONTINUE) != 0;
}

int decimal_value(char32_t c) {
    if (c < 0x80) return c >= '0' && c <= '9' ? static_cast<int>(c - '0') : -1;
    return is_decimal(c) ? u_charDigitValue(icu(c)) : -1;
}

Text map_case(const Text& text, Case mode) {
    Text result;
    result.bytes.reserve(text.bytes.size());
    bool previous_cased = false;
    bool first = true;
    std::string mapped;
    for (std::size_t at = 0; at < text.bytes.size();) {
        const std::size_t begin = at;
        const char32_t c = next_code_point(text.bytes, at);
        mapped.clear();
        const auto make_lower = [&] { append_lower(mapped, text.bytes, c, begin, at); };
        switch (mode) {
            case Case::Upper: append_upper(mapped, c); break;
            case Case::Lower: make_lower(); break;
            case Case::Fold: append_mapped(mapped, c, to_folded); break;
            case Case::Capitalize:
                if (first) {
                    append_mapped(mapped, c, to_title);
                } else {
                    make_lower();
                }
                break;
            case Case::Title:
                if (previous_cased) {
                    make_lower();
                } else {
                    append_mapped(mapped, c, to_title);
                }
                previous_cased = is_cased(c);
                break;
            case Case::Swap:
                if (is_upper(c)) {
                    make_lower();
                } else if (is_lower(c)) {
                    append_upper(mapped, c);
                } else {
                    append_utf8(mapped, c);
                }
                break;
        }
        result.append(mapped, text.untrusted_at(begin));
        first = false;
    }
    return result;
}

std::string lower(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_code_point(text, at);
        append_lower(out, text, c, begin, at);
    }
    return out;
}

}  // namespace vitrine::jinja
