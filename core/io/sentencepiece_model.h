// The vocabulary of a SentencePiece file (tokenizer.model, spiece.model), with what tokenizer_config.json
// adds to it.
//
// The file is a protocol-buffer message ModelProto (sentencepiece_model.proto of the SentencePiece project,
// wire format of Protocol Buffers 2). Its few fields are read here, bounds-checked: no library has to parse a
// hostile file.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/io/vocabulary.h"

namespace vitrine {

// Both arguments are the contents of files; `config` (JSON) may be empty. Errors name the field; the caller
// puts the path in front. BadFile: no such message, cut off, no pieces. Unsupported: kinds other than BPE and
// Unigram. Tokens of `config`'s added_tokens_decoder behind the pieces are appended, gaps between them become
// unused tokens.
Result<VocabularyData> read_sentencepiece_model(std::string_view bytes, std::string_view config = {});

}  // namespace vitrine
