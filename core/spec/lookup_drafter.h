// Prompt lookup (Saxena 2023; also "n-gram speculation"): where the text ended like this before, what
// followed then is proposed to follow now. Finds the longest such ending in prompt and answer; costs
// amortised constant time a token, whatever the length of the text. One for each sequence.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/ids.h"
#include "core/spec/draft.h"
#include "core/spec/suffix_automaton.h"

namespace vitrine {

class LookupDrafter {
  public:
    // text: all accepted tokens, prompt first; it only ever grows. Up to `most` tokens, none where the end of
    // the text occurred nowhere with at least `shortest` tokens.
    void draft(std::span<const TokenId> text, std::int32_t most, std::int32_t shortest, Draft& draft);

  private:
    SuffixAutomaton seen_;
};

}  // namespace vitrine
