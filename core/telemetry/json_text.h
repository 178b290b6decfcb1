// Just enough JSON to write records with: objects of numbers and plain texts, locale-free.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
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
    // Bytes beyond ASCII and control characters become '?': file names and models' names are all that comes.
    void quoted(std::string_view text) {
        out_ += '"';
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\')
                (out_ += '\\') += c;
            else
                out_ += byte < 0x20 || byte > 0x7E ? '?' : c;
        }
        out_ += '"';
    }
    std::string& out_;
};

}  // namespace vitrine
