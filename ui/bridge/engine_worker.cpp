#include "ui/bridge/engine_worker.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

namespace vitrine::ui {
namespace {

std::int32_t utf16_units(const std::string& utf8) {
    std::int32_t units = 0;
    for (const char c : utf8) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0U) != 0x80U) units += byte >= 0xF0U ? 2 : 1;
    }
    return units;
}

}  // namespace

// Hands the engine's events to the outbox, under the tickets that the window knows.
class EngineWorker::Listener : public EngineListener {
  public:
    explicit Listener(EngineWorker& worker) : worker_(worker) {}

    void on_token(const TokenEvent& event) override {
        const auto known = worker_.tickets_.find(event.request.value);
        if (known == worker_.tickets_.end()) return;
        const Ticket ticket = known->second;
        AnswerToken detail = describe(event);
        worker_.put([&](Batch& batch) {
            Outbox::append_text(batch, ticket, event.text).details.push_back(std::move(detail));
        });
    }

    void on_finish(const FinishEvent& event) override {
        const auto known = worker_.tickets_.find(event.request.value);
        if (known == worker_.tickets_.end()) return;
        AnswerFinished finished;
        finished.ticket = known->second;
        finished.reason = event.reason;
        finished.error = event.error;
        finished.stats = event.stats;
        finished.started = true;
        worker_.tickets_.erase(known);
        worker_.put([&](Batch& batch) {
            if (!event.text.empty()) {
                AnswerText& all = Outbox::append_text(batch, finished.ticket, event.text);
                if (!all.details.empty()) all.details.back().text_units += utf16_units(event.text);
                for (AnswerText& text : batch.text)
                    if (text.ticket == finished.ticket) --text.tokens;  // held-back text is no further token
            }
            batch.finished.push_back(std::move(finished));
        });
        worker_.snapshot_due_ = true;
    }

  private:
    AnswerToken describe(const TokenEvent& event) const {
        const Backend& backend = *worker_.backend_;
        AnswerToken token;
        token.id = event.id.value;
        token.index = event.index;
        token.position = event.position;
        token.rank = event.rank;
        token.text_units = utf16_units(event.text);
        token.log_probability = event.log_probability;
        token.probability = event.probability;
        token.seconds = static_cast<float>(event.interval);
        token.origin = event.origin;
        token.piece = backend.token_text(token.id);
        token.candidates.reserve(event.candidates.size());
        for (const Candidate& c : event.candidates)
            token.candidates.push_back(
                {c.id.value, c.log_probability, event.processed.empty() ? -1.0F : 0.0F, {}, false});
        for (const ProcessedCandidate& p : event.processed) {
            const auto known = std::find_if(token.candidates.begin(), token.candidates.end(),
                                            [&p](const TokenCandidate& c) { return c.id == p.id.value; });
            if (known != token.candidates.end()) {
                known->probability = p.probability;
            } else {
                token.candidates.push_back(
                    {p.id.value, std::numeric_limits<float>::quiet_NaN(), p.probability, {}, false});
            }
        }
        // More was told than fits: one that may still have a chance is better called unknown than zero.
        if (event.processed.size() >= event.candidates.size())
            for (TokenCandidate& c : token.candidates)
                if (c.probability == 0.0F) c.probability = c.id == token.id ? event.probability : -1.0F;
        token.control = backend.is_control(token.id);
        for (TokenCandidate& c : token.candidates) {
            c.text = backend.token_text(c.id);
            c.control = backend.is_control(c.id);
        }
        return token;
    }

    EngineWorker& worker_;
};

EngineWorker::EngineWorker(std::unique_ptr<Backend> backend, QObject* parent)
    : QObject(parent), backend_(std::move(backend)) {
    tick_.setSingleShot(true);
    tick_.setTimerType(Qt::PreciseTimer);
    connect(&tick_, &QTimer::timeout, this, &EngineWorker::deliver);
    since_tick_.start();
    thread_ = std::thread([this] { run(); });
}

EngineWorker::~EngineWorker() {
    cancel_all();
    cancel_load();
    stop_ = true;
    {
        const std::scoped_lock lock(mutex_);
        quit_ = true;
    }
    work_.notify_one();
    thread_.join();
}

void EngineWorker::post(Command command) {
    {
        const std::scoped_lock lock(mutex_);
        commands_.push_back(std::move(command));
    }
    work_.notify_one();
}

