// Speculative decoding in an iteration: who gets drafts, how many, and what becomes of them.
//
// Order: the plan gives each sequence what it has to catch up with; a sequence that would get one token may
// have proposed ones behind it, in rows, outputs and blocks that nobody else needs. Tokens that are looked up
// are there before blocks are reserved, those of the draft model need the blocks first: their keys are
// written into them. One forward pass computes a row for each. What is refused leaves no trace: it never was
// among the sequence's tokens, its blocks go back, and nothing of it was published.
#include <algorithm>

#include "core/engine/engine_impl.h"
#include "core/spec/verify.h"

namespace vitrine {
namespace {

// A look-up of one token is right too seldom, where nobody watches.
constexpr std::int32_t kShortestMatch = 2;

// Every sequence has one token of its own in it, and what was proposed.
bool decodes_only(const StepPlan& plan) {
    return std::all_of(plan.items.begin(), plan.items.end(), [](const StepItem& i) {
        return i.count - i.drafts == 1 && i.outputs == 1 + i.drafts;
    });
}

}  // namespace

bool Engine::Impl::may_draft(const StepPlan& plan, const StepItem& item) const {
    const Live& l = *live.at(item.sequence->id.value);
    return l.request.speculation.drafting != Drafting::Off && !l.finished && l.siblings.empty() &&
           l.request.max_tokens != 0 && item.count == 1 && !is_scored(l, item.start) &&
           scheduler.draft_room(plan, item) > 0;
}

// What the answer has room for: the token behind the proposed ones is always the model's own.
std::int32_t Engine::Impl::most_drafts(const Live& l) const {
    std::int32_t most = std::min(l.request.speculation.length, options.context - l.sequence.length() - 1);
    if (l.request.max_tokens >= 0) most = std::min(most, l.request.max_tokens - l.stats.generated_tokens - 1);
    return std::max(0, most);
}

void Engine::Impl::look_up(Live& l, std::int32_t most, std::int32_t shortest) {
    if (!l.lookup) l.lookup = std::make_unique<LookupDrafter>();
    l.lookup->draft(l.sequence.tokens, most, shortest, l.draft);
    // A prompt may hold ids that answers never do.
    const std::int32_t vocab = std::min(vocabulary_of(l), model->config().vocab);
    const auto bad = std::find_if(l.draft.tokens.begin(), l.draft.tokens.end(),
                                  [&](TokenId id) { return id.value >= vocab; });
    l.draft.tokens.erase(bad, l.draft.tokens.end());
    l.draft.confidence.resize(l.draft.tokens.size());
}

// Who leaves it to the policy learns how many of its draft_of_item tokens are worth it, and from whom.
void Engine::Impl::choose_drafts(const StepPlan& plan) {
    wishes.clear();
    wish_of_item.clear();
    auto rows = static_cast<std::int32_t>(plan.items.size());
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        Live& l = live_of(*plan.items[i].sequence);
        if (l.request.speculation.drafting != Drafting::Auto) {
            rows += draft_of_item[i];
            continue;
        }
        if (draft_of_item[i] == 0) continue;
        look_up(l, draft_of_item[i], 1);
        DraftWish wish;
        wish.most = draft_of_item[i];
        wish.found = static_cast<std::int32_t>(l.draft.size());
        wish.match = l.draft.match;
        wish.sampled = !l.request.sampling.greedy();
        wish.model = drafter != nullptr;
        wish.rates = &l.rates;
        wishes.push_back(wish);
        wish_of_item.push_back(i);
    }
    if (wishes.empty()) return;
    if (decodes_only(plan)) policy.choose(wishes, rows);
    for (std::size_t w = 0; w < wishes.size(); ++w) {
        const std::size_t i = wish_of_item[w];
        draft_of_item[i] = wishes[w].length;
        doubt_of_item[i] = wishes[w].doubt;
        if (wishes[w].drafting != Drafting::Lookup) live_of(*plan.items[i].sequence).draft.clear();
    }
}

