// How the next token is chosen. Applied in the order of the members, each on what the one before left.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace vitrine {

struct SamplingParams {
    std::vector<std::pair<TokenId, float>> logit_bias;  // added to the logit; −infinity bans
    float repetition_penalty =
        1.0F;  // > 0; seen tokens: positive logits divided, negative multiplied (Keskar et al. 2019, CTRL)
    float frequency_penalty = 0.0F;   // subtracted once for each time a token was seen
    float presence_penalty = 0.0F;    // subtracted once for a token that was seen
    std::int32_t penalty_window = 0;  // how many of the last tokens count as seen; 0: all
    float temperature = 0.0F;         // 0 (or so small that only the maximum survives): greedy
    std::int32_t top_k = 0;           // 0: off
    float typical_p = 1.0F;           // ≥ 1: off (Meister et al. 2023, locally typical sampling)
    float top_p = 1.0F;               // ≥ 1: off; ≤ 0 keeps one (Holtzman et al. 2020, nucleus sampling)
    float min_p = 0.0F;               // 0: off; the most probable token always stays
    std::uint64_t seed = 0;           // random stream of this request…
    std::uint64_t stream = 0;         // …and which of its draws (parallel answers)

    bool greedy() const { return temperature <= 0.0F; }
};

// InvalidArgument for numbers that mean nothing: NaN, penalty ≤ 0, negative temperature, ids outside `vocab`.
Status validate(const SamplingParams& params, std::int32_t vocab);

}  // namespace vitrine
