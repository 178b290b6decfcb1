#include "core/sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/sample/softmax.h"

namespace vitrine {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

bool alters_logits(const SamplingParams& p) {
    return !p.logit_bias.empty() || p.repetition_penalty != 1.0F || p.frequency_penalty != 0.0F ||
           p.presence_penalty != 0.0F;
}

// Bias and penalties, in the documented order, on a copy of the row.
void apply_history(std::vector<float>& logits, std::span<const TokenId> history, const SamplingParams& p) {
    for (const auto& [id, bias] : p.logit_bias)
        if (id.value >= 0 && static_cast<std::size_t>(id.value) < logits.size())
            logits[static_cast<std::size_t>(id.value)] += bias;
    for (const auto& [id, count] : seen_tokens(history, p)) {
        if (id.value < 0 || static_cast<std::size_t>(id.value) >= logits.size()) continue;
        float& l = logits[static_cast<std::size_t>(id.value)];
        l = l > 0 ? l / p.repetition_penalty : l * p.repetition_penalty;
        l -= p.frequency_penalty * static_cast<float>(count) + p.presence_penalty;
    }
}

struct Weighted {
    std::int32_t id;
    double weight;  // exp((logit − max) / temperature), not normalised
};

bool heavier(const Weighted& a, const Weighted& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
}

double total_of(const std::vector<Weighted>& set) {
    double sum = 0;
    for (const Weighted& w : set) sum += w.weight;
    return sum;
}

void keep_top_k(std::vector<Weighted>& set, std::int32_t k) {
    if (k <= 0 || static_cast<std::size_t>(k) >= set.size()) return;
    std::nth_element(set.begin(), set.begin() + k - 1, set.end(), heavier);
    set.resize(static_cast<std::size_t>(k));
}

// The smallest set of tokens nearest to the expected information content that reaches typical_p.
void keep_typical(std::vector<Weighted>& set, double p) {
    if (p >= 1.0 || set.size() < 2) return;
    const double total = total_of(set);
    double entropy = 0;
    for (const Weighted& w : set)
        if (w.weight > 0) entropy -= w.weight / total * std::log(w.weight / total);
    struct Distance {
        double value;
        Weighted weighted;
    };
    std::vector<Distance> order;
    order.reserve(set.size());
    for (const Weighted& w : set)
        if (w.weight > 0) order.push_back({std::abs(-std::log(w.weight / total) - entropy), w});
    std::sort(order.begin(), order.end(), [](const Distance& a, const Distance& b) {
        return a.value != b.value ? a.value < b.value : heavier(a.weighted, b.weighted);
    });
    set.clear();
    double reached = 0;
    for (const Distance& d : order) {
        set.push_back(d.weighted);
        reached += d.weighted.weight / total;
        if (reached >= p) break;
    }
}

// The shortest prefix, most probable first, that reaches top_p of `total`. Sorts only as much as it needs.
void keep_top_p(std::vector<Weighted>& set, double p, double total) {
    if (p >= 1.0 || set.size() < 2) return;
    std::size_t sorted = 0;
    double reached = 0;
    for (std::size_t window = 256; sorted < set.size(); window *= 4) {
        const std::size_t end = std::min(set.size(), sorted + window);
        const auto from = set.begin() + static_cast<std::ptrdiff_t>(sorted);
        const auto to = set.begin() + static_cast<std::ptrdiff_t>(end);
        if (to != set.end()) std::nth_element(from, to - 1, set.end(), heavier);
        std::sort(from, to, heavier);
        for (; sorted < end; ++sorted) {
            reached += set[sorted].weight / total;
            if (reached >= p) {
                set.resize(sorted + 1);
                return;
            }
        }
    }
}

void keep_min_p(std::vector<Weighted>& set, double p) {
    if (p <= 0.0 || set.empty()) return;
    const double heaviest = std::min_element(set.begin(), set.end(), heavier)->weight;
    const double threshold = std::min(1.0, p) * heaviest;
    std::erase_if(set, [&](const Weighted& w) { return w.weight < threshold; });
}

}  // namespace

Error not_finite_logits(std::uint64_t index) {
    return Error{ErrorKind::Internal,
                 "The model gave non-finite logits for generated token " + std::to_string(index + 1) +
                     ": the answer stops here. The model file may be damaged, or its weights "
                     "may overflow."};
}

