#include "core/spec/verify.h"

#include <string>

namespace vitrine {

const char* name_of(Drafting drafting) {
    switch (drafting) {
        case Drafting::Off: return "off";
        case Drafting::Lookup: return "lookup";
        case Drafting::Model: return "model";
        case Drafting::Auto: return "auto";
    }
    return "off";
}

Status validate(const Speculation& s) {
    if (s.length < 1 || s.length > kLongestDraft)
        return Error{ErrorKind::InvalidArgument, "The length of a draft must be 1 to " +
                                                     std::to_string(kLongestDraft) + " tokens, not " +
                                                     std::to_string(s.length) + "."};
    return {};
}

double chance(const SamplingParams& params, std::uint64_t index, Chance use) {
    return uniform(params.seed, params.stream, index | (static_cast<std::uint64_t>(use) << 60U));
}

Result<Verdict> verify_proposal(Sampler& sampler, std::span<const float> logits, std::int32_t vocab,
                                std::span<const TokenId> history, const SamplingParams& params,
                                std::uint64_t index, std::int32_t candidates, const Draft& draft,
                                std::size_t place) {
    Verdict verdict;
    const TokenId proposed = draft.tokens[place];
    if (draft.distributions.empty() || params.greedy()) {
        VITRINE_TRY(verdict.sampled, sampler.sample(logits, vocab, history, params, index, candidates));
        verdict.accepted = verdict.sampled.id == proposed;
        return verdict;
    }
    auto processed = sampler.processed(logits, vocab, history, params);
    if (!processed.ok()) return not_finite_logits(index);
    const Processed& p = *processed;
    const Processed& q = draft.distributions[place];
    verdict.accepted =
        chance(params, index, Chance::Acceptance) * q.probability(proposed) < p.probability(proposed);
    const TokenId id =
        verdict.accepted ? proposed : p.draw_residual(q, chance(params, index, Chance::Residual));
    VITRINE_TRY(verdict.sampled, sampler.describe(logits, vocab, id, index, candidates));
    return verdict;
}

}  // namespace vitrine
