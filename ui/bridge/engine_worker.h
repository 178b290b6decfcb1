// The engine's thread, seen from the window.
//
// All functions are called on the window's thread and return at once: commands go into a queue, results come
// back as signals on the window's thread, at most once every `tick_ms`. The engine itself is touched by the
// worker thread alone. Cancel is an atomic that the engine reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include "ui/bridge/backend.h"
#include "ui/bridge/outbox.h"

namespace vitrine::ui {

class EngineWorker : public QObject {
    Q_OBJECT

  public:
    static constexpr int tick_ms = 16;

    explicit EngineWorker(std::unique_ptr<Backend> backend, QObject* parent = nullptr);
    ~EngineWorker() override;  // cancels everything and waits for the end of the current iteration

    // A load that runs is cancelled first. Answers that run when the new model is ready end as cancelled.
    void load(const LoadSpec& spec);
    void cancel_load();
    bool loading() const { return loading_ > 0; }

    Ticket submit(ChatRequest request);
    void cancel(Ticket ticket);
    void cancel_all();
    bool answering() const { return !running_.empty(); }
    // Forgets what the engine holds for a conversation; with drop_cache the prefix cache forgets it too.
    void release_session(std::int64_t session, bool drop_cache);
    // Only the newest question is answered.
    void count_tokens(CountQuestion question);
    void preview_template(PreviewQuestion question);

    // block_text() follows: what the tokens in a block say. Only the newest question is answered.
    void ask_block_text(int block);
    // Nobody looks: snapshots come twice a second, for the colours in the chat list alone.
    void set_panels_visible(bool visible) {
        panels_visible_ = visible;
        snapshot_ms_ = visible ? panel_ms_ : 500;
    }
    // How often panels are told, at most: 1 to 60 times a second.
    void set_panel_refresh(int per_second) {
        panel_ms_ = 1000 / std::clamp(per_second, 1, 60);
        set_panels_visible(panels_visible_);
    }
    void pause();
    void step_once();  // pauses first, where it runs
    void resume();     // as fast as it can
    // Goes on with so many iterations a second, 1 to 20.
    void run_slowly(int per_second);
    bool paused() const { return paused_; }
    int pace() const { return pace_; }  // iterations a second; 0: as fast as it can
    static constexpr int fastest_pace = 20;

  signals:
    void load_progress(quint64 done, quint64 total);
    void model_loaded(const vitrine::ui::ModelInfo& info);
    // model_kept: the model from before still answers.
    void load_failed(const QString& path, const vitrine::Error& error, bool model_kept);
    void answer_started(qint64 ticket, qint64 request, qint64 session);
    // After answer_started(): the context was too small for these turns.
    void turns_left_out(qint64 ticket, const vitrine::ui::LeftOutTurns& turns);
    // After answer_started: what the model reads.
    void answer_prompt(qint64 ticket, std::shared_ptr<const vitrine::ui::PromptText> prompt);
    void answer_text(qint64 ticket, const QString& text, int tokens);
    // After the text that they brought.
    void answer_tokens(qint64 ticket, const std::vector<vitrine::ui::AnswerToken>& tokens);
    void answer_finished(const vitrine::ui::AnswerFinished& finished);
    void records(const std::vector<vitrine::Record>& records);
    void snapshot(std::shared_ptr<const vitrine::KvSnapshot> snapshot);
    void figures(const vitrine::ui::EngineFigures& figures);
    void read_bandwidth(double gb_s);
    void block_text(int block, qint64 iteration, const QString& text);
    void tokens_counted(const vitrine::ui::CountAnswer& answer);
    void template_previewed(const vitrine::ui::PreviewAnswer& answer);
    void engine_failed(const vitrine::Error& error);
    void paused_changed(bool paused);
    void pace_changed(int per_second);  // 0: as fast as it can
    // After all signals of one tick.
    void ticked();

  private:
    class Listener;
    using Command = std::function<void()>;  // runs on the worker thread

    void post(Command command);
    void deliver();                 // window's thread
    void wake();                    // worker's thread: the window has something to fetch
    Q_INVOKABLE void fetch_soon();  // window's thread
    template <class Write>
    void put(Write&& write) {
        if (outbox_.put(std::forward<Write>(write))) wake();
    }

    // Worker's thread.
    void run();
    void handle_load(const LoadSpec& spec, const std::shared_ptr<std::atomic<bool>>& cancel);
    void handle_submit(Ticket ticket, ChatRequest& request, std::shared_ptr<std::atomic<bool>> cancel);
    void handle_count();
    void handle_preview();
    void iterate(Listener& listener);
    bool take_step();  // an iteration is due
    void publish_snapshot();
    void give_up(const std::string& why);
    void refuse(Ticket ticket, Error error);

    std::unique_ptr<Backend> backend_;  // worker's thread
    Outbox outbox_;

    std::mutex mutex_;
    std::condition_variable work_;
    std::deque<Command> commands_;            // under mutex_
    std::optional<CountQuestion> question_;   // under mutex_
    std::optional<PreviewQuestion> preview_;  // under mutex_
    bool quit_ = false;                       // under mutex_
    std::atomic<bool> stop_{false};           // template rendering and loading look at it
    std::atomic<bool> paused_{false};
    std::atomic<int> steps_{0};
    std::atomic<int> pace_{0};
    std::atomic<bool> cancelled_{false};  // a paused engine has to look for it
    std::atomic<int> snapshot_ms_{500};
    std::atomic<int> block_serial_{0};

    // Worker's thread.
    std::unordered_map<std::int64_t, Ticket> tickets_;  // engine's request → ticket
    std::vector<Record> records_;
    QElapsedTimer since_snapshot_;
    std::int64_t iteration_ = 0;  // of the last snapshot
    QElapsedTimer since_free_;
    std::uint64_t memory_free_ = 0;
    std::chrono::steady_clock::time_point next_step_;  // with a pace
    bool snapshot_due_ = false;
    bool bandwidth_due_ = false;

    // Window's thread.
    Ticket next_ticket_ = 1;
    std::unordered_map<Ticket, std::shared_ptr<std::atomic<bool>>> running_;
    std::shared_ptr<std::atomic<bool>> load_cancel_;
    int loading_ = 0;
    int panel_ms_ = 50;
    bool panels_visible_ = false;
    QTimer tick_;
    QElapsedTimer since_tick_;

    std::thread thread_;
};

}  // namespace vitrine::ui
