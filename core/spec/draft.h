// Tokens that somebody proposes to follow a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/sample/processed.h"
#include "core/spec/speculation.h"

namespace vitrine {

struct Draft {
    std::vector<TokenId> tokens;
    // How sure the drafter is of each: its own probability, before any setting. Lookup: 0, it has none.
    std::vector<float> confidence;
    // What each token was drawn from. Empty: they were not drawn but chosen, each with certainty.
    std::vector<Processed> distributions;
    Drafting origin = Drafting::Off;  // Lookup or Model
    std::int32_t match = 0;  // Lookup: tokens that the place found has in common with the end of the text

    std::size_t size() const { return tokens.size(); }
    bool empty() const { return tokens.empty(); }
    void clear() {
        tokens.clear();
        confidence.clear();
        distributions.clear();
        match = 0;
    }
};

}  // namespace vitrine
