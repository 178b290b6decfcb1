// The engine's thread seen from the window: nobody waits, nothing is lost, everything can be cancelled. With
// an engine of the test's own, and with the real one on the embedded model.
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QtTest>

#include "tests/ui/fake_backend.h"
#include "ui/bridge/engine_worker.h"

using namespace vitrine;
using namespace vitrine::ui;

namespace {

ChatRequest request(const std::string& text, std::int64_t session = 1) {
    ChatRequest r;
    r.session = session;
    r.messages = {{"user", text}};
    r.wish.max_tokens = 24;
    return r;
}

LoadSpec spec(const std::string& path = "fake.gguf") {
    LoadSpec s;
    s.path = path;
    return s;
}

struct Collected {
    QString text;
    int tokens = 0;
    std::vector<AnswerFinished> finished;
};

void collect(EngineWorker& worker, Collected& into) {
    QObject::connect(&worker, &EngineWorker::answer_text, &worker,
                     [&into](qint64, const QString& text, int tokens) {
                         into.text += text;
                         into.tokens += tokens;
                     });
    QObject::connect(&worker, &EngineWorker::answer_finished, &worker,
                     [&into](const AnswerFinished& f) { into.finished.push_back(f); });
}

}  // namespace

class TestEngineWorker : public QObject {
    Q_OBJECT

  private slots:
    void init() { plan_ = std::make_shared<FakePlan>(); }

    void an_answer_arrives_whole() {
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        worker.load(spec());
        worker.submit(request("hi"));
        QTRY_COMPARE(got.finished.size(), std::size_t(1));
        QCOMPARE(got.text, QStringLiteral("one two three"));
        QCOMPARE(got.tokens, 3);
        QCOMPARE(got.finished[0].reason, FinishReason::Stop);
        QVERIFY(got.finished[0].started);
        QVERIFY(!worker.answering());
    }

    void without_a_model_it_says_so() {
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        worker.submit(request("hi"));
        QTRY_COMPARE(got.finished.size(), std::size_t(1));
        QVERIFY(!got.finished[0].started);
        QCOMPARE(got.finished[0].error->kind, ErrorKind::NotFound);
    }

