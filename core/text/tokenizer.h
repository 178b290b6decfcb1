// Text to token ids and back.
//
// Two kinds: SentencePiece (Kudo and Richardson 2018), and BPE by merges (Sennrich et al. 2016) of bytes
// (Radford et al. 2019, "Language models are unsupervised multitask learners") or of characters, behind a
// pre-tokenizer that the file names or, as a tokenizer.json, describes. Linear time and constant stack for
// any text, one-character-class megabytes included.
//
// Control tokens (types Control and Unknown) are found in a text only where the caller trusts it: text that
// a user typed never becomes one. User-defined tokens are found everywhere, as the reference libraries do.
// Matching is leftmost first, longest at a position; the text between matches is encoded piece by piece.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/io/vocabulary.h"

namespace vitrine {

// Half-open byte range of a text.
struct ByteRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

// A text of which only some parts may spell control tokens. Ranges ascend and do not touch each other.
struct TrustedText {
    std::string text;
    std::vector<ByteRange> trusted;
};

class Tokenizer {
  public:
    // Unsupported: a vocabulary kind or pre-tokenizer that is not known (never guessed; an absent
    // pre-tokenizer name falls back to "gpt2" with a warning). BadFile: no tokens, or types or scores that do
    // not fit them. What is odd but usable (merges that cannot be applied, ids outside the vocabulary, a BOS
    // that is asked for and not there, token texts that occur twice) becomes a warning.
    static Result<std::unique_ptr<Tokenizer>> make(VocabularyData data);
    virtual ~Tokenizer() = default;

    // Nothing is added that is not asked for. add_special: BOS in front and EOS behind where the vocabulary
    // asks for them (never a second BOS in front of one).
    std::vector<TokenId> encode(std::string_view text, bool parse_special, bool add_special) const;
    // Control tokens from trusted ranges alone (every byte of the spelling must be trusted); then BOS in
    // front where the vocabulary asks for one and the text did not bring it.
    std::vector<TokenId> encode_prompt(const TrustedText& text) const;

    // The bytes of one token: may be a part of a character. Control tokens give their spelling. A bad id
    // gives an empty string. Lives as long as the tokenizer.
    std::string_view bytes(TokenId id) const;
    // All bytes together as UTF-8, invalid sequences as U+FFFD (one per maximal subpart), the first space
    // dropped where the vocabulary's dummy prefix put it.
    std::string decode(std::span<const TokenId> ids) const;
    // True where the first piece of a text carries a space that the text did not have (SentencePiece).
    bool has_space_prefix() const { return drops_space_; }

    std::int32_t size() const;  // ids are [0, size)
    bool valid(TokenId id) const { return id.value >= 0 && id.value < size(); }
    TokenType type(TokenId id) const;
    bool is_control(TokenId id) const {
        return type(id) == TokenType::Control || type(id) == TokenType::Unknown;
    }
    // End-of-generation ids, ascending: eos, eot, eom, the file's further ids, and control tokens with a
    // published end name. Spelling alone never makes an ordinary token one.
    std::span<const TokenId> end_of_generation() const { return eog_; }
    bool is_end_of_generation(TokenId id) const;
    // What encode() adds where it is asked to: the file's word, or what the pre-tokenizer's publisher does.
    bool adds_bos() const { return add_bos_; }
    bool adds_eos() const { return add_eos_; }
    // Lowest id with exactly this text (as users see it), if any.
    virtual std::optional<TokenId> find(std::string_view text) const = 0;
    // As given, with ids outside the vocabulary taken out and without the merges (they are in other tables
    // now).
    const VocabularyData& vocabulary() const { return data_; }
    const std::vector<std::string>& warnings() const { return warnings_; }

  protected:
    explicit Tokenizer(VocabularyData data);
    // Appends the ids of a text of which `trusted` may hold control tokens.
    virtual void encode_into(std::string_view text, std::span<const ByteRange> trusted,
                             std::vector<TokenId>& ids) const = 0;
    void add_bytes(std::string_view bytes);              // of the next id, from 0 on
    void ask_for_bos(bool where_the_file_does_not_say);  // sets add_bos_ and add_eos_, with warnings
    void put_bos(std::vector<TokenId>& ids) const;       // where asked for and not there already
    void put_eos(std::vector<TokenId>& ids) const;
    VocabularyData data_;
    std::vector<TokenId> eog_;
    bool add_bos_ = false;
    bool add_eos_ = false;
    std::vector<std::string> warnings_;
    bool drops_space_ = false;  // decoding takes the first space off

  private:
    std::string bytes_;                       // of all tokens, one after another
    std::vector<std::size_t> offsets_ = {0};  // [size + 1] into bytes_
};

}  // namespace vitrine
