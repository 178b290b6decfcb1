#include "core/text/template/text.h"

#include <algorithm>

namespace vitrine::jinja {

Text Text::make(std::string bytes, bool untrusted) {
    Text text;
    text.bytes = std::move(bytes);
    if (untrusted) text.mark(0, text.bytes.size());
    return text;
}

// Only ever called with begin at or behind the last mark.
void Text::mark(std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    if (!untrusted.empty() && untrusted.back().end == begin) {
        untrusted.back().end = end;
    } else {
        untrusted.push_back({begin, end});
    }
}

void Text::append(std::string_view piece, bool is_untrusted) {
    const std::size_t begin = bytes.size();
    bytes.append(piece);
    if (is_untrusted) mark(begin, bytes.size());
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
    const std::size_t shift = bytes.size();
    bytes.append(other.bytes, begin, end - begin);
    if (other.untrusted.empty()) return;
    auto range = std::partition_point(other.untrusted.begin(), other.untrusted.end(),
                                      [begin](const ByteRange& r) { return r.end <= begin; });
    for (; range != other.untrusted.end() && range->begin < end; ++range) {
        mark(std::max(range->begin, begin) - begin + shift, std::min(range->end, end) - begin + shift);
    }
}

Text Text::slice(std::size_t begin, std::size_t end) const {
    Text result;
    if (begin < end) result.append(*this, begin, end);
    return result;
}

bool Text::untrusted_at(std::size_t position) const {
    auto range = std::partition_point(untrusted.begin(), untrusted.end(),
                                      [position](const ByteRange& r) { return r.end <= position; });
    return range != untrusted.end() && range->begin <= position;
}

void Text::spread() {
    if (untrusted.empty()) return;
    untrusted.assign(1, ByteRange{0, bytes.size()});
}

TrustedText to_trusted(Text text) {
    TrustedText result;
    std::size_t at = 0;
    for (const ByteRange& range : text.untrusted) {
        if (at < range.begin) result.trusted.push_back({at, range.begin});
        at = range.end;
    }
    if (at < text.bytes.size()) result.trusted.push_back({at, text.bytes.size()});
    result.text = std::move(text.bytes);
    return result;
}

}  // namespace vitrine::jinja
