// Memory of the GPU when it runs out and when it is given back, and a GPU that is lost: an allocation that
// fails at any point of load, first steps, sampling and read_pass() leaves nothing behind; load and unload
// end where they began; after a sticky error everybody hears one sentence at once. Tests that need a GPU are
// skipped, with the reason, where none can be used.
#include <algorithm>
#include <fstream>
#include <malloc.h>
#include <thread>

#include <QRegularExpression>

#include "core/engine/engine.h"
#include "kernels/gpu/cuda_module.h"
#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

struct Outcome {
    std::optional<Error> error;  // the first one of the round
    std::vector<TokenId> ids;
};

// The number behind `key` in /proc/self/status.
std::int64_t of_process(const std::string& key) {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line))
        if (line.rfind(key + ":", 0) == 0) return std::stoll(line.substr(key.size() + 1));
    return -1;
}

std::int64_t resident_kb() {
    malloc_trim(0);
    return of_process("VmRSS");
}

// Everything that takes memory: load, a long prompt, sampled steps that come again and become graphs, a
// measurement of the bandwidth.
Outcome round(const std::filesystem::path& path, bool unload_elsewhere = false) {
    Outcome outcome;
    const auto failed = [&](const Error& error) {
        if (!outcome.error) outcome.error = error;
    };
    LoadOptions load;
    load.device = "cuda";
    auto model = Model::load(path, load);
    if (!model.ok()) {
        failed(model.error());
        return outcome;
    }
    std::shared_ptr<Model> held = std::move(*model);
    {
        auto engine = Engine::make(held, {.context = 512, .token_budget = 96});
        if (!engine.ok()) {
            failed(engine.error());
            return outcome;
        }
        Listener listener;
        Request request = ask_on(noise_ids(150, 4), 8);
        request.sampling.temperature = 0.8F;
        request.sampling.top_k = 5;
        request.sampling.repetition_penalty = 1.1F;
        const RequestId id = submit_or_die(**engine, std::move(request));
        while ((*engine)->step(listener)) {
        }
        const Answer& answer = listener.answers[id.value];
        if (answer.error) failed(*answer.error);
        outcome.ids = answer.ids;
        const auto pass = held->device().read_pass(32U << 20U);
        if (!pass.ok()) failed(pass.error());
        static_cast<void>(held->device().read_pass(0));
    }
    if (unload_elsewhere) std::thread([&] { held.reset(); }).join();
    return outcome;
}

}  // namespace

