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

// How a token that is searched for in the text, before anything else happens to it, is found ("added_tokens"
// of a tokenizer.json). Without an entry: everywhere, in the text as it came, its neighbours untouched.
struct AddedToken {
    TokenId id;
    bool normalized = false;   // searched for in the normalized text
    bool single_word = false;  // only where no letter or digit stands beside it
    bool lstrip = false;       // white space in front of it goes
    bool rstrip = false;       // white space behind it goes
};

// One step of a tokenizer.json's normalizer: it changes a stretch of text as a whole.
struct NormalizerStep {
    enum class Kind : std::uint8_t {
        Nfc,
        Nfd,
        Nfkc,
        Nfkd,
        Lowercase,
        Prepend,         // `with` in front of a stretch that is not empty
        Replace,         // every `what`, read as text
        ReplacePattern,  // every match of the regular expression `what`; `with` is text
        StripLeft,       // white space at the begin
        StripRight,      // white space at the end
    };
    Kind kind = Kind::Nfc;
    std::string what;
    std::string with;
};

// One step of a tokenizer.json's pre-tokenizer: it cuts what the step before left into pieces.
struct SplitStep {
    enum class Kind : std::uint8_t {
        Pattern,    // at matches of a regular expression, as the library Oniguruma reads it
        Text,       // at occurrences of a text
        Metaspace,  // spaces become `pattern`, one is put in front as `prefix` says; cut before each where
                    // `cut`
    };
    // What becomes of a match.
    enum class Keep : std::uint8_t { Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous };
    // Where Metaspace puts a space that is not there already: nowhere, at the begin of the whole text, at the
    // begin of each stretch between added tokens.
    enum class Prefix : std::uint8_t { Never, First, Always };

    Kind kind = Kind::Pattern;
    std::string pattern;
    Keep keep = Keep::Isolated;
    bool invert = false;  // what lies between the matches is the match
    Prefix prefix = Prefix::Never;
    bool cut = true;
};

// What a tokenizer.json says about text beyond its tokens and merges.
struct PipelineRules {
    std::vector<NormalizerStep> normalizer;
    std::vector<SplitStep> splits;
    bool byte_level = true;          // tokens and merges are in GPT-2's byte alphabet; else in characters
    bool prefix_space = false;       // a stretch that does not begin with a space gets one (byte level)
    bool byte_fallback = false;      // a character that is no token becomes tokens like <0x0A>
    bool fuse_unknown = false;       // a run of unknown characters is one unknown token
    bool ignore_merges = false;      // a piece that is a token becomes it, whatever the merges say
    std::string space_symbol;        // in tokens, for a space (decoder); empty: none
    bool drops_first_space = false;  // the decoder takes one space off the begin of the text
};

// A merge by ids: left and right become whole.
struct MergeIds {
    std::int32_t left = -1;
    std::int32_t right = -1;
    std::int32_t whole = -1;
};

struct VocabularyData {
    // "gpt2": byte-level BPE; "llama": SentencePiece BPE; "t5": SentencePiece Unigram; "bpe": BPE of
    // characters (a tokenizer.json with byte_fallback, always with `rules`).
    std::string model;
    std::optional<std::string> pre;   // pre-tokenizer name; none: absent in the file
    std::vector<std::string> tokens;  // texts by id, as stored (byte-level BPE: in the GPT-2 byte alphabet)
    std::vector<TokenType> types;     // same length as tokens, or empty: all normal
    std::vector<float> scores;        // same length, or empty
    std::vector<std::string> merges;  // "left right", by rank (GGUF)
    std::vector<MergeIds> merge_ids;  // by rank (tokenizer.json); in place of `merges`
    std::vector<AddedToken> added;    // tokens with conditions, ascending ids
    std::optional<PipelineRules> rules;                   // of a tokenizer.json; then `pre` does not count
    std::optional<TokenId> bos, eos, eot, eom, unk, pad;  // validated: inside the vocabulary
    std::vector<TokenId> extra_eog;  // further end-of-generation ids (generation_config.json)
    // add_space_prefix: SentencePiece puts a space in front of each stretch of text (absent: it does).
    std::optional<bool> add_bos, add_eos, add_space_prefix;
    // SentencePiece's normalizer: runs of spaces become one and those at the ends go (absent: no); the space
    // that is added stands behind the text instead of in front (absent: no); the compiled rules that replace
    // characters, a blob that only core/text reads (empty: none).
    std::optional<bool> remove_extra_whitespaces, space_as_suffix;
    std::string precompiled_charsmap;
    std::vector<std::string> warnings;  // what was odd but usable, one sentence each
};

}  // namespace vitrine
