#include "app/cli/bench.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "app/cli/machine.h"

namespace vitrine::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Counter : public EngineListener {
  public:
    void on_token(const TokenEvent& event) override {
        ++tokens;
        started.insert(event.request);
    }
    void on_finish(const FinishEvent& event) override {
        ++finished;
        cached += event.stats.cached_tokens;
        if (event.reason == FinishReason::Failed && event.error && !error) error = event.error;
    }

    std::int64_t tokens = 0;
    std::int64_t cached = 0;
    std::size_t finished = 0;
    std::unordered_set<RequestId> started;
    std::optional<Error> error;
};

// Steps until nothing is left.
Status run_out(Engine& engine, Counter& counter) {
    while (engine.step(counter)) {
    }
    if (counter.error) return *counter.error;
    return {};
}

}  // namespace

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::uint64_t read_area_bytes(std::uint64_t cache_bytes, std::uint64_t free_bytes) {
    constexpr std::uint64_t least = 256ULL << 20;
    constexpr std::uint64_t page = 2ULL << 20;
    const std::uint64_t cache = std::min<std::uint64_t>(cache_bytes, 1ULL << 40);
    std::uint64_t area = std::max(least, 4 * cache);
    if (free_bytes != 0) area = std::min(area, std::max(free_bytes / 4, page));
    return area / page * page;
}

namespace {

// A GPU's cache is at most this large today (H200: 50 MB), and its memory is read fast.
std::uint64_t cache_bytes(const DeviceInfo& device) {
    return device.name == "cuda" ? 256ULL << 20 : last_level_cache_bytes();
}

}  // namespace

Bench::Bench(std::shared_ptr<Model> model, EngineOptions options, std::int32_t repeat, Recorder& recorder)
    : model_(std::move(model)),
      options_(options),
      repeat_(repeat),
      recorder_(recorder),
      area_(read_area_bytes(cache_bytes(model_->device().info()), model_->device().info().memory_free)) {
    if (options_.token_budget == 0) options_.token_budget = default_token_budget(model_->device().info());
    options_.prefix_cache =
        true;  // how a sequence gets to its depth without being timed (a static cache has none)
}

std::vector<TokenId> Bench::text(std::uint64_t seed, std::int32_t tokens) const {
    std::vector<TokenId> ids;
    ids.reserve(static_cast<std::size_t>(tokens));
    const double vocab = model_->tokenizer().size();
    for (std::int32_t i = 0; i < tokens; ++i)
        ids.emplace_back(static_cast<std::int32_t>(uniform(seed, 0, static_cast<std::uint64_t>(i)) * vocab));
    return ids;
}

Result<std::unique_ptr<Engine>> Bench::engine_for(std::int64_t tokens, std::int32_t batch,
                                                  std::int32_t chunk) {
    const std::int64_t context = options_.context > 0 ? options_.context : model_->config().context;
    if (tokens > context)
        return Error{ErrorKind::TooLarge,
                     "A sequence of " + std::to_string(tokens) + " tokens is longer than the context of " +
                         std::to_string(context) + ". Choose a smaller depth or fewer tokens."};
    EngineOptions options = options_;
    options.token_budget = std::max(options.token_budget, chunk);
    options.max_running = std::max(options.max_running, std::max(batch, chunk));
    // Room for the text of one more repetition, so that what is timed evicts nothing of the depth.
    const std::int64_t a_sequence = 2 * ((tokens + options.block_size - 1) / options.block_size) + 2;
    options.blocks = static_cast<std::int32_t>(std::min<std::int64_t>(a_sequence * batch, INT32_MAX));
    VITRINE_TRY(auto engine, Engine::make(model_, options));
    recorder_.attach(*engine);
    return engine;
}

