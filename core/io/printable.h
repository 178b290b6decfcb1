// Bytes from a file, made safe to show: in a terminal, a log or a label that knows no markup.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Valid UTF-8 passes, except what moves a cursor or turns the direction of text: control characters become
// \n, \r, \t or \x1B, bidirectional controls, line separators, invisible marks and tags become \u{202E};
// a backslash is doubled. Each maximal invalid sequence becomes U+FFFD. Where more than max_bytes of input
// are given, the rest is cut at a character and an ellipsis with the number of hidden bytes is appended.
std::string printable(std::string_view bytes,
                      std::size_t max_bytes = std::numeric_limits<std::size_t>::max());

// As above between quotation marks, at most 80 bytes: names of keys and tensors inside messages.
std::string in_quotes(std::string_view bytes);

// Such names one after the other: at most eight, then how many more.
std::string list_names(const std::vector<std::string>& names);

// A path for people.
std::string display_path(const std::filesystem::path& path);

// One code point at the start of bytes: its length, and whether it is valid UTF-8 (else the length is that
// of the maximal invalid prefix, at least 1). bytes must not be empty.
struct Utf8Step {
    std::size_t length = 1;
    bool valid = false;
    char32_t code = 0;
};
Utf8Step utf8_step(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

}  // namespace vitrine
