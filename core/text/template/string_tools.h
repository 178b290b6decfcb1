// String operations that filters and methods share, each byte keeping its origin.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/text/template/value.h"

namespace vitrine::jinja {

enum class Side : std::uint8_t { Left, Right, Both };
// Without the characters of the set at the ends; white space where there is no set.
Text strip(const Text& text, Side side, const std::string* characters = nullptr);
// Python's str.replace: at most count times, all where it is negative. An empty old text is everywhere.
Text replace(Machine& machine, const Text& text, const Text& old, const Text& fresh, std::int64_t count);
// A run of one character.
Text repeated(std::string_view character, std::uint64_t count, bool untrusted);
// Filled up to a width in code points.
Text pad(Machine& machine, const StringObject& text, std::int64_t width, Side text_at, const Text& fill);
std::vector<Text> split_lines(const Text& text, bool keep_ends);
std::vector<Text> split_space(const Text& text, std::int64_t most, bool from_right);
std::vector<Text> split_at(const Text& text, std::string_view separator, std::int64_t most, bool from_right);
Value join(Machine& machine, const Text& separator, const Values& items, bool convert);

}  // namespace vitrine::jinja
