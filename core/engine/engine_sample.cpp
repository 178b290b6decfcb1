// Tokens that the device draws itself, in the step that computes their logits: a row of a large vocabulary
// takes longer to bring to the host than a small model takes to compute. Rows that somebody wants to see, and
// settings that the device has no kernel for, are read and sampled here as ever (engine_deliver.cpp).
#include <algorithm>

#include "core/engine/engine_impl.h"

namespace vitrine {
namespace {

// Biases first, then penalties, by rising token.
std::vector<LogitChange> changes_of(const Live& l, std::int32_t vocab) {
    std::vector<LogitChange> changes;
    const auto add = [&](TokenId id, LogitChange change) {
        if (id.value < 0 || id.value >= vocab) return;
        change.token = id.value;
        changes.push_back(change);
    };
    for (const auto& [id, bias] : l.request.sampling.logit_bias) add(id, {.bias = bias});
    for (const auto& [id, count] : seen_tokens(l.sequence.tokens, l.request.sampling))
        add(id, {.seen = count});
    std::stable_sort(changes.begin(), changes.end(),
                     [](const LogitChange& a, const LogitChange& b) { return a.token < b.token; });
    return changes;
}

double uniform_of(const Live& l) {
    return uniform(l.request.sampling.seed, l.request.sampling.stream,
                   static_cast<std::uint64_t>(l.stats.generated_tokens));
}

Result<Sampled> drawn(const SampleOutcome& outcome, std::size_t draw, const Live& l) {
    if (outcome.state == SampleState::NotFinite)
        return not_finite_logits(static_cast<std::uint64_t>(l.stats.generated_tokens));
    const DrawnToken& token = outcome.drawn[draw];
    Sampled sampled{TokenId{token.token}, token.log_probability, token.rank, {}, {}};
    sampled.candidates.reserve(outcome.candidates.size());
    for (const TokenChance& c : outcome.candidates)
        sampled.candidates.push_back({TokenId{c.token}, c.log_probability});
    return sampled;
}

}  // namespace

std::int32_t Engine::Impl::vocabulary_of(const Live& l) const {
    return l.request.vocabulary > 0 ? l.request.vocabulary : model->tokenizer().size();
}

void Engine::Impl::prepare_samples(const StepPlan& plan) {
    samples.clear();
    sample_changes.resize(plan.items.size());
    sample_uniforms.resize(plan.items.size());
    sample_of_item.assign(plan.items.size(), -1);
    const std::int32_t width = model->config().vocab;
    std::int32_t outputs = 0;
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        const StepItem& item = plan.items[i];
        const Live& l = live_of(*item.sequence);
        const std::int32_t end = item.start + item.count;
        outputs += item.outputs;
        if (item.outputs == 0 || end != l.sequence.length() || l.request.max_tokens == 0) continue;
        if (is_scored(l, end - 1) || l.request.on_sample_logits) continue;
        const SamplingParams& p = l.request.sampling;
        SampleRow row;
        row.output = outputs - 1;
        row.vocab = std::min(width, vocabulary_of(l));
        row.repetition_penalty = p.repetition_penalty;
        row.frequency_penalty = p.frequency_penalty;
        row.presence_penalty = p.presence_penalty;
        row.temperature = p.temperature;
        row.top_k = p.top_k;
        row.typical_p = p.typical_p;
        row.top_p = p.top_p;
        row.min_p = p.min_p;
        row.candidates = l.request.candidates;
        if (row.vocab < 1 || !device().can_sample(row, width)) continue;
        // All answers to the prompt draw from its last row, each with its own number.
        std::vector<double>& uniforms = sample_uniforms[i];
        uniforms.assign(1, uniform_of(l));
        for (const Live* other : l.siblings) uniforms.push_back(uniform_of(*other));
        row.uniforms = uniforms;
        sample_changes[i] = changes_of(l, row.vocab);
        row.changes = sample_changes[i];
        sample_of_item[i] = static_cast<std::int32_t>(samples.size());
        samples.push_back(row);
    }
}

bool Engine::Impl::deliver_drawn(std::size_t item, Live& l, EngineListener& listener) {
    if (sample_of_item[item] < 0) return false;
    const SampleOutcome outcome = device().sampled(static_cast<std::size_t>(sample_of_item[item]));
    const std::vector<Live*> others = l.siblings;
    if (outcome.state == SampleState::Undecided) return false;
    if (outcome.state == SampleState::Drawn && outcome.drawn.size() != 1 + others.size()) return false;
    give_birth(l);
    deliver_token(l, drawn(outcome, 0, l), listener);
    for (std::size_t i = 0; i < others.size(); ++i)
        if (!others[i]->finished) deliver_token(*others[i], drawn(outcome, 1 + i, *others[i]), listener);
    return true;
}

}  // namespace vitrine
