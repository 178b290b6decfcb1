// A vocabulary as the message that the sentencepiece library loads: sentencepiece_model.proto of that
// project, put together by hand, since its package brings no header for it.
//
// Piece i is token i of the vocabulary. What text must never become (control tokens above all) gets a
// spelling that no text has: one that is no UTF-8. Behind the vocabulary's own pieces stand some that the
// library insists on.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/io/vocabulary.h"

namespace vitrine {

// Longer ones stay out of the library: no text becomes one of them.
inline constexpr std::size_t kLongestPiece = 4096;

struct SentencePieceOptions {
    bool unigram = false;
    // The library normalizes (spaces, charsmap) instead of being handed text with U+2581 for spaces.
    bool normalizes = false;
    bool knows_symbols = false;  // it finds user-defined tokens itself
};

struct SentencePieceProto {
    std::string bytes;
    std::array<std::int32_t, 256> byte_pieces{};  // what the library spells a byte with
    std::array<TokenId, 256> byte_ids{};          // the vocabulary's token for it; invalid: it has none
    bool swaps_zero = false;  // U+0000 and U+10FFFF have changed places, in pieces and so in text
};

// `data` is checked by Tokenizer::make() and has scores. Numbers that are none count as the lowest.
SentencePieceProto make_sentencepiece_proto(const VocabularyData& data, const SentencePieceOptions& options);

// "<0x0A>" -> 10; -1: no such spelling.
std::int32_t byte_of_piece(std::string_view stored);

// A token as it is written in the message: U+2581 for spaces.
std::string escaped_piece(std::string_view stored);

}  // namespace vitrine
