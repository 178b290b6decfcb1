// The merges of a byte-level BPE vocabulary, read from "left right" lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text/pair_table.h"

namespace vitrine {

using TokenTable = std::unordered_map<std::string_view, std::int32_t>;  // bytes -> lowest id

struct MergeRules {
    PairTable pairs{0};                 // rank: index of the line
    std::vector<std::string> warnings;  // one sentence for each kind of line that cannot be applied
};

// `lines` are in the byte alphabet; `tokens` is what parts and results may be. A line that cannot be applied
// is left out and reported; of equal lines the first counts.
MergeRules read_merges(std::span<const std::string> lines, const TokenTable& tokens);

}  // namespace vitrine
