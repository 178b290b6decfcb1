#include <memory>
#include <random>

#include <QtTest>

#include "core/sched/scheduler.h"

using namespace vitrine;

namespace {

const CacheContext context{.model = 1, .weights_format = "F16", .rope = "", .kv_dtype = "F16"};

// A scheduler with sequences whose "model" is a counter: whenever a sequence has caught up it gets a token.
struct Bench {
    Bench(std::int32_t blocks, SchedulerLimits limits, bool cache = true, std::int32_t block_size = 8)
        : kv(blocks, block_size, context, cache), scheduler(kv, limits) {}
    Bench(std::int32_t blocks, SchedulerLimits limits, KvPolicy policy)
        : kv(blocks, 8, context, policy), scheduler(kv, limits) {}

    Sequence& add(std::int32_t prompt, std::int32_t generate, std::int32_t first = 0,
                  std::int32_t priority = 0) {
        auto s = std::make_unique<Sequence>();
        s->id = SequenceId{static_cast<std::int64_t>(sequences.size()) + 1};
        s->arrival = sequences.size();
        s->priority = priority;
        for (std::int32_t i = 0; i < prompt; ++i) s->tokens.emplace_back(first + i);
        s->prompt_length = prompt;
        s->max_length = prompt + generate;
        wanted.push_back(prompt + generate);
        sequences.push_back(std::move(s));
        scheduler.add(*sequences.back());
        return *sequences.back();
    }

    StepPlan step() {
        StepPlan plan = scheduler.plan();
        for (Sequence* s : plan.exhausted) {
            scheduler.remove(*s);
            exhausted.push_back(s);
        }
        scheduler.commit(plan);
        for (const StepItem& item : plan.items) {
            Sequence& s = *item.sequence;
            if (s.pending() != 0) continue;
            if (s.length() == wanted[static_cast<std::size_t>(s.id.value) - 1])
                scheduler.remove(s);
            else
                s.tokens.emplace_back(1'000'000 + s.length());
        }
        std::vector<const BlockTable*> tables;
        for (const auto& s : sequences) tables.push_back(&s->table);
        const Status status = kv.verify(tables);
        if (!status.ok()) qFatal("%s", status.error().message.c_str());
        return plan;
    }

    KvManager kv;
    Scheduler scheduler;
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<std::int32_t> wanted;
    std::vector<Sequence*> exhausted;
};

const StepItem* item_of(const StepPlan& plan, const Sequence& s) {
    for (const StepItem& i : plan.items)
        if (i.sequence == &s) return &i;
    return nullptr;
}

}  // namespace

class TestScheduler : public QObject {
    Q_OBJECT
  private slots:
    void a_long_prompt_catches_up_in_chunks_beside_a_decode() {
        Bench b(64, {.token_budget = 16, .max_running = 4, .max_outputs = 4});
        Sequence& a = b.add(5, 100);
        b.step();
        QCOMPARE(a.computed, 5);
        Sequence& c = b.add(50, 5, 1000);
        for (int i = 0; i < 3; ++i) {
            const StepPlan plan = b.step();
            QCOMPARE(plan.tokens, 16);
            QCOMPARE(plan.items[0].sequence, &a);  // the decode goes first and loses nothing
            QCOMPARE(item_of(plan, a)->count, 1);
            QCOMPARE(item_of(plan, c)->count, 15);
            QCOMPARE(item_of(plan, c)->outputs, 0);
        }
        const StepPlan last = b.step();
        QCOMPARE(item_of(last, c)->count, 5);
        QCOMPARE(item_of(last, c)->outputs, 1);
    }

    void priority_then_arrival() {
        Bench b(64, {.token_budget = 8, .max_running = 4, .max_outputs = 4});
        Sequence& low = b.add(20, 1);
        Sequence& high = b.add(20, 1, 1000, 5);
        const StepPlan plan = b.step();
        QCOMPARE(plan.items[0].sequence, &high);
        QVERIFY(!item_of(plan, low));
    }

