#include "core/io/printable.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace vitrine {

namespace {

// Characters that a terminal or a text layout acts on instead of showing them.
bool is_unsafe(char32_t c) {
    if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return true;        // C0, DEL, C1
    if (c == 0x061C || c == 0x200E || c == 0x200F) return true;  // direction marks
    if (c >= 0x2028 && c <= 0x202E) return true;                 // line and paragraph separators, embeddings
    if (c >= 0x2066 && c <= 0x206F) return true;                 // isolates, deprecated format controls
    if (c == 0x200B || c == 0x2060 || c == 0xFEFF) return true;  // invisible without a use in a single line
    if (c >= 0xFFF9 && c <= 0xFFFB) return true;                 // interlinear annotation
    return c >= 0xE0000 && c <= 0xE007F;                         // tags
}

std::string hexadecimal(char32_t value) {
    std::array<char, 16> buffer{};
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<std::uint32_t>(value), 16);
    std::string digits(buffer.data(), end.ptr);
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
    return digits;
}

void append_escaped(std::string& out, char32_t c) {
    switch (c) {
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        default: break;
    }
    const std::string digits = hexadecimal(c);
    if (c < 0x80) {
        out += digits.size() < 2 ? "\\x0" : "\\x";
        out += digits;
    } else {
        out += "\\u{" + digits + "}";
    }
}

}  // namespace

Utf8Step utf8_step(std::string_view bytes) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned lead = at(0);
    if (lead < 0x80) return {1, true, lead};

    // Table 3-7 of the Unicode standard: the second byte has a narrower range after E0, ED, F0 and F4.
    std::size_t length = 0;
    unsigned low = 0x80;
    unsigned high = 0xBF;
    char32_t code = 0;
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
        code = lead & 0x1FU;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        code = lead & 0x0FU;
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        code = lead & 0x07U;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
    } else {
        return {1, false, 0};
    }
    for (std::size_t i = 1; i < length; ++i) {
        if (i >= bytes.size() || at(i) < low || at(i) > high) return {i, false, 0};
        code = (code << 6U) | (at(i) & 0x3FU);
        low = 0x80;
        high = 0xBF;
    }
    return {length, true, code};
}

bool is_valid_utf8(std::string_view bytes) {
    while (!bytes.empty()) {
        const Utf8Step step = utf8_step(bytes);
        if (!step.valid) return false;
        bytes.remove_prefix(step.length);
    }
    return true;
}

std::string printable(std::string_view bytes, std::size_t max_bytes) {
    std::string out;
    std::size_t used = 0;
    while (used < bytes.size()) {
        const Utf8Step step = utf8_step(bytes.substr(used, 4));
        if (used + step.length > max_bytes) {
            out += "… (" + std::to_string(bytes.size() - used) + " more bytes)";
            return out;
        }
        if (!step.valid) {
            out += "\xEF\xBF\xBD";
        } else if (step.code == '\\') {
            out += "\\\\";
        } else if (is_unsafe(step.code)) {
            append_escaped(out, step.code);
        } else {
            out.append(bytes, used, step.length);
        }
        used += step.length;
    }
    return out;
}

std::string in_quotes(std::string_view bytes) { return "'" + printable(bytes, 80) + "'"; }

std::string display_path(const std::filesystem::path& path) { return printable(path.native()); }

std::string list_names(const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
        text += (i > 0 ? ", " : "") + in_quotes(names[i]);
    if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
    return text;
}

}  // namespace vitrine
