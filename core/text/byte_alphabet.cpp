#include "core/text/byte_alphabet.h"

#include <array>

#include "core/text/utf8.h"

namespace vitrine {

namespace {

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
    std::array<char32_t, 256> characters{};
    std::array<std::int16_t, 0x144> bytes{};  // by character, -1: none

    constexpr Alphabet() {
        for (auto& byte : bytes) byte = -1;
        char32_t next = 0x100;
        for (unsigned byte = 0; byte < 256; ++byte) {
            characters[byte] = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
            bytes[characters[byte]] = static_cast<std::int16_t>(byte);
        }
    }
};

constexpr Alphabet kAlphabet;

}  // namespace

char32_t character_of_byte(std::uint8_t byte) { return kAlphabet.characters[byte]; }

std::optional<std::uint8_t> byte_of_character(char32_t character) {
    if (character >= kAlphabet.bytes.size() || kAlphabet.bytes[character] < 0) return std::nullopt;
    return static_cast<std::uint8_t>(kAlphabet.bytes[character]);
}

std::optional<std::string> bytes_of_alphabet(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t position = 0; position < text.size();) {
        const Utf8Unit unit = next_utf8(text, position);
        if (unit.kind != Utf8Kind::Whole) return std::nullopt;
        const auto byte = byte_of_character(unit.character);
        if (!byte) return std::nullopt;
        bytes.push_back(static_cast<char>(*byte));
        position += unit.size;
    }
    return bytes;
}

}  // namespace vitrine
