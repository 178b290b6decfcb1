#include "core/text/utf8_stream.h"

#include "core/text/utf8.h"

namespace vitrine {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Appends what is certain of `bytes` and returns how many bytes that took; the rest is an unfinished
// character.
std::size_t append_certain(std::string_view bytes, std::string& text) {
    text.reserve(text.size() + bytes.size());
    std::size_t position = 0;
    while (position < bytes.size()) {
        const Utf8Unit unit = next_utf8(bytes, position);
        if (unit.kind == Utf8Kind::Unfinished) break;
        text.append(unit.kind == Utf8Kind::Whole ? bytes.substr(position, unit.size) : kReplacement);
        position += unit.size;
    }
    return position;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
    std::string text;
    if (held_.empty()) {
        held_ = bytes.substr(append_certain(bytes, text));
    } else {
        held_.append(bytes);
        held_.erase(0, append_certain(held_, text));
    }
    return text;
}

std::string Utf8Stream::flush() {
    if (held_.empty()) return {};
    held_.clear();
    return std::string(kReplacement);
}

std::string to_valid_utf8(std::string_view bytes) {
    std::string text;
    if (append_certain(bytes, text) < bytes.size()) text.append(kReplacement);
    return text;
}

}  // namespace vitrine