void Engine::Impl::plan_drafts(StepPlan& plan) {
    draft_of_item.assign(plan.items.size(), 0);
    doubt_of_item.assign(plan.items.size(), 0.0F);
    draft_steps = 0;
    sequences_of_step = static_cast<std::int32_t>(plan.items.size());
    std::int32_t wanting = 0;
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        live_of(*plan.items[i].sequence).draft.clear();
        if (!may_draft(plan, plan.items[i])) continue;
        draft_of_item[i] = most_drafts(live_of(*plan.items[i].sequence));
        wanting += draft_of_item[i] > 0 ? 1 : 0;
    }
    if (wanting == 0) return;
    // What is left of rows and outputs is shared out evenly.
    std::int32_t promised = 0;
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        std::int32_t& most = draft_of_item[i];
        if (most == 0) continue;
        Live& l = live_of(*plan.items[i].sequence);
        const std::int32_t room = scheduler.draft_room(plan, plan.items[i]) - promised;
        most = std::clamp(room / std::max(wanting, 1), 0, most);
        --wanting;
        if (most > 0 && l.request.speculation.drafting == Drafting::Lookup) {
            look_up(l, most, kShortestMatch);
            most = static_cast<std::int32_t>(l.draft.size());
        } else if (l.request.speculation.drafting == Drafting::Model && !drafter) {
            most = 0;
        }
        promised += most;
    }
    choose_drafts(plan);
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        std::int32_t& most = draft_of_item[i];
        if (most > 0) most = scheduler.reserve_drafts(plan, plan.items[i], most);
        Draft& draft = live_of(*plan.items[i].sequence).draft;
        if (draft.size() > static_cast<std::size_t>(most)) {
            draft.tokens.resize(static_cast<std::size_t>(most));
            draft.confidence.resize(static_cast<std::size_t>(most));
        }
    }
}

void Engine::Impl::observe_step(const StepPlan& plan, double seconds) {
    if (!decodes_only(plan)) return;
    policy.observe({.sequences = static_cast<std::int32_t>(plan.items.size()),
                    .rows = plan.tokens,
                    .tokens = tokens_of_step,
                    .seconds = seconds,
                    .draft_seconds = static_cast<double>(draft_seconds),
                    .draft_steps = static_cast<std::int32_t>(draft_steps)});
}

SpeculationFigures Engine::Impl::speculation_figures() const {
    SpeculationFigures f;
    for (std::size_t k = 0; k < f.step.size(); ++k) f.step[k] = policy.cost(static_cast<std::int32_t>(k) + 1);
    f.draft_step = policy.draft_cost();
    f.model_rate = policy.model_rate();
    f.lookup_rate = policy.lookup_rate(4);
    const DraftWish outlook = policy.outlook(kLongestDraft, drafter != nullptr);
    f.choice = outlook.drafting;
    f.length = outlook.length;
    for (std::int32_t k = 1; k <= kLongestDraft && drafter; ++k)
        f.gain = std::max(f.gain, policy.gain(outlook, Drafting::Model, k, 1));
    return f;
}

void Engine::Impl::make_drafts(StepPlan& plan) {
    draft_tasks.clear();
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        Live& l = live_of(*plan.items[i].sequence);
        if (draft_of_item[i] == 0 || !l.draft.empty()) continue;
        draft_tasks.push_back({.tokens = l.sequence.tokens,
                               .table = &l.sequence.table,
                               .params = &l.request.sampling,
                               .vocab = std::min(vocabulary_of(l), model->config().vocab),
                               .index = static_cast<std::uint64_t>(l.stats.generated_tokens),
                               .most = draft_of_item[i],
                               .doubt = doubt_of_item[i],
                               .draft = &l.draft});
    }
    // Where the draft model fails the answers go on without it: nothing is lost but time.
    if (!draft_tasks.empty() && drafter) {
        const std::int64_t before = drafter->steps();
        static_cast<void>(drafter->draft(draft_tasks));
        draft_steps = drafter->steps() - before;
    }
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        StepItem& item = plan.items[i];
        if (draft_of_item[i] == 0) continue;
        const Live& l = live_of(*item.sequence);
        if (l.draft.empty())
            scheduler.settle(*item.sequence);
        else
            scheduler.add_drafts(plan, item, static_cast<std::int32_t>(l.draft.size()));
    }
}

