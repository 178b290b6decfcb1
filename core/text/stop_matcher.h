// Stop strings over a stream: holds back only what could still become a stop string, gives it out when it
// did not, discards from the match on when it did.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

class StopMatcher {
  public:
    StopMatcher() = default;
    explicit StopMatcher(std::vector<std::string> stops);  // empty strings are ignored

    // Text that may be shown now. After a match nothing more comes out.
    std::string push(std::string_view text);
    std::string flush();  // the end without a match: what was held
    bool matched() const { return matched_; }

  private:
    std::vector<std::string> stops_;
    std::string held_;
    bool matched_ = false;
};

}  // namespace vitrine
