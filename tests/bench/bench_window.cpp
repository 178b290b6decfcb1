// What the window costs, and how it answers while the engine works.
//
//   bench_window latency   8 chats stream at full speed, all panels are open: a thread posts an event every 2
//   ms,
//                          and the time until the window's thread handles it is the latency of its event loop
//   bench_window overhead  tokens a second of the same 8 chats with the window and all panels, against the
//   same
//                          worker without a window; rounds take turns, the median of each side counts
//
//   --model FILE  --threads N (1)  --chats N (8)  --tokens N (200)  --rounds N (3)
//
// Runs off screen where QT_QPA_PLATFORM is not set. Exit code 1: over the limit of 8 ms, or under 99 % with
// one engine thread fewer than cores, 93 % otherwise.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <QApplication>
#include <QCommandLineParser>
#include <QDockWidget>
#include <QEventLoop>
#include <QFile>
#include <QTemporaryDir>
#include <QTimer>

#include "ui/bridge/engine_worker.h"
#include "ui/panels/panel.h"
#include "ui/window/main_window.h"

using namespace vitrine;
using namespace vitrine::ui;

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    QString model;
    int threads = 1;
    int chats = 8;
    int tokens = 200;
    int rounds = 3;
};

QString prompt(int i) {
    return QStringLiteral("Chat %1: why do tides come twice a day, and not once? Tell a long story about it.")
        .arg(i);
}

// Sleeps in the event loop: a loop that asks again and again would take the engine's processor.
bool wait(const std::function<bool()>& done, double seconds = 600) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    QEventLoop loop;
    QTimer poll;
    bool reached = false;
    QObject::connect(&poll, &QTimer::timeout, &loop, [&] {
        reached = done();
        if (reached || Clock::now() > end) loop.quit();
    });
    poll.start(20);
    loop.exec();
    return reached;
}

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "bench_window: %s\n", what);
    std::exit(2);
}

// Every panel beside the others, none behind a tab.
void open_all(MainWindow& window) {
    const auto& docks = window.panels()->docks();
    for (std::size_t i = 0; i < docks.size(); ++i) {
        docks[i]->show();
        if (i > 0) window.splitDockWidget(docks[i - 1], docks[i], Qt::Vertical);
    }
}

// The window with its chats; the messages go the way that typed ones go.
class WindowRun {
  public:
    explicit WindowRun(const Settings& settings) : settings_(settings) {
        QFile ini(folder_.filePath(QStringLiteral("vitrine.ini")));
        if (!ini.open(QIODevice::WriteOnly)) fail("no temporary folder");
        ini.write("[engine]\nthreads=" + QByteArray::number(settings.threads) + "\n");
        ini.close();
        Options options;
        options.model = settings.model;
        options.size = QSize(1440, 1400);
        window_ = std::make_unique<MainWindow>(options, folder_.path(), make_engine_backend());
        window_->show();
        open_all(*window_);
        bool ready = false;
        QObject::connect(window_.get(), &MainWindow::model_ready, window_.get(), [&ready] { ready = true; });
        window_->open_first_model();
        if (!wait([&] { return ready; })) fail("the model did not load");
        wait([] { return false; }, 2);  // its read bandwidth is measured now
        QObject::connect(&window_->worker(), &EngineWorker::answer_finished, window_.get(),
                         [this](const AnswerFinished& f) { generated_ += f.stats.generated_tokens; });
    }
    void send_all() {
        for (int i = 0; i < settings_.chats; ++i) {
            const qint64 id = window_->chats().new_chat();
            window_->show_chat(id);
            ChatModel* chat = window_->chats().chat(id);
            ChatSettings s = chat->chat().settings;
            s.max_tokens = settings_.tokens;
            s.temperature = 0;
            chat->set_settings(s);
            window_->chats().send(id, prompt(i));
        }
    }
    bool idle() const { return !window_->chats().answering(); }
    // Tokens a second from sending to the last end.
    double measure() {
        generated_ = 0;
        const auto begin = Clock::now();
        send_all();
        if (!wait([this] { return idle(); })) fail("the answers did not end");
        return generated_ / std::chrono::duration<double>(Clock::now() - begin).count();
    }
    MainWindow& window() { return *window_; }

  private:
    Settings settings_;
    QTemporaryDir folder_;
    std::unique_ptr<MainWindow> window_;
    int generated_ = 0;
};