    void bat_14_a_removed_sequence_gives_everything_back_in_any_phase() {
        Bench b(16, {.token_budget = 8, .max_running = 4, .max_outputs = 4}, false);
        Sequence& waiting = b.add(20, 1);
        b.scheduler.remove(waiting);
        QVERIFY(b.scheduler.idle());
        Sequence& prefill = b.add(40, 1);
        b.step();
        QVERIFY(prefill.computed > 0 && prefill.pending() > 0);
        b.scheduler.remove(prefill);
        QCOMPARE(b.kv.pool().free_count(), 16);
        QVERIFY(b.scheduler.idle());
    }

    void bat_10_preemption_keeps_every_token_data() {
        QTest::addColumn<int>("generated");
        for (const int n : {1, 7, 8, 9, 15, 16, 17}) QTest::addRow("after %d", n) << n;
    }
    void bat_10_preemption_keeps_every_token() {
        QFETCH(int, generated);
        // Two sequences that both fit until they have grown.
        Bench b(5, {.token_budget = 64, .max_running = 4, .max_outputs = 4});
        Sequence& first = b.add(10, 22);
        Sequence& second = b.add(6, 22, 500);
        std::vector<TokenId> seen;
        int guard = 0;
        while (!b.scheduler.idle() && ++guard < 200) {
            if (second.length() - second.prompt_length == generated) seen = second.tokens;
            b.step();
            if (!seen.empty()) QVERIFY(std::equal(seen.begin(), seen.end(), second.tokens.begin()));
        }
        QVERIFY(b.scheduler.idle());
        QVERIFY(b.exhausted.empty());
        QCOMPARE(first.length(), 32);
        QCOMPARE(second.length(), 28);
        QVERIFY(second.preemptions > 0);
        QCOMPARE(first.preemptions, 0);  // the first in order never gives way
    }

    void bat_11_no_ping_pong() {
        // Two long prompts, a pool for 1.2 of them.
        Bench b(12, {.token_budget = 16, .max_running = 4, .max_outputs = 4});
        b.add(70, 8);
        b.add(70, 8, 500);
        int guard = 0;
        while (!b.scheduler.idle() && ++guard < 100) b.step();
        QVERIFY(b.scheduler.idle());
        QVERIFY(b.exhausted.empty());
        for (const auto& s : b.sequences) QVERIFY(s->preemptions <= 1);
    }

    void ctx_04_more_requests_than_the_pool_holds_wait_their_turn() {
        Bench b(8, {.token_budget = 64, .max_running = 8, .max_outputs = 8});
        for (int i = 0; i < 3; ++i) b.add(28, 3, i * 1000);
        const StepPlan plan = b.step();
        QCOMPARE(plan.admitted.size(), std::size_t{1});
        int guard = 0;
        while (!b.scheduler.idle() && ++guard < 50) b.step();
        QVERIFY(b.scheduler.idle());
        for (const auto& s : b.sequences) QCOMPARE(s->length(), 31);
    }

    void alone_and_without_room_is_said_not_looped() {
        Bench b(2, {.token_budget = 64, .max_running = 2, .max_outputs = 2});
        Sequence& s = b.add(10, 100);
        int guard = 0;
        while (!b.scheduler.idle() && ++guard < 50) b.step();
        QCOMPARE(b.exhausted, std::vector<Sequence*>{&s});
        QCOMPARE(s.computed, 16);
        QCOMPARE(b.kv.pool().free_count(), 2);
    }

    void a_small_budget_is_shared_in_turns() {
        Bench b(64, {.token_budget = 1, .max_running = 8, .max_outputs = 8});
        for (int i = 0; i < 4; ++i) b.add(1, 50, i * 1000);
        for (int i = 0; i < 80; ++i) b.step();
        for (const auto& s : b.sequences) QVERIFY(s->length() >= 15);
    }