void EngineWorker::load(const LoadSpec& spec) {
    cancel_load();
    load_cancel_ = std::make_shared<std::atomic<bool>>(false);
    ++loading_;
    post([this, spec, cancel = load_cancel_] { handle_load(spec, cancel); });
}

void EngineWorker::cancel_load() {
    if (load_cancel_) *load_cancel_ = true;
}

Ticket EngineWorker::submit(ChatRequest request) {
    const Ticket ticket = next_ticket_++;
    auto cancel = std::make_shared<std::atomic<bool>>(false);
    running_.emplace(ticket, cancel);
    post([this, ticket, request = std::move(request), cancel]() mutable {
        handle_submit(ticket, request, std::move(cancel));
    });
    return ticket;
}

void EngineWorker::cancel(Ticket ticket) {
    const auto known = running_.find(ticket);
    if (known == running_.end()) return;
    *known->second = true;
    cancelled_ = true;
    post([] {});  // a paused worker has to look at it
}

void EngineWorker::cancel_all() {
    for (const auto& [ticket, flag] : running_) *flag = true;
    cancelled_ = true;
    post([] {});
}

void EngineWorker::release_session(std::int64_t session, bool drop_cache) {
    post([this, session, drop_cache] {
        backend_->release_session(session, drop_cache);
        publish_snapshot();
    });
}

void EngineWorker::count_tokens(CountQuestion question) {
    {
        const std::scoped_lock lock(mutex_);
        question_ = std::move(question);
    }
    work_.notify_one();
}

void EngineWorker::preview_template(PreviewQuestion question) {
    {
        const std::scoped_lock lock(mutex_);
        preview_ = std::move(question);
    }
    work_.notify_one();
}

void EngineWorker::ask_block_text(int block) {
    const int serial = ++block_serial_;
    post([this, block, serial] {
        if (serial != block_serial_ || !backend_->loaded()) return;
        BlockText text{block, iteration_, backend_->block_text(block)};
        put([&](Batch& batch) { batch.block_text = std::move(text); });
    });
}

void EngineWorker::pause() {
    if (paused_.exchange(true)) return;
    emit paused_changed(true);
}

void EngineWorker::step_once() {
    pause();
    ++steps_;
    post([] {});
}

void EngineWorker::resume() {
    if (pace_.exchange(0) != 0) emit pace_changed(0);
    steps_ = 0;
    const bool was_paused = paused_.exchange(false);
    post([] {});
    if (was_paused) emit paused_changed(false);
}

void EngineWorker::run_slowly(int per_second) {
    const int pace = std::clamp(per_second, 1, fastest_pace);
    const bool changed = pace_.exchange(pace) != pace;
    steps_ = 0;
    const bool was_paused = paused_.exchange(false);
    post([] {});
    if (changed) emit pace_changed(pace);
    if (was_paused) emit paused_changed(false);
}

// ---- the worker's thread ----

void EngineWorker::run() {
    Listener listener(*this);
    since_snapshot_.start();
    std::deque<Command> commands;
    for (;;) {
        bool asked = false;
        bool preview_asked = false;
        {
            std::unique_lock lock(mutex_);
            const auto something = [this] {
                return quit_ || !commands_.empty() || question_.has_value() || preview_.has_value();
            };
            const bool busy = !backend_->idle() && (!paused_ || steps_ > 0);
            if (!busy)
                work_.wait(lock, something);
            else if (pace_ > 0 && steps_ == 0)
                work_.wait_until(lock, next_step_, something);
            if (quit_) break;
            commands.swap(commands_);
            asked = question_.has_value();
            preview_asked = preview_.has_value();
        }
        try {
            for (Command& command : commands) command();
            commands.clear();
            if (asked) handle_count();
            if (preview_asked) handle_preview();
            iterate(listener);
        } catch (const std::exception& failure) {
            commands.clear();
            give_up(failure.what());
        }
    }
    backend_->unload();
}

