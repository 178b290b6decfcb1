// An engine for tests of the window: answers at once with a text that the test gives, or fails as it is told.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ui/bridge/backend.h"

namespace vitrine::ui {

// Set by the test before the worker begins, read by the worker's thread; atomics may change later.
struct FakePlan {
    std::string answer = "one two three";  // given out word by word, then "stop"
    std::atomic<bool> endless{false};      // repeats the answer until it is cancelled
    std::atomic<int> step_us{0};           // how long an iteration takes
    std::atomic<int> tokens_per_step{1};
    std::atomic<bool> throw_in_step{false};
    std::atomic<int> load_ms{0};
    std::atomic<bool> load_fails{false};
    int context = 512;
    bool has_template = true;
    QStringList switches;
    // What submit() makes of a request: an error, or nothing.
    std::function<std::optional<Error>(const ChatRequest&)> refuse;
    std::atomic<int> submitted{0};
    std::atomic<int> snapshots{0};
    std::atomic<int> steps{0};
    std::atomic<int> loads{0};
    std::vector<std::vector<ChatMessage>> prompts;  // read after the worker is idle
    std::vector<PromptWish> wishes;
    std::vector<std::string> so_far;
    LeftOutTurns left_out;  // what submit() leaves out, and count() says it would
    std::vector<std::int64_t> released;
};

class FakeBackend : public Backend {
  public:
    explicit FakeBackend(std::shared_ptr<FakePlan> plan) : plan_(std::move(plan)) {}

    Result<ModelInfo> load(const LoadSpec& spec, const LoadProgress& progress) override {
        ++plan_->loads;
        const int load_ms = plan_->load_ms;
        for (int ms = 0; ms < load_ms; ms += 2) {
            if (progress.cancel != nullptr && *progress.cancel)
                return Error{ErrorKind::Cancelled, "Loading was cancelled."};
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            if (progress.report)
                progress.report(static_cast<std::uint64_t>(ms), static_cast<std::uint64_t>(load_ms));
        }
        if (plan_->load_fails) return Error{ErrorKind::BadFile, "broken.gguf: the file is too short."};
        loaded_ = true;
        ModelInfo info;
        info.name = QStringLiteral("Fake");
        info.path = QString::fromStdString(spec.path);
        info.format = QStringLiteral("Q4_1");
        info.device = QStringLiteral("CPU none · 1 thread");
        info.kv_dtype = QStringLiteral("F16");
        info.weights_bytes = 90U << 20;
        info.kv_bytes = 80U << 20;
        info.workspace_bytes = 10U << 20;
        info.free_bytes = 4ULL << 30;
        info.context = plan_->context;
        info.block_size = 16;
        info.blocks = 64;
        info.has_template = plan_->has_template;
        info.template_source = QStringLiteral("{{ messages }}");
        info.template_switches = plan_->switches;
        return info;
    }
    void unload() override {
        loaded_ = false;
        running_.clear();
    }
    bool loaded() const override { return loaded_; }

    Result<Submitted> submit(const ChatRequest& request, std::shared_ptr<std::atomic<bool>> cancel) override {
        ++plan_->submitted;
        plan_->prompts.push_back(request.messages);
        if (plan_->refuse)
            if (auto error = plan_->refuse(request)) return *error;
        plan_->wishes.push_back(request.wish);
        plan_->so_far.push_back(request.answer_so_far);
        running_.push_back({++last_, request.session, std::move(cancel), 0, 0});
        return Submitted{last_, plan_->left_out};
    }
    Result<CountAnswer> count(const CountQuestion& question, const std::atomic<bool>*) override {
        CountAnswer answer;
        answer.serial = question.serial;
        for (const ChatMessage& m : question.messages)
            answer.total += static_cast<std::int32_t>(m.content.size()) + 4;
        answer.draft = static_cast<std::int32_t>(question.draft.size());
        answer.system = static_cast<std::int32_t>(question.system.size());
        for (const std::string& piece : question.pieces)
            answer.pieces.push_back(static_cast<std::int32_t>(piece.size()));
        answer.context =
            question.wish.context > 0 ? std::min(question.wish.context, plan_->context) : plan_->context;
        if (answer.total >= answer.context && plan_->left_out.messages > 0) answer.cut = plan_->left_out;
        return answer;
    }
    // A turn a line; a template of the chat's own is what stands before them.
    Result<PreviewAnswer> preview(const PreviewQuestion& question, const std::atomic<bool>*) override {
        if (question.wish.own_template.find("{%%") != std::string::npos)
            return Error{ErrorKind::Template, "line 1: unexpected '%'"};
        PreviewAnswer answer;
        answer.serial = question.serial;
        answer.text = question.wish.own_template;
        for (const auto& [name, on] : question.wish.switches) answer.text += name + (on ? "=1" : "=0");
        for (const ChatMessage& m : question.messages) answer.text += m.role + ": " + m.content + "\n";
        answer.tokens = static_cast<std::int32_t>(answer.text.size());
        return answer;
    }

