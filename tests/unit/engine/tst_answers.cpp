// Several answers to one prompt: its blocks are shared, and each answer is what a request of its own gives.
#include <set>

#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

constexpr std::int32_t prompt_length = 45;

Request ask(std::int32_t n, std::int32_t generate, std::int32_t length = prompt_length) {
    Request r;
    r.prompt = noise_ids(length, 3);
    r.max_tokens = generate;
    r.ignore_eog = true;
    r.n = n;
    r.sampling.temperature = 1.0F;
    r.sampling.seed = 7;
    return r;
}

}  // namespace

class TestAnswers : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::map<std::string, std::shared_ptr<Model>> models_;

    std::shared_ptr<Model> model(const std::string& device) {
        auto& m = models_[device];
        if (!m) m = small(dir_, {.layers = 2, .seed = 5, .dtype = DType::Q8_0}, device);
        return m;
    }

    std::vector<TokenId> single(const std::string& device, Request r, std::uint64_t stream) {
        auto engine = engine_or_die(model(device), {.prefix_cache = false});
        r.n = 1;
        r.sampling.stream = stream;
        Listener listener;
        const RequestId id = submit_or_die(*engine, std::move(r));
        drain(*engine, listener);
        return listener.answers[id.value].ids;
    }

  private slots:
    void each_answer_is_that_of_a_request_of_its_own_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("n");
        QTest::addColumn<int>("chunk");
        QTest::addColumn<int>("blocks");
        QTest::addColumn<int>("running");
        QTest::addColumn<bool>("prefix");
        QTest::addColumn<bool>("contiguous");
        QTest::newRow("two") << QString("reference") << 2 << 256 << 64 << 32 << true << false;
        QTest::newRow("eight") << QString("cpu") << 8 << 256 << 64 << 32 << true << false;
        QTest::newRow("small chunks") << QString("cpu") << 5 << 7 << 64 << 32 << true << false;
        QTest::newRow("one row a step") << QString("cpu") << 3 << 1 << 64 << 32 << true << false;
        QTest::newRow("too few may run") << QString("cpu") << 7 << 64 << 64 << 3 << true << false;
        QTest::newRow("too few may run, no prefix cache")
            << QString("cpu") << 7 << 64 << 64 << 3 << false << false;
        QTest::newRow("preempted") << QString("cpu") << 6 << 64 << 14 << 32 << true << false;
        QTest::newRow("preempted, no prefix cache")
            << QString("reference") << 6 << 64 << 14 << 32 << false << false;
        QTest::newRow("static") << QString("cpu") << 4 << 64 << 64 << 32 << true << true;
        QTest::newRow("static, in turns") << QString("cpu") << 4 << 64 << 12 << 32 << true << true;
    }
    void each_answer_is_that_of_a_request_of_its_own() {
        QFETCH(QString, device);
        QFETCH(int, n);
        QFETCH(int, chunk);
        QFETCH(int, blocks);
        QFETCH(int, running);
        QFETCH(bool, prefix);
        QFETCH(bool, contiguous);
        auto engine = engine_or_die(model(device.toStdString()),
                                    {.block_size = 8,
                                     .blocks = blocks,
                                     .token_budget = chunk,
                                     .max_running = running,
                                     .prefix_cache = prefix,
                                     .cache = contiguous ? CacheMode::Static : CacheMode::Paged});
        Listener listener;
        Request first = ask(n, 25);
        first.sampling.stream = 100;
        const RequestId id = submit_or_die(*engine, std::move(first));
        drain(*engine, listener);
        QCOMPARE(listener.answers.size() + listener.further.size(), static_cast<std::size_t>(n));
        std::set<std::vector<TokenId>> different;
        for (std::int32_t i = 0; i < n; ++i) {
            const Answer& a = listener.at(id, i);
            QVERIFY(a.finished);
            QCOMPARE(a.reason, FinishReason::Length);
            QCOMPARE(a.stats.generated_tokens, 25);
            QCOMPARE(a.stats.prompt_tokens, prompt_length);
            QVERIFY(a.stats.ttft_seconds > 0);
            QCOMPARE(a.ids, single(device.toStdString(), ask(1, 25), 100 + static_cast<std::uint64_t>(i)));
            different.insert(a.ids);
        }
        QVERIFY(different.size() > 1);
        QCOMPARE(engine->snapshot().used, 0);
    }

    void the_prompt_is_computed_once_and_shared() {
        auto engine = engine_or_die(model("cpu"), {.block_size = 8, .blocks = 64, .prefix_cache = false});
        Listener listener;
        submit_or_die(*engine, ask(4, 10));
        engine->step(listener);
        KvSnapshot s = engine->snapshot();
        QCOMPARE(s.sequences.size(), std::size_t{4});
        QCOMPARE(s.used, 6);  // all of them, the last one half full, are everybody's
        QCOMPARE(s.shared, 6);
        engine->step(listener);
        s = engine->snapshot();
        QCOMPARE(s.shared, 5);
        QCOMPARE(s.used, 5 + 4);  // the half full block was copied when each went its own way (BAT-19)
        for (std::size_t i = 1; i < 4; ++i) {
            QCOMPARE(s.sequences[i].blocks[0], s.sequences[0].blocks[0]);
            QVERIFY(s.sequences[i].blocks[5] != s.sequences[0].blocks[5]);
        }
        std::vector<Record> records(4096);
        records.resize(engine->telemetry().pop(records));
        std::int32_t rows = 0;
        for (const Record& r : records)
            if (r.kind == RecordKind::Iteration) rows += r.iteration.tokens;
        QCOMPARE(rows, prompt_length + 4);
        drain(*engine, listener);
    }

    void every_answer_ends_by_itself() {
        auto engine = engine_or_die(model("cpu"), {});
        Listener listener;
        Request r = ask(24, 120);
        r.ignore_eog = false;
        r.sampling.temperature = 1.5F;
        const RequestId id = submit_or_die(*engine, std::move(r));
        drain(*engine, listener);
        std::set<FinishReason> reasons;
        for (std::int32_t i = 0; i < 24; ++i) {
            const Answer& a = listener.at(id, i);
            QVERIFY(a.finished);
            reasons.insert(a.reason);
            if (a.reason == FinishReason::Stop)
                QVERIFY(model("cpu")->tokenizer().is_end_of_generation(a.ids.back()));
            QCOMPARE(a.stats.generated_tokens, static_cast<std::int32_t>(a.ids.size()));
        }
        QVERIFY(reasons.count(FinishReason::Stop));
    }

    void stop_strings_end_their_own_answer() {
        auto engine = engine_or_die(model("cpu"), {});
        Listener listener;
        const RequestId plain = submit_or_die(*engine, ask(3, 40));
        drain(*engine, listener);
        const std::string stop = listener.at(plain, 1).text.substr(8, 3);
        Request r = ask(3, 40);
        r.stop = {stop};
        const RequestId id = submit_or_die(*engine, std::move(r));
        drain(*engine, listener);
        QCOMPARE(listener.at(id, 1).reason, FinishReason::StopString);
        for (std::int32_t i = 0; i < 3; ++i) {
            const std::string& whole = listener.at(plain, i).text;
            QCOMPARE(listener.at(id, i).text, whole.substr(0, whole.find(stop)));
        }
    }

    void a_full_context_ends_each_of_them() {
        auto engine = engine_or_die(model("cpu"), {.context = 64, .block_size = 8, .blocks = 16});
        Listener listener;
        const RequestId id = submit_or_die(*engine, ask(5, -1));
        drain(*engine, listener);
        for (std::int32_t i = 0; i < 5; ++i) {
            QCOMPARE(listener.at(id, i).reason, FinishReason::Context);
            QCOMPARE(listener.at(id, i).ids.size(), static_cast<std::size_t>(64 - prompt_length));
        }
    }

    void cancel_stops_all_of_them_data() {
        QTest::addColumn<int>("steps");
        for (const int steps : {0, 1, 3, 5, 9}) QTest::addRow("after %d steps", steps) << steps;
    }
    void cancel_stops_all_of_them() {
        QFETCH(int, steps);
        auto engine = engine_or_die(model("cpu"),
                                    {.block_size = 8, .blocks = 24, .token_budget = 16, .max_running = 3});
        Listener listener;
        Request r = ask(5, 50);
        r.cancel = std::make_shared<std::atomic<bool>>(false);
        const auto cancel = r.cancel;
        const RequestId id = submit_or_die(*engine, std::move(r));
        for (int i = 0; i < steps; ++i) engine->step(listener);
        cancel->store(true);
        engine->step(listener);
        for (std::int32_t i = 0; i < 5; ++i) {
            QVERIFY(listener.at(id, i).finished);
            QCOMPARE(listener.at(id, i).reason, FinishReason::Cancelled);
        }
        QVERIFY(engine->idle());
        QCOMPARE(engine->snapshot().used, 0);
        QVERIFY(engine->verify().ok());
    }

    void nothing_to_generate_ends_all_of_them() {
        auto engine = engine_or_die(model("cpu"), {});
        Listener listener;
        const RequestId id = submit_or_die(*engine, ask(3, 0));
        drain(*engine, listener);
        for (std::int32_t i = 0; i < 3; ++i) {
            QCOMPARE(listener.at(id, i).reason, FinishReason::Length);
            QVERIFY(listener.at(id, i).ids.empty());
        }
        for (const std::int32_t n : {0, -1, 5000}) QVERIFY(!engine->submit(ask(n, 1)).ok());
    }

    void a_session_holds_all_its_answers() {
        auto engine = engine_or_die(model("cpu"), {.block_size = 8, .blocks = 64});
        Listener listener;
        Request r = ask(3, 6);
        r.session = 4;
        submit_or_die(*engine, std::move(r));
        drain(*engine, listener);
        QCOMPARE(engine->snapshot().sequences.size(), std::size_t{3});
        QVERIFY(engine->snapshot().shared >= 5);
        Request next = ask(1, 2);
        next.session = 4;
        submit_or_die(*engine, std::move(next));
        drain(*engine, listener);
        QCOMPARE(engine->snapshot().sequences.size(), std::size_t{1});
        engine->release_session(4, true);
        QCOMPARE(engine->snapshot().used, 0);
        QVERIFY(engine->verify().ok());
    }
};

QTEST_GUILESS_MAIN(TestAnswers)
#include "tst_answers.moc"
