// SentencePiece vocabularies, BPE and Unigram: internal to core/text, made through Tokenizer::make().
#pragma once

#include <memory>

#include "core/text/tokenizer.h"

namespace vitrine {

// `data` is already checked by Tokenizer::make(). BadFile: no scores, normalization rules that point outside
// themselves, a vocabulary that the library refuses.
Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(VocabularyData data);

}  // namespace vitrine
