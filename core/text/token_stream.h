// Token ids in, text out, one id at a time: what a streaming reader is handed after each token.
//
// Joined together, what comes out is Tokenizer::decode() of all ids.
#pragma once

#include <string>

#include "core/text/tokenizer.h"
#include "core/text/utf8_stream.h"

namespace vitrine {

class TokenStream {
  public:
    explicit TokenStream(const Tokenizer& tokenizer)  // must outlive the stream
        : tokenizer_(&tokenizer), drop_space_(tokenizer.has_space_prefix()) {}

    std::string push(TokenId id);  // whole characters that are certain now; a bad id gives nothing
    std::string flush() { return utf8_.flush(); }

  private:
    const Tokenizer* tokenizer_;
    bool drop_space_;  // the next ordinary token is the first one: a space that the dummy prefix put there
                       // goes
    Utf8Stream utf8_;
};

}  // namespace vitrine