void EngineWorker::iterate(Listener& listener) {
    if (backend_->idle()) {
        steps_ = 0;  // there was nothing to step over
        if (bandwidth_due_) {
            bandwidth_due_ = false;
            const double gb_s = backend_->measure_read_bandwidth();
            put([&](Batch& batch) { batch.read_bandwidth = gb_s; });
        }
        return;
    }
    const bool letting_go = cancelled_.exchange(false);
    if (letting_go) backend_->drop_cancelled(listener);
    bool worked = true;
    if (take_step()) {
        worked = backend_->step(listener);
    } else if (!letting_go) {
        return;
    }
    backend_->take_records(records_);
    EngineFigures figures = backend_->figures();
    if (snapshot_ms_ < 500 && (!since_free_.isValid() || since_free_.elapsed() >= 1000)) {
        since_free_.start();
        memory_free_ = backend_->memory_free();
    }
    figures.memory_free = memory_free_;
    put([&](Batch& batch) {
        Outbox::append_records(batch, records_);
        batch.figures = figures;
    });
    if (snapshot_due_ || since_snapshot_.elapsed() >= snapshot_ms_) publish_snapshot();
    if (!worked && !backend_->idle()) {
        // Nothing can run now (all wait for memory): look again in a moment instead of spinning.
        std::unique_lock lock(mutex_);
        work_.wait_for(lock, std::chrono::milliseconds(5));
    }
}

