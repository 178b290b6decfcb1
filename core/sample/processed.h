// The distribution that a token is drawn from: a row of logits after history, temperature and the filters of
// core/sample/params.h. Made by Sampler::processed().
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/ids.h"

namespace vitrine {

class Processed {
  public:
    Processed() = default;
    // Some tokens with probabilities that sum to 1, in the order in which they are drawn from.
    explicit Processed(std::vector<std::pair<TokenId, double>> tokens);
    // All tokens: logits minus the greatest one, over the temperature.
    explicit Processed(std::vector<float> tempered);

    double probability(TokenId id) const;  // 0 for ids that it does not have
    // u in [0, 1). The token that Sampler::sample() draws with the same number.
    TokenId draw(double u) const;
    // From max(0, this − other), normalised: what is left when `other` was offered and refused. Where nothing
    // is left within rounding, from this.
    TokenId draw_residual(const Processed& other, double u) const;

  private:
    template <class Weight>
    TokenId draw_weighted(const Weight& weight, double u) const;

    // One of the two.
    std::vector<std::pair<TokenId, double>> tokens_;
    std::vector<std::pair<std::int32_t, double>> by_id_;  // the same, ascending
    std::vector<float> tempered_;
    double total_ = 0;  // Σ exp(tempered_)
};

// The first id at which the running sum of exp(row[i]) exceeds u of the total; `fallback` where none has
// weight.
std::int32_t draw_by_id(const std::vector<float>& row, double u, std::int32_t fallback);

}  // namespace vitrine
