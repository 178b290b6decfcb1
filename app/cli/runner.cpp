#include "app/cli/runner.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace vitrine::cli {

namespace {

// The pool of a new engine has room for at least this many tokens (or one context).
constexpr std::int64_t least_tokens = 1024;

// Several sequences at a time take no more than this, unless a single one does.
constexpr std::uint64_t pool_bytes = 1ULL << 30;

class Collector : public EngineListener {
  public:
    Collector(std::vector<Outcome>& outcomes, std::size_t needed,
              const std::function<void(const TokenEvent&)>& forward)
        : outcomes_(outcomes), needed_(needed), forward_(forward) {}

    // The answers to the request are outcomes from `index` on.
    void expect(RequestId id, std::size_t index) { index_.emplace(id, index); }

    void on_token(const TokenEvent& event) override {
        const auto found = index_.find(event.request);
        if (found == index_.end()) return;
        const std::size_t at = found->second + static_cast<std::size_t>(event.answer);
        outcomes_[at].ids.push_back(event.id);
        outcomes_[at].text += event.text;
        if (forward_ && at < needed_) forward_(event);
    }

    void on_finish(const FinishEvent& event) override {
        const auto found = index_.find(event.request);
        if (found == index_.end()) return;
        const std::size_t at = found->second + static_cast<std::size_t>(event.answer);
        Outcome& outcome = outcomes_[at];
        if (outcome.finished) return;
        outcome.text += event.text;
        outcome.reason = event.reason;
        outcome.error = event.error;
        outcome.stats = event.stats;
        outcome.finished = true;
        if (at < needed_) ++finished_;
    }

    bool complete() const { return finished_ == needed_; }

  private:
    std::vector<Outcome>& outcomes_;
    std::size_t needed_;
    const std::function<void(const TokenEvent&)>& forward_;
    std::unordered_map<RequestId, std::size_t> index_;
    std::size_t finished_ = 0;
};

class Ignore : public EngineListener {
  public:
    void on_token(const TokenEvent& /*event*/) override {}
    void on_finish(const FinishEvent& /*event*/) override {}
};

}  // namespace

Runner::Runner(std::shared_ptr<Model> model, EngineOptions options, Recorder* recorder)
    : model_(std::move(model)), options_(options), recorder_(recorder) {}

Status Runner::adopt(std::unique_ptr<Engine> engine) {
    if (draft_) VITRINE_CHECK(engine->set_draft(draft_));
    engine_ = std::move(engine);
    if (recorder_) recorder_->attach(*engine_);
    return {};
}

Status Runner::set_draft(std::shared_ptr<Model> draft) {
    if (draft == draft_) return {};
    if (engine_) VITRINE_CHECK(engine_->set_draft(draft));
    draft_ = std::move(draft);
    return {};
}

bool Runner::step(EngineListener& listener) {
    const bool stepped = engine_->step(listener);
    if (recorder_) recorder_->collect(*engine_);
    if (on_step) on_step();
    return stepped;
}

std::int32_t Runner::context() const {
    return options_.context > 0 ? options_.context : model_->config().context;
}

std::uint64_t Runner::bytes_of_block() const {
    const ModelConfig& config = model_->config();
    const KvShape shape{config.layers,    config.kv_heads, config.head_dim, options_.block_size, 1,
                        options_.kv_dtype};
    return shape.bytes();
}

Status Runner::reserve_context() {
    // Already as much as there can be?
    if (engine_ && engine_->context() >= context()) return {};
    if (whole_context_ && engine_) return {};
    engine_.reset();
    EngineOptions options = options_;
    options.blocks = 0;
    VITRINE_TRY(auto made, Engine::make(model_, options));
    VITRINE_CHECK(adopt(std::move(made)));
    whole_context_ = true;
    return {};
}

