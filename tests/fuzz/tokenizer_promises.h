// What every tokenizer keeps, whatever vocabulary it was made of.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/text/token_stream.h"
#include "core/text/tokenizer.h"
#include "core/text/utf8_stream.h"

namespace vitrine::fuzz {

inline void promise(bool kept) {
    if (!kept) __builtin_trap();
}

// Ids are inside the vocabulary, decoded text is UTF-8, and streaming gives the same text.
inline void check_round_trip(const Tokenizer& tokenizer, std::string_view text) {
    for (const bool special : {false, true}) {
        const auto ids = tokenizer.encode(text, special, special);
        promise(std::all_of(ids.begin(), ids.end(), [&](TokenId id) { return tokenizer.valid(id); }));
        const std::string decoded = tokenizer.decode(ids);
        promise(to_valid_utf8(decoded) == decoded);
        TokenStream stream(tokenizer);
        std::string joined;
        for (const TokenId id : ids) joined += stream.push(id);
        promise(joined + stream.flush() == decoded);
    }
}

}  // namespace vitrine::fuzz