// The same worker with nobody who looks.
double headless(const Settings& settings) {
    EngineWorker worker(make_engine_backend());
    bool ready = false;
    int ended = 0;
    int generated = 0;
    QObject::connect(&worker, &EngineWorker::model_loaded, &worker, [&] { ready = true; });
    QObject::connect(&worker, &EngineWorker::answer_finished, &worker, [&](const AnswerFinished& f) {
        ++ended;
        generated += f.stats.generated_tokens;
    });
    LoadSpec spec;
    spec.path = settings.model.toStdString();
    spec.threads = settings.threads;
    worker.load(spec);
    if (!wait([&] { return ready; })) fail("the model did not load");
    wait([] { return false; }, 2);
    const auto begin = Clock::now();
    for (int i = 0; i < settings.chats; ++i) {
        ChatRequest r;
        r.session = i + 1;
        r.messages = {{"user", prompt(i).toStdString()}};
        r.sampling.temperature = 0;
        r.wish.max_tokens = settings.tokens;
        worker.submit(r);
    }
    if (!wait([&] { return ended == settings.chats; })) fail("the answers did not end");
    return generated / std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

int latency(const Settings& settings) {
    WindowRun run(settings);
    run.send_all();
    wait([] { return false; }, 1);
    std::atomic<bool> stop{false};
    std::vector<double> delays;  // milliseconds; window's thread
    delays.reserve(1U << 16);
    QObject target;
    std::thread poster([&] {
        while (!stop) {
            const auto posted = Clock::now();
            QMetaObject::invokeMethod(
                &target,
                [&delays, posted] {
                    delays.push_back(
                        std::chrono::duration<double, std::milli>(Clock::now() - posted).count());
                },
                Qt::QueuedConnection);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    });
    wait([&] { return run.idle(); });
    stop = true;
    poster.join();
    QCoreApplication::processEvents();
    if (delays.empty()) fail("nothing was measured");
    std::sort(delays.begin(), delays.end());
    const auto at = [&](double q) {
        return delays[std::min(delays.size() - 1,
                               static_cast<std::size_t>(q * static_cast<double>(delays.size())))];
    };
    std::printf(
        "event loop, %d chats, all panels: p50 %.2f ms, p99 %.2f ms, most %.1f ms (%zu events; limit 8 ms)\n",
        settings.chats, at(0.5), at(0.99), delays.back(), delays.size());
    return at(0.99) <= 8 ? 0 : 1;
}

int overhead(const Settings& settings) {
    std::vector<double> alone, shown;
    for (int round = 0; round < settings.rounds; ++round) {
        alone.push_back(headless(settings));
        WindowRun run(settings);
        shown.push_back(run.measure());
        std::printf("round %d: %.1f tok/s without, %.1f tok/s with the window\n", round + 1, alone.back(),
                    shown.back());
        std::fflush(stdout);
    }
    const double share = median(shown) / median(alone);
    const bool core_left = settings.threads < static_cast<int>(std::thread::hardware_concurrency());
    const double limit = core_left ? 0.99 : 0.93;
    std::printf("tokens a second with all panels: %.1f %% of %.1f (%d threads of %u cores; limit %.0f %%)\n",
                100 * share, median(alone), settings.threads, std::thread::hardware_concurrency(),
                100 * limit);
    return share >= limit ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    QCommandLineParser parser;
    parser.addPositionalArgument(QStringLiteral("what"), QStringLiteral("latency or overhead"));
    const QCommandLineOption model(QStringLiteral("model"), QString(), QStringLiteral("FILE"),
                                   QStringLiteral(VITRINE_EMBEDDED_MODEL));
    const QCommandLineOption threads(QStringLiteral("threads"), QString(), QStringLiteral("N"),
                                     QStringLiteral("1"));
    const QCommandLineOption chats(QStringLiteral("chats"), QString(), QStringLiteral("N"),
                                   QStringLiteral("8"));
    const QCommandLineOption tokens(QStringLiteral("tokens"), QString(), QStringLiteral("N"),
                                    QStringLiteral("200"));
    const QCommandLineOption rounds(QStringLiteral("rounds"), QString(), QStringLiteral("N"),
                                    QStringLiteral("3"));
    parser.addOptions({model, threads, chats, tokens, rounds});
    parser.addHelpOption();
    parser.process(application);
    Settings settings;
    settings.model = parser.value(model);
    settings.threads = std::max(1, parser.value(threads).toInt());
    settings.chats = std::clamp(parser.value(chats).toInt(), 1, 64);
    settings.tokens = std::max(8, parser.value(tokens).toInt());
    settings.rounds = std::clamp(parser.value(rounds).toInt(), 1, 100);
    const QString what = parser.positionalArguments().value(0);
    if (what == QLatin1String("latency")) return latency(settings);
    if (what == QLatin1String("overhead")) return overhead(settings);
    parser.showHelp(2);
}
