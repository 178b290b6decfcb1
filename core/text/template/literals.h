// Numbers and strings as Python spells them: in template source, and in the int and float filters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine::jinja {

// Length of a number literal at the start of text, 0 where there is none.
std::size_t scan_float(std::string_view text);
std::size_t scan_integer(std::string_view text);

enum class IntegerStatus : std::uint8_t { Ok, Invalid, TooLarge };
struct ParsedInteger {
    IntegerStatus status = IntegerStatus::Invalid;
    std::int64_t value = 0;
};
// int(text, base): surrounding white space, a sign, single underscores, 0x, 0o, 0b; base 0 or 2 to 36.
ParsedInteger parse_integer(std::string_view text, int base);

// Digits, dot and exponent only. Too large gives infinity, too small zero.
double parse_plain_float(std::string_view text);
// float(text): surrounding white space, a sign, underscores, inf, infinity, nan.
bool parse_float(std::string_view text, double& value);

// The inside of a string literal with its escapes resolved. problem is left empty where all is well.
std::string unescape(std::string_view raw, std::string& problem);

}  // namespace vitrine::jinja
