// Scheduling without phases: each iteration gives every running sequence a number of tokens so that
// `computed` catches up with `tokens`, within a token budget. A long prompt catches up in chunks, a decode by
// one. Prefix hits start `computed` above zero; preemption sets it back to zero.
//
// Order: higher priority first, then earlier arrival. Sequences that need one token come before those that
// catch up with more, so that a long prompt does not hold up the others; where the budget is too small for
// all of them they take turns, and whoever got nothing for 16 iterations comes first. When blocks run out,
// first the held sequences give theirs back (oldest first), then the last in order is preempted: its tokens
// are kept and recomputed later. A waiting sequence is admitted only when all that it has fits, so the first
// in order always makes progress; where it has a higher priority than running ones, those give way to it.
//
// Which set of rotary embeddings a sequence is computed with follows from its length at each plan. Where that
// changes, nothing computed so far counts any more: it starts over, like after a preemption but without
// waiting. With contiguous tables a sequence is admitted when a run for its max_length is free; it never
// grows beyond it, so nobody is preempted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/kv/kv_manager.h"
#include "core/sched/sequence.h"

namespace vitrine {

struct SchedulerLimits {
    std::int32_t token_budget = 256;  // most rows of an iteration
    std::int32_t max_running = 32;
    std::int32_t max_outputs = 32;  // most rows with logits in an iteration, at least max_running
    // Sequences of more tokens use the second set of rotary embeddings; 0: there is one set.
    std::int32_t rope_switch = 0;
    // Every layer sees so many tokens at most: blocks before them are given back. 0: some layer sees all.
    std::int32_t window = 0;
};

struct StepItem {
    Sequence* sequence = nullptr;
    std::int32_t start = 0;  // first position to compute
    std::int32_t count = 0;
    std::int32_t outputs = 0;  // the last `outputs` of its rows get logits
    // The last `drafts` of its rows are proposed tokens, which are not among the sequence's own: a row for
    // each, behind all that the sequence has.
    std::int32_t drafts = 0;
};

struct StepPlan {
    std::vector<StepItem> items;
    std::vector<PlannedCopy> copies;   // to be carried out, in order, before the step
    std::vector<Sequence*> admitted;   // became running in this plan
    std::vector<Sequence*> preempted;  // went back to waiting in this plan
    std::vector<Sequence*> exhausted;  // alone and without room to grow: to be finished by the caller
    std::int32_t tokens = 0;

    bool empty() const { return items.empty(); }
};

// Who was first in the queue when the last plan let nobody else in, and why.
struct Refusal {
    const Sequence* sequence = nullptr;  // none: nobody was refused
    std::int32_t blocks = 0;             // it needs so many free at once; 0: as many run as may
};

// Sequences belong to the caller and stay where they are until remove().
class Scheduler {
  public:
    Scheduler(KvManager& kv, const SchedulerLimits& limits) : kv_(kv), limits_(limits) {}

    void add(Sequence& sequence);  // to the waiting ones
    // Takes it out and gives its blocks back.
    void remove(Sequence& sequence, bool drop_cache = false);
    // `to` is another answer to what `from` has computed: it gets the same tokens and shares all its blocks.
    // Where as many run as may, or blocks cannot be shared, it waits like any other.
    void fork(const Sequence& from, Sequence& to);
    // Takes a running sequence out of the schedule but lets it keep its blocks until they are needed.
    void hold(Sequence& sequence);

    StepPlan plan();
    // How many proposed tokens an item of the plan could have at most: it must be all that its sequence has
    // left to compute. Counts rows and outputs that the plan leaves; drafts never make anybody give way.
    std::int32_t draft_room(const StepPlan& plan, const StepItem& item) const;
    // Blocks for up to `count` of them, as many as the free ones allow: how many that are.
    std::int32_t reserve_drafts(StepPlan& plan, const StepItem& item, std::int32_t count);
    // They become rows of the item.
    void add_drafts(StepPlan& plan, StepItem& item, std::int32_t count);
    // The step was carried out: the items' tokens are computed now. Proposed ones are not among them until
    // they are accepted.
    void commit(const StepPlan& plan);
    // The last of the sequence's tokens was a proposed one: its keys are written already.
    void accept(Sequence& sequence);
    // No more of them: blocks that were reserved for the others are given back.
    void settle(Sequence& sequence);

    // 0: blocks before every window are kept.
    void set_window(std::int32_t window) { limits_.window = window; }

    std::span<Sequence* const> running() const { return running_; }
    std::span<Sequence* const> waiting() const { return waiting_; }
    std::span<Sequence* const> held() const { return held_; }  // oldest first
    bool idle() const { return running_.empty() && waiting_.empty(); }
    const SchedulerLimits& limits() const { return limits_; }
    const Refusal& refusal() const { return refusal_; }

  private:
    struct Left {  // of this iteration
        std::int32_t rows = 0;
        std::int32_t outputs = 0;
    };
    bool drop_oldest_held();
    bool give(Sequence& sequence, std::int32_t count, StepPlan& plan, Left& left);
    void preempt(Sequence& sequence, StepPlan& plan, Left& left);
    bool make_room(const Sequence& sequence, StepPlan& plan, Left& left);
    bool fits(const Sequence& sequence);
    void refuse(const Sequence& sequence);
    std::int32_t rope_set_of(const Sequence& sequence) const;
    void computed_up_to(Sequence& sequence, std::int32_t tokens);
    void start(Sequence& sequence);
    void admit(StepPlan& plan, Left& left);
    void schedule(Sequence& sequence, StepPlan& plan, Left& left);

    KvManager& kv_;
    SchedulerLimits limits_;
    std::vector<Sequence*> running_;  // in order
    std::vector<Sequence*> waiting_;  // in order
    std::vector<Sequence*> held_;
    std::int64_t iteration_ = 0;
    Refusal refusal_;
};

}  // namespace vitrine
