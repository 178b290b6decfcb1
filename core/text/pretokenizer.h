// Cuts a text into the stretches inside which byte-level BPE may merge.
//
// A vocabulary names its pre-tokenizer; the patterns behind each name are those its publisher trained with,
// and any other one gives other ids for the same text. Patterns run on PCRE2 (just-in-time compiled where
// the system allows it); all of them take time that grows with the text and constant stack.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace vitrine {

// What a pre-tokenizer name stands for.
struct PretokenizerSpec {
    std::span<const std::string_view> names;  // as GGUF files spell it
    std::span<const char* const> passes;      // regular expressions: each cuts what the one before left
    bool nfc = false;                         // the text is put into normalization form C first
    bool ignore_merges = false;               // a stretch that is a token becomes it, whatever the merges say
    bool add_bos = false;                     // where the file does not say
};

// The specification of a name, or null.
const PretokenizerSpec* find_pretokenizer(std::string_view name);
// All known names, for messages: "gpt2, gpt-2, smollm, …".
std::string known_pretokenizers();

class Pretokenizer {
  public:
    static Result<Pretokenizer> make(const PretokenizerSpec& spec);
    ~Pretokenizer();
    Pretokenizer(Pretokenizer&&) noexcept;
    Pretokenizer& operator=(Pretokenizer&&) noexcept;

    // The text in the form the patterns expect: itself, or in `storage` where it had to be changed. Invalid
    // UTF-8 stays as it is.
    std::string_view normalized(std::string_view text, std::string& storage) const;

    // Stretches of a normalized text, in order, none empty, together the whole text. What no pattern matches
    // is a stretch of its own; so is every run of invalid UTF-8.
    std::vector<std::string_view> split(std::string_view text) const;

  private:
    struct Impl;
    explicit Pretokenizer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace vitrine
