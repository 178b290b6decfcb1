#include "core/sched/scheduler.h"

#include <algorithm>

namespace vitrine {
namespace {

// Iterations after which a running sequence that got no row comes first, whatever its priority: many decodes
// do not hold up a prompt for ever, nor many prompts of high priority one of low.
constexpr std::int64_t patience = 16;

bool before(const Sequence* a, const Sequence* b) {
    if (a->priority != b->priority) return a->priority > b->priority;
    return a->arrival != b->arrival ? a->arrival < b->arrival : a->id < b->id;
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
    if (refusal_.sequence == &sequence) refusal_ = {};
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

void Scheduler::fork(const Sequence& from, Sequence& to) {
    to.tokens = from.tokens;
    to.table.owner = to.id;
    to.logits_from = from.logits_from;
    to.cached_tokens = from.cached_tokens;
    if (kv_.contiguous() || running_.size() >= static_cast<std::size_t>(limits_.max_running)) {
        add(to);
        return;
    }
    kv_.fork(from.table, to.table);
    to.computed = from.computed;
    to.last_served = from.last_served;
    to.phase = SequencePhase::Running;
    insert_ordered(running_, &to);
}

bool Scheduler::drop_oldest_held() {
    if (held_.empty()) return false;
    Sequence* oldest = held_.front();
    held_.erase(held_.begin());
    kv_.release(oldest->table);
    oldest->phase = SequencePhase::Dropped;
    return true;
}

void Scheduler::preempt(Sequence& sequence, StepPlan& plan, Left& left) {
    // It may have its tokens in this plan already: take them back. Copies planned for it only write blocks
    // that are free again, before anybody else writes them.
    const auto item = std::find_if(plan.items.begin(), plan.items.end(),
                                   [&](const StepItem& i) { return i.sequence == &sequence; });
    if (item != plan.items.end()) {
        left.rows += item->count;
        left.outputs += item->outputs;
        plan.tokens -= item->count;
        plan.items.erase(item);
    }
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
                preempt(sequence, plan, left);
            return false;
        }
        preempt(*victim, plan, left);
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

std::int32_t Scheduler::rope_set_of(const Sequence& sequence) const {
    return limits_.rope_switch > 0 && sequence.length() > limits_.rope_switch ? 1 : 0;
}

// From nothing computed: what the prefix cache has of it, and a contiguous table's run.
void Scheduler::start(Sequence& sequence) {
    sequence.table.rope_set = rope_set_of(sequence);
    if (kv_.contiguous()) {
        kv_.reserve(sequence.table, std::max(sequence.max_length, sequence.length()));
        sequence.computed = 0;
    } else {
        sequence.computed = kv_.match_prefix(sequence.table, sequence.tokens, sequence.logits_from);
    }
}

// Is there room for all that the sequence has, and for a block to grow into, beside what the running ones
// still have to catch up with? Cached blocks that it will take over need no room unless they are in the free
// list themselves.
bool Scheduler::fits(const Sequence& sequence) {
    if (kv_.contiguous()) {
        const std::int32_t blocks = kv_.blocks_for(std::max(sequence.max_length, sequence.length()));
        while (!kv_.pool().has_run(blocks))
            if (!drop_oldest_held()) return false;
        return true;
    }
    std::int32_t promised = 0;
    for (const Sequence* s : running_) promised += kv_.blocks_missing(s->table, s->length() + 1);
    for (;;) {
        const PrefixMatch match =
            kv_.peek_prefix(sequence.tokens, sequence.logits_from, rope_set_of(sequence));
        const std::int32_t wanted =
            kv_.blocks_for(sequence.length() + 1) + 1 - match.blocks + match.free_blocks;
        if (kv_.pool().free_count() - promised >= std::min(wanted, kv_.pool().size())) return true;
        if (!drop_oldest_held()) return false;
    }
}

// Room for the first in the queue at the cost of running ones of lower priority, last in order first. They
// cannot push it out in turn, so nothing is exchanged for ever.
bool Scheduler::make_room(const Sequence& sequence, StepPlan& plan, Left& left) {
    const auto full = [&] { return running_.size() >= static_cast<std::size_t>(limits_.max_running); };
    const auto lower = [&] { return !running_.empty() && running_.back()->priority < sequence.priority; };
    if (full() && !lower()) return false;
    if (!fits(sequence) && lower()) {
        // Not at all where even all of them would not do.
        std::int32_t most = kv_.pool().free_count();
        for (const Sequence* s : running_)
            if (s->priority < sequence.priority) most += static_cast<std::int32_t>(s->table.blocks.size());
        if (most < std::min(kv_.blocks_for(sequence.length() + 1), kv_.pool().size())) return false;
    }
    while ((full() || !fits(sequence)) && lower()) preempt(*running_.back(), plan, left);
    return !full() && fits(sequence);
}

void Scheduler::refuse(const Sequence& sequence) {
    refusal_.sequence = &sequence;
    const bool full = running_.size() >= static_cast<std::size_t>(limits_.max_running);
    const std::int32_t most =
        kv_.contiguous() ? std::max(sequence.max_length, sequence.length()) : sequence.length() + 1;
    refusal_.blocks = full ? 0 : std::min(kv_.blocks_for(most), kv_.pool().size());
}

void Scheduler::admit(StepPlan& plan, Left& left) {
    // Where no rows are left it is admitted all the same, and has its turn in a later iteration.
    while (!waiting_.empty()) {
        Sequence& s = *waiting_.front();
        if (!make_room(s, plan, left)) return refuse(s);
        std::erase(waiting_, &s);
        s.last_served = iteration_;
        s.phase = SequencePhase::Running;
        start(s);
        if (s.cached_tokens < 0) s.cached_tokens = s.computed;
        insert_ordered(running_, &s);
        plan.admitted.push_back(&s);
        schedule(s, plan, left);
        if (!plan.preempted.empty()) return;
    }
}

StepPlan Scheduler::plan() {
    ++iteration_;
    refusal_ = {};
    StepPlan plan;
    Left left{limits_.token_budget, std::max(limits_.max_outputs, limits_.max_running)};
    for (Sequence* s : running_)
        if (s->table.rope_set != rope_set_of(*s)) {
            if (!kv_.contiguous()) kv_.release(s->table);
            start(*s);
        }
    // A copy of the list: preemption changes it on the way.
    std::vector<Sequence*> order(running_);
    const auto late = [this](const Sequence* s) { return iteration_ - s->last_served > patience; };
    std::stable_sort(order.begin(), order.end(), [&](const Sequence* a, const Sequence* b) {
        if (late(a) != late(b)) return late(a);
        const bool one_a = a->pending() == 1;
        const bool one_b = b->pending() == 1;
        if (one_a != one_b) return one_a;
        if (a->priority != b->priority) return a->priority > b->priority;
        return a->last_served < b->last_served;  // where the budget is too small for all: take turns
    });
    for (Sequence* s : order)
        if (s->phase == SequencePhase::Running && left.rows > 0) schedule(*s, plan, left);
    if (plan.preempted.empty() && plan.exhausted.empty())
        admit(plan, left);
    else if (!waiting_.empty())
        refuse(*waiting_.front());
    return plan;
}

std::int32_t Scheduler::draft_room(const StepPlan& plan, const StepItem& item) const {
    const Sequence& s = *item.sequence;
    if (item.drafts > 0 || item.outputs != 1 || item.start + item.count != s.length()) return 0;
    std::int32_t outputs = 0;
    for (const StepItem& i : plan.items) outputs += i.outputs;
    std::int32_t room = std::min(limits_.token_budget - plan.tokens,
                                 std::max(limits_.max_outputs, limits_.max_running) - outputs);
    // The rows are turned with the set of the present length.
    if (limits_.rope_switch > 0 && s.length() <= limits_.rope_switch)
        room = std::min(room, limits_.rope_switch - s.length());
    return std::max(0, room);
}

std::int32_t Scheduler::reserve_drafts(StepPlan& plan, const StepItem& item, std::int32_t count) {
    BlockTable& table = item.sequence->table;
    const std::int32_t end = item.start + item.count;
    while (count > 0 &&
           !(kv_.reserve(table, end + count) && kv_.make_writable(table, end, count, plan.copies)))
        --count;
    if (count == 0) kv_.truncate(table, end);
    return count;
}

void Scheduler::add_drafts(StepPlan& plan, StepItem& item, std::int32_t count) {
    item.drafts = count;
    item.count += count;
    item.outputs += count;
    plan.tokens += count;
}

void Scheduler::computed_up_to(Sequence& sequence, std::int32_t tokens) {
    sequence.computed = tokens;
    kv_.publish(sequence.table, sequence.tokens, tokens);
    // The next row sees `window` tokens, itself among them.
    if (limits_.window > 0) kv_.give_back_before(sequence.table, std::max(0, tokens - limits_.window + 1));
}

void Scheduler::commit(const StepPlan& plan) {
    for (const StepItem& item : plan.items)
        computed_up_to(*item.sequence, item.start + item.count - item.drafts);
}

void Scheduler::accept(Sequence& sequence) { computed_up_to(sequence, sequence.length()); }

void Scheduler::settle(Sequence& sequence) { kv_.truncate(sequence.table, sequence.length()); }

}  // namespace vitrine
