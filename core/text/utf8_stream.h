// Token bytes in, whole characters out: what a streaming reader may be shown after each token.
//
// A part of a character is held back until it is whole. Invalid bytes become U+FFFD as soon as they are
// certain to be invalid, one for each maximal subpart (Unicode 15, section 3.9, "U+FFFD substitution of
// maximal subparts"; the same rule as WHATWG's decoder).
#pragma once

#include <string>
#include <string_view>

namespace vitrine {

class Utf8Stream {
  public:
    std::string push(std::string_view bytes);  // what is certain now
    std::string flush();                       // the end: an unfinished character becomes U+FFFD
    bool pending() const { return !held_.empty(); }

  private:
    std::string held_;  // a proper prefix of one character, at most 3 bytes
};

// One-shot form: every invalid sequence replaced.
std::string to_valid_utf8(std::string_view bytes);

}  // namespace vitrine
