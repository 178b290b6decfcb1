// Models whose rotary embedding depends on how long the sequence is. The rule of exactness: every token is
// what a fresh run over all that is there gives, however the sequence got there.
#include <filesystem>

#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

constexpr std::int32_t switch_at = 40;

}  // namespace

class TestLongrope : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::map<std::string, std::shared_ptr<Model>> models_;

    std::shared_ptr<Model> model(const std::string& device) {
        auto& m = models_[device];
        if (!m)
            m = built(dir_, longrope_model(switch_at, {.layers = 2, .seed = 5, .dtype = DType::Q8_0}),
                      device);
        return m;
    }

    // The slow way: each token by a new engine from all tokens before it.
    Answer fresh(const std::string& device, std::vector<TokenId> tokens, std::int32_t generate, DType kv) {
        Answer all;
        for (std::int32_t i = 0; i < generate; ++i) {
            auto engine = engine_or_die(model(device), {.kv_dtype = kv, .prefix_cache = false});
            Listener listener;
            const RequestId id = submit_or_die(*engine, ask_on(tokens, 1, &all));
            drain(*engine, listener);
            tokens.push_back(listener.answers[id.value].ids.at(0));
            all.ids.push_back(tokens.back());
        }
        return all;
    }

    static void devices() {
        QTest::addColumn<QString>("device");
        QTest::newRow("reference") << QString("reference");
        QTest::newRow("cpu") << QString("cpu");
    }

  private slots:
    void the_model_has_two_sets() {
        QCOMPARE(model("cpu")->config().rope_switch, switch_at);
        QCOMPARE(model("cpu")->config().rope_sets(), 2);
        QCOMPARE(model("cpu")->config().rope_set(switch_at), 0);
        QCOMPARE(model("cpu")->config().rope_set(switch_at + 1), 1);
        // And they matter: the same beginning gives other logits where more is to come.
        const auto row_of_20 = [&](std::int32_t length) {
            auto engine = engine_or_die(model("reference"), {});
            std::vector<float> row;
            Request r = ask_on(noise_ids(length, 3), 0);
            r.on_logits = [&](std::int32_t position, std::span<const float> l) {
                if (position == 20) row.assign(l.begin(), l.end());
            };
            Listener listener;
            submit_or_die(*engine, std::move(r));
            drain(*engine, listener);
            return row;
        };
        QVERIFY(row_of_20(21) == row_of_20(switch_at));
        QVERIFY(row_of_20(switch_at) != row_of_20(switch_at + 1));
        QVERIFY(row_of_20(switch_at + 1) == row_of_20(100));
    }

    void crossing_while_decoding_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("chunk");
        QTest::addColumn<int>("block");
        QTest::addColumn<int>("prompt");
        QTest::addColumn<bool>("contiguous");
        for (const char* device : {"reference", "cpu"})
            for (const int chunk : {1, 7, 64})
                for (const int block : {8, 16})
                    for (const int prompt : {switch_at - 9, switch_at - 1, switch_at, switch_at + 1})
                        for (const bool contiguous : {false, true})
                            if (chunk == 7 || (block == 8 && prompt == switch_at - 9))
                                QTest::addRow("%s, chunk %d, block %d, prompt %d, %s", device, chunk, block,
                                              prompt, contiguous ? "static" : "paged")
                                    << QString(device) << chunk << block << prompt << contiguous;
    }
    void crossing_while_decoding() {
        QFETCH(QString, device);
        QFETCH(int, chunk);
        QFETCH(int, block);
        QFETCH(int, prompt);
        QFETCH(bool, contiguous);
        constexpr std::int32_t generate = 14;
        const auto tokens = noise_ids(prompt, 3);
        const Answer wanted = fresh(device.toStdString(), tokens, generate, DType::F16);
        auto engine = engine_or_die(model(device.toStdString()),
                                    {.block_size = block,
                                     .token_budget = chunk,
                                     .cache = contiguous ? CacheMode::Static : CacheMode::Paged});
        for (int again = 0; again < 2; ++again) {  // the second time from the prefix cache
            Answer got;
            Listener listener;
            const RequestId id = submit_or_die(*engine, ask_on(tokens, generate, &got));
            drain(*engine, listener);
            QCOMPARE(listener.answers[id.value].ids, wanted.ids);
            QVERIFY(got.logits == wanted.logits);
            QCOMPARE(listener.answers[id.value].reason, FinishReason::Length);
            QVERIFY((listener.answers[id.value].stats.cached_tokens > 0) == (again == 1 && !contiguous));
        }
        QCOMPARE(engine->snapshot().used, 0);
    }

    void the_prefix_cache_keeps_the_sets_apart_data() { devices(); }
    void the_prefix_cache_keeps_the_sets_apart() {
        QFETCH(QString, device);
        const auto tokens = noise_ids(80, 3);
        const std::vector<TokenId> near(tokens.begin(), tokens.begin() + 32);
        auto engine = engine_or_die(model(device.toStdString()), {.block_size = 8});
        const auto cached = [&](const std::vector<TokenId>& prompt) {
            Answer got;
            Listener listener;
            const RequestId id = submit_or_die(*engine, ask_on(prompt, 2, &got));
            drain(*engine, listener);
            const Answer wanted = fresh(device.toStdString(), prompt, 2, DType::F16);
            if (got.logits != wanted.logits || listener.answers[id.value].ids != wanted.ids) return -1;
            return listener.answers[id.value].stats.cached_tokens;
        };
        QCOMPARE(cached(near), 0);
        QCOMPARE(cached(tokens), 0);  // begins alike, but its keys are turned otherwise
        QCOMPARE(cached(near), 31);
        QCOMPARE(cached(tokens), 79);
    }

    void in_a_crowd_and_preempted_data() { devices(); }
    void in_a_crowd_and_preempted() {
        QFETCH(QString, device);
        // Room for about two of the four at their full length, all of which cross the switch.
        auto engine =
            engine_or_die(model(device.toStdString()),
                          {.block_size = 8, .blocks = 15, .kv_dtype = DType::F32, .token_budget = 24});
        Listener listener;
        std::vector<Answer> got(4);
        std::vector<RequestId> ids;
        for (std::size_t i = 0; i < got.size(); ++i)
            ids.push_back(submit_or_die(
                *engine, ask_on(noise_ids(18 + static_cast<std::int32_t>(5 * i), 50 + i), 30, &got[i])));
        drain(*engine, listener);
        std::int32_t preemptions = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            const Answer wanted =
                fresh(device.toStdString(), noise_ids(18 + static_cast<std::int32_t>(5 * i), 50 + i), 30,
                      DType::F32);
            QCOMPARE(listener.answers[ids[i].value].ids, wanted.ids);
            QVERIFY(got[i].logits == wanted.logits);
            preemptions += listener.answers[ids[i].value].stats.preemptions;
        }
        QVERIFY(preemptions > 0);
    }

    void answers_that_share_blocks_cross_each_by_itself() {
        auto engine = engine_or_die(model("reference"), {.block_size = 8});
        Listener listener;
        Request r = ask_on(noise_ids(switch_at - 3, 3), 12);
        r.n = 3;
        r.sampling.temperature = 1;
        r.sampling.seed = 9;
        const RequestId id = submit_or_die(*engine, std::move(r));
        drain(*engine, listener);
        for (std::int32_t i = 0; i < 3; ++i) {
            auto alone = engine_or_die(model("reference"), {.prefix_cache = false});
            Request one = ask_on(noise_ids(switch_at - 3, 3), 12);
            one.sampling.temperature = 1;
            one.sampling.seed = 9;
            one.sampling.stream = static_cast<std::uint64_t>(i);
            Listener other;
            const RequestId single = submit_or_die(*alone, std::move(one));
            drain(*alone, other);
            QCOMPARE(listener.at(id, i).ids, other.answers[single.value].ids);
        }
    }
};

QTEST_GUILESS_MAIN(TestLongrope)
#include "tst_longrope.moc"
