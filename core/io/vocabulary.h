// A vocabulary as a model file describes it: plain data, before any tokenizer is made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"

namespace vitrine {

// Token types of the GGUF specification.
enum class TokenType : std::uint8_t {
    Undefined = 0,
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6
};

struct VocabularyData {
    std::string model;                // "gpt2": byte-level BPE; "llama": SentencePiece
    std::optional<std::string> pre;   // pre-tokenizer name; none: absent in the file
    std::vector<std::string> tokens;  // texts by id, as stored (byte-level BPE: in the GPT-2 byte alphabet)
    std::vector<TokenType> types;     // same length as tokens, or empty: all normal
    std::vector<float> scores;        // same length, or empty
    std::vector<std::string> merges;  // "left right", by rank
    std::optional<TokenId> bos, eos, eot, eom, unk, pad;  // validated: inside the vocabulary
    std::vector<TokenId> extra_eog;  // further end-of-generation ids (generation_config.json)
    std::optional<bool> add_bos, add_eos, add_space_prefix;
    std::vector<std::string> warnings;  // what was odd but usable, one sentence each
};

}  // namespace vitrine
