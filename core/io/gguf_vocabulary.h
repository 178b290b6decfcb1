// The vocabulary of a GGUF file (keys tokenizer.*), checked: lengths and element types of the arrays that go
// with the tokens, and special ids that lie inside the vocabulary.
#pragma once

#include "core/base/result.h"
#include "core/io/gguf_file.h"
#include "core/io/vocabulary.h"

namespace vitrine {

// NotFound where the file has no tokens; BadFile where arrays do not fit together. Odd but usable things
// (a special id outside the vocabulary becomes none, a token text that occurs twice) become warnings.
Result<VocabularyData> read_gguf_vocabulary(const GgufFile& file);

}  // namespace vitrine
