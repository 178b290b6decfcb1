// Regular expressions of tokenizer.json files, which are Oniguruma's (its own syntax, UTF-8), rewritten for
// PCRE2 so that both match the same: classes such as \s and \w by their Unicode meaning, {n,m}+ as a
// repetition (it is possessive in PCRE2 alone), \h as a hexadecimal digit, [a&&[^b]] by a look-ahead.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace vitrine {

// Unsupported, with a clause that says why ("…"), where the expression uses what is not known to mean the
// same, or repeats without bound a group that itself repeats or chooses: such an expression can take
// exponential time.
Result<std::string> to_pcre2(std::string_view expression);

}  // namespace vitrine
