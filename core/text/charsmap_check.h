// SentencePiece's compiled normalization rules, checked before the library follows them.
//
// The blob (precompiled_charsmap of sentencepiece_model.proto): the size of a trie as a 32-bit little-endian
// number, the trie, then texts that each end in a zero byte. The trie is a double array of 32-bit units (Yata
// 2008, "Darts-clone") from the text to be replaced to the offset of what replaces it. The library looks up
// units and texts wherever the numbers point; so every unit that can be reached is visited here.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace vitrine {

// BadFile says what is wrong: sizes that do not fit, a unit or a text outside the blob, a trie that turns in
// a circle, more than 32 rules along one text (the library's buffer), a replacement that is no UTF-8 or
// longer than 256 bytes, more than 16 MiB.
Status check_charsmap(std::string_view blob);

}  // namespace vitrine
