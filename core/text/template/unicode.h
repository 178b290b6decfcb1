// What Python's str knows about characters, over UTF-8. Invalid UTF-8 reads as U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/template/text.h"

namespace vitrine::jinja {

// The code point at position, which moves behind it. position must be inside the text.
char32_t next_code_point(std::string_view text, std::size_t& position);
// Start of the code point that ends at position (> 0).
std::size_t previous_position(std::string_view text, std::size_t position);
std::size_t count_code_points(std::string_view text);
// Byte position of a code point index; text.size() where the index is at or beyond the end.
std::size_t byte_position(std::string_view text, std::size_t index);
bool is_valid_utf8(std::string_view text, std::size_t& bad_position);

bool is_space(char32_t c);     // str.isspace and \s
bool is_line_end(char32_t c);  // where str.splitlines cuts
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_alnum(char32_t c);
bool is_printable(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);
int decimal_value(char32_t c);  // -1 where it is not a decimal digit

// Case mapping by full mappings without a locale; every output character keeps the origin of its source.
enum class Case { Upper, Lower, Title, Capitalize, Swap, Fold };
Text map_case(const Text& text, Case mode);
std::string lower(std::string_view text);

}  // namespace vitrine::jinja
