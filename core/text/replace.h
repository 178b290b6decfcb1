// Replacing one text by another inside a third: shared by the tokenizers.
#pragma once

#include <string>
#include <string_view>

namespace vitrine {

// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

// Every `from` (not empty), from the left, becomes `to`.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t found = 0; (found = text.find(from)) != std::string_view::npos;) {
        result += text.substr(0, found);
        result += to;
        text.remove_prefix(found + from.size());
    }
    result += text;
    return result;
}

// Every `a` becomes `b` and the other way round. Both are whole characters.
inline std::string swapped(std::string_view text, std::string_view a, std::string_view b) {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        if (text.starts_with(a)) {
            result += b;
            text.remove_prefix(a.size());
        } else if (text.starts_with(b)) {
            result += a;
            text.remove_prefix(b.size());
        } else {
            result += text.front();
            text.remove_prefix(1);
        }
    }
    return result;
}

}  // namespace vitrine
