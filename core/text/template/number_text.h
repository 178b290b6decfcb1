// What the two kinds of formatting share: digits with a sign, a prefix, grouping and padding.
#pragma once

#include <cstdint>
#include <string>

namespace vitrine::jinja {

// Digits of the absolute value in base 2, 8, 10 or 16.
std::string digits_of(std::int64_t value, int base, bool capitals);
// Separators between groups of digits of the whole part.
std::string group_digits(const std::string& number, char separator, std::size_t group);

}  // namespace vitrine::jinja
