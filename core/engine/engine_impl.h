// The inside of an Engine, shared by the files that implement it and by nobody else: engine.cpp (requests
// in), engine_step.cpp (an iteration), engine_speculate.cpp (drafts and their verification),
// engine_sample.cpp (what the device draws itself), engine_deliver.cpp (tokens and endings out),
// engine_memory.cpp (what fits), engine_snapshot.cpp (what panels see).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/pool_story.h"
#include "core/kv/kv_manager.h"
#include "core/model/forward.h"
#include "core/sched/scheduler.h"
#include "core/spec/draft_policy.h"
#include "core/spec/lookup_drafter.h"
#include "core/spec/model_drafter.h"
#include "core/text/stop_matcher.h"
#include "core/text/utf8_stream.h"

namespace vitrine {

using EngineClock = std::chrono::steady_clock;

inline Error invalid_request(std::string message) {
    return Error{ErrorKind::InvalidArgument, std::move(message)};
}

// One request from submission until nobody needs its blocks any more.
struct Live {
    Request request;
    Sequence sequence;
    RequestStats stats;
    Utf8Stream utf8;
    StopMatcher stops;
    double submitted = 0;
    double last_token = 0;
    bool finished = false;  // the listener has heard the end; it may still hold blocks
    // Answers beyond the first wait here, unknown to the scheduler, until the prompt is computed.
    std::int64_t request_id = 0;
    std::int32_t answer = 0;
    bool unborn = false;
    std::vector<Live*> siblings;            // of the first answer, until they are born
    std::unique_ptr<LookupDrafter> lookup;  // from its first look-up on
    Draft draft;                            // of this iteration
    DraftRates rates;                       // how often proposals stayed in this answer
};

// The sliding window that every layer has; 0 where one sees everything.
std::int32_t common_window(const ModelConfig& c);

struct Engine::Impl {
    Impl(std::shared_ptr<Model> m, const EngineOptions& o, const MemoryPlan& plan, KvCache storage,
         Workspace space)
        : model(std::move(m)),
          options(o),
          memory(plan),
          kv_storage(std::move(storage)),
          workspace(std::move(space)),
          kv(o.blocks, o.block_size,
             {.model = model->content_hash(),
              .weights_format = model->weights_format(),
              .rope = "file",
              .kv_dtype = std::string(info_of(o.kv_dtype).name)},
             {.prefix_cache = o.prefix_cache,
              .contiguous = o.cache == CacheMode::Static,
              .rope_sets = model->config().rope_sets()}),
          scheduler(kv, {.token_budget = o.token_budget,
                         .max_running = o.max_running,
                         .max_outputs = workspace.max_outputs,
                         .rope_switch = model->config().rope_switch,
                         .window = common_window(model->config())}),
          last_owner(static_cast<std::size_t>(o.blocks), -1) {
        kv.set_observer([this](const KvChange& change) { on_change(change); });
    }

    double now() const { return std::chrono::duration<double>(EngineClock::now() - start).count(); }
    Device& device() { return model->device(); }
    Live& live_of(const Sequence& s) { return *live.at(s.id.value); }

    void on_change(const KvChange& change);
    void note(std::int64_t request, RequestEvent event, std::int32_t tokens, float duration = 0);
    void finish(Live& l, FinishReason reason, EngineListener& listener,
                const std::optional<Error>& error = {});
    void sweep_cancelled(EngineListener& listener);
    void take_over_session(const Live& newcomer);
    void copy_blocks(const StepPlan& plan);
    std::int32_t vocabulary_of(const Live& l) const;
    // Somebody wants this row of logits.
    static bool is_scored(const Live& l, std::int32_t position) {
        return position >= l.sequence.logits_from && position < l.stats.prompt_tokens;
    }
    // Settings of the rows that the device samples in this step.
    void prepare_samples(const StepPlan& plan);
    // False: the device has no token for it, its row is to be read.
    bool deliver_drawn(std::size_t item, Live& l, EngineListener& listener);
    // Looks tokens up and reserves blocks for drafts, before blocks are copied; drafts with the model after.
    void plan_drafts(StepPlan& plan);
    void make_drafts(StepPlan& plan);
    bool may_draft(const StepPlan& plan, const StepItem& item) const;
    std::int32_t most_drafts(const Live& l) const;
    void look_up(Live& l, std::int32_t most, std::int32_t shortest);
    void choose_drafts(const StepPlan& plan);
    void observe_step(const StepPlan& plan, double seconds);
    SpeculationFigures speculation_figures() const;
    void verify_drafts(const StepItem& item, Live& l, std::size_t output, EngineListener& listener);
    void note_verification(const Live& l, const Draft& draft, std::int32_t first, std::int32_t accepted,
                           DraftEnd end);
    Status set_draft(std::shared_ptr<Model> draft);
    Status run(const StepPlan& plan);
    void run_one_by_one(const StepPlan& plan, EngineListener& listener);
    void give_birth(Live& first);
    // Why rows of logits cannot be read.
    Error no_result();
    void deliver(const StepPlan& plan, EngineListener& listener);
    void sample_row(Live& l, std::span<const float> row, EngineListener& listener);
    void deliver_token(Live& l, Result<Sampled> sampled, EngineListener& listener,
                       TokenOrigin origin = TokenOrigin::Sampled);
    void forget_dropped();
    bool step(EngineListener& listener);
    void add_phases(const StepPlan& plan, const PhaseTimes& times, double seconds);
    KvSnapshot snapshot() const;
    std::vector<TokenId> block_tokens(BlockId block) const;
    void describe_wait(const Sequence& q, SequenceView& v) const;

    std::shared_ptr<Model> model;
    EngineOptions options;
    MemoryPlan memory;
    KvCache kv_storage;
    Workspace workspace;
    KvManager kv;
    Scheduler scheduler;
    Sampler sampler;
    std::shared_ptr<Model> draft_model;
    std::unique_ptr<ModelDrafter> drafter;  // after its model: it goes first
    DraftPolicy policy;
    TelemetryRing telemetry;
    PoolStory story;
    PhaseTimes weight_bytes = weight_bytes_by_phase(model->weights());
    PhaseFigures phases;                                 // since somebody took them
    std::map<std::int64_t, std::unique_ptr<Live>> live;  // by request, in order of arrival
    std::vector<std::int64_t> last_owner;                // by block: request that had it last
    std::int64_t next_request = 1;
    std::int64_t iteration = 0;
    EngineClock::time_point start = EngineClock::now();

    // Reused from step to step.
    std::vector<std::int32_t> tokens, positions, output_rows, tables;
    std::vector<SequenceSlice> slices;
    std::vector<SampleRow> samples;
    std::vector<std::vector<LogitChange>> sample_changes;  // by item of the plan
    std::vector<std::vector<double>> sample_uniforms;
    std::vector<std::int32_t> sample_of_item;  // index into samples; −1: read and sampled here
    std::vector<std::int32_t> draft_of_item;   // proposals that there is room for, by item of the plan
    std::vector<float> doubt_of_item;          // see DraftTask
    std::vector<DraftWish> wishes;
    std::vector<std::size_t> wish_of_item;
    std::int64_t draft_steps = 0;     // of the draft model in this iteration
    std::int32_t tokens_of_step = 0;  // that came out of it
    std::int32_t sequences_of_step = 0;
    std::vector<DraftTask> draft_tasks;
    float draft_seconds = 0;   // of this iteration
    float verify_seconds = 0;  // of its forward pass
};

}  // namespace vitrine
