// Which special tokens a text holds: control tokens where the text is trusted, user-defined ones everywhere.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text/special_matcher.h"
#include "core/text/tokenizer.h"

namespace vitrine {

class SpecialTokens {
  public:
    // Spelling by spelling, in ascending order of ids, so that the lowest of equal ones counts.
    void add_control(std::string_view spelling, TokenId id) { control_.add(spelling, id); }
    void add_user_defined(std::string_view spelling, TokenId id) { user_defined_.add(spelling, id); }
    // Conditions of single tokens (AddedToken): before finish().
    void set_flags(std::span<const AddedToken> added);
    // U+2581 is white space too, for the flags.
    void count_space_symbol_as_space() { space_symbol_is_space_ = true; }
    void finish();

    // The special tokens of the text in order, none overlapping: leftmost first, longest at a position.
    // Control tokens only where all their bytes lie in one range of `trusted` (ranges are cut to the text). A
    // range holds the white space that the token's flags take away with it.
    std::vector<SpecialHit> find(std::string_view text, std::span<const ByteRange> trusted) const;

  private:
    std::size_t space_before(std::string_view text, std::size_t begin, std::size_t limit) const;
    std::size_t space_behind(std::string_view text, std::size_t end) const;
    bool is_space(char32_t character) const;
    bool stands_alone(std::string_view text, const SpecialHit& hit) const;

    SpecialMatcher control_;
    SpecialMatcher user_defined_;
    std::unordered_map<std::int32_t, AddedToken> flags_;  // those that have any
    bool space_symbol_is_space_ = false;
};

}  // namespace vitrine
