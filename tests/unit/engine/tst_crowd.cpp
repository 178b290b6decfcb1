// Many requests at a time: none of them notices the others but by waiting.
#include <algorithm>

#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

Request ask(std::int32_t length, std::uint64_t seed, std::int32_t generate, Answer* rows = nullptr) {
    return ask_on(noise_ids(length, seed), generate, rows);
}

}  // namespace

class TestCrowd : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::map<std::string, std::shared_ptr<Model>> models_;

    std::shared_ptr<Model> model(const std::string& device, DType dtype = DType::Q8_0) {
        auto& m = models_[device + std::string(info_of(dtype).name)];
        if (!m) m = small(dir_, {.layers = 2, .context = 1024, .seed = 5, .dtype = dtype}, device);
        return m;
    }

    Answer alone(const std::shared_ptr<Model>& m, const Request& request) {
        auto engine = engine_or_die(m, {.prefix_cache = false});
        Answer rows;
        Request r = request;
        r.on_sample_logits = [&rows](std::span<const float> row) {
            rows.logits.emplace_back(row.begin(), row.end());
        };
        Listener listener;
        const RequestId id = submit_or_die(*engine, std::move(r));
        drain(*engine, listener);
        rows.ids = listener.answers[id.value].ids;
        return rows;
    }

  private slots:
    // The deterministic mode is the only one: an answer is the same whoever else is there.
    void eight_neighbours_change_nothing_data() {
        QTest::addColumn<int>("dtype");
        QTest::addColumn<int>("blocks");
        QTest::addColumn<int>("chunk");
        for (const DType t : {DType::Q8_0, DType::F16})
            for (const int blocks : {200, 26})
                for (const int chunk : {5, 32, 256})
                    QTest::addRow("%s, %d blocks, chunk %d", info_of(t).name.data(), blocks, chunk)
                        << static_cast<int>(t) << blocks << chunk;
    }
    void eight_neighbours_change_nothing() {
        QFETCH(int, dtype);
        QFETCH(int, blocks);
        QFETCH(int, chunk);
        const auto m = model("cpu", static_cast<DType>(dtype));
        auto engine = engine_or_die(m, {.block_size = 8, .blocks = blocks, .token_budget = chunk});
        Listener listener;
        std::vector<Answer> got(9);
        std::vector<RequestId> ids;
        std::vector<Request> requests;
        for (std::size_t i = 0; i < got.size(); ++i) {
            // Lengths 1, 5 and 64 among them (BAT-13).
            const std::int32_t lengths[] = {40, 1, 5, 64, 13, 8, 90, 33, 2};
            Request r = ask(lengths[i], 70 + i, 20 + static_cast<std::int32_t>(i), &got[i]);
            r.priority = static_cast<std::int32_t>(i % 3);
            r.sampling.temperature = i % 2 == 0 ? 0.0F : 1.0F;
            r.sampling.seed = i;
            requests.push_back(r);
            ids.push_back(submit_or_die(*engine, std::move(r)));
            engine->step(listener);
        }
        drain(*engine, listener);
        std::int32_t preemptions = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            const Answer wanted = alone(m, requests[i]);
            QCOMPARE(listener.answers[ids[i].value].ids, wanted.ids);
            QVERIFY(got[i].logits == wanted.logits);
            preemptions += listener.answers[ids[i].value].stats.preemptions;
        }
        QCOMPARE(preemptions > 0, blocks == 26);
    }

    void bat_13_short_prompts_among_long_ones_in_poisoned_memory() {
        auto engine = engine_or_die(model("cpu"), {.block_size = 8, .blocks = 100});
        engine->poison_cache();
        Listener listener;
        std::vector<Answer> got(3);
        const std::int32_t lengths[] = {1, 5, 64};
        for (std::size_t i = 0; i < 3; ++i) submit_or_die(*engine, ask(lengths[i], i, 10, &got[i]));
        drain(*engine, listener);
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(got[i].logits == alone(model("cpu"), ask(lengths[i], i, 10)).logits);
    }

    void bat_17_at_once_and_one_by_one() {
        for (const char* device : {"reference", "cpu"}) {
            const auto rows = [&](std::int32_t chunk) {
                auto engine = engine_or_die(model(device), {.token_budget = chunk});
                std::vector<std::vector<float>> all;
                Request r = ask(17, 3, 0);
                r.on_logits = [&](std::int32_t, std::span<const float> row) {
                    all.emplace_back(row.begin(), row.end());
                };
                Listener listener;
                submit_or_die(*engine, std::move(r));
                drain(*engine, listener);
                return all;
            };
            QVERIFY(rows(1) == rows(256));
        }
    }

    void bat_20_an_edited_turn_reuses_only_what_is_before_it() {
        auto engine = engine_or_die(model("cpu"), {.block_size = 8, .blocks = 100});
        Listener listener;
        auto chat = noise_ids(60, 9);
        const auto answer_to = [&](const std::vector<TokenId>& prompt) {
            Answer got;
            Request r = ask(1, 1, 4, &got);
            r.prompt = prompt;
            r.session = 3;
            const RequestId id = submit_or_die(*engine, std::move(r));
            drain(*engine, listener);
            got.stats = listener.answers[id.value].stats;
            Request cold = ask(1, 1, 4);
            cold.prompt = prompt;
            if (got.logits != alone(model("cpu"), cold).logits) qFatal("not what a cold run gives");
            return got.stats.cached_tokens;
        };
        QCOMPARE(answer_to(chat), 0);
        auto edited = chat;
        edited[20] = TokenId{edited[20].value == 7 ? 8 : 7};
        QCOMPARE(answer_to(edited), 16);
        QCOMPARE(answer_to(chat), 56);
        engine->release_session(3, true);
        QVERIFY(engine->verify().ok());
        QVERIFY(answer_to(chat) <= 16);  // what the edited one shared may be known still; its own is gone
    }

    void a_request_that_fails_fails_alone() {
        auto engine = engine_or_die(model("cpu"), {.block_size = 8, .blocks = 100});
        Listener listener;
        Answer good;
        const RequestId before = submit_or_die(*engine, ask(20, 1, 12, &good));
        Request bad = ask(20, 2, 12);
        bad.n = 2;
        for (std::int32_t id = 0; id < 260; ++id)  // SMP-02: nothing is left to draw
            bad.sampling.logit_bias.emplace_back(TokenId{id}, -std::numeric_limits<float>::infinity());
        const RequestId failing = submit_or_die(*engine, std::move(bad));
        drain(*engine, listener);
        for (std::int32_t i = 0; i < 2; ++i) {
            QCOMPARE(listener.at(failing, i).reason, FinishReason::Failed);
            QVERIFY(listener.at(failing, i).error && listener.at(failing, i).error->message.size() > 20);
            QVERIFY(listener.at(failing, i).ids.empty());
        }
        QCOMPARE(listener.answers[before.value].reason, FinishReason::Length);
        QVERIFY(good.logits == alone(model("cpu"), ask(20, 1, 12)).logits);
        QCOMPARE(engine->snapshot().used, 0);
    }

    void ctx_04_more_than_the_pool_holds_waits_and_ends() {
        auto engine = engine_or_die(model("cpu"), {.block_size = 8, .blocks = 8});
        Listener listener;
        std::vector<RequestId> ids;
        for (std::uint64_t i = 0; i < 3; ++i) ids.push_back(submit_or_die(*engine, ask(28, i, 4)));
        drain(*engine, listener);
        QVERIFY(engine->iterations() < 60);  // no busy loop
        for (const RequestId id : ids) {
            QCOMPARE(listener.answers[id.value].reason, FinishReason::Length);
            QCOMPARE(listener.answers[id.value].stats.preemptions, 0);
        }
        QVERIFY(!engine->submit(ask(70, 1, 4)).ok());  // one that never fits is refused at once
    }

    void bat_11_no_ping_pong() {
        auto engine = engine_or_die(model("cpu"), {.block_size = 8, .blocks = 12, .token_budget = 16});
        Listener listener;
        const RequestId a = submit_or_die(*engine, ask(60, 1, 20));
        const RequestId b = submit_or_die(*engine, ask(60, 2, 20));
        drain(*engine, listener);
        for (const RequestId id : {a, b}) {
            QCOMPARE(listener.answers[id.value].ids.size(), std::size_t{20});
            QVERIFY(listener.answers[id.value].stats.preemptions <= 1);
        }
        QVERIFY(engine->iterations() < 100);
    }

    void bat_14_cancel_in_a_long_prompt_takes_one_iteration() {
        QTemporaryDir dir;
        auto m = small(dir, {.context = 16384}, "cpu");
        auto engine = engine_or_die(m, {.token_budget = 64});
        Listener listener;
        Request r = ask(10'000, 1, 5);
        r.cancel = std::make_shared<std::atomic<bool>>(false);
        const auto cancel = r.cancel;
        const RequestId id = submit_or_die(*engine, std::move(r));
        for (int i = 0; i < 3; ++i) engine->step(listener);
        QVERIFY(!listener.answers[id.value].finished);
        cancel->store(true);
        engine->step(listener);
        QCOMPARE(listener.answers[id.value].reason, FinishReason::Cancelled);
        QVERIFY(engine->idle());
        QCOMPARE(engine->snapshot().used, 0);
    }

    void a_higher_priority_is_served_first_and_nobody_loses_text() {
        auto engine = engine_or_die(model("cpu"), {.block_size = 8, .blocks = 64, .max_running = 2});
        Listener listener;
        std::vector<Answer> got(3);
        const RequestId a = submit_or_die(*engine, ask(10, 1, 30, &got[0]));
        const RequestId b = submit_or_die(*engine, ask(10, 2, 30, &got[1]));
        for (int i = 0; i < 5; ++i) engine->step(listener);
        Request r = ask(10, 3, 5, &got[2]);
        r.priority = 1;
        const RequestId urgent = submit_or_die(*engine, std::move(r));
        for (int i = 0; i < 5; ++i) engine->step(listener);
        QVERIFY(listener.answers[urgent.value].finished);
        QVERIFY(!listener.answers[a.value].finished && !listener.answers[b.value].finished);
        drain(*engine, listener);
        QCOMPARE(listener.answers[b.value].stats.preemptions, 1);
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(got[i].logits == alone(model("cpu"), ask(10, i + 1, i == 2 ? 5 : 30)).logits);
    }

    void tok_16_padded_rows_are_no_tokens_unless_asked_for() {
        QTemporaryDir dir;
        auto m = small(dir, {.padding_rows = 4, .seed = 6}, "cpu");
        QCOMPARE(m->config().vocab, 264);
        auto engine = engine_or_die(m, {});
        const auto drawn = [&](std::int32_t vocabulary) {
            std::int32_t most = 0;
            for (std::uint64_t seed = 0; seed < 30; ++seed) {
                Request r = ask(5, seed, 40);
                r.vocabulary = vocabulary;
                r.candidates = 260;
                r.sampling.temperature = 3.0F;
                r.sampling.seed = seed;
                Listener listener;
                const RequestId id = submit_or_die(*engine, std::move(r));
                drain(*engine, listener);
                for (const TokenId t : listener.answers[id.value].ids) most = std::max(most, t.value);
            }
            return most;
        };
        QVERIFY(drawn(0) < 260);
        const std::int32_t all = drawn(100'000);
        QVERIFY(all >= 260 && all < 264);
    }

    void ctx_16_memory_is_planned_before_anything_is_loaded() {
        ModelConfig c = model("cpu")->config();
        c.context = 131072;
        const auto plan = plan_memory(c, {}, 100, std::uint64_t{16} << 20U);
        QVERIFY(plan.ok());
        QVERIFY(plan->kv <= std::uint64_t{8} << 20U);
        QVERIFY(plan->options.context < 131072);
        QCOMPARE(plan->options.context, plan->options.blocks * 16);
        const auto ample = plan_memory(c, {}, 100, std::uint64_t{64} << 30U);
        QVERIFY(ample.ok());
        QCOMPARE(ample->options.context, 131072);
        const auto refused = plan_memory(c, {.blocks = 100'000}, 100, std::uint64_t{16} << 20U);
        QVERIFY(!refused.ok());
        QCOMPARE(refused.error().kind, ErrorKind::OutOfMemory);
        QVERIFY(refused.error().message.find("16 MiB") != std::string::npos);
        QVERIFY(!plan_memory(c, {.context = -1}, 0, 0).ok());
        c.context = std::numeric_limits<std::int32_t>::max();
        const auto huge = plan_memory(c, {}, 100, std::uint64_t{1} << 30U);
        QVERIFY(huge.ok());
        QVERIFY(huge->kv <= std::uint64_t{512} << 20U);
    }
};

QTEST_GUILESS_MAIN(TestCrowd)
#include "tst_crowd.moc"
