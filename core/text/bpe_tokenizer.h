// BPE by merges, of bytes or of characters: internal to core/text, made through Tokenizer::make().
#pragma once

#include <memory>

#include "core/text/tokenizer.h"

namespace vitrine {

// `data` is already checked by Tokenizer::make().
Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(VocabularyData data);

}  // namespace vitrine
