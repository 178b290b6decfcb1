// The sentencepiece library (Kudo and Richardson 2018) behind an interface without its types and without its
// habits: it throws nothing and writes nothing to the terminal.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace vitrine {

class SentencePieceLibrary {
  public:
    // A serialized ModelProto, as make_sentencepiece_proto() gives it: the library trusts what it is given.
    // BadFile where it refuses.
    static Result<SentencePieceLibrary> load(std::string_view proto);
    ~SentencePieceLibrary();
    SentencePieceLibrary(SentencePieceLibrary&&) noexcept;
    SentencePieceLibrary& operator=(SentencePieceLibrary&&) noexcept;

    // The library's ids of a text below 2 GiB, in place of what `ids` held; invalid UTF-8 counts as U+FFFD,
    // one for each byte. False where the library gave up. From any thread.
    bool encode(std::string_view text, std::vector<int>& ids) const;

  private:
    struct Impl;
    explicit SentencePieceLibrary(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace vitrine
