// Whether two models speak of the same tokens: only then can one draft for the other.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/io/vocabulary.h"

namespace vitrine {

// InvalidArgument with the first difference: the text of a token, or which ids begin and end. Compared by
// content, whatever the sizes of the matrices: tokens beyond the shorter list may only be padding (unused
// ones, such as <|extra_7|> or <pad>). How text is cut into tokens does not matter here, because a drafter
// gets ids.
Status same_vocabulary(const VocabularyData& target, const VocabularyData& draft);

}  // namespace vitrine