Status Bench::warm(Engine& engine, std::int32_t depth, std::int32_t batch) {
    if (depth < 1) return {};
    Counter counter;
    for (std::int32_t b = 0; b < batch; ++b) {
        Request request;
        request.prompt = text(static_cast<std::uint64_t>(b), depth);
        request.max_tokens = 0;
        VITRINE_TRY(const RequestId id, engine.submit(std::move(request)));
        static_cast<void>(id);
    }
    VITRINE_CHECK(run_out(engine, counter));
    recorder_.collect(engine);
    return {};
}

Status Bench::read_pass() {
    if (stopped && stopped()) return Error{ErrorKind::Cancelled, "Stopped."};
    VITRINE_TRY(const double seconds, model_->device().read_pass(area_));
    if (seconds > 0) reads_.push_back(static_cast<double>(area_) / seconds * 1e-9);
    return {};
}

Status Bench::prefill(std::int32_t tokens, std::int32_t depth, std::int32_t batch) {
    VITRINE_TRY(const auto engine, engine_for(static_cast<std::int64_t>(depth) + tokens + 1, batch, 1));
    VITRINE_CHECK(warm(*engine, depth, batch));
    Timing timing{"prefill", tokens, depth, batch, false, {}, {}, {}, {}, 0};
    recorder_.metrics().clear();
    for (std::int32_t round = -1; round < repeat_; ++round) {  // the first one warms up
        VITRINE_CHECK(read_pass());
        Counter counter;
        std::int64_t prompt = 0;
        for (std::int32_t b = 0; b < batch; ++b) {
            Request request;
            request.prompt = text(static_cast<std::uint64_t>(b), depth);
            const auto rest =
                text(1'000'000ULL + static_cast<std::uint64_t>((round + 1) * batch + b), tokens);
            request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
            request.max_tokens = 1;
            request.ignore_eog = true;
            prompt += static_cast<std::int64_t>(request.prompt.size());
            VITRINE_TRY(const RequestId id, engine->submit(std::move(request)));
            static_cast<void>(id);
        }
        const std::int64_t before = engine->iterations();
        static_cast<void>(engine->take_phases());
        const auto begin = Clock::now();
        VITRINE_CHECK(run_out(*engine, counter));
        const double seconds = seconds_since(begin);
        const PhaseFigures phases = engine->take_phases();
        // What was computed: the prompts without what their depth brought along.
        const std::int64_t computed = prompt - counter.cached;
        const auto steps = static_cast<double>(engine->iterations() - before);
        recorder_.collect(*engine);
        if (round < 0) {
            recorder_.metrics().clear();
            continue;
        }
        timing.phases += phases;
        timing.tok_s.push_back(static_cast<double>(computed) / seconds);
        timing.weights_gb_s.push_back(steps * static_cast<double>(engine->weight_bytes_per_step()) / seconds *
                                      1e-9);
    }
    timing.latency = recorder_.metrics().summary();
    timings_.push_back(std::move(timing));
    return {};
}

