// The design's rule of exactness: with the reference operations, logits and texts are bit-equal however the
// work is cut. The fast CPU device promises the same of itself (its kernels are batch-invariant).
#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

struct Run {
    std::vector<std::vector<float>> prompt_logits;
    Answer answer;
};

Request request_for(const std::vector<TokenId>& prompt, Run& run, std::int32_t generate) {
    Request r;
    r.prompt = prompt;
    r.max_tokens = generate;
    r.ignore_eog = true;
    r.on_logits = [&run](std::int32_t, std::span<const float> row) {
        run.prompt_logits.emplace_back(row.begin(), row.end());
    };
    r.on_sample_logits = [&run](std::span<const float> row) {
        run.answer.logits.emplace_back(row.begin(), row.end());
    };
    return r;
}

constexpr std::int32_t prompt_length = 70;
constexpr std::int32_t generated = 20;

}  // namespace

class TestExactness : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::map<std::string, std::shared_ptr<Model>> models_;
    std::map<std::string, Run> yardsticks_;  // one piece, alone, no prefix cache

    std::shared_ptr<Model> model(const std::string& device) {
        auto& m = models_[device];
        if (!m) m = small(dir_, {.layers = 2, .seed = 5, .dtype = DType::Q8_0}, device);
        return m;
    }

    const Run& yardstick(const std::string& device, DType kv) {
        Run& y = yardsticks_[device + std::string(info_of(kv).name)];
        if (y.prompt_logits.empty())
            y = alone(device, {.kv_dtype = kv, .token_budget = 256, .prefix_cache = false});
        return y;
    }

    Run alone(const std::string& device, const EngineOptions& options) {
        auto engine = engine_or_die(model(device), options);
        Run run;
        Listener listener;
        const RequestId id = submit_or_die(*engine, request_for(noise_ids(prompt_length, 3), run, generated));
        drain(*engine, listener);
        run.answer.ids = listener.answers[id.value].ids;
        return run;
    }

    void compare(const Run& got, const Run& wanted, std::int32_t first_position = 0) {
        QCOMPARE(got.answer.ids, wanted.answer.ids);
        QCOMPARE(got.prompt_logits.size() + static_cast<std::size_t>(first_position),
                 wanted.prompt_logits.size());
        for (std::size_t i = 0; i < got.prompt_logits.size(); ++i)
            QVERIFY2(
                got.prompt_logits[i] == wanted.prompt_logits[i + static_cast<std::size_t>(first_position)],
                qPrintable(QString("logits of position %1 differ").arg(i)));
        QVERIFY(got.answer.logits == wanted.answer.logits);
    }

    static void cuts() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("kv");
        QTest::addColumn<int>("chunk");
        QTest::addColumn<int>("block");
        for (const char* device : {"reference", "cpu"})
            for (const DType kv : {DType::F32, DType::F16})
                for (const int chunk : {1, 7, 16, 64, 256})
                    for (const int block : {8, 16, 32})
                        QTest::addRow("%s %s chunk %d block %d", device, info_of(kv).name.data(), chunk,
                                      block)
                            << QString(device) << static_cast<int>(kv) << chunk << block;
    }

  private slots:
    void initTestCase() { QVERIFY(dir_.isValid()); }

    void chunks_and_block_sizes_data() { cuts(); }
    void chunks_and_block_sizes() {
        QFETCH(QString, device);
        QFETCH(int, kv);
        QFETCH(int, chunk);
        QFETCH(int, block);
        const auto dtype = static_cast<DType>(kv);
        const Run run =
            alone(device.toStdString(), {.block_size = block, .kv_dtype = dtype, .token_budget = chunk});
        compare(run, yardstick(device.toStdString(), dtype));
    }

    void from_the_prefix_cache_data() { cuts(); }
    void from_the_prefix_cache() {
        QFETCH(QString, device);
        QFETCH(int, kv);
        QFETCH(int, chunk);
        QFETCH(int, block);
        const auto dtype = static_cast<DType>(kv);
        auto engine = engine_or_die(model(device.toStdString()),
                                    {.block_size = block, .kv_dtype = dtype, .token_budget = chunk});
        const auto prompt = noise_ids(prompt_length, 3);
        // The cache knows: nothing; all of it; all of it to the last block (a prompt of whole blocks).
        for (const std::int32_t length : {prompt_length, prompt_length, 64, 64}) {
            Run run;
            Request r = request_for(std::vector<TokenId>(prompt.begin(), prompt.begin() + length), run, 5);
            r.on_logits = nullptr;
            Listener listener;
            const RequestId id = submit_or_die(*engine, std::move(r));
            drain(*engine, listener);
            const Answer& a = listener.answers[id.value];
            // Logits after the prompt are those of that position in one piece.
            QVERIFY(
                run.answer.logits[0] ==
                yardstick(device.toStdString(), dtype).prompt_logits[static_cast<std::size_t>(length) - 1]);
            if (length == prompt_length)
                for (std::size_t i = 0; i < a.ids.size(); ++i)
                    QCOMPARE(a.ids[i], yardstick(device.toStdString(), dtype).answer.ids[i]);
        }
        // And it was used.
        Run run;
        Request r = request_for(prompt, run, 1);
        r.on_logits = nullptr;
        Listener listener;
        const RequestId id = submit_or_die(*engine, std::move(r));
        drain(*engine, listener);
        QCOMPARE(listener.answers[id.value].stats.cached_tokens, prompt_length / block * block);
    }

    void among_seven_others_data() { cuts(); }
    void among_seven_others() {
        QFETCH(QString, device);
        QFETCH(int, kv);
        QFETCH(int, chunk);
        QFETCH(int, block);
        const auto dtype = static_cast<DType>(kv);
        auto engine = engine_or_die(model(device.toStdString()),
                                    {.block_size = block, .kv_dtype = dtype, .token_budget = chunk});
        Listener listener;
        const auto other = [&](std::uint64_t i) {
            Request r;
            r.prompt = noise_ids(1 + static_cast<std::int32_t>(i) * 13, 100 + i);  // lengths 1, 14, 27, …
            r.max_tokens = 10 + static_cast<std::int32_t>(i) * 3;
            r.ignore_eog = true;
            r.sampling.temperature = i % 2 ? 1.0F : 0.0F;
            submit_or_die(*engine, std::move(r));
        };
        for (std::uint64_t i = 0; i < 4; ++i) other(i);
        for (int i = 0; i < 5; ++i) engine->step(listener);
        Run run;
        const RequestId id = submit_or_die(*engine, request_for(noise_ids(prompt_length, 3), run, generated));
        for (std::uint64_t i = 4; i < 7; ++i) other(i);
        drain(*engine, listener);
        run.answer.ids = listener.answers[id.value].ids;
        compare(run, yardstick(device.toStdString(), dtype));
    }

    void bat_10_preempted_and_resumed_data() {
        QTest::addColumn<QString>("device");
        for (const char* device : {"reference", "cpu"}) QTest::newRow(device) << QString(device);
    }
    void bat_10_preempted_and_resumed() {
        QFETCH(QString, device);
        // Two answers that do not fit together: the younger gives way again and again.
        auto engine =
            engine_or_die(model(device.toStdString()),
                          {.block_size = 8, .blocks = 16, .kv_dtype = DType::F32, .token_budget = 32});
        Listener listener;
        Request first;
        first.prompt = noise_ids(20, 77);
        first.max_tokens = 60;
        first.ignore_eog = true;
        submit_or_die(*engine, std::move(first));
        for (int i = 0; i < 8; ++i) engine->step(listener);
        Run run;
        const RequestId id = submit_or_die(*engine, request_for(noise_ids(prompt_length, 3), run, generated));
        drain(*engine, listener);
        run.answer.ids = listener.answers[id.value].ids;
        QVERIFY(listener.answers[id.value].stats.preemptions > 0);
        compare(run, yardstick(device.toStdString(), DType::F32));
    }

    void smp_17_a_seeded_answer_does_not_depend_on_its_neighbours() {
        const auto sampled = [&](bool neighbours, int chunk) {
            auto engine = engine_or_die(model("cpu"), {.token_budget = chunk});
            Listener listener;
            for (std::uint64_t i = 0; neighbours && i < 3; ++i) {
                Request r;
                r.prompt = noise_ids(9, i);
                r.sampling.temperature = 1;
                r.sampling.seed = i;
                r.max_tokens = 40;
                submit_or_die(*engine, std::move(r));
            }
            Request r;
            r.prompt = noise_ids(30, 5);
            r.sampling.temperature = 1;
            r.sampling.top_p = 0.95F;
            r.sampling.seed = 42;
            r.max_tokens = 40;
            r.ignore_eog = true;
            const RequestId id = submit_or_die(*engine, std::move(r));
            drain(*engine, listener);
            return listener.answers[id.value].ids;
        };
        const auto wanted = sampled(false, 256);
        for (int i = 0; i < 5; ++i) QCOMPARE(sampled(true, 1 + i * 7), wanted);
    }
};

QTEST_GUILESS_MAIN(TestExactness)
#include "tst_exactness.moc"
