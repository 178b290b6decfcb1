// Finds spellings of special tokens in a text: at every position the longest one that begins there.
//
// An automaton of Aho and Corasick (1975) over the spellings read backwards: run over the text from its end,
// the deepest spelling that ends (backwards) at a position is the longest that begins there. Time grows with
// the text alone, whatever the spellings have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/ids.h"

namespace vitrine {

struct SpecialHit {
    std::size_t begin = 0;  // byte range of the text
    std::size_t end = 0;
    TokenId id;
};

class SpecialMatcher {
  public:
    SpecialMatcher();
    // Of equal spellings the first one added counts; an empty one never does.
    void add(std::string_view spelling, TokenId id);
    void finish();  // after the last add()
    bool empty() const { return ids_.size() == 1; }

    // Appends the hits that lie in [begin, end) of the text, from the last to the first.
    void find(std::string_view text, std::size_t begin, std::size_t end, std::vector<SpecialHit>& hits) const;

  private:
    std::uint32_t step(std::uint32_t node, std::uint8_t byte) const;

    std::array<std::uint32_t, 256> from_root_{};                 // 0: stays at the root
    std::unordered_map<std::uint64_t, std::uint32_t> children_;  // node * 256 + byte; all nodes but the root
    std::vector<std::uint32_t> parent_;                          // [nodes]
    std::vector<std::uint8_t> byte_;                             // [nodes] on the edge from the parent
    std::vector<std::uint32_t> depth_;                           // [nodes]
    std::vector<std::uint32_t> fail_;    // [nodes] longest proper suffix that is a node
    std::vector<std::uint32_t> output_;  // [nodes] deepest node with an id on the way, 0: none
    std::vector<TokenId> ids_;           // [nodes] spelling that is complete here
};

}  // namespace vitrine
