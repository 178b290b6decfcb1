// The engine: owns KV pool, scheduler and workspace of one model and turns requests into tokens.
//
// One thread owns an Engine and calls everything here. Only Request::cancel may be written from elsewhere.
// step() runs one iteration: plan, forward, sample. There is no prefill mode and no decode mode (see
// core/sched/scheduler.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/engine/model.h"
#include "core/engine/phases.h"
#include "core/engine/snapshot.h"
#include "core/sample/params.h"
#include "core/sample/sampler.h"
#include "core/spec/speculation.h"
#include "core/telemetry/records.h"
#include "core/telemetry/ring.h"

namespace vitrine {

// How the KV cache is given out. Static is what engines without paging do, here for comparison: a run of
// blocks side by side for all that a sequence may come to have, reserved when it is admitted, never shared.
enum class CacheMode : std::uint8_t { Paged, Static };

struct EngineOptions {
    std::int32_t context = 0;      // most tokens of one sequence; 0: what the model was trained for
    std::int32_t block_size = 16;  // tokens in a KV block: 8 to 256, a multiple of 8
    std::int32_t blocks = 0;       // KV blocks; 0: one full context, less where memory is short
    DType kv_dtype = DType::F16;   // F32, F16 or BF16
    std::int32_t token_budget =
        0;  // most rows of an iteration ("chunk" of a long prompt); 0: what the device likes
    std::uint64_t memory_budget = 0;  // bytes for weights, KV pool and workspace; 0: what is free
    std::int32_t max_running = 32;    // most sequences in an iteration
    bool prefix_cache = true;         // without effect in a static cache
    CacheMode cache = CacheMode::Paged;
};

enum class FinishReason : std::uint8_t {
    Stop,  // an end-of-generation id
    StopString,
    Length,   // max_tokens reached
    Context,  // no room left in the context or the pool
    Cancelled,
    Failed,  // see error
};
const char* name_of(FinishReason reason);  // "stop", "stop", "length", "context", "cancelled", "error"

struct Request {
    std::vector<TokenId> prompt;  // at least one id, all inside the vocabulary
    SamplingParams sampling;
    std::int32_t max_tokens = -1;  // −1: until the context is full
    // Answers to the prompt, each ended by itself. The prompt is computed once and its blocks are shared (not
    // in a static cache); answer i draws from the random stream sampling.stream + i, so it is what a request
    // of its own with that stream would give.
    std::int32_t n = 1;
    std::vector<std::string> stop;  // stop strings
    bool ignore_eog = false;
    std::int32_t priority = 0;    // higher first
    std::int32_t candidates = 0;  // how many candidates to report with each token; 0 costs nothing
    // Rows of the output matrix that are tokens. 0: as many as the tokenizer has; rows beyond, where a matrix
    // is padded, can never be drawn. Ids without a text are only good for a caller that wants ids.
    std::int32_t vocabulary = 0;
    // Conversation this request continues; 0: none. After the answer its blocks stay referenced (until
    // memory is needed or the session's next request takes over), so that its block table can be shown.
    std::int64_t session = 0;
    std::shared_ptr<std::atomic<bool>> cancel;  // written by the caller, only read here; may be null
    // Who proposes tokens that are then verified several at a time. Answers are what they would be without:
    // the same where the most probable token is taken or tokens are looked up, else equally distributed.
    Speculation speculation;
    // Called for every prompt position from `logits_from` on with that row of logits, in order; the
    // request generates nothing then if max_tokens is 0.
    std::function<void(std::int32_t position, std::span<const float> logits)> on_logits;
    std::int32_t logits_from = 0;
    // Called with each row that a token of the first answer is sampled from, before sampling. Rows behind a
    // refused proposal are not among them.
    std::function<void(std::span<const float> logits)> on_sample_logits;
};

struct RequestStats {
    std::int32_t prompt_tokens = 0;
    std::int32_t cached_tokens = 0;  // of the prompt, found in the prefix cache at the first admission
    std::int32_t generated_tokens = 0;
    std::int32_t preemptions = 0;
    double queue_seconds = 0;  // submission → first admission
    double ttft_seconds = 0;   // submission → first token
    double total_seconds = 0;  // submission → end
    // Tokens per second of the answer after its first token; 0 below two tokens.
    double decode_tok_s() const {
        const double s = total_seconds - ttft_seconds;
        return generated_tokens > 1 && s > 0 ? (generated_tokens - 1) / s : 0.0;
    }
};

struct TokenEvent {
    RequestId request;
    std::int32_t answer = 0;  // 0 to Request::n − 1
    TokenId id;
    std::int32_t index = 0;     // 0: first generated token
    std::string text;           // whole characters that may be shown now; often empty
    double interval = 0;        // seconds since the previous token; TTFT for the first
    std::int32_t position = 0;  // in the sequence: its keys and values lie in block position / block size
    TokenOrigin origin = TokenOrigin::Sampled;
    float log_probability = 0;  // the model's own, before the sampler's settings
    std::int32_t rank = 0;
    std::vector<Candidate> candidates;  // of the model, where asked for
    // What it was drawn from, where asked for and known (see Sampled).
    std::vector<ProcessedCandidate> processed;
    float probability = -1;
};

// Once for each answer.
struct FinishEvent {
    RequestId request;
    std::int32_t answer = 0;
    FinishReason reason = FinishReason::Stop;
    std::string text;            // what was still held back
    std::optional<Error> error;  // with Failed
    RequestStats stats;
};

class EngineListener {
  public:
    virtual ~EngineListener() = default;
    virtual void on_token(const TokenEvent& event) = 0;
    virtual void on_finish(const FinishEvent& event) = 0;
};

// What speculation costs and brings here, as measured so far. Seconds; 0: not measured.
struct SpeculationFigures {
    // Index k: an iteration of one sequence with k proposed tokens. 0: the plain one. What was not measured
    // is estimated from its neighbours.
    std::array<double, kLongestDraft + 1> step{};
    double draft_step = 0;   // one proposal of the draft model
    double model_rate = 0;   // how often its proposals stay, of those whose predecessors stayed
    double lookup_rate = 0;  // the same of tokens looked up after an ending of four tokens
    // What "auto" would ask of the draft model now, for one sequence; Off: it costs more than it gives.
    Drafting choice = Drafting::Off;
    std::int32_t length = 0;
    double gain = 0;  // tokens per second with the best fixed length, as a multiple of plain decoding
};

struct MemoryPlan {
    std::uint64_t weights = 0;
    std::uint64_t kv = 0;
    std::uint64_t workspace = 0;  // activations, and what the device's steps take beside them
    std::uint64_t draft = 0;      // weights, KV and workspace of the draft model, where there is one
    std::uint64_t free = 0;       // on the device, before the KV pool was made; 0: not known
    EngineOptions options;        // with the defaults filled in, so that all fits
};

// Rows of an iteration that keep a device busy without making others wait for long: 256, on a GPU 2048.
std::int32_t default_token_budget(const DeviceInfo& device);

// What an engine over such a model would take, before anything is loaded: from the configuration, the device
// memory of its weights and what is free beside them. InvalidArgument for options out of range; OutOfMemory
// with needed and free where pool and workspace do not fit, or not into the budget. `device` tells what its
// steps take; none: nothing.
Result<MemoryPlan> plan_memory(const ModelConfig& config, const EngineOptions& options, std::uint64_t weights,
                               std::uint64_t free, const Device* device = nullptr);

class Engine {
  public:
    // OutOfMemory with needed and free where pool and workspace do not fit.
    static Result<std::unique_ptr<Engine>> make(std::shared_ptr<Model> model, const EngineOptions& options);
    ~Engine();

