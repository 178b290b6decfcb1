// The special tokens of a vocabulary, cut out of a text: what is common to every kind of tokenizer.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/text/special_matcher.h"
#include "core/text/tokenizer.h"

namespace vitrine {

class SpecialTokens {
  public:
    // Spelling by spelling, in ascending order of ids, so that the lowest of equal ones counts.
    void add_control(std::string_view spelling, TokenId id) { control_.add(spelling, id); }
    void add_user_defined(std::string_view spelling, TokenId id) { user_defined_.add(spelling, id); }
    void finish();

    // The special tokens of the text in order, none overlapping: leftmost first, longest at a position.
    // Control tokens only where all their bytes lie in one range of `trusted` (ranges are cut to the text).
    std::vector<SpecialHit> find(std::string_view text, std::span<const ByteRange> trusted) const;

  private:
    SpecialMatcher control_;
    SpecialMatcher user_defined_;
};

}  // namespace vitrine
