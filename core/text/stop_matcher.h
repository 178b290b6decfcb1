// Stop strings over a stream: holds back only what could still become a stop string, gives it out when it
// did not, discards from the match on when it did.
//
// The stop string that begins first wins; of those that begin together, the one that is complete first. So
// the text is the same however it was cut into pieces: where one stop string is complete inside what may
// still become a longer one that began before it, the decision waits for that one.
//
// One automaton for each stop string (Knuth, Morris, Pratt 1977): time grows with the text alone, whatever
// the stop strings repeat.
#pragma once

#include <cstddef>
#include <cstdint>
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
    // The end: what was held. A complete stop string that had to wait for a longer one counts now.
    std::string flush();
    bool matched() const { return matched_; }

  private:
    struct Stop {
        std::string text;
        std::vector<std::size_t> border;  // [size]: longest proper border of the first i + 1 bytes
        std::size_t length = 0;           // bytes of it that the text ends with now
    };
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    void advance(Stop& stop, char byte, std::size_t end);
    std::size_t earliest_unfinished() const;

    std::vector<Stop> stops_;
    std::string held_;          // from the first byte not given out yet
    std::size_t position_ = 0;  // bytes seen
    std::size_t best_ = kNone;  // where the first complete stop string begins
    bool matched_ = false;
};

}  // namespace vitrine
