// The vocabulary of a Hugging Face folder: tokenizer.json (the format of the library `tokenizers`) with what
// tokenizer_config.json adds to it.
//
// Read: BPE models, byte-level or of characters with byte fallback; normalizers, pre-tokenizers and decoders
// that their vocabularies use; added tokens with all their flags; BOS and EOS of the post-processor. Whatever
// is not known is refused by its name, never guessed.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/io/vocabulary.h"

namespace vitrine {

// Both arguments are the contents of files; `config` may be empty. Errors name the member of the JSON, not a
// file: the caller puts the path in front. BadFile: no JSON, nested too deep, members of a wrong type, ids
// that leave unreasonable gaps. Unsupported: a kind of model, normalizer, pre-tokenizer, decoder or
// post-processor that is not known. TooLarge: above 512 MiB.
Result<VocabularyData> read_tokenizer_json(std::string_view json, std::string_view config = {});

}  // namespace vitrine