void Engine::Impl::note_verification(const Live& l, const Draft& draft, std::int32_t first,
                                     std::int32_t accepted, DraftEnd end) {
    Record r{};
    r.kind = RecordKind::Speculation;
    r.speculation = {
        .sequence = l.sequence.id.value,
        .iteration = iteration,
        .time = now(),
        .draft = draft_seconds,
        .verify = verify_seconds,
        .plain = static_cast<float>(policy.measured(sequences_of_step)),
        .index = first,
        .token = end == DraftEnd::Corrected || end == DraftEnd::Bonus ? l.sequence.tokens.back().value : -1,
        .proposed = static_cast<std::uint8_t>(draft.size()),
        .accepted = static_cast<std::uint8_t>(accepted),
        .match = static_cast<std::uint8_t>(std::clamp(draft.match, 0, 255)),
        .drafter = draft.origin == Drafting::Model ? DrafterKind::Model : DrafterKind::Lookup,
        .end = end};
    telemetry.push(r);
    for (std::size_t i = 0; i < draft.size(); ++i) {
        const auto place = static_cast<std::int32_t>(i);
        r.kind = RecordKind::Proposal;
        r.proposal = {.sequence = l.sequence.id.value,
                      .iteration = iteration,
                      .id = draft.tokens[i].value,
                      .position = place,
                      .confidence = draft.confidence[i],
                      .fate = place < accepted                                  ? ProposalFate::Accepted
                              : place == accepted && end == DraftEnd::Corrected ? ProposalFate::Rejected
                                                                                : ProposalFate::Unread};
        telemetry.push(r);
    }
}

// The rows of a sequence with proposed tokens, from its last own token on, are at `output` and behind it.
void Engine::Impl::verify_drafts(const StepItem& item, Live& l, std::size_t output,
                                 EngineListener& listener) {
    const auto width = static_cast<std::size_t>(model->config().vocab);
    const std::size_t proposed = l.draft.size();
    const auto rows = device().read(*workspace.logits, output * width, (proposed + 1) * width);
    if (rows.size() != (proposed + 1) * width) {
        finish(l, FinishReason::Failed, listener, no_result());
        l.draft.clear();
        return;
    }
    const std::int32_t first = l.stats.generated_tokens;
    std::int32_t accepted = 0;
    DraftEnd end = DraftEnd::Ended;
    for (std::size_t place = 0; place <= proposed && !l.finished; ++place) {
        const auto row = rows.subspan(place * width, width);
        if (l.request.on_sample_logits) l.request.on_sample_logits(row);
        const auto index = static_cast<std::uint64_t>(l.stats.generated_tokens);
        if (place == proposed) {
            end = DraftEnd::Bonus;
            deliver_token(l,
                          sampler.sample(row, vocabulary_of(l), l.sequence.tokens, l.request.sampling, index,
                                         l.request.candidates),
                          listener, TokenOrigin::Bonus);
            break;
        }
        auto verdict = verify_proposal(sampler, row, vocabulary_of(l), l.sequence.tokens, l.request.sampling,
                                       index, l.request.candidates, l.draft, place);
        if (!verdict.ok()) {
            end = DraftEnd::Failed;
            deliver_token(l, verdict.error(), listener);
            break;
        }
        if (verdict->accepted)
            ++accepted;
        else
            end = DraftEnd::Corrected;
        deliver_token(l, std::move(verdict->sampled), listener,
                      verdict->accepted ? TokenOrigin::Accepted : TokenOrigin::Corrected);
        if (end == DraftEnd::Corrected) break;
    }
    policy.observe(l.draft, accepted, end == DraftEnd::Corrected, l.rates);
    note_verification(l, l.draft, first, accepted, end);
    if (!l.finished) {
        if (drafter) drafter->keep(item.sequence->table, item.sequence->computed);
        scheduler.settle(l.sequence);
    }
    l.draft.clear();
}

}  // namespace vitrine
