// Which proposed tokens stay, and what stands in the place of the first that does not.
//
// A token that was chosen with certainty (greedy drafts, lookup) is compared with the one that the sampler
// draws from the model's own row with its own random number. It stays with the model's probability of it, and
// what replaces it is distributed as the model's distribution without it: the rule below for a certain draft.
// So the answer is, token by token, the one that plain decoding gives with the same seed.
//
// A token that was drawn from the draft's distribution q stays with probability min(1, p/q), p being the
// model's distribution; else it is replaced by a draw from max(0, p − q), normalised (Leviathan et al. 2023,
// Chen et al. 2023). Both are the processed distributions: after penalties, temperature and filters. The
// answer is distributed as plain decoding's, and differs from it in which random numbers decide what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/sample/sampler.h"
#include "core/spec/draft.h"

namespace vitrine {

struct Verdict {
    Sampled sampled;        // the token that stands here
    bool accepted = false;  // it is the proposed one
};

// Where the row's random numbers come from: of a sequence, token by token, each use with a number of its own.
enum class Chance : std::uint64_t { Token = 0, Proposal = 1, Acceptance = 2, Residual = 3 };
double chance(const SamplingParams& params, std::uint64_t index, Chance use);

// The row of logits after `history`, in whose place draft.tokens[place] was proposed. index: tokens generated
// before this one.
Result<Verdict> verify_proposal(Sampler& sampler, std::span<const float> logits, std::int32_t vocab,
                                std::span<const TokenId> history, const SamplingParams& params,
                                std::uint64_t index, std::int32_t candidates, const Draft& draft,
                                std::size_t place);

}  // namespace vitrine
