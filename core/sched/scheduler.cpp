#include "core/sched/scheduler.h"

#include <algorithm>

namespace vitrine {
namespace {

bool before(const Sequence* a, const Sequence* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->arrival < b->arrival;
}

void insert_ordered(std::vector<Sequence*>& list, Sequence* s) {
    list.insert(std::upper_bound(list.begin(), list.end(), s, before), s);
}

// Rows with logits among `count` rows from `start`.
std::int32_t outputs_of(const Sequence& s, std::int32_t start, std::int32_t count) {
    const std::int32_t end = start + count;
    const std::int32_t due = end == s.length() ? 1 : 0;
    return std::max(due, std::clamp(end - s.logits_from, 0, count));
}

}  // namespace

void Scheduler::add(Sequence& sequence) {
    sequence.phase = SequencePhase::Waiting;
    sequence.table.owner = sequence.id;
    insert_ordered(waiting_, &sequence);
}

void Scheduler::remove(Sequence& sequence, bool drop_cache) {
    std::erase(waiting_, &sequence);
    std::erase(running_, &sequence);
    std::erase(held_, &sequence);
    kv_.release(sequence.table, drop_cache);
}

void Scheduler::hold(Sequence& sequence) {
    std::erase(running_, &sequence);
    sequence.phase = SequencePhase::Held;
    held_.push_back(&sequence);
}

bool Scheduler::drop_oldest_held() {
    if (held_.empty()) return false;
    Sequence* oldest = held_.front();
    held_.erase(held_.begin());
    kv_.release(oldest->table);
    oldest->phase = SequencePhase::Dropped;
    return true;
}

void Scheduler::preempt(Sequence& sequence, StepPlan& plan) {
    std::erase(running_, &sequence);
    kv_.release(sequence.table);
    sequence.computed = 0;
    sequence.phase = SequencePhase::Waiting;
    ++sequence.preemptions;
    insert_ordered(waiting_, &sequence);
    plan.preempted.push_back(&sequence);
}

// Blocks for `count` more tokens, by whatever has to give way. False: the sequence itself was preempted, or
// it is alone and the pool is too small for it.
bool Scheduler::give(Sequence& sequence, std::int32_t count, StepPlan& plan, Left& left) {
    for (;;) {
        if (kv_.reserve(sequence.table, sequence.computed + count) &&
            kv_.make_writable(sequence.table, sequence.computed, count, plan.copies))
            return true;
        if (drop_oldest_held()) continue;
        Sequence* victim = running_.back();
        if (victim == &sequence) {
            if (running_.size() == 1)
                plan.exhausted.push_back(&sequence);
            else
                preempt(sequence, plan);
            return false;
        }
        // It may have its tokens in this plan already: take them back. Copies planned for it only write
        // blocks that are free again, before anybody else writes them.
        const auto item = std::find_if(plan.items.begin(), plan.items.end(),
                                       [&](const StepItem& i) { return i.sequence == victim; });
        if (item != plan.items.end()) {
            left.rows += item->count;
            left.outputs += item->outputs;
            plan.tokens -= item->count;
            plan.items.erase(item);
        }
        preempt(*victim, plan);
    }
}

void Scheduler::schedule(Sequence& sequence, StepPlan& plan, Left& left) {
    std::int32_t count = std::min(sequence.pending(), left.rows);
    while (count > 0 && outputs_of(sequence, sequence.computed, count) > left.outputs) --count;
    if (count <= 0 || !give(sequence, count, plan, left)) return;
    const std::int32_t outputs = outputs_of(sequence, sequence.computed, count);
    plan.items.push_back({&sequence, sequence.computed, count, outputs});
    plan.tokens += count;
    left.rows -= count;
    left.outputs -= outputs;
    sequence.last_served = iteration_;
}

// Is there room for all that the sequence has, and for a block to grow into, beside what the running ones
// still have to catch up with? Cached blocks that it will take over need no room unless they are in the free
// list themselves.
bool Scheduler::fits(const Sequence& sequence) {
    std::int32_t promised = 0;
    for (const Sequence* s : running_) promised += kv_.blocks_missing(s->table, s->length() + 1);
    for (;;) {
        const PrefixMatch match = kv_.peek_prefix(sequence.tokens, sequence.logits_from);
        const std::int32_t wanted =
            kv_.blocks_for(sequence.length() + 1) + 1 - match.blocks + match.free_blocks;
        if (kv_.pool().free_count() - promised >= std::min(wanted, kv_.pool().size())) return true;
        if (!drop_oldest_held()) return false;
    }
}

void Scheduler::admit(StepPlan& plan, Left& left) {
    // Where no rows are left it is admitted all the same, and has its turn in a later iteration.
    while (!waiting_.empty() && running_.size() < static_cast<std::size_t>(limits_.max_running)) {
        Sequence& s = *waiting_.front();
        if (!fits(s)) return;
        waiting_.erase(waiting_.begin());
        s.phase = SequencePhase::Running;
        s.computed = kv_.match_prefix(s.table, s.tokens, s.logits_from);
        if (s.cached_tokens < 0) s.cached_tokens = s.computed;
        insert_ordered(running_, &s);
        plan.admitted.push_back(&s);
        schedule(s, plan, left);
        if (!plan.preempted.empty()) return;
    }
}

StepPlan Scheduler::plan() {
    ++iteration_;
    StepPlan plan;
    Left left{limits_.token_budget, std::max(limits_.max_outputs, limits_.max_running)};
    // A copy of the list: preemption changes it on the way.
    std::vector<Sequence*> order(running_);
    std::stable_sort(order.begin(), order.end(), [](const Sequence* a, const Sequence* b) {
        const bool one_a = a->pending() == 1;
        const bool one_b = b->pending() == 1;
        if (one_a != one_b) return one_a;
        if (a->priority != b->priority) return a->priority > b->priority;
        return a->last_served < b->last_served;  // where the budget is too small for all: take turns
    });
    for (Sequence* s : order)
        if (s->phase == SequencePhase::Running && left.rows > 0) schedule(*s, plan, left);
    if (plan.preempted.empty() && plan.exhausted.empty()) admit(plan, left);
    return plan;
}

void Scheduler::commit(const StepPlan& plan) {
    for (const StepItem& item : plan.items) {
        item.sequence->computed = item.start + item.count;
        kv_.publish(item.sequence->table, item.sequence->tokens, item.sequence->computed);
    }
}

}  // namespace vitrine