    // InvalidArgument / TooLarge where the request can never be served (empty prompt, id outside the
    // vocabulary, prompt of the whole context or more, pool too small). Nothing is cut.
    Result<RequestId> submit(Request request);

    // One iteration. Returns false when there was nothing to do. Events go to the listener during the call.
    // After a device error the sequences of the iteration are computed one by one: those that fail alone end
    // with Failed, the others go on; the engine stays usable.
    bool step(EngineListener& listener);
    bool idle() const;  // nothing waiting, nothing running
    // Ends the requests whose cancel flag is set, without an iteration: nobody else moves.
    void drop_cancelled(EngineListener& listener);

    // The model that drafts where a request asks for it, for all requests; null: none. Between steps, also
    // while answers run. It may be on another device. InvalidArgument with the first difference where its
    // vocabulary is another; OutOfMemory where its KV beside the blocks of the pool does not fit. The one
    // before stays then.
    Status set_draft(std::shared_ptr<Model> draft);
    const std::shared_ptr<Model>& draft() const;
    // Of a request that runs; nothing happens where it has ended. InvalidArgument for a length out of range.
    Status set_speculation(RequestId request, const Speculation& speculation);
    SpeculationFigures speculation() const;

    // Forgets what a conversation holds; with drop_cache its blocks also leave the prefix cache.
    void release_session(std::int64_t session, bool drop_cache = false);

    const Model& model() const;
    const EngineOptions& options() const;  // with the defaults filled in
    const MemoryPlan& memory() const;
    std::int32_t context() const { return options().context; }
    KvSnapshot snapshot() const;
    // What the block holds, in order: of a sequence that has it, else of the prefix cache. Empty: nothing.
    std::vector<TokenId> block_tokens(BlockId block) const;
    TelemetryRing& telemetry();
    std::int64_t iterations() const;
    // When the clock of the telemetry began, in seconds of std::chrono::steady_clock.
    double started() const;
    // Bytes of weights that the last iteration read, for GB/s.
    std::uint64_t weight_bytes_per_step() const;
    // What the iterations since the last call spent and read, by phase.
    PhaseFigures take_phases();
    Status verify() const;  // invariants of pool, cache and tables
    // For tests: fills the whole KV pool with NaN, so that reading what is not written shows.
    void poison_cache();

  private:
    struct Impl;
    explicit Engine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace vitrine