Status Runner::reserve(std::int64_t tokens, std::int32_t sequences) {
    const std::int64_t block = std::max(1, options_.block_size);
    const auto blocks_for = [&](std::int64_t count) { return (count + block - 1) / block; };
    tokens = std::min<std::int64_t>(tokens, context());
    // One block beyond, so that a token may be computed ahead of what a sequence shows.
    const std::int64_t own = blocks_for(tokens) + 1;
    // Several at a time share what the limit leaves: the scheduler lets those wait that find no room.
    const std::int64_t limit =
        static_cast<std::int64_t>(pool_bytes / std::max<std::uint64_t>(1, bytes_of_block()));
    const std::int64_t wanted = std::max(own, std::min(own * std::max(1, sequences), limit));
    if (engine_ && engine_->options().blocks >= wanted && engine_->options().max_running >= sequences)
        return {};

    EngineOptions options = options_;
    options.max_running = std::max(options.max_running, sequences);
    const std::int64_t least = blocks_for(std::min<std::int64_t>(least_tokens, std::max(1, context()))) + 1;
    const std::int64_t before = engine_ ? engine_->options().blocks : 0;
    // Doubling keeps the number of rebuilds (each forgets the prefix cache) logarithmic.
    const std::int64_t ample = std::max({wanted, least, std::min(2 * before, limit)});
    engine_.reset();
    whole_context_ = false;
    std::optional<Error> first;
    for (const std::int64_t blocks : {ample, wanted, own}) {
        options.blocks = static_cast<std::int32_t>(std::min<std::int64_t>(blocks, INT32_MAX));
        auto made = Engine::make(model_, options);
        const Status adopted = made.ok() ? adopt(std::move(made).value()) : Status(made.error());
        if (adopted.ok()) return {};
        if (!first) first = adopted.error();
        if (adopted.error().kind != ErrorKind::OutOfMemory) break;
    }
    return *first;
}

void Runner::drain() {
    Ignore nobody;
    while (engine_ && step(nobody)) {
    }
    if (engine_ && !engine_->idle()) engine_.reset();
}

Result<std::vector<Outcome>> Runner::run(std::vector<Request> requests, std::size_t needed) {
    try {
        return run_all(std::move(requests), needed);
    } catch (...) {
        // Thrown by a callback of the request, in the middle of a step: the engine is not used any further.
        engine_.reset();
        throw;
    }
}

Result<std::vector<Outcome>> Runner::run_all(std::vector<Request> requests, std::size_t needed) {
    const std::size_t needed_requests = std::min(needed, requests.size());
    std::int64_t longest = 1;
    bool unbounded = false;
    std::vector<std::size_t> first;  // outcome of each request
    std::size_t answers = 0;
    for (const Request& request : requests) {
        if (first.size() == needed_requests) needed = answers;
        first.push_back(answers);
        answers += static_cast<std::size_t>(std::max(1, request.n));
        const auto prompt = static_cast<std::int64_t>(request.prompt.size());
        unbounded = unbounded || request.max_tokens < 0;
        longest = std::max(longest, prompt + std::max(0, request.max_tokens));
    }
    if (needed_requests == requests.size()) needed = answers;
    const auto at_once = static_cast<std::int32_t>(std::min<std::size_t>(answers, 256));
    VITRINE_CHECK(unbounded ? reserve_context() : reserve(longest, at_once));

    std::vector<Outcome> outcomes(answers);
    Collector collector(outcomes, needed, on_token);
    std::vector<std::shared_ptr<std::atomic<bool>>> cancels;
    std::optional<Error> refused;
    for (std::size_t i = 0; i < requests.size() && !refused; ++i) {
        if (!requests[i].cancel) requests[i].cancel = std::make_shared<std::atomic<bool>>(false);
        cancels.push_back(requests[i].cancel);
        auto id = engine_->submit(std::move(requests[i]));
        if (id.ok())
            collector.expect(*id, first[i]);
        else
            refused = id.error();
    }
    bool stuck = false;
    while (!refused && !collector.complete()) {
        if (step(collector)) continue;
        stuck = !collector.complete();
        break;
    }
    for (const auto& cancel : cancels) cancel->store(true);
    drain();
    if (refused) return *std::move(refused);
    if (stuck) {
        engine_.reset();
        return Error{ErrorKind::Internal, "The engine stopped before the request ended. Please report this."};
    }
    for (std::size_t i = 0; i < needed; ++i)
        if (outcomes[i].reason == FinishReason::Failed) {
            const Error unknown{ErrorKind::Internal,
                                "The engine failed without saying why. Please report this."};
            return outcomes[i].error.value_or(unknown);
        }
    return outcomes;
}

Result<Outcome> Runner::run_one(Request request) {
    std::vector<Request> one;
    one.push_back(std::move(request));
    VITRINE_TRY(std::vector<Outcome> outcomes, run(std::move(one), 1));
    return std::move(outcomes.front());
}

}  // namespace vitrine::cli
