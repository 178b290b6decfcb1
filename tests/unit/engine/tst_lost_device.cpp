// A device that is lost in the middle of answers: each ends with the reason, what was said stays, nothing
// hangs, the pool is whole, and later requests end at once.
#include "tests/unit/engine/engine_bench.h"
#include "tests/unit/engine/losing_device.h"

using namespace vitrine;
using namespace vitrine::test;

class TestLostDevice : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::filesystem::path path_;
    std::shared_ptr<LosingDevice::Fate> fate_;

    std::shared_ptr<Model> model() {
        LoadOptions options;
        options.open = [this]() -> Result<std::unique_ptr<Device>> {
            VITRINE_TRY(auto inner, make_reference_device(2));
            return std::unique_ptr<Device>(std::make_unique<LosingDevice>(std::move(inner), fate_));
        };
        auto loaded = Model::load(path_, options);
        if (!loaded.ok()) qFatal("%s", loaded.error().message.c_str());
        return *loaded;
    }

  private slots:
    void initTestCase() {
        path_ = std::filesystem::path(dir_.path().toStdString()) / "small.gguf";
        QVERIFY(write_small_model(path_, {}));
    }
    void init() { fate_ = std::make_shared<LosingDevice::Fate>(); }

    void every_answer_ends_with_the_reason_data() {
        QTest::addColumn<int>("steps");
        QTest::addColumn<bool>("on_read");
        for (const int steps : {0, 1, 2, 7})
            for (const bool on_read : {false, true})
                QTest::addRow("after %d steps, %s", steps, on_read ? "reading" : "computing")
                    << steps << on_read;
    }
    void every_answer_ends_with_the_reason() {
        QFETCH(int, steps);
        QFETCH(bool, on_read);
        fate_->lost_on_read = on_read;
        const auto loaded = model();
        const auto engine = engine_or_die(loaded, {.token_budget = 32});
        Listener listener;
        std::vector<RequestId> ids;
        for (int i = 0; i < 3; ++i) {
            Request request = ask_on(noise_ids(20 + i, static_cast<std::uint64_t>(i) + 1), 30);
            request.session = i + 1;
            request.n = i == 2 ? 2 : 1;
            ids.push_back(submit_or_die(*engine, std::move(request)));
        }
        fate_->steps_left = steps;
        drain(*engine, listener);
        QVERIFY(engine->idle());
        for (const RequestId id : ids) {
            const Answer& answer = listener.answers[id.value];
            QVERIFY(answer.finished && answer.error);
            QCOMPARE(answer.reason, FinishReason::Failed);
            QVERIFY2(answer.error->message.find(LosingDevice::Fate::sentence()) != std::string::npos,
                     answer.error->message.c_str());
            QVERIFY(answer.ids.size() < 30);
        }
        if (steps == 7) QVERIFY(!listener.answers[ids[0].value].ids.empty());
        QVERIFY(listener.further.at({ids[2].value, 1}).finished);
        // Later ones end at once, with the same sentence.
        const int before = fate_->calls_when_lost;
        const RequestId late = submit_or_die(*engine, ask_on(noise_ids(10, 9), 5));
        QVERIFY(engine->step(listener));
        QCOMPARE(listener.answers[late.value].error->message, LosingDevice::Fate::sentence());
        QVERIFY(fate_->calls_when_lost - before < 8);
        QVERIFY(engine->idle());
        const Status whole = engine->verify();
        QVERIFY2(whole.ok(), whole.ok() ? "" : whole.error().message.c_str());
    }

    // Somebody wants to see rows of logits that cannot be read.
    void nobody_is_handed_a_row_that_is_not_there() {
        const auto loaded = model();
        const auto engine = engine_or_die(loaded, {});
        Listener listener;
        int rows = 0;
        Request request = ask_on(noise_ids(12, 3), 0);
        request.on_logits = [&](std::int32_t, std::span<const float> row) {
            QCOMPARE(row.size(), std::size_t{260});
            ++rows;
        };
        fate_->lost_on_read = true;
        fate_->steps_left = 0;
        const RequestId id = submit_or_die(*engine, std::move(request));
        drain(*engine, listener);
        QCOMPARE(rows, 0);
        QCOMPARE(listener.answers[id.value].reason, FinishReason::Failed);
        QVERIFY(listener.answers[id.value].error->message.find("chats are kept") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestLostDevice)
#include "tst_lost_device.moc"
