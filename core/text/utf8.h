// One step of a UTF-8 reader, for every place that must tell whole, broken and unfinished characters apart.
//
// Unicode 15, table 3-7 (well-formed byte sequences): overlong forms, encoded surrogates (ED A0..BF) and
// leads above F4 are broken at their first byte that cannot go on. A broken unit is the maximal subpart of
// section 3.9: the longest prefix of a well-formed sequence, at least one byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine {

enum class Utf8Kind : std::uint8_t {
    Whole,       // one character
    Broken,      // certain to be invalid
    Unfinished,  // the text ends inside what may still become a character
};

struct Utf8Unit {
    Utf8Kind kind = Utf8Kind::Broken;
    std::uint8_t size = 1;   // bytes, 1 to 4
    char32_t character = 0;  // where whole
};

// The unit at `position`, which must lie inside the text.
inline Utf8Unit next_utf8(std::string_view text, std::size_t position) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(position);
    if (lead < 0x80) return {Utf8Kind::Whole, 1, lead};
    if (lead < 0xC2 || lead > 0xF4) return {Utf8Kind::Broken, 1, 0};
    const std::uint8_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    // Only the second byte has a range of its own.
    std::uint8_t low = 0x80;
    std::uint8_t high = 0xBF;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    char32_t character = lead & (0x7FU >> size);
    for (std::uint8_t i = 1; i < size; ++i) {
        if (position + i == text.size()) return {Utf8Kind::Unfinished, i, 0};
        const std::uint8_t next = byte(position + i);
        if (next < low || next > high) return {Utf8Kind::Broken, i, 0};
        character = (character << 6U) | (next & 0x3FU);
        low = 0x80;
        high = 0xBF;
    }
    return {Utf8Kind::Whole, size, character};
}

// Appends a character (a Unicode scalar value) in UTF-8.
inline void append_utf8(std::string& text, char32_t character) {
    const auto put = [&](char32_t value) { text.push_back(static_cast<char>(value)); };
    if (character < 0x80) {
        put(character);
    } else if (character < 0x800) {
        put(0xC0U | (character >> 6U));
        put(0x80U | (character & 0x3FU));
    } else if (character < 0x10000) {
        put(0xE0U | (character >> 12U));
        put(0x80U | ((character >> 6U) & 0x3FU));
        put(0x80U | (character & 0x3FU));
    } else {
        put(0xF0U | (character >> 18U));
        put(0x80U | ((character >> 12U) & 0x3FU));
        put(0x80U | ((character >> 6U) & 0x3FU));
        put(0x80U | (character & 0x3FU));
    }
}

}  // namespace vitrine