    void cached_prefixes_start_above_zero_and_need_no_room() {
        Bench b(8, {.token_budget = 64, .max_running = 4, .max_outputs = 4});
        Sequence& first = b.add(33, 100);
        b.step();
        Sequence& second = b.add(33, 2);  // the same tokens: four blocks shared, one of its own
        const StepPlan plan = b.step();
        QCOMPARE(second.cached_tokens, 32);
        QCOMPARE(item_of(plan, second)->start, 32);
        QCOMPARE(item_of(plan, second)->count, 1);
        QCOMPARE(second.table.blocks[0], first.table.blocks[0]);
    }

    void scored_positions_limit_hits_and_rows() {
        Bench b(16, {.token_budget = 64, .max_running = 4, .max_outputs = 4});
        b.add(33, 1);
        while (!b.scheduler.idle()) b.step();
        Sequence& s = b.add(33, 1);
        s.logits_from = 20;
        std::int32_t outputs = 0, steps = 0;
        while (!b.scheduler.idle()) {
            const StepPlan plan = b.step();
            if (plan.items.empty()) continue;
            if (steps++ == 0) QCOMPARE(plan.items[0].start, 20);
            QVERIFY(plan.items[0].outputs <= 4);
            outputs += plan.items[0].outputs;
        }
        QCOMPARE(outputs, 13 + 1);
    }

    void held_sequences_keep_their_blocks_until_they_are_needed() {
        Bench b(6, {.token_budget = 64, .max_running = 4, .max_outputs = 4});
        Sequence& old = b.add(20, 100);
        b.step();
        b.scheduler.hold(old);
        QVERIFY(b.scheduler.idle());
        QCOMPARE(old.table.blocks.size(), std::size_t{3});
        Sequence& small = b.add(7, 1, 500);
        b.step();
        QCOMPARE(old.phase, SequencePhase::Held);
        b.scheduler.remove(small);
        b.add(40, 1, 700);
        b.step();
        QCOMPARE(old.phase, SequencePhase::Dropped);
        QVERIFY(old.table.blocks.empty());
    }

    void a_higher_priority_takes_the_place_of_a_lower_one() {
        // By the number that may run…
        Bench few(64, {.token_budget = 64, .max_running = 2, .max_outputs = 4});
        Sequence& low = few.add(10, 50);
        Sequence& lower = few.add(10, 50, 500, -1);
        few.step();
        Sequence& high = few.add(10, 5, 1000, 3);
        StepPlan plan = few.step();
        QCOMPARE(plan.preempted, std::vector<Sequence*>{&lower});
        QVERIFY(item_of(plan, high) && item_of(plan, low) && !item_of(plan, lower));
        // …and by blocks; equals wait.
        Bench small(8, {.token_budget = 64, .max_running = 4, .max_outputs = 4});
        Sequence& old = small.add(40, 10);
        small.step();
        Sequence& equal = small.add(40, 10, 500);
        QVERIFY(small.step().preempted.empty());
        QCOMPARE(equal.phase, SequencePhase::Waiting);
        Sequence& urgent = small.add(30, 10, 1000, 1);
        plan = small.step();
        QCOMPARE(plan.preempted, std::vector<Sequence*>{&old});
        QVERIFY(item_of(plan, urgent));
        int guard = 0;
        while (!small.scheduler.idle() && ++guard < 200) small.step();
        QVERIFY(small.scheduler.idle() && small.exhausted.empty());
        for (const auto& s : small.sequences) QVERIFY(s->preemptions <= 1);
        QCOMPARE(old.length(), 50);
    }

    void nobody_gives_way_where_it_would_not_help() {
        Bench b(8, {.token_budget = 64, .max_running = 4, .max_outputs = 4});
        b.add(30, 10, 0, 5);
        Sequence& low = b.add(10, 4, 500);
        b.step();
        b.add(50, 1, 1000, 3);
        QVERIFY(b.step().preempted.empty());
        QCOMPARE(low.phase, SequencePhase::Running);
        int guard = 0;
        while (!b.scheduler.idle() && ++guard < 200) b.step();
        QVERIFY(b.scheduler.idle() && b.exhausted.empty());
    }