bool EngineWorker::take_step() {
    if (int steps = steps_; steps > 0) {
        snapshot_due_ = true;
        // The window's thread may set it to 0 at any time.
        while (steps > 0 && !steps_.compare_exchange_weak(steps, steps - 1)) {
        }
        return steps > 0;
    }
    if (paused_) return false;
    const int pace = pace_;
    if (pace == 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_step_) return false;
    // From when it was due, so that the pace holds whatever an iteration takes; never to catch up in a rush.
    const auto period = std::chrono::nanoseconds(1'000'000'000 / pace);
    next_step_ = std::max(next_step_ + period, now);
    if (next_step_ > now + period) next_step_ = now + period;
    snapshot_due_ = true;
    return true;
}

void EngineWorker::publish_snapshot() {
    snapshot_due_ = false;
    if (!backend_->loaded()) return;
    auto made = std::make_shared<const KvSnapshot>(backend_->snapshot());
    iteration_ = made->iteration;
    put([&](Batch& batch) { batch.snapshot = std::move(made); });
    since_snapshot_.restart();
}

void EngineWorker::handle_load(const LoadSpec& spec, const std::shared_ptr<std::atomic<bool>>& cancel) {
    LoadEnded ended;
    ended.path = QString::fromStdString(spec.path);
    LoadProgress progress;
    progress.cancel = cancel.get();
    progress.report = [this](std::uint64_t done, std::uint64_t total) {
        put([&](Batch& batch) { batch.load_step = LoadStep{done, total}; });
    };
    if (*cancel) {
        ended.error = {ErrorKind::Cancelled, "Loading was cancelled."};
        ended.model_kept = backend_->loaded();
    } else {
        try {
            auto info = backend_->load(spec, progress);
            if (info.ok()) {
                ended.model = std::move(info).value();
            } else {
                ended.error = std::move(info).error();
            }
        } catch (const std::exception& failure) {
            backend_->unload();
            ended.error = {ErrorKind::Internal, std::string("Loading failed: ") + failure.what()};
        }
        ended.model_kept = backend_->loaded();
        if (ended.model || !ended.model_kept) {
            // The engine that had these requests is gone, and they with it.
            for (const auto& [request, ticket] : std::exchange(tickets_, {})) {
                AnswerFinished finished;
                finished.ticket = ticket;
                finished.reason = FinishReason::Cancelled;
                finished.started = true;
                put([&](Batch& batch) { batch.finished.push_back(finished); });
            }
        }
        bandwidth_due_ = ended.model.has_value();
        since_free_.invalidate();
    }
    put([&](Batch& batch) { batch.load_ended.push_back(std::move(ended)); });
    publish_snapshot();
}

void EngineWorker::refuse(Ticket ticket, Error error) {
    AnswerFinished finished;
    finished.ticket = ticket;
    finished.reason = error.kind == ErrorKind::Cancelled ? FinishReason::Cancelled : FinishReason::Failed;
    finished.error = std::move(error);
    put([&](Batch& batch) { batch.finished.push_back(std::move(finished)); });
}

void EngineWorker::handle_submit(Ticket ticket, ChatRequest& request,
                                 std::shared_ptr<std::atomic<bool>> cancel) {
    if (*cancel) return refuse(ticket, {ErrorKind::Cancelled, "Stopped before it began."});
    if (!backend_->loaded())
        return refuse(ticket, {ErrorKind::NotFound, "No model is loaded. Open one first."});
    const std::int64_t session = request.session;
    try {
        auto submitted = backend_->submit(request, std::move(cancel));
        if (!submitted.ok()) return refuse(ticket, std::move(submitted).error());
        const Submitted made = submitted.value();
        tickets_.emplace(made.request, ticket);
        auto prompt = backend_->prompt_text();
        put([&](Batch& batch) {
            batch.started.push_back({ticket, made.request, session, made.left_out, std::move(prompt)});
        });
    } catch (const std::exception& failure) {
        refuse(ticket, {ErrorKind::Internal, std::string("The request failed: ") + failure.what()});
    }
}

void EngineWorker::handle_count() {
    std::optional<CountQuestion> question;
    {
        const std::scoped_lock lock(mutex_);
        question.swap(question_);
    }
    if (!question || !backend_->loaded()) return;
    auto counted = backend_->count(*question, &stop_);
    CountAnswer answer;
    if (counted.ok()) {
        answer = std::move(counted).value();
    } else {
        answer.serial = question->serial;
        answer.error = std::move(counted).error();
    }
    put([&](Batch& batch) { batch.count = std::move(answer); });
}

void EngineWorker::handle_preview() {
    std::optional<PreviewQuestion> question;
    {
        const std::scoped_lock lock(mutex_);
        question.swap(preview_);
    }
    if (!question) return;
    PreviewAnswer answer;
    answer.serial = question->serial;
    if (!backend_->loaded()) {
        answer.error = {ErrorKind::NotFound, "No model is loaded, so nothing can be rendered."};
    } else if (auto made = backend_->preview(*question, &stop_); made.ok()) {
        answer = std::move(made).value();
    } else {
        answer.error = std::move(made).error();
    }
    put([&](Batch& batch) { batch.preview = std::move(answer); });
}

void EngineWorker::give_up(const std::string& why) {
    backend_->unload();
    const Error error{ErrorKind::Internal,
                      "The engine stopped: " + why + ". Your chats are kept; open the model again to go on."};
    for (const auto& [request, ticket] : std::exchange(tickets_, {})) {
        AnswerFinished finished;
        finished.ticket = ticket;
        finished.reason = FinishReason::Failed;
        finished.error = error;
        finished.started = true;
        put([&](Batch& batch) { batch.finished.push_back(finished); });
    }
    put([&](Batch& batch) { batch.engine_failed = error; });
}

void EngineWorker::wake() { QMetaObject::invokeMethod(this, "fetch_soon", Qt::QueuedConnection); }

// ---- the window's thread ----

void EngineWorker::fetch_soon() {
    const qint64 left = tick_ms - since_tick_.elapsed();
    if (!tick_.isActive()) tick_.start(static_cast<int>(std::max<qint64>(0, left)));
}

void EngineWorker::deliver() {
    since_tick_.restart();
    Batch batch = outbox_.take();
    if (batch.load_step) emit load_progress(batch.load_step->done, batch.load_step->total);
    for (const LoadEnded& ended : batch.load_ended) {
        --loading_;
        if (ended.model) {
            emit model_loaded(*ended.model);
        } else {
            emit load_failed(ended.path, ended.error, ended.model_kept);
        }
    }
    for (const AnswerStarted& s : batch.started) {
        emit answer_started(s.ticket, s.request, s.session);
        if (s.left_out.messages > 0) emit turns_left_out(s.ticket, s.left_out);
        if (s.prompt) emit answer_prompt(s.ticket, s.prompt);
    }
    for (const AnswerText& t : batch.text) {
        emit answer_text(t.ticket, QString::fromUtf8(t.text.data(), static_cast<qsizetype>(t.text.size())),
                         t.tokens);
        if (!t.details.empty()) emit answer_tokens(t.ticket, t.details);
    }
    for (const AnswerFinished& f : batch.finished) {
        running_.erase(f.ticket);
        emit answer_finished(f);
    }
    if (batch.figures) emit figures(*batch.figures);
    if (batch.read_bandwidth) emit read_bandwidth(*batch.read_bandwidth);
    // What happened before how it is now.
    if (!batch.records.empty()) emit records(batch.records);
    if (batch.snapshot) emit snapshot(batch.snapshot);
    if (batch.block_text)
        emit block_text(batch.block_text->block, batch.block_text->iteration,
                        QString::fromStdString(batch.block_text->text));
    if (batch.count) emit tokens_counted(*batch.count);
    if (batch.preview) emit template_previewed(*batch.preview);
    if (batch.engine_failed) emit engine_failed(*batch.engine_failed);
    emit ticked();
}

}  // namespace vitrine::ui
