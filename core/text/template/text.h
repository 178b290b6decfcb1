// A string that knows which of its bytes came from the conversation.
//
// bytes is UTF-8. untrusted lists the byte ranges that derive from messages, tools or other input; it
// ascends and neighbours never touch. Everything else is template source or a constant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/tokenizer.h"

namespace vitrine::jinja {

struct Text {
    std::string bytes;
    std::vector<ByteRange> untrusted;

    Text() = default;
    explicit Text(std::string_view trusted) : bytes(trusted) {}
    static Text make(std::string bytes, bool untrusted);

    bool any_untrusted() const { return !untrusted.empty(); }
    std::size_t size() const { return bytes.size(); }
    std::string_view view() const { return bytes; }

    void append(std::string_view piece, bool is_untrusted);
    void append(const Text& other) { append(other, 0, other.bytes.size()); }
    // Bytes [begin, end) of other, with their origin.
    void append(const Text& other, std::size_t begin, std::size_t end);
    Text slice(std::size_t begin, std::size_t end) const;
    bool untrusted_at(std::size_t position) const;
    // Marks the whole text where any part is untrusted: for results whose bytes cannot be traced one by one.
    void spread();

  private:
    void mark(std::size_t begin, std::size_t end);
};

// The complement, as the tokenizer wants it.
TrustedText to_trusted(Text text);

}  // namespace vitrine::jinja
