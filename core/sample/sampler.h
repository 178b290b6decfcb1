// From a row of logits to a token. Pure: the same logits, history and parameters give the same token,
// whatever else is in the batch. The random number is a function of (seed, stream, index of the token).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/sample/params.h"
#include "core/sample/processed.h"
#include "core/sample/softmax.h"

namespace vitrine {

struct Candidate {
    TokenId id;
    float log_probability = 0.0F;  // the model's own, before the sampler's settings
};

// Of the processed distribution: after bias, penalties, temperature and filters.
struct ProcessedCandidate {
    TokenId id;
    float probability = 0.0F;
};

struct Sampled {
    TokenId id;
    float log_probability = 0.0F;       // of the chosen token, before the sampler's settings
    std::int32_t rank = 0;              // 1: the most probable
    std::vector<Candidate> candidates;  // the most probable ones, as many as were asked for
    // The most probable of what the token was drawn from, at most as many as were asked for; empty where it
    // is not known (the device drew).
    std::vector<ProcessedCandidate> processed;
    float probability = -1.0F;  // of the chosen token in it; −1: not known or not asked for
};

class Sampler {
  public:
    // logits: one row, only the first `vocab` entries are tokens (padding rows beyond never count).
    // history: all tokens so far, prompt included. index: how many tokens were generated before this one.
    // Internal error where no finite logit is left or one is NaN or +infinity.
    Result<Sampled> sample(std::span<const float> logits, std::int32_t vocab,
                           std::span<const TokenId> history, const SamplingParams& params,
                           std::uint64_t index, std::int32_t candidates = 0);

    // The processed distribution: what sample() draws from, as (id, probability), most probable first.
    // Shared by sampling and speculative verification.
    Result<std::vector<std::pair<TokenId, double>>> distribution(std::span<const float> logits,
                                                                 std::int32_t vocab,
                                                                 std::span<const TokenId> history,
                                                                 const SamplingParams& params);

    // The same as something that can be asked and drawn from, without sorting what needs no sorting.
    Result<Processed> processed(std::span<const float> logits, std::int32_t vocab,
                                std::span<const TokenId> history, const SamplingParams& params);

    // What sample() says of a token, for one that was chosen otherwise.
    Result<Sampled> describe(std::span<const float> logits, std::int32_t vocab, TokenId id,
                             std::uint64_t index, std::int32_t candidates = 0);

  private:
    Sampled described(std::span<const float> logits, const RowMaximum& top, TokenId id,
                      std::int32_t candidates);
    void temper(float maximum, float temperature);
    void tell_processed(Sampled& out, std::size_t most);
    std::vector<float> work_;
    std::vector<std::int32_t> order_;
};

// The tokens that penalties count as seen, each once by rising id with how often it was seen; none where
// `params` has no penalty.
std::vector<std::pair<TokenId, std::int32_t>> seen_tokens(std::span<const TokenId> history,
                                                          const SamplingParams& params);

// What a sampler says of a row without a token to draw.
Error not_finite_logits(std::uint64_t index);

// Uniform in [0, 1) with 53 bits: Philox4x32-10 (Salmon et al. 2011) of (seed, stream, index).
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace vitrine