std::vector<std::pair<TokenId, std::int32_t>> seen_tokens(std::span<const TokenId> history,
                                                          const SamplingParams& p) {
    std::vector<std::pair<TokenId, std::int32_t>> result;
    if (p.repetition_penalty == 1.0F && p.frequency_penalty == 0.0F && p.presence_penalty == 0.0F)
        return result;
    if (p.penalty_window > 0 && history.size() > static_cast<std::size_t>(p.penalty_window))
        history = history.last(static_cast<std::size_t>(p.penalty_window));
    std::vector<TokenId> seen(history.begin(), history.end());
    std::sort(seen.begin(), seen.end());
    for (const TokenId id : seen) {
        if (result.empty() || result.back().first != id) result.emplace_back(id, 0);
        ++result.back().second;
    }
    return result;
}

// work_ becomes (logit − maximum) / temperature: 0 for the most probable, never NaN however small the
// temperature is.
void Sampler::temper(float maximum, float temperature) {
    const double t = static_cast<double>(temperature);
    for (float& l : work_)
        l = static_cast<float>(std::max((static_cast<double>(l) - static_cast<double>(maximum)) / t, -1e30));
}

// work_ holds what temper() made of a row that nothing is filtered from.
void Sampler::tell_processed(Sampled& out, std::size_t most) {
    const double total = sum_of_exponentials(work_, 0.0F);
    const auto probability = [&](std::int32_t id) {
        return static_cast<float>(std::exp(static_cast<double>(work_[static_cast<std::size_t>(id)])) / total);
    };
    out.probability = probability(out.id.value);
    greatest(work_, most, order_);
    for (const std::int32_t id : order_)
        if (const float chance = probability(id); chance > 0) out.processed.push_back({TokenId{id}, chance});
}

Result<std::vector<std::pair<TokenId, double>>> Sampler::distribution(std::span<const float> logits,
                                                                      std::int32_t vocab,
                                                                      std::span<const TokenId> history,
                                                                      const SamplingParams& p) {
    logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(std::max(vocab, 0))));
    if (!row_maximum(logits).finite) return not_finite_logits(0);
    work_.assign(logits.begin(), logits.end());
    apply_history(work_, history, p);
    const RowMaximum top = row_maximum(work_);
    if (!top.finite || top.value == minus_infinity) return not_finite_logits(0);
    std::vector<std::pair<TokenId, double>> result;
    if (p.greedy()) {
        result.emplace_back(TokenId{top.index}, 1.0);
        return result;
    }
    temper(top.value, p.temperature);
    const double top_p = static_cast<double>(p.top_p);
    const bool nucleus_of_all = p.top_k <= 0 && p.typical_p >= 1.0F && top_p < 1.0;
    // Weights below exp(−50) of the heaviest are less than a unit in the last place of any sum. A nucleus of
    // the whole vocabulary leaves out more: tokens lighter than (1 − top_p)·total/vocabulary weigh less than
    // 1 − top_p together, so the tokens above them reach top_p. (Half of that, for the rounding of the
    // total.)
    double all = 0;
    float threshold = -50.0F;
    if (nucleus_of_all) {
        all = sum_of_exponentials(work_, 0.0F);
        const double light = 0.5 * (1.0 - std::max(top_p, 0.0)) * all / static_cast<double>(work_.size());
        threshold = std::max(threshold, static_cast<float>(std::log(light)));
    }
    std::vector<Weighted> set;
    for (std::size_t i = 0; i < work_.size(); ++i)
        if (work_[i] > threshold)
            set.push_back({static_cast<std::int32_t>(i), static_cast<double>(work_[i])});
    // Ordering by the logit is ordering by the weight: cut to top_k before taking exponentials.
    keep_top_k(set, p.top_k);
    for (Weighted& w : set) w.weight = std::exp(w.weight);
    keep_typical(set, static_cast<double>(p.typical_p));
    keep_top_p(set, top_p, nucleus_of_all ? all : total_of(set));
    keep_min_p(set, static_cast<double>(p.min_p));
    std::sort(set.begin(), set.end(), heavier);
    const double total = total_of(set);
    result.reserve(set.size());
    for (const Weighted& w : set) result.emplace_back(TokenId{w.id}, w.weight / total);
    return result;
}

