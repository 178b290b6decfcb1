#include "core/text/template/search.h"

#include <cstring>

namespace vitrine::jinja {

std::size_t find_text(std::string_view text, std::string_view wanted, std::size_t from) {
    if (from > text.size()) return std::string_view::npos;
    if (wanted.empty()) return from;
    // The C library's is linear (two-way search, Crochemore and Perrin 1991); that of std::string is not.
    const void* found = ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
    if (found == nullptr) return std::string_view::npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t find_last_text(std::string_view text, std::string_view wanted) {
    if (wanted.size() <= 1) return text.rfind(wanted);
    const std::size_t found = find_text(reversed_bytes(text), reversed_bytes(wanted));
    return found == std::string_view::npos ? found : text.size() - found - wanted.size();
}

std::string reversed_bytes(std::string_view text) { return {text.rbegin(), text.rend()}; }

}  // namespace vitrine::jinja