    // GUI-04: 5 000 tokens a second and far more; the window fetches at its own pace.
    void gui_04_a_flood_is_joined() {
        plan_->answer = std::string(200, 'x') + " y";
        plan_->endless = true;
        plan_->tokens_per_step = 64;
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        int ticks = 0, texts = 0, tokens = 0;
        connect(&worker, &EngineWorker::ticked, this, [&] { ++ticks; });
        connect(&worker, &EngineWorker::answer_text, this, [&](qint64, const QString&, int n) {
            ++texts;
            tokens += n;
        });
        worker.load(spec());
        const Ticket ticket = worker.submit(request("hi"));
        QTRY_VERIFY(tokens > 20'000);
        QVERIFY2(texts <= ticks, "more than one text a tick");
        Collected got;
        collect(worker, got);
        QElapsedTimer clock;
        clock.start();
        worker.cancel(ticket);
        QTRY_COMPARE(got.finished.size(), std::size_t(1));
        QCOMPARE(got.finished[0].reason, FinishReason::Cancelled);
        qInfo("cancel took %lld ms, %d tokens in %d ticks", clock.elapsed(), tokens, ticks);
    }

    void gui_04_ticks_are_bounded() {
        plan_->endless = true;
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        int ticks = 0;
        connect(&worker, &EngineWorker::ticked, this, [&] { ++ticks; });
        worker.load(spec());
        worker.submit(request("hi"));
        QElapsedTimer clock;
        clock.start();
        QTest::qWait(400);
        const auto most = static_cast<int>(clock.elapsed() / EngineWorker::tick_ms) + 3;
        QVERIFY2(ticks <= most, qPrintable(QStringLiteral("%1 ticks, at most %2").arg(ticks).arg(most)));
        worker.cancel_all();
    }

    void a_late_window_finds_everything() {
        plan_->answer = "a b c d e f g h";
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        worker.load(spec());
        for (int i = 0; i < 50; ++i) worker.submit(request("hi", i + 1));
        QThread::msleep(200);  // the window is busy with something else; the engine does not wait for it
        QCOMPARE(plan_->submitted.load(), 50);
        QTRY_COMPARE(got.finished.size(), std::size_t(50));
        QCOMPARE(got.tokens, 50 * 8);
    }

    void records_are_bounded() {
        Batch batch;
        std::vector<Record> some(1000);
        for (int round = 0; round < 400; ++round) {
            std::vector<Record> more = some;
            Outbox::append_records(batch, more);
            QVERIFY(batch.records.size() <= 2 * Outbox::record_limit);
        }
        QVERIFY(batch.records.size() >= Outbox::record_limit);
    }

    // BAT-14, GUI-07: while loading, while waiting, while answering.
    void bat_14_cancel_in_every_phase() {
        plan_->load_ms = 30'000;
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        QSignalSpy failed(&worker, &EngineWorker::load_failed);
        QSignalSpy progress(&worker, &EngineWorker::load_progress);
        worker.load(spec());
        const Ticket queued = worker.submit(request("hi"));
        QTRY_VERIFY(progress.size() > 2);
        worker.cancel(queued);
        worker.cancel_load();
        QTRY_COMPARE(failed.size(), 1);
        QTRY_COMPARE(got.finished.size(), std::size_t(1));
        QCOMPARE(got.finished[0].reason, FinishReason::Cancelled);
        QCOMPARE(plan_->submitted.load(), 0);
        plan_->load_ms = 0;
        plan_->endless = true;
        worker.load(spec());
        const Ticket running = worker.submit(request("hi"));
        const Ticket other = worker.submit(request("hi", 2));
        QTRY_VERIFY(!got.text.isEmpty());
        worker.cancel(running);
        QTRY_COMPARE(got.finished.size(), std::size_t(2));
        QCOMPARE(got.finished[1].ticket, running);
        QVERIFY(worker.answering());  // only its own request
        worker.cancel(other);
        QTRY_COMPARE(got.finished.size(), std::size_t(3));
    }

    void a_new_load_replaces_the_running_one() {
        plan_->load_ms = 30'000;
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        QSignalSpy failed(&worker, &EngineWorker::load_failed);
        QSignalSpy loaded(&worker, &EngineWorker::model_loaded);
        worker.load(spec("first.gguf"));
        QTRY_COMPARE(plan_->loads.load(), 1);
        plan_->load_ms = 0;
        worker.load(spec("second.gguf"));
        QTRY_COMPARE(loaded.size(), 1);
        QCOMPARE(loaded[0][0].value<ModelInfo>().path, QStringLiteral("second.gguf"));
        QCOMPARE(failed.size(), 1);
        QVERIFY(!worker.loading());
    }

    void a_failed_load_keeps_the_model_that_answers() {
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        QSignalSpy failed(&worker, &EngineWorker::load_failed);
        QSignalSpy loaded(&worker, &EngineWorker::model_loaded);
        worker.load(spec());
        QTRY_COMPARE(loaded.size(), 1);
        plan_->load_fails = true;
        worker.load(spec("broken.gguf"));
        QTRY_COMPARE(failed.size(), 1);
        QVERIFY(failed[0][2].toBool());
        Collected got;
        collect(worker, got);
        worker.submit(request("hi"));
        QTRY_COMPARE(got.text, QStringLiteral("one two three"));
    }

    void an_engine_that_breaks_leaves_the_window_alive() {
        plan_->endless = true;
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        QSignalSpy broken(&worker, &EngineWorker::engine_failed);
        worker.load(spec());
        worker.submit(request("hi"));
        QTRY_VERIFY(!got.text.isEmpty());
        plan_->throw_in_step = true;
        QTRY_COMPARE(broken.size(), 1);
        QTRY_COMPARE(got.finished.size(), std::size_t(1));
        QCOMPARE(got.finished[0].reason, FinishReason::Failed);
        QVERIFY(QString::fromStdString(got.finished[0].error->message)
                    .contains(QLatin1String("the device is gone")));
        plan_->throw_in_step = false;
        plan_->endless = false;
        worker.load(spec());
        worker.submit(request("again"));
        QTRY_COMPARE(got.finished.size(), std::size_t(2));
        QCOMPARE(got.finished[1].reason, FinishReason::Stop);
    }

    void pause_step_run_and_cancel_while_paused() {
        plan_->answer = "a b c d e f";
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        QSignalSpy loaded(&worker, &EngineWorker::model_loaded);
        worker.load(spec());
        QTRY_COMPARE(loaded.size(), 1);
        worker.pause();
        const Ticket ticket = worker.submit(request("hi"));
        QTest::qWait(80);
        QCOMPARE(got.tokens, 0);
        worker.step_once();
        QTRY_COMPARE(got.tokens, 1);
        worker.step_once();
        worker.step_once();
        QTRY_COMPARE(got.tokens, 3);
        QTest::qWait(80);
        QCOMPARE(got.tokens, 3);
        worker.cancel(ticket);
        QTRY_COMPARE(got.finished.size(), std::size_t(1));
        worker.submit(request("hi"));
        worker.resume();
        QTRY_COMPARE(got.finished.size(), std::size_t(2));
        QCOMPARE(got.finished[1].reason, FinishReason::Stop);
    }

    void cancelling_while_paused_moves_nobody_else() {
        plan_->endless = true;
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        worker.load(spec());
        worker.pause();
        const Ticket first = worker.submit(request("hi"));
        worker.submit(request("there", 2));
        worker.step_once();
        QTRY_COMPARE(got.tokens, 2);
        worker.cancel(first);
        QTRY_COMPARE(got.finished.size(), std::size_t(1));
        QCOMPARE(got.finished[0].ticket, first);
        QTest::qWait(60);
        QCOMPARE(plan_->steps.load(), 1);
        QCOMPARE(got.tokens, 2);
        worker.step_once();
        QTRY_COMPARE(got.tokens, 3);
        worker.cancel_all();
    }

    // Presses on "one iteration" while there is nothing to do are not saved up for the next message.
    void steps_over_nothing_are_forgotten() {
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        QSignalSpy loaded(&worker, &EngineWorker::model_loaded);
        worker.load(spec());
        QTRY_COMPARE(loaded.size(), 1);
        for (int i = 0; i < 5; ++i) worker.step_once();
        QTest::qWait(60);
        worker.submit(request("hi"));
        QTest::qWait(60);
        QCOMPARE(got.tokens, 0);
        worker.cancel_all();
    }

    void runs_slowly_and_answers_questions_meanwhile() {
        plan_->endless = true;
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        Collected got;
        collect(worker, got);
        QSignalSpy paces(&worker, &EngineWorker::pace_changed);
        QSignalSpy pauses(&worker, &EngineWorker::paused_changed);
        QSignalSpy counted(&worker, &EngineWorker::tokens_counted);
        worker.load(spec());
        worker.pause();
        const Ticket ticket = worker.submit(request("hi"));
        worker.run_slowly(1000);
        QCOMPARE(worker.pace(), EngineWorker::fastest_pace);
        QVERIFY(!worker.paused());
        QElapsedTimer clock;
        clock.start();
        QTRY_VERIFY(got.tokens >= 4);
        // Four iterations are three periods at least: never faster than asked for.
        QVERIFY2(clock.elapsed() >= 3 * 1000 / EngineWorker::fastest_pace - 20,
                 qPrintable(QString::number(clock.elapsed())));
        worker.run_slowly(1);
        QTest::qWait(30);
        const int before = got.tokens;
        worker.count_tokens({7, {{"user", "abc"}}, {}, {}, {}, {}});
        QTRY_COMPARE(counted.size(), 1);
        QVERIFY(got.tokens <= before + 2);
        worker.cancel(ticket);  // not only with the next iteration
        QTRY_COMPARE(got.finished.size(), std::size_t(1));
        worker.resume();
        QCOMPARE(worker.pace(), 0);
        QCOMPARE(paces.size(), 3);
        QCOMPARE(pauses.size(), 2);
    }

    void hidden_panels_ask_for_few_snapshots() {
        plan_->endless = true;
        plan_->step_us = 500;
        int hidden = 0, shown = 0;
        for (const bool visible : {false, true}) {
            auto plan = std::make_shared<FakePlan>();
            plan->endless = true;
            plan->step_us = 500;
            EngineWorker worker(std::make_unique<FakeBackend>(plan));
            worker.set_panels_visible(visible);
            QSignalSpy loaded(&worker, &EngineWorker::model_loaded);
            worker.load(spec());
            QTRY_COMPARE(loaded.size(), 1);
            worker.submit(request("hi"));
            const int before = plan->snapshots;
            QTest::qWait(1100);
            (visible ? shown : hidden) = plan->snapshots - before;
            worker.cancel_all();
        }
        QVERIFY2(hidden <= 4, qPrintable(QString::number(hidden)));
        QVERIFY2(shown > hidden && shown <= 26, qPrintable(QString::number(shown)));
    }

    void only_the_newest_question_is_counted() {
        EngineWorker worker(std::make_unique<FakeBackend>(plan_));
        QSignalSpy loaded(&worker, &EngineWorker::model_loaded);
        worker.load(spec());
        QTRY_COMPARE(loaded.size(), 1);
        std::vector<std::int64_t> answered;
        connect(&worker, &EngineWorker::tokens_counted, this,
                [&](const CountAnswer& a) { answered.push_back(a.serial); });
        for (int i = 1; i <= 500; ++i) worker.count_tokens({i, {{"user", "x"}}, "x", {}, {}, {}});
        QTRY_VERIFY(!answered.empty() && answered.back() == 500);
        QVERIFY(answered.size() < 500);
    }

    void it_ends_at_any_time() {
        for (int i = 0; i < 20; ++i) {
            auto plan = std::make_shared<FakePlan>();
            plan->endless = true;
            plan->load_ms = i % 3 == 0 ? 30'000 : 0;
            EngineWorker worker(std::make_unique<FakeBackend>(plan));
            worker.load(spec());
            worker.submit(request("hi"));
            QTest::qWait(i);
        }
    }

    // ---- the real engine ----

    void embedded_model_answers_and_a_second_chat_shares_blocks() {
        EngineWorker worker(make_engine_backend());
        Collected got;
        collect(worker, got);
        QSignalSpy loaded(&worker, &EngineWorker::model_loaded);
        QSignalSpy failed(&worker, &EngineWorker::load_failed);
        std::vector<Record> records;
        std::shared_ptr<const KvSnapshot> last;
        connect(&worker, &EngineWorker::records, this,
                [&](const std::vector<Record>& r) { records.insert(records.end(), r.begin(), r.end()); });
        connect(&worker, &EngineWorker::snapshot, this,
                [&](const std::shared_ptr<const KvSnapshot>& s) { last = s; });
        worker.set_panels_visible(true);
        LoadSpec s = spec(VITRINE_EMBEDDED_MODEL);
        s.options.context = 1024;
        worker.load(s);
        QTRY_VERIFY_WITH_TIMEOUT(loaded.size() + failed.size() == 1, 60'000);
        QVERIFY2(failed.isEmpty(), failed.isEmpty() ? "" : failed[0][1].value<Error>().message.c_str());
        const auto info = loaded[0][0].value<ModelInfo>();
        QCOMPARE(info.format, QStringLiteral("Q8_0"));
        QVERIFY(info.has_template);
        QVERIFY(info.weights_bytes > 1'000'000 && info.kv_bytes > 0 && info.context == 1024);
        const std::string text =
            "Please explain, in a few plain words that a child of ten can follow, why the sea rises and "
            "falls twice a day, and why some "
            "tides are higher than others.";
        worker.submit(request(text, 11));
        QTRY_COMPARE_WITH_TIMEOUT(got.finished.size(), std::size_t(1), 120'000);
        QCOMPARE(got.finished[0].error.has_value(), false);
        QVERIFY(!got.text.isEmpty());
        QVERIFY(got.tokens > 0 && got.tokens <= 24);
        worker.submit(request(text, 12));
        QTRY_COMPARE_WITH_TIMEOUT(got.finished.size(), std::size_t(2), 120'000);
        QVERIFY2(got.finished[1].stats.cached_tokens > 0, "the second chat found nothing of the first");
        QTRY_VERIFY(last && last->shared > 0);
        QVERIFY(!records.empty());
        worker.release_session(11, true);
        worker.release_session(12, true);
        QTRY_COMPARE(last->used, 0);
    }

    void ctx_02_too_long_is_refused_and_nothing_is_cut() {
        EngineWorker worker(make_engine_backend());
        Collected got;
        collect(worker, got);
        LoadSpec s = spec(VITRINE_EMBEDDED_MODEL);
        s.options.context = 64;
        worker.load(s);
        std::string long_text;
        for (int i = 0; i < 200; ++i) long_text += "word ";
        worker.submit(request(long_text));
        QTRY_COMPARE_WITH_TIMEOUT(got.finished.size(), std::size_t(1), 60'000);
        QVERIFY(!got.finished[0].started);
        QCOMPARE(got.finished[0].error->kind, ErrorKind::TooLarge);
        std::vector<CountAnswer> counts;
        connect(&worker, &EngineWorker::tokens_counted, this,
                [&](const CountAnswer& a) { counts.push_back(a); });
        worker.count_tokens({1, {{"user", long_text}}, long_text, {}, {}, {}});
        QTRY_COMPARE(counts.size(), std::size_t(1));
        QVERIFY(counts[0].total > 200 && counts[0].draft >= 200 && counts[0].draft < counts[0].total);
        got.finished.clear();
        worker.submit(request("Hi"));
        QTRY_COMPARE_WITH_TIMEOUT(got.finished.size(), std::size_t(1), 60'000);
        QVERIFY(got.finished[0].started);
    }

    void a_file_that_is_no_model() {
        EngineWorker worker(make_engine_backend());
        QSignalSpy failed(&worker, &EngineWorker::load_failed);
        worker.load(spec(VITRINE_SOURCE_DIR "/LICENSE"));
        QTRY_COMPARE_WITH_TIMEOUT(failed.size(), 1, 60'000);
        QVERIFY(!failed[0][1].value<Error>().message.empty());
        worker.load(spec("/no/such/file.gguf"));
        QTRY_COMPARE_WITH_TIMEOUT(failed.size(), 2, 60'000);
    }

    // GUI-16: numbers keep their point, whatever the engine does.
    void gui_16_the_locale_stays() {
        const std::string before = std::setlocale(LC_ALL, nullptr);
        EngineWorker worker(make_engine_backend());
        Collected got;
        collect(worker, got);
        worker.load(spec(VITRINE_EMBEDDED_MODEL));
        worker.submit(request("Hi"));
        QTRY_COMPARE_WITH_TIMEOUT(got.finished.size(), std::size_t(1), 60'000);
        QCOMPARE(std::string(std::setlocale(LC_ALL, nullptr)), before);
    }

  private:
    std::shared_ptr<FakePlan> plan_;
};

QTEST_GUILESS_MAIN(TestEngineWorker)
#include "tst_engine_worker.moc"
