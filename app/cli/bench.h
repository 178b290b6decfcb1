// `vitrine-cli bench`: tokens per second beside the memory bandwidth that the machine has at the same moment.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/recorder.h"
#include "app/cli/runner.h"

namespace vitrine::cli {

struct BenchOptions {
    ModelOptions model;
    EngineFlags engine;
    std::vector<std::int32_t> prefill;
    std::vector<std::int32_t> decode;
    std::vector<std::int32_t> depth = {0};
    std::vector<std::int32_t> batch = {1};
    std::vector<std::int32_t> step;
    DraftFlags draft;
    std::string prompts;  // of the comparison with drafts
    std::int32_t repeat = 5;
    bool json = false;
};

int run_bench(const BenchOptions& options);

// One line of the result.
struct Timing {
    std::string test;         // "prefill" or "decode"
    std::int32_t tokens = 0;  // a sequence
    std::int32_t depth = 0;   // tokens in the KV cache before
    std::int32_t batch = 1;
    bool step = false;          // one iteration with that many tokens of one sequence
    std::vector<double> tok_s;  // of all sequences together, one a repetition
    std::vector<double> weights_gb_s;
    MetricsSummary latency = {};  // of all timed repetitions
    PhaseFigures phases = {};     // of all timed iterations
    double kv_waste = 0;          // greatest share of used KV memory that held nothing
};

// Median of at least one number.
double median(std::vector<double> values);

// How many bytes a pass over memory should read so that caches cannot help: four times the last level of
// cache, at least 256 MiB, at most a quarter of the memory that is free.
std::uint64_t read_area_bytes(std::uint64_t cache_bytes, std::uint64_t free_bytes);

class Bench {
  public:
    // The recorder outlives the bench.
    Bench(std::shared_ptr<Model> model, EngineOptions options, std::int32_t repeat, Recorder& recorder);

    Status prefill(std::int32_t tokens, std::int32_t depth, std::int32_t batch);
    Status decode(std::int32_t tokens, std::int32_t depth, std::int32_t batch);
    Status step(std::int32_t tokens, std::int32_t depth);

    // Asked before each repetition; true ends the measurement with a Cancelled error.
    std::function<bool()> stopped;

    const std::vector<Timing>& timings() const { return timings_; }
    // Median of all passes so far, in GB/s (10⁹ bytes).
    double read_gb_s() const { return reads_.empty() ? 0.0 : median(reads_); }

  private:
    // An engine that holds `batch` sequences of `tokens` tokens, prompts of `depth` tokens in its prefix
    // cache.
    Result<std::unique_ptr<Engine>> engine_for(std::int64_t tokens, std::int32_t batch, std::int32_t chunk);
    std::vector<TokenId> text(std::uint64_t seed, std::int32_t tokens) const;
    Status warm(Engine& engine, std::int32_t depth, std::int32_t batch);
    Status read_pass();

    std::shared_ptr<Model> model_;
    EngineOptions options_;
    std::int32_t repeat_;
    Recorder& recorder_;
    std::uint64_t area_;
    std::vector<double> reads_;
    std::vector<Timing> timings_;
};

}  // namespace vitrine::cli
