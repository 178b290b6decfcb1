// The byte alphabet of GPT-2 (Radford et al. 2019): each of the 256 bytes stands for one visible character,
// so that vocabularies and merges can be written as text. Visible Latin-1 bytes stand for themselves, the
// other 68 for U+0100 onwards in ascending order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vitrine {

// The character that stands for a byte.
char32_t character_of_byte(std::uint8_t byte);
// The byte that a character stands for; none for a character outside the alphabet.
std::optional<std::uint8_t> byte_of_character(char32_t character);
// The bytes that a text in the alphabet stands for; none where it holds anything else.
std::optional<std::string> bytes_of_alphabet(std::string_view text);

}  // namespace vitrine