    void everybody_who_runs_gets_on() {
        // As many decodes as the budget has rows, and a prompt beside them.
        Bench decodes(256, {.token_budget = 4, .max_running = 8, .max_outputs = 8});
        for (int i = 0; i < 4; ++i) decodes.add(1, 400, i * 1000);
        Sequence& prompt = decodes.add(40, 1, 9000);
        int steps = 0;
        while (prompt.computed < 40 && ++steps < 400) decodes.step();
        QVERIFY2(steps < 40 / 4 * 20, qPrintable(QString::number(steps)));
        // A prompt of low priority beside long ones of high priority that never end.
        Bench prompts(512, {.token_budget = 8, .max_running = 8, .max_outputs = 8});
        Sequence& low = prompts.add(30, 1);
        prompts.step();
        for (int i = 0; i < 3; ++i) prompts.add(1200, 1, 10'000 * (i + 1), 7);
        steps = 0;
        while (low.computed < 30 && ++steps < 400) prompts.step();
        QVERIFY2(steps < 100, qPrintable(QString::number(steps)));
    }

    void contiguous_tables_are_reserved_whole() {
        Bench b(16, {.token_budget = 16, .max_running = 8, .max_outputs = 8}, KvPolicy{.contiguous = true});
        Sequence& a = b.add(20, 20);  // 5 blocks
        Sequence& c = b.add(20, 50);  // 9 blocks
        Sequence& d = b.add(10, 10);  // 3 blocks: no room beside them
        StepPlan plan = b.step();
        QCOMPARE(plan.admitted, (std::vector<Sequence*>{&a, &c}));
        QCOMPARE(a.table.blocks.size(), std::size_t{5});
        QCOMPARE(c.table.blocks.size(), std::size_t{9});
        for (const Sequence* s : {&a, &c})
            for (std::size_t i = 1; i < s->table.blocks.size(); ++i)
                QCOMPARE(s->table.blocks[i].value, s->table.blocks[i - 1].value + 1);
        int guard = 0;
        while (!b.scheduler.idle() && ++guard < 300) QVERIFY(b.step().preempted.empty());
        QVERIFY(b.scheduler.idle() && b.exhausted.empty());
        QCOMPARE(d.length(), 20);
        QCOMPARE(b.kv.pool().free_count(), 16);
    }

    void crossing_the_rope_switch_starts_over() {
        Bench b(32, {.token_budget = 64, .max_running = 4, .max_outputs = 4, .rope_switch = 20},
                KvPolicy{.rope_sets = 2});
        Sequence& s = b.add(18, 10);
        b.step();
        b.step();
        QCOMPARE(s.table.rope_set, 0);
        QCOMPARE(s.length(), 20);
        b.step();  // the row of the twentieth token: still the first set
        QCOMPARE(s.table.rope_set, 0);
        QCOMPARE(s.length(), 21);
        StepPlan plan = b.step();
        QCOMPARE(s.table.rope_set, 1);
        QCOMPARE(item_of(plan, s)->start, 0);
        QCOMPARE(item_of(plan, s)->count, 21);
        QCOMPARE(item_of(plan, s)->outputs, 1);
        plan = b.step();
        QCOMPARE(item_of(plan, s)->count, 1);
        // Another that is as long from the start finds the blocks of the second set, not those of the first.
        Sequence& next = b.add(0, 2);
        next.tokens.assign(s.tokens.begin(), s.tokens.begin() + 22);
        b.wanted.back() = 24;
        b.step();
        QCOMPARE(next.cached_tokens, 16);
        QCOMPARE(next.table.blocks[0], s.table.blocks[0]);
    }

    void blocks_before_the_window_come_back() {
        Bench b(64, {.token_budget = 16, .max_running = 4, .max_outputs = 4, .window = 10});
        Sequence& s = b.add(60, 30);
        int guard = 0;
        while (!b.scheduler.idle() && ++guard < 100) {
            b.step();
            if (b.scheduler.idle()) break;
            QCOMPARE(s.table.given_back, std::max(0, s.computed - 9) / 8);
            QVERIFY(64 - b.kv.pool().free_count() <= (16 + 9) / 8 + 2);
        }
        QCOMPARE(b.kv.pool().free_count(), 64);
        QVERIFY(b.exhausted.empty());
    }

    void forked_sequences_share_and_then_part() {
        Bench b(32, {.token_budget = 64, .max_running = 3, .max_outputs = 4});
        Sequence& first = b.add(20, 5);
        StepPlan plan = b.scheduler.plan();
        b.scheduler.commit(plan);
        std::vector<Sequence*> others;
        for (int i = 0; i < 3; ++i) {  // one more than may run
            auto s = std::make_unique<Sequence>();
            s->id = SequenceId{static_cast<std::int64_t>(b.sequences.size()) + 1};
            s->arrival = first.arrival;
            b.wanted.push_back(25);
            b.sequences.push_back(std::move(s));
            others.push_back(b.sequences.back().get());
            b.scheduler.fork(first, *others.back());
        }
        QCOMPARE(b.scheduler.running().size(), std::size_t{3});
        QCOMPARE(b.scheduler.waiting().size(), std::size_t{1});
        QCOMPARE(b.kv.pool().references(first.table.blocks[2]), 3);
        first.tokens.emplace_back(1);
        for (Sequence* s : others) s->tokens.emplace_back(static_cast<int>(s->id.value));
        plan = b.step();
        QCOMPARE(plan.tokens, 3);
        QCOMPARE(plan.copies.size(), std::size_t{2});  // the last one to write has the block for itself
        int guard = 0;
        while (!b.scheduler.idle() && ++guard < 60) b.step();
        QVERIFY(b.scheduler.idle() && b.exhausted.empty());
        QCOMPARE(b.kv.pool().free_count(), 32);
    }

    void random_loads_always_finish() {
        std::mt19937 random(3);
        for (int round = 0; round < 200; ++round) {
            const auto pool = 4 + static_cast<std::int32_t>(random() % 20);
            KvPolicy policy{.prefix_cache = random() % 2 == 0, .contiguous = random() % 4 == 0};
            SchedulerLimits limits{.token_budget = 1 + static_cast<std::int32_t>(random() % 40),
                                   .max_running = 1 + static_cast<std::int32_t>(random() % 6),
                                   .max_outputs = 6};
            if (random() % 3 == 0) {
                policy.rope_sets = 2;
                limits.rope_switch = 1 + static_cast<std::int32_t>(random() % 40);
            }
            if (random() % 3 == 0) limits.window = 1 + static_cast<std::int32_t>(random() % 30);
            Bench b(pool, limits, policy);
            std::vector<Sequence*> alive;
            const int requests = 1 + static_cast<int>(random() % 8);
            int added = 0, guard = 0;
            while ((added < requests || !b.scheduler.idle()) && ++guard < 20'000) {
                if (added < requests && random() % 3 == 0) {
                    const auto most = static_cast<std::uint32_t>(pool * 8 - 2);
                    const auto prompt = 1 + static_cast<std::int32_t>(random() % most);
                    const auto generate = 1 + static_cast<std::int32_t>(
                                                  random() % static_cast<std::uint32_t>(pool * 8 - prompt));
                    alive.push_back(&b.add(prompt, std::min(generate, 30),
                                           static_cast<std::int32_t>(random() % 3) * 100,
                                           static_cast<std::int32_t>(random() % 2)));
                    ++added;
                }
                b.step();
                if (random() % 50 == 0 && !alive.empty()) {  // a cancel at any time
                    Sequence* s = alive[random() % alive.size()];
                    b.scheduler.remove(*s);
                    b.wanted[static_cast<std::size_t>(s->id.value) - 1] = s->length();
                }
            }
            QVERIFY2(guard < 20'000, "no progress");
            QVERIFY(b.exhausted.empty());
            QCOMPARE(b.kv.pool().free_count(), pool);
            for (std::size_t i = 0; i < b.sequences.size(); ++i)
                QCOMPARE(b.sequences[i]->length(), b.wanted[i]);
        }
    }
};

QTEST_APPLESS_MAIN(TestScheduler)
#include "tst_scheduler.moc"
