// Searching in texts in linear time, whatever the texts: templates come from files of strangers, and the time
// limit of a template is looked at between operations, not inside them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vitrine::jinja {

// The first place at or behind `from`, npos where there is none. An empty text is found at `from`.
std::size_t find_text(std::string_view text, std::string_view wanted, std::size_t from = 0);

// The last place.
std::size_t find_last_text(std::string_view text, std::string_view wanted);

// The bytes in reverse order: what is first in it was last.
std::string reversed_bytes(std::string_view text);

}  // namespace vitrine::jinja