    void drop_cancelled(EngineListener& listener) override {
        std::vector<FinishEvent> finished;
        std::erase_if(running_, [&](const Running& r) {
            if (!r.cancel || !*r.cancel) return false;
            FinishEvent end;
            end.request = RequestId(r.id);
            end.reason = FinishReason::Cancelled;
            end.stats.generated_tokens = r.tokens;
            finished.push_back(end);
            return true;
        });
        for (const FinishEvent& end : finished) listener.on_finish(end);
    }
    bool step(EngineListener& listener) override {
        ++plan_->steps;
        if (plan_->throw_in_step) throw std::runtime_error("the device is gone");
        if (plan_->step_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(plan_->step_us));
        std::deque<Running> left;
        std::vector<FinishEvent> finished;
        for (Running& r : running_) {
            FinishEvent end;
            end.request = RequestId(r.id);
            if (r.cancel && *r.cancel) {
                end.reason = FinishReason::Cancelled;
                end.stats.generated_tokens = r.tokens;
                finished.push_back(end);
                continue;
            }
            bool over = false;
            for (int n = 0; n < plan_->tokens_per_step && !over; ++n) {
                const auto space = plan_->answer.find(' ', r.at + 1);
                TokenEvent token;
                token.request = RequestId(r.id);
                token.index = r.tokens++;
                token.text =
                    plan_->answer.substr(r.at, space == std::string::npos ? std::string::npos : space - r.at);
                if (!token.text.empty()) listener.on_token(token);
                over = space == std::string::npos;
                r.at = over ? 0 : space;
                if (over && plan_->endless) over = false;
            }
            if (!over) {
                left.push_back(std::move(r));
                continue;
            }
            end.stats.generated_tokens = r.tokens;
            end.stats.prompt_tokens = 10;
            end.stats.cached_tokens = 4;
            end.stats.ttft_seconds = 0.01;
            end.stats.total_seconds = 0.1;
            finished.push_back(end);
        }
        running_ = std::move(left);
        for (const FinishEvent& end : finished) listener.on_finish(end);
        return true;
    }
    bool idle() const override { return running_.empty(); }
    void release_session(std::int64_t session, bool) override { plan_->released.push_back(session); }

    KvSnapshot snapshot() const override {
        ++plan_->snapshots;
        KvSnapshot s;
        s.iteration = plan_->steps;
        s.block_size = 16;
        s.blocks.resize(64);
        for (const Running& r : running_) {
            SequenceView view;
            view.request = r.id;
            view.session = r.session;
            view.state = SequenceState::Running;
            view.blocks = {0, 1};
            s.sequences.push_back(view);
        }
        return s;
    }
    void take_records(std::vector<Record>&) override {}
    EngineFigures figures() const override { return {}; }
    double measure_read_bandwidth() override { return 10; }

  private:
    struct Running {
        std::int64_t id = 0;
        std::int64_t session = 0;
        std::shared_ptr<std::atomic<bool>> cancel;
        std::size_t at = 0;
        int tokens = 0;
    };
    std::shared_ptr<FakePlan> plan_;
    bool loaded_ = false;
    std::int64_t last_ = 0;
    std::deque<Running> running_;
};

}  // namespace vitrine::ui