Result<Processed> Sampler::processed(std::span<const float> logits, std::int32_t vocab,
                                     std::span<const TokenId> history, const SamplingParams& p) {
    const bool filtered = p.top_k > 0 || p.typical_p < 1.0F || p.top_p < 1.0F || p.min_p > 0.0F;
    if (p.greedy() || filtered) {
        VITRINE_TRY(auto tokens, distribution(logits, vocab, history, p));
        return Processed(std::move(tokens));
    }
    logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(std::max(vocab, 0))));
    if (!row_maximum(logits).finite) return not_finite_logits(0);
    work_.assign(logits.begin(), logits.end());
    apply_history(work_, history, p);
    const RowMaximum top = row_maximum(work_);
    if (!top.finite || top.value == minus_infinity) return not_finite_logits(0);
    temper(top.value, p.temperature);
    return Processed(work_);
}

Result<Sampled> Sampler::sample(std::span<const float> logits, std::int32_t vocab,
                                std::span<const TokenId> history, const SamplingParams& p,
                                std::uint64_t index, std::int32_t candidates) {
    logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(std::max(vocab, 0))));
    const RowMaximum top = row_maximum(logits);
    if (!top.finite || top.value == minus_infinity) return not_finite_logits(index);
    const auto most = static_cast<std::size_t>(std::max(candidates, 0));
    Sampled told;  // of what it is drawn from
    TokenId& id = told.id;
    if (p.greedy() && !alters_logits(p)) {
        id = TokenId{top.index};
    } else if (p.greedy()) {
        work_.assign(logits.begin(), logits.end());
        apply_history(work_, history, p);
        const RowMaximum altered = row_maximum(work_);
        if (!altered.finite || altered.value == minus_infinity) return not_finite_logits(index);
        id = TokenId{altered.index};
    } else if (p.top_k <= 0 && p.typical_p >= 1.0F && p.top_p >= 1.0F && p.min_p <= 0.0F) {
        // Nothing is filtered, so nothing needs sorting: walk the cumulative weights in order of ids.
        work_.assign(logits.begin(), logits.end());
        apply_history(work_, history, p);
        const RowMaximum altered = row_maximum(work_);
        if (!altered.finite || altered.value == minus_infinity) return not_finite_logits(index);
        temper(altered.value, p.temperature);
        id = TokenId{draw_by_id(work_, uniform(p.seed, p.stream, index), altered.index)};
        if (most > 0) tell_processed(told, most);
    } else {
        auto drawn = distribution(logits, vocab, history, p);
        if (!drawn.ok()) return not_finite_logits(index);
        double rest = uniform(p.seed, p.stream, index);
        auto chosen = drawn->end() - 1;
        for (auto it = drawn->begin(); it != drawn->end(); ++it) {
            rest -= it->second;
            if (rest < 0) {
                chosen = it;
                break;
            }
        }
        id = chosen->first;
        if (most > 0) {
            told.probability = static_cast<float>(chosen->second);
            for (std::size_t i = 0; i < std::min(most, drawn->size()); ++i)
                told.processed.push_back({(*drawn)[i].first, static_cast<float>((*drawn)[i].second)});
        }
    }
    if (most > 0 && p.greedy()) {
        told.probability = 1.0F;
        told.processed.push_back({id, 1.0F});
    }
    Sampled out = described(logits, top, id, candidates);
    out.processed = std::move(told.processed);
    out.probability = told.probability;
    return out;
}

Result<Sampled> Sampler::describe(std::span<const float> logits, std::int32_t vocab, TokenId id,
                                  std::uint64_t index, std::int32_t candidates) {
    logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(std::max(vocab, 0))));
    const RowMaximum top = row_maximum(logits);
    if (!top.finite || top.value == minus_infinity) return not_finite_logits(index);
    return described(logits, top, id, candidates);
}

Sampled Sampler::described(std::span<const float> logits, const RowMaximum& top, TokenId id,
                           std::int32_t candidates) {
    const double log_total =
        static_cast<double>(top.value) + std::log(sum_of_exponentials(logits, top.value));
    const auto log_probability = [&](std::int32_t token) {
        return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(token)]) - log_total);
    };

    Sampled out;
    out.id = id;
    out.log_probability = log_probability(out.id.value);
    const float chosen = logits[static_cast<std::size_t>(out.id.value)];
    out.rank = chosen == top.value ? 1 : 1 + count_above(logits, chosen);

    if (candidates > 0) {
        greatest(logits, static_cast<std::size_t>(candidates), order_);
        for (const std::int32_t token : order_)
            out.candidates.push_back({TokenId{token}, log_probability(token)});
    }
    return out;
}

}  // namespace vitrine
