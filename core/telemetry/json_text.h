// Just enough JSON to write records with: objects of numbers and plain texts, locale-free.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine {

// Adds "key":value members to an object in `out`, which begin() opens and end() closes.
class JsonMembers {
  public:
    explicit JsonMembers(std::string& out) : out_(out) { out_ += '{'; }
    void end() { out_ += '}'; }

    template <std::integral T>
    JsonMembers& add(std::string_view key, T value) {
        name(key);
        char text[24];
        out_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
        return *this;
    }
    // The shortest text that reads back as the same number; null where it is none.
    JsonMembers& add(std::string_view key, double value) {
        name(key);
        if (!std::isfinite(value)) {
            out_ += "null";
            return *this;
        }
        char text[32];
        out_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
        return *this;
    }
    JsonMembers& add(std::string_view key, float value) {
        name(key);
        char text[32];
        if (std::isfinite(value))
            out_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
        else
            out_ += "null";
        return *this;
    }
    // With three decimals: nanoseconds of a number of microseconds.
    JsonMembers& add_microseconds(std::string_view key, double value) {
        name(key);
        char text[64];
        out_.append(text, std::to_chars(text, text + sizeof text, std::isfinite(value) ? value : 0.0,
                                        std::chars_format::fixed, 3)
                              .ptr);
        return *this;
    }
    JsonMembers& add(std::string_view key, std::string_view text) {
        name(key);
        quoted(text);
        return *this;
    }
    JsonMembers& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
    JsonMembers object(std::string_view key) {
        name(key);
        return JsonMembers(out_);
    }

  private:
    void name(std::string_view key) {
        if (out_.back() != '{') out_ += ',';
        quoted(key);
        out_ += ':';
    }
    // Control characters become '?', and so does every byte beyond ASCII in a text that is not UTF-8.
    void quoted(std::string_view text) {
        const bool utf8 = is_utf8(text);
        out_ += '"';
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\')
                (out_ += '\\') += c;
            else
                out_ += byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !utf8) ? '?' : c;
        }
        out_ += '"';
    }
    // Strict: no overlong forms, no surrogates, nothing beyond U+10FFFF.
    static bool is_utf8(std::string_view text) {
        for (std::size_t i = 0; i < text.size();) {
            const auto at = [&](std::size_t k) -> std::uint32_t {
                return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U;
            };
            const std::uint32_t lead = at(0);
            const std::size_t more = lead < 0x80 ? 0 : lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
            if (lead >= 0x80 && (lead < 0xC2 || lead > 0xF4)) return false;
            for (std::size_t k = 1; k <= more; ++k)
                if ((at(k) & 0xC0U) != 0x80) return false;
            if ((lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) > 0x9F) ||
                (lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) > 0x8F))
                return false;
            i += more + 1;
        }
        return true;
    }
    std::string& out_;
};

}  // namespace vitrine
