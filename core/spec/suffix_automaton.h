// All that a growing text has repeated so far: the longest ending of it that occurred before, and where.
//
// The suffix automaton of Blumer et al. 1985, built online: adding a token costs amortised constant time and
// memory, whatever the length of the text and whatever it repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vitrine {

class SuffixAutomaton {
  public:
    SuffixAutomaton();

    void add(std::int32_t token);
    std::int32_t size() const { return size_; }

    struct Repeat {
        std::int32_t length = 0;  // tokens of the longest ending that occurred before; 0: none
        std::int32_t next = 0;    // position behind an earlier occurrence of it, mostly the latest
    };
    Repeat longest_repeat() const { return repeat_; }

  private:
    struct State {
        std::int32_t length = 0;  // of the longest text that ends here
        std::int32_t link = -1;
        std::int32_t end = 0;    // position behind an occurrence
        std::int32_t edge = -1;  // first of its edges
    };
    struct Edge {
        std::int32_t state = -1;  // from
        std::int32_t token = 0;
        std::int32_t to = -1;
        std::int32_t next = -1;  // of the same state
    };
    std::size_t slot_of(std::int32_t state, std::int32_t token) const;
    std::int32_t find(std::int32_t state, std::int32_t token) const;  // index of the edge, −1: none
    void insert(std::int32_t state, std::int32_t token, std::int32_t to);
    void grow();

    std::vector<State> states_;
    std::vector<Edge> edges_;
    std::vector<std::int32_t> table_;  // open addressing: index of an edge, −1: empty
    std::int32_t last_ = 0;
    std::int32_t size_ = 0;
    Repeat repeat_;
};

}  // namespace vitrine