class TestCudaMemory : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::filesystem::path q4_, f16_;
    const CudaTestHooks* hooks_ = nullptr;
    std::string no_gpu_;

    std::uint64_t free_bytes() const {
        const auto gpus = cuda_gpus();
        return gpus.ok() ? gpus->front().memory_free : 0;
    }
    void check_nothing_held() const {
        const CudaHoldings held = hooks_->holdings();
        QCOMPARE(held.device_bytes, std::uint64_t{0});
        QCOMPARE(held.pinned_bytes, std::uint64_t{0});
        QCOMPARE(held.allocations, 0);
        QCOMPARE(held.graphs, 0);
        QCOMPARE(held.libraries, 0);
    }

  private slots:
    void initTestCase() {
        const auto hooks = cuda_test_hooks();
        if (hooks.ok()) hooks_ = *hooks;
        const auto gpus = cuda_gpus();
        if (!gpus.ok()) no_gpu_ = gpus.error().message;
        const std::filesystem::path folder = dir_.path().toStdString();
        SmallModelOptions options;
        options.layers = 2;
        options.embedding = 256;
        options.feed_forward = 512;
        options.context = 512;
        q4_ = folder / "q4.gguf";
        options.dtype = DType::Q4_0;
        QVERIFY(write_small_model(q4_, options));
        f16_ = folder / "f16.gguf";
        options.dtype = DType::F16;
        options.seed = 2;
        QVERIFY(write_small_model(f16_, options));
    }

    void init() {
        if (hooks_ == nullptr) return;
        hooks_->fail_allocations(0, 0);
        hooks_->fail_step(0);
        hooks_->revive();
    }

    // What a user reads about codes of the runtime: every one is a sentence, says what to do, and names the
    // processor where the GPU is lost.
    void failures_are_sentences_data() {
        QTest::addColumn<int>("code");
        QTest::addColumn<bool>("lost");
        QTest::addColumn<QString>("says");
        QTest::newRow("memory") << 2 << false << "smaller model";
        QTest::newRow("illegal address") << 700 << true << "on the processor";
        QTest::newRow("watchdog") << 702 << true << "watchdog";
        QTest::newRow("assertion") << 710 << true << "on the processor";
        QTest::newRow("launch failure") << 719 << true << "on the processor";
        QTest::newRow("fault of its memory") << 214 << true << "have a fault";
        QTest::newRow("taken by another process") << 46 << false << "Another program has taken it";
        QTest::newRow("driver too old") << 35 << false << "update it";
        QTest::newRow("code for another GPU") << 209 << false << "not made for this GPU";
        QTest::newRow("after sleep") << 999 << false << "open the model again";
        QTest::newRow("driver half updated") << 803 << false << "restart the computer";
        QTest::newRow("any other") << 400 << false << "restart the program";
    }
    void failures_are_sentences() {
        if (hooks_ == nullptr) QSKIP("No GPU module in this build.");
        QFETCH(int, code);
        QFETCH(bool, lost);
        QFETCH(QString, says);
        bool sticky = false;
        const Error error = hooks_->error_of(code, "A step", sticky);
        const QString text = QString::fromStdString(error.message);
        QCOMPARE(sticky, lost);
        QVERIFY2(text.startsWith("A step: ") && text.endsWith('.'), qPrintable(text));
        QVERIFY2(text.contains(says), qPrintable(text));
        QCOMPARE(text.contains("chats are kept"), lost || code == 400);
        QCOMPARE(error.kind, code == 2 ? ErrorKind::OutOfMemory : ErrorKind::Io);
    }

    void a_driver_that_cannot_be_used_has_a_reason() {
        if (hooks_ == nullptr) QSKIP("No GPU module in this build.");
        const auto said = [&](const CudaProbe& probe) {
            const Status status = hooks_->judge(probe);
            return status.ok() ? QString() : QString::fromStdString(status.error().message);
        };
        const auto starts = QStringLiteral("No GPU is used: ");
        const QString none = said({});
        QVERIFY2(none.startsWith(starts) && none.contains("no NVIDIA driver"), qPrintable(none));
        const QString old = said({.version = 9020, .count_code = 35});
        QVERIFY2(old.startsWith(starts) && old.contains("supports CUDA 9.2") && old.contains("update"),
                 qPrintable(old));
        const QString hidden = said({.version = 99000, .count_code = 100, .visible = "-1"});
        QVERIFY2(hidden.startsWith(starts) && hidden.contains("CUDA_VISIBLE_DEVICES is '-1'"),
                 qPrintable(hidden));
        const QString empty = said({.version = 99000, .visible = ""});
        QVERIFY2(empty.contains("CUDA_VISIBLE_DEVICES is ''"), qPrintable(empty));
        const QString nothing = said({.version = 99000, .count_code = 100});
        QVERIFY2(nothing.contains("finds none"), qPrintable(nothing));
        const QString asleep = said({.version = 99000, .count_code = 999, .count = 1});
        QVERIFY2(asleep.startsWith(starts) && asleep.contains("slept"), qPrintable(asleep));
        QCOMPARE(said({.version = 99000, .count = 1}), QString());
        for (const QString& text : {none, old, hidden, empty, nothing, asleep})
            QVERIFY2(!text.contains('\n') && text.endsWith('.'), qPrintable(text));
    }

    // GPU-01, GPU-02. One allocation fails, then all from the n-th on.
    void any_failed_allocation_is_recovered_from_data() {
        QTest::addColumn<bool>("one");
        QTest::addColumn<bool>("quantized");
        QTest::newRow("one fails, Q4_0") << true << true;
        QTest::newRow("one fails, F16") << true << false;
        QTest::newRow("all later ones fail too, Q4_0") << false << true;
        QTest::newRow("all later ones fail too, F16") << false << false;
    }
    void any_failed_allocation_is_recovered_from() {
        if (!no_gpu_.empty()) QSKIP(no_gpu_.c_str());
        QFETCH(bool, one);
        QFETCH(bool, quantized);
        const auto& path = quantized ? q4_ : f16_;
        // Twice: the runtime loads kernels at their first use and keeps them.
        QVERIFY(!round(path).error);
        const std::uint64_t before = hooks_->allocations();
        const Outcome whole = round(path);
        QVERIFY(!whole.error);
        const std::uint64_t count = hooks_->allocations() - before;
        QVERIFY(whole.ids.size() == 8 && count > 20);
        const std::uint64_t base = free_bytes();
        int failures = 0;
        for (std::uint64_t n = 1; n <= count; ++n) {
            hooks_->fail_allocations(n, one ? 1 : UINT64_MAX);
            const Outcome outcome = round(path);
            hooks_->fail_allocations(0, 0);
            const QByteArray where = QByteArray("allocation ") + QByteArray::number(qulonglong{n});
            if (outcome.error) {
                ++failures;
                const QString text = QString::fromStdString(outcome.error->message);
                static const QRegularExpression sizes(QStringLiteral("\\d+ MiB.*\\d+ MiB"));
                QVERIFY2(outcome.error->kind == ErrorKind::OutOfMemory, qPrintable(where + ": " + text));
                QVERIFY2(sizes.match(text).hasMatch() && text.contains("needed") && text.contains("free"),
                         qPrintable(where + ": " + text));
            } else {
                // A step that was run again or without a graph: nobody can tell.
                QVERIFY2(one, where.constData());
                QVERIFY2(outcome.ids == whole.ids, where.constData());
            }
            check_nothing_held();
            QCOMPARE(free_bytes(), base);
            if (n % 8 != 0 && n != count) continue;
            const Outcome again = round(path);
            QVERIFY2(!again.error, where.constData());
            QVERIFY2(again.ids == whole.ids, where.constData());
        }
        QVERIFY(failures > 10);
        QCOMPARE(free_bytes(), base);
    }

    // GPU-08. What stays after the first models is what the runtime keeps for the process.
    void twenty_loads_end_where_they_began() {
        if (!no_gpu_.empty()) QSKIP(no_gpu_.c_str());
        QVERIFY(!round(q4_).error);
        QVERIFY(!round(f16_).error);
        QVERIFY(!round(f16_, true).error);
        const std::uint64_t base = free_bytes();
        const std::int64_t threads = of_process("Threads");
        const std::int64_t locked = of_process("VmLck");
        const std::int64_t resident = resident_kb();
        for (int i = 0; i < 20; ++i) {
            const Outcome outcome = round(i % 2 == 0 ? q4_ : f16_, i % 5 == 4);
            QVERIFY(!outcome.error);
            QCOMPARE(outcome.ids.size(), std::size_t{8});
            check_nothing_held();
            QCOMPARE(free_bytes(), base);
            QCOMPARE(of_process("Threads"), threads);
            QCOMPARE(of_process("VmLck"), locked);
        }
        const std::int64_t grown = resident_kb() - resident;
        QVERIFY2(grown < 4096, qPrintable(QStringLiteral("%1 kB more of host memory").arg(grown)));
    }

    // Planned before, taken when the engine is made: steps ask for hardly anything.
    void steps_are_planned_for() {
        if (!no_gpu_.empty()) QSKIP(no_gpu_.c_str());
        LoadOptions load;
        load.device = "cuda";
        auto model = Model::load(q4_, load);
        QVERIFY(model.ok());
        auto engine = Engine::make(*model, {.context = 512, .token_budget = 96});
        QVERIFY(engine.ok());
        Listener listener;
        submit_or_die(**engine, ask_on(noise_ids(150, 4), 8));
        submit_or_die(**engine, ask_on(noise_ids(90, 5), 8));
        while ((*engine)->step(listener)) {
        }
        const std::uint64_t taken = hooks_->holdings().device_bytes;
        const MemoryPlan& plan = (*engine)->memory();
        // The uploader's buffers are gone by now.
        QVERIFY2(taken <= plan.weights + plan.kv + plan.workspace + (1U << 16U),
                 qPrintable(QStringLiteral("%1 taken, %2 + %3 + %4 planned")
                                .arg(taken)
                                .arg(plan.weights)
                                .arg(plan.kv)
                                .arg(plan.workspace)));
    }

    // GPU-05, GPU-10: an error after which nothing works, in the middle of answers.
    void a_lost_gpu_is_said_once_and_for_all() {
        if (!no_gpu_.empty()) QSKIP(no_gpu_.c_str());
        QVERIFY(!round(q4_).error);
        {
            LoadOptions load;
            load.device = "cuda";
            auto model = Model::load(q4_, load);
            QVERIFY(model.ok());
            auto engine = engine_or_die(*model, {.context = 512});
            Listener listener;
            const RequestId first = submit_or_die(*engine, ask_on(noise_ids(20, 4), 50));
            const RequestId second = submit_or_die(*engine, ask_on(noise_ids(30, 5), 50));
            for (int i = 0; i < 5; ++i) engine->step(listener);
            hooks_->fail_step(700);
            for (int i = 0; i < 3; ++i) engine->step(listener);
            for (const RequestId id : {first, second}) {
                const Answer& answer = listener.answers[id.value];
                QVERIFY(answer.finished && answer.error);
                QCOMPARE(answer.reason, FinishReason::Failed);
                QVERIFY(!answer.ids.empty());  // what was said stays
                QVERIFY(answer.error->message.find("on the processor") != std::string::npos);
            }
            QVERIFY(engine->idle());
            const RequestId late = submit_or_die(*engine, ask_on(noise_ids(20, 6), 5));
            while (engine->step(listener)) {
            }
            QVERIFY(listener.answers[late.value].error);
            QVERIFY(!(*model)->device().read_pass(1U << 20U).ok());
            QVERIFY(!(*model)->device().allocate(16).ok());
            const Status whole = engine->verify();
            QVERIFY(whole.ok());
        }
        check_nothing_held();
        const Outcome refused = round(q4_);
        QVERIFY(refused.error);
        QVERIFY(refused.error->message.find("stopped working") != std::string::npos);
        LoadOptions processor;
        processor.device = "cpu";
        QVERIFY(Model::load(q4_, processor).ok());
        hooks_->revive();
        QVERIFY(!round(q4_).error);
    }

    // An error that passes does not stay with later calls.
    void a_failed_step_that_is_not_the_end() {
        if (!no_gpu_.empty()) QSKIP(no_gpu_.c_str());
        LoadOptions load;
        load.device = "cuda";
        auto model = Model::load(q4_, load);
        QVERIFY(model.ok());
        auto engine = engine_or_die(*model, {.context = 512});
        Listener listener;
        const RequestId id = submit_or_die(*engine, ask_on(noise_ids(20, 4), 10));
        for (int i = 0; i < 4; ++i) engine->step(listener);
        hooks_->fail_step(701);  // the step is computed again
        while (engine->step(listener)) {
        }
        QCOMPARE(listener.answers[id.value].reason, FinishReason::Length);
        QCOMPARE(listener.answers[id.value].ids.size(), std::size_t{10});
    }
};

QTEST_GUILESS_MAIN(TestCudaMemory)
#include "tst_cuda_memory.moc"