Status Bench::decode(std::int32_t tokens, std::int32_t depth, std::int32_t batch) {
    const std::int32_t prompt = std::max(depth, 1);
    // The first sequences are ahead of the last by the iterations that their prompts take.
    const std::int64_t lead = std::int64_t{batch} * (prompt / std::max(1, options_.token_budget) + 2);
    const std::int64_t context = options_.context > 0 ? options_.context : model_->config().context;
    const std::int64_t least = static_cast<std::int64_t>(prompt) + tokens + 1;
    VITRINE_TRY(const auto engine,
                engine_for(least < context ? std::min(context, least + lead) : least, batch, 1));
    const std::int32_t most = engine->context() - prompt;
    VITRINE_CHECK(warm(*engine, depth, batch));
    Timing timing{"decode", tokens, depth, batch, false, {}, {}, {}, {}, 0};
    recorder_.metrics().clear();
    for (std::int32_t round = -1; round < repeat_; ++round) {
        VITRINE_CHECK(read_pass());
        Counter counter;
        const auto stop = std::make_shared<std::atomic<bool>>(false);
        for (std::int32_t b = 0; b < batch; ++b) {
            Request request;
            request.prompt = text(static_cast<std::uint64_t>(b), prompt);
            request.max_tokens = static_cast<std::int32_t>(std::min<std::int64_t>(most, tokens + 1 + lead));
            request.ignore_eog = true;
            request.cancel = stop;
            VITRINE_TRY(const RequestId id, engine->submit(std::move(request)));
            static_cast<void>(id);
        }
        // Not timed: until each sequence has its first token.
        while (counter.started.size() < static_cast<std::size_t>(batch) && engine->step(counter)) {
        }
        const std::int64_t before = counter.tokens;
        static_cast<void>(engine->take_phases());
        const auto begin = Clock::now();
        std::int32_t steps = 0;
        while (steps < tokens && counter.finished == 0 && engine->step(counter)) ++steps;
        const double seconds = seconds_since(begin);
        const PhaseFigures phases = engine->take_phases();
        const std::int64_t made = counter.tokens - before;
        timing.kv_waste = std::max(timing.kv_waste, engine->snapshot().waste());
        stop->store(true);
        VITRINE_CHECK(run_out(*engine, counter));
        if (steps == 0 || made == 0)
            return Error{ErrorKind::TooLarge, "There was no room to generate " + std::to_string(tokens) +
                                                  " tokens at a depth of " + std::to_string(depth) +
                                                  " with a batch of " + std::to_string(batch) + "."};
        recorder_.collect(*engine);
        if (round < 0) {
            recorder_.metrics().clear();
            continue;
        }
        timing.phases += phases;
        timing.tok_s.push_back(static_cast<double>(made) / seconds);
        timing.weights_gb_s.push_back(steps * static_cast<double>(engine->weight_bytes_per_step()) / seconds *
                                      1e-9);
    }
    timing.latency = recorder_.metrics().summary();
    timings_.push_back(std::move(timing));
    return {};
}

Status Bench::step(std::int32_t tokens, std::int32_t wanted_depth) {
    // A sequence gets to its depth in whole blocks.
    const std::int32_t depth = wanted_depth / std::max(1, options_.block_size) * options_.block_size;
    VITRINE_TRY(const auto engine, engine_for(static_cast<std::int64_t>(depth) + tokens, 1, tokens));
    VITRINE_CHECK(warm(*engine, depth, 1));
    Timing timing{"decode", tokens, depth, 1, true, {}, {}, {}, {}, 0};
    constexpr std::int32_t steps_a_round = 8;
    std::uint64_t fresh = 2'000'000;
    for (std::int32_t round = -1; round < repeat_; ++round) {
        VITRINE_CHECK(read_pass());
        std::vector<double> seconds;
        for (std::int32_t i = 0; i < steps_a_round; ++i) {
            Counter counter;
            Request request;
            request.prompt = text(0, depth);
            const auto rest = text(fresh++, tokens);
            request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
            request.max_tokens = 0;
            // The logits of every row, as a speculative step needs them.
            std::int32_t rows = 0;
            request.logits_from = depth;
            request.on_logits = [&rows](std::int32_t /*position*/, std::span<const float> /*row*/) {
                ++rows;
            };
            VITRINE_TRY(const RequestId id, engine->submit(std::move(request)));
            static_cast<void>(id);
            static_cast<void>(engine->take_phases());
            const auto begin = Clock::now();
            engine->step(counter);
            seconds.push_back(seconds_since(begin));
            if (round >= 0) timing.phases += engine->take_phases();
            const bool one_step = counter.finished == 1;
            VITRINE_CHECK(run_out(*engine, counter));
            if (!one_step || rows != tokens)
                return Error{ErrorKind::Internal,
                             "A step of " + std::to_string(tokens) + " tokens was cut into several."};
        }
        recorder_.collect(*engine);
        if (round < 0) continue;
        const double typical = median(seconds);
        timing.tok_s.push_back(tokens / typical);
        timing.weights_gb_s.push_back(static_cast<double>(engine->weight_bytes_per_step()) / typical * 1e-9);
    }
    timings_.push_back(std::move(timing));
    return {};
}

}  // namespace vitrine::cli
