#include "core/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/engine/pool_story.h"
#include "core/kv/kv_manager.h"
#include "core/model/forward.h"
#include "core/sched/scheduler.h"
#include "core/text/stop_matcher.h"
#include "core/text/utf8_stream.h"

namespace vitrine {
namespace {

using Clock = std::chrono::steady_clock;

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB"; }

Error invalid(std::string message) { return Error{ErrorKind::InvalidArgument, std::move(message)}; }

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
    std::vector<Live*> siblings;  // of the first answer, until they are born
};

// The sliding window that every layer has; 0 where one sees everything.
std::int32_t common_window(const ModelConfig& c) {
    std::int32_t widest = 0;
    for (const ModelConfig::Layer& layer : c.layer) {
        if (layer.window <= 0) return 0;
        widest = std::max(widest, layer.window);
    }
    return widest;
}

Status check(const EngineOptions& o) {
    if (o.block_size < 8 || o.block_size > 256 || o.block_size % 8 != 0)
        return invalid("The KV block size must be a multiple of 8 from 8 to 256, not " +
                       std::to_string(o.block_size) + ".");
    if (o.kv_dtype != DType::F32 && o.kv_dtype != DType::F16 && o.kv_dtype != DType::BF16)
        return invalid("The KV cache can be F32, F16 or BF16, not " + std::string(info_of(o.kv_dtype).name) +
                       ".");
    if (o.token_budget < 1 || o.token_budget > 65536)
        return invalid("The token budget of an iteration must be 1 to 65536.");
    if (o.max_running < 1 || o.max_running > 4096)
        return invalid("The number of running sequences must be 1 to 4096.");
    if (o.context < 0 || o.blocks < 0)
        return invalid("Context length and number of KV blocks must not be negative.");
    return {};
}

}  // namespace

namespace {

std::int32_t max_outputs(const EngineOptions& o) { return std::max(o.max_running, 32); }

KvShape kv_shape(const ModelConfig& c, const EngineOptions& o) {
    return {.layers = c.layers,
            .kv_heads = c.kv_heads,
            .head_dim = c.head_dim,
            .block_size = o.block_size,
            .blocks = o.blocks,
            .dtype = o.kv_dtype};
}

}  // namespace

const char* name_of(FinishReason reason) {
    switch (reason) {
        case FinishReason::Stop:
        case FinishReason::StopString: return "stop";
        case FinishReason::Length: return "length";
        case FinishReason::Context: return "context";
        case FinishReason::Cancelled: return "cancelled";
        case FinishReason::Failed: return "error";
    }
    return "error";
}

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

    double now() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
    Device& device() { return model->device(); }
    Live& live_of(const Sequence& s) { return *live.at(s.id.value); }

    void on_change(const KvChange& change);
    void note(std::int64_t request, RequestEvent event, std::int32_t tokens, float duration = 0);
    void finish(Live& l, FinishReason reason, EngineListener& listener, std::optional<Error> error = {});
    void sweep_cancelled(EngineListener& listener);
    void take_over_session(const Live& newcomer);
    void copy_blocks(const StepPlan& plan);
    Status run(const StepPlan& plan);
    void run_one_by_one(const StepPlan& plan, EngineListener& listener);
    void give_birth(Live& first);
    void deliver(const StepPlan& plan, EngineListener& listener);
    void deliver_token(Live& l, std::span<const float> row, EngineListener& listener);
    void forget_dropped();
    bool step(EngineListener& listener);
    KvSnapshot snapshot() const;

    std::shared_ptr<Model> model;
    EngineOptions options;
    MemoryPlan memory;
    KvCache kv_storage;
    Workspace workspace;
    KvManager kv;
    Scheduler scheduler;
    Sampler sampler;
    TelemetryRing telemetry;
    PoolStory story;
    std::map<std::int64_t, std::unique_ptr<Live>> live;  // by request, in order of arrival
    std::vector<std::int64_t> last_owner;                // by block: request that had it last
    std::int64_t next_request = 1;
    std::int64_t iteration = 0;
    Clock::time_point start = Clock::now();

    // Reused from step to step.
    std::vector<std::int32_t> tokens, positions, output_rows, tables;
    std::vector<SequenceSlice> slices;
};

void Engine::Impl::on_change(const KvChange& change) {
    story.add(change);
    if (change.owner.valid() && change.kind != KvChangeKind::Free)
        last_owner[static_cast<std::size_t>(change.block.value)] = change.owner.value;
    BlockEvent event = BlockEvent::Allocate;
    switch (change.kind) {
        case KvChangeKind::Allocate: event = BlockEvent::Allocate; break;
        case KvChangeKind::Share: event = BlockEvent::Share; break;
        case KvChangeKind::Copy: event = BlockEvent::Copy; break;
        case KvChangeKind::Free: event = BlockEvent::Free; break;
        case KvChangeKind::Evict: event = BlockEvent::Evict; break;
    }
    Record r{};
    r.kind = RecordKind::Block;
    r.block = {.sequence = change.owner.value,
               .iteration = iteration,
               .time = now(),
               .block = change.block.value,
               .other = change.from.value,
               .logical = change.logical,
               .event = event};
    telemetry.push(r);
}

void Engine::Impl::note(std::int64_t request, RequestEvent event, std::int32_t count, float duration) {
    Record r{};
    r.kind = RecordKind::Request;
    r.request = {.request = request,
                 .iteration = iteration,
                 .time = now(),
                 .duration = duration,
                 .tokens = count,
                 .event = event};
    telemetry.push(r);
}

void Engine::Impl::finish(Live& l, FinishReason reason, EngineListener& listener,
                          std::optional<Error> error) {
    l.finished = true;
    l.stats.total_seconds = now() - l.submitted;
    l.stats.preemptions = l.sequence.preemptions;
    const bool keep = l.request.session != 0 && reason != FinishReason::Failed &&
                      l.sequence.phase == SequencePhase::Running;
    if (keep) {
        take_over_session(l);
        scheduler.hold(l.sequence);
    } else {
        scheduler.remove(l.sequence);
        l.sequence.phase = SequencePhase::Dropped;
    }
    FinishEvent event;
    event.request = RequestId{l.request_id};
    event.answer = l.answer;
    event.reason = reason;
    if (reason != FinishReason::StopString) {
        event.text = l.stops.push(l.utf8.flush());
        event.text += l.stops.flush();
    }
    event.error = error;
    event.stats = l.stats;
    note(l.sequence.id.value,
         reason == FinishReason::Cancelled ? RequestEvent::Cancelled
         : reason == FinishReason::Failed  ? RequestEvent::Failed
                                           : RequestEvent::Finished,
         l.stats.generated_tokens);
    listener.on_finish(event);
    // What ends the first answer before the others began ends them as well.
    for (Live* other : std::exchange(l.siblings, {}))
        if (!other->finished) finish(*other, reason, listener, error);
}

void Engine::Impl::sweep_cancelled(EngineListener& listener) {
    for (auto& [id, l] : live)
        if (!l->finished && l->request.cancel && l->request.cancel->load(std::memory_order_relaxed))
            finish(*l, FinishReason::Cancelled, listener);
}

// The session's earlier answer gives back what it still holds.
void Engine::Impl::take_over_session(const Live& newcomer) {
    if (newcomer.request.session == 0) return;
    for (auto& [id, l] : live)
        if (l->request_id != newcomer.request_id && l->request.session == newcomer.request.session &&
            l->sequence.phase == SequencePhase::Held) {
            scheduler.remove(l->sequence);
            l->sequence.phase = SequencePhase::Dropped;
        }
}

void Engine::Impl::copy_blocks(const StepPlan& plan) {
    if (plan.copies.empty()) return;
    std::vector<BlockCopy> copies;
    copies.reserve(plan.copies.size());
    for (const PlannedCopy& c : plan.copies) copies.push_back({c.from.value, c.to.value});
    device().copy_blocks(*kv_storage, copies);
}

Status Engine::Impl::run(const StepPlan& plan) {
    tokens.clear();
    positions.clear();
    output_rows.clear();
    tables.clear();
    slices.clear();
    std::size_t table_size = 0;
    for (const StepItem& item : plan.items) table_size += item.sequence->table.blocks.size();
    tables.reserve(table_size);  // spans into it must stay
    for (const StepItem& item : plan.items) {
        const Sequence& s = *item.sequence;
        const std::size_t first_block = tables.size();
        for (const BlockId b : s.table.blocks) tables.push_back(b.value);
        const auto first_row = static_cast<std::int32_t>(tokens.size());
        for (std::int32_t i = 0; i < item.count; ++i) {
            tokens.push_back(
                s.tokens[static_cast<std::size_t>(item.start) + static_cast<std::size_t>(i)].value);
            positions.push_back(item.start + i);
        }
        for (std::int32_t i = item.count - item.outputs; i < item.count; ++i)
            output_rows.push_back(first_row + i);
        slices.push_back(
            {.first_row = first_row,
             .rows = item.count,
             .start = item.start,
             .blocks = std::span<const std::int32_t>(tables).subspan(first_block, s.table.blocks.size()),
             .rope_set = s.table.rope_set});
    }
    return forward(device(), model->config(), model->weights(), *kv_storage, workspace,
                   {.tokens = tokens,
                    .positions = positions,
                    .sequences = slices,
                    .output_rows = output_rows,
                    .ropes = model->config().ropes,
                    .rope_sets = model->config().rope_sets()});
}

// After an error of the whole step: whose fault is it?
void Engine::Impl::run_one_by_one(const StepPlan& plan, EngineListener& listener) {
    for (const StepItem& item : plan.items) {
        StepPlan alone;
        alone.items.push_back(item);
        alone.tokens = item.count;
        Live& l = live_of(*item.sequence);
        if (const Status ran = run(alone); !ran.ok()) {
            finish(l, FinishReason::Failed, listener, ran.error());
            continue;
        }
        scheduler.commit(alone);
        deliver(alone, listener);
    }
}

// The prompt of the first answer is computed: the others begin, from the same blocks.
void Engine::Impl::give_birth(Live& first) {
    for (Live* other : std::exchange(first.siblings, {})) {
        if (other->finished) continue;
        other->unborn = false;
        other->stats.queue_seconds = first.stats.queue_seconds;
        other->stats.cached_tokens = first.stats.cached_tokens;
        scheduler.fork(first.sequence, other->sequence);
        note(other->sequence.id.value, RequestEvent::Admitted, other->sequence.computed);
    }
}

void Engine::Impl::deliver(const StepPlan& plan, EngineListener& listener) {
    const auto width = static_cast<std::size_t>(model->config().vocab);
    std::size_t output = 0;
    for (const StepItem& item : plan.items) {
        Live& l = live_of(*item.sequence);
        const std::int32_t end = item.start + item.count;
        const bool due = end == l.sequence.length();
        for (std::int32_t position = end - item.outputs; position < end; ++position, ++output) {
            const bool last = due && position == end - 1;
            const bool scored = position >= l.sequence.logits_from && position < l.stats.prompt_tokens;
            if (!scored && !(last && l.request.max_tokens != 0)) continue;
            const auto row = device().read(*workspace.logits, output * width, width);
            if (scored) {
                l.request.on_logits(position, row);
                l.sequence.logits_from = position + 1;  // not again after a preemption
            }
            if (!last || l.request.max_tokens == 0) continue;
            const std::vector<Live*> others = l.siblings;
            give_birth(l);
            deliver_token(l, row, listener);
            for (Live* other : others)
                if (!other->finished) deliver_token(*other, row, listener);
        }
        if (due && !l.finished && l.request.max_tokens == 0) finish(l, FinishReason::Length, listener);
    }
}

void Engine::Impl::deliver_token(Live& l, std::span<const float> row, EngineListener& listener) {
    if (l.request.on_sample_logits) l.request.on_sample_logits(row);
    const Tokenizer& tokenizer = model->tokenizer();
    const std::int32_t index = l.stats.generated_tokens;
    const std::int32_t vocabulary = l.request.vocabulary > 0 ? l.request.vocabulary : tokenizer.size();
    auto sampled = sampler.sample(row, vocabulary, l.sequence.tokens, l.request.sampling,
                                  static_cast<std::uint64_t>(index), l.request.candidates);
    if (!sampled.ok()) {
        finish(l, FinishReason::Failed, listener, sampled.error());
        return;
    }
    l.sequence.tokens.push_back(sampled->id);
    ++l.stats.generated_tokens;
    const double time = now();
    const double interval = index == 0 ? time - l.submitted : time - l.last_token;
    if (index == 0) {
        l.stats.ttft_seconds = interval;
        note(l.sequence.id.value, RequestEvent::FirstToken, 1, static_cast<float>(interval));
    }
    l.last_token = time;
    Record r{};
    r.kind = RecordKind::Token;
    r.token = {.request = l.sequence.id.value,
               .iteration = iteration,
               .time = time,
               .interval = static_cast<float>(interval),
               .probability = std::exp(sampled->log_probability),
               .id = sampled->id.value,
               .index = index,
               .origin = TokenOrigin::Sampled};
    telemetry.push(r);

    const bool ended = !l.request.ignore_eog && tokenizer.is_end_of_generation(sampled->id);
    TokenEvent event;
    event.request = RequestId{l.request_id};
    event.answer = l.answer;
    event.id = sampled->id;
    event.index = index;
    event.interval = interval;
    event.log_probability = sampled->log_probability;
    event.rank = sampled->rank;
    event.candidates = std::move(sampled->candidates);
    // Control tokens steer; they are not part of what is read.
    if (!ended && sampled->id.value < tokenizer.size() && !tokenizer.is_control(sampled->id))
        event.text = l.stops.push(l.utf8.push(tokenizer.bytes(sampled->id)));
    listener.on_token(event);

    if (ended)
        finish(l, FinishReason::Stop, listener);
    else if (l.stops.matched())
        finish(l, FinishReason::StopString, listener);
    else if (l.request.max_tokens >= 0 && l.stats.generated_tokens >= l.request.max_tokens)
        finish(l, FinishReason::Length, listener);
    else if (l.sequence.length() >= options.context)
        finish(l, FinishReason::Context, listener);
}

void Engine::Impl::forget_dropped() {
    std::erase_if(live, [](const auto& entry) {
        return entry.second->finished && entry.second->sequence.phase == SequencePhase::Dropped;
    });
}

bool Engine::Impl::step(EngineListener& listener) {
    forget_dropped();
    sweep_cancelled(listener);
    if (scheduler.idle()) {
        forget_dropped();
        return false;
    }
    ++iteration;
    story.begin(iteration);
    const double begin = now();
    const StepPlan plan = scheduler.plan();
    for (const Sequence* s : plan.preempted) note(s->id.value, RequestEvent::Preempted, s->length());
    for (Sequence* s : plan.admitted) {
        Live& l = live_of(*s);
        if (s->preemptions == 0) {
            l.stats.queue_seconds = begin - l.submitted;
            l.stats.cached_tokens = std::max(0, s->cached_tokens);
        }
        note(s->id.value, RequestEvent::Admitted, std::max(0, s->cached_tokens));
        take_over_session(l);
    }
    for (Sequence* s : plan.exhausted) finish(live_of(*s), FinishReason::Context, listener);
    if (plan.empty()) {
        forget_dropped();
        return true;
    }
    const double planned = now();
    copy_blocks(plan);
    const Status ran = run(plan);
    const double computed = now();
    if (!ran.ok()) {
        run_one_by_one(plan, listener);
        forget_dropped();
        return true;
    }
    for (const StepItem& item : plan.items) {
        Record r{};
        r.kind = RecordKind::Slice;
        r.slice = {.sequence = item.sequence->id.value,
                   .request = live_of(*item.sequence).request_id,
                   .iteration = iteration,
                   .start = planned,
                   .duration = static_cast<float>(computed - planned),
                   .first = item.start,
                   .tokens = item.count,
                   .outputs = item.outputs};
        telemetry.push(r);
        if (item.start < live_of(*item.sequence).stats.prompt_tokens)
            note(item.sequence->id.value, RequestEvent::PrefillChunk, item.count,
                 static_cast<float>(computed - planned));
    }
    scheduler.commit(plan);
    deliver(plan, listener);

    const double end = now();
    const PhaseTimes phases = device().phase_times();
    Record r{};
    r.kind = RecordKind::Iteration;
    r.iteration = {.index = iteration,
                   .start = begin,
                   .duration = static_cast<float>(end - begin),
                   .schedule = static_cast<float>(planned - begin),
                   .embed = static_cast<float>(phases.embed),
                   .matrix = static_cast<float>(phases.matrix),
                   .attention = static_cast<float>(phases.attention),
                   .sample = static_cast<float>(end - computed),
                   .sequences = static_cast<std::int32_t>(plan.items.size()),
                   .tokens = plan.tokens,
                   .budget = options.token_budget,
                   .waiting = static_cast<std::int32_t>(scheduler.waiting().size()),
                   .blocks_used = kv.pool().size() - kv.pool().free_count(),
                   .blocks_cached = kv.pool().cached_free_count()};
    telemetry.push(r);
    forget_dropped();
    return true;
}

KvSnapshot Engine::Impl::snapshot() const {
    KvSnapshot s;
    s.iteration = iteration;
    s.block_size = options.block_size;
    s.block_bytes = kv_storage->shape.bytes_per_token() * static_cast<std::uint64_t>(options.block_size);
    s.context = options.context;
    s.contiguous = kv.contiguous();
    s.blocks.resize(static_cast<std::size_t>(options.blocks));
    for (std::int32_t i = 0; i < options.blocks; ++i) {
        const BlockId id{i};
        BlockView& b = s.blocks[static_cast<std::size_t>(i)];
        b.references = kv.pool().references(id);
        const bool cached = kv.pool().cached(id);
        b.state = b.references > 0 ? BlockState::Used : cached ? BlockState::CachedFree : BlockState::Free;
        if (b.references > 1) ++s.shared;
        if (b.state == BlockState::CachedFree) {
            b.fill = options.block_size;
            b.owner = last_owner[static_cast<std::size_t>(i)];
        }
    }
    s.cached_free = kv.pool().cached_free_count();
    s.free = kv.pool().free_count() - s.cached_free;
    s.used = options.blocks - kv.pool().free_count();
    for (const auto& [id, l] : live) {
        const Sequence& q = l->sequence;
        if (q.phase == SequencePhase::Dropped || l->unborn) continue;
        SequenceView v;
        v.request = id;
        v.answer = l->answer;
        v.given_back = q.table.given_back;
        v.session = l->request.session;
        v.state = q.phase == SequencePhase::Waiting   ? SequenceState::Waiting
                  : q.phase == SequencePhase::Running ? SequenceState::Running
                                                      : SequenceState::Held;
        v.tokens = q.length();
        v.computed = q.computed;
        v.prompt_tokens = l->stats.prompt_tokens;
        for (auto i = static_cast<std::size_t>(v.given_back); i < q.table.blocks.size(); ++i) {
            BlockView& b = s.blocks[static_cast<std::size_t>(q.table.blocks[i].value)];
            const std::int32_t before = static_cast<std::int32_t>(i) * options.block_size;
            b.fill = std::max(b.fill, std::clamp(q.computed - before, 0, options.block_size));
            b.owner = id;
            v.blocks.push_back(q.table.blocks[i].value);
        }
        s.sequences.push_back(std::move(v));
    }
    for (const BlockView& b : s.blocks)
        if (b.state == BlockState::Used) s.wasted_tokens += options.block_size - b.fill;
    s.last_change = story.sentence();
    return s;
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<MemoryPlan> plan_memory(const ModelConfig& c, const EngineOptions& wanted, std::uint64_t weights,
                               std::uint64_t free) {
    VITRINE_CHECK(check(wanted));
    MemoryPlan plan;
    plan.options = wanted;
    EngineOptions& o = plan.options;
    if (o.context == 0) o.context = c.context;
    plan.weights = weights;
    plan.free = free;
    plan.workspace = Workspace::bytes(c, o.token_budget, max_outputs(o));
    KvShape shape = kv_shape(c, o);
    shape.blocks = 1;
    const std::uint64_t block_bytes = std::max<std::uint64_t>(1, shape.bytes());
    if (o.blocks == 0) {
        // One full context, and for small models room for several conversations; at most half of what is
        // free.
        constexpr std::uint64_t roomy = 64ULL << 20;
        const auto context_blocks = static_cast<std::uint64_t>(
            (static_cast<std::int64_t>(o.context) + o.block_size - 1) / o.block_size);
        std::uint64_t blocks = std::max(context_blocks, std::min<std::uint64_t>(256, roomy / block_bytes));
        if (free != 0) blocks = std::min(blocks, free / 2 / block_bytes);
        o.blocks = static_cast<std::int32_t>(std::clamp<std::uint64_t>(blocks, 2, 1U << 24));
    }
    shape.blocks = o.blocks;
    plan.kv = shape.bytes();
    if (free != 0 && plan.kv + plan.workspace > free)
        return Error{ErrorKind::OutOfMemory,
                     "The KV cache of " + std::to_string(o.blocks) + " blocks needs " + mebibytes(plan.kv) +
                         " and the workspace " + mebibytes(plan.workspace) + ", and " + mebibytes(free) +
                         " of memory are free. Choose a shorter context, fewer blocks or a smaller KV type."};
    o.context = static_cast<std::int32_t>(std::min<std::int64_t>(
        o.context, static_cast<std::int64_t>(o.blocks) * static_cast<std::int64_t>(o.block_size)));
    return plan;
}

Result<std::unique_ptr<Engine>> Engine::make(std::shared_ptr<Model> model, const EngineOptions& wanted) {
    VITRINE_CHECK(check(wanted));
    if (!model || !model->has_weights()) return invalid("An engine needs a model whose weights are loaded.");
    const ModelConfig& c = model->config();
    VITRINE_TRY(const MemoryPlan plan,
                plan_memory(c, wanted, model->weights().bytes, model->device().info().memory_free));
    const EngineOptions& o = plan.options;
    VITRINE_TRY(auto storage, model->device().make_kv(kv_shape(c, o)));
    VITRINE_TRY(auto workspace, Workspace::make(model->device(), c, o.token_budget, max_outputs(o)));
    return std::unique_ptr<Engine>(new Engine(
        std::make_unique<Impl>(std::move(model), o, plan, std::move(storage), std::move(workspace))));
}

Result<RequestId> Engine::submit(Request request) {
    Impl& e = *impl_;
    const std::int32_t vocab = e.model->config().vocab;
    if (request.prompt.empty())
        return invalid("The prompt is empty: there is nothing to continue. Write something first.");
    for (const TokenId id : request.prompt)
        if (id.value < 0 || id.value >= vocab)
            return invalid("Token id " + std::to_string(id.value) + " is outside the vocabulary (0 to " +
                           std::to_string(vocab - 1) + ").");
    VITRINE_CHECK(validate(request.sampling, vocab));
    if (request.n < 1 || request.n > 4096)
        return invalid("A request can have 1 to 4096 answers, not " + std::to_string(request.n) + ".");
    request.vocabulary = std::min(request.vocabulary, vocab);
    const auto length = request.prompt.size();
    const auto limit = static_cast<std::size_t>(e.options.context) - (request.max_tokens == 0 ? 0 : 1);
    if (length > limit)
        return Error{ErrorKind::TooLarge,
                     "The prompt has " + std::to_string(length) + " tokens, and the context holds " +
                         std::to_string(e.options.context) +
                         (length == limit + 1 ? ", which leaves no room for an answer" : "") +
                         ". Shorten it, or start a new conversation."};
    const std::int64_t request_id = e.next_request;
    const double time = e.now();
    const std::vector<TokenId> prompt = std::move(request.prompt);
    const std::int32_t answers = request.n;
    request.prompt = {};
    Live* first = nullptr;
    for (std::int32_t answer = 0; answer < answers; ++answer) {
        auto l = std::make_unique<Live>();
        const std::int64_t id = e.next_request++;
        l->request_id = request_id;
        l->answer = answer;
        l->sequence.id = SequenceId{id};
        l->sequence.priority = request.priority;
        l->sequence.arrival = static_cast<std::uint64_t>(request_id);
        l->sequence.prompt_length = static_cast<std::int32_t>(length);
        l->sequence.max_length = static_cast<std::int32_t>(std::min<std::int64_t>(
            e.options.context, request.max_tokens < 0
                                   ? e.options.context
                                   : static_cast<std::int64_t>(length) + request.max_tokens));
        l->stops = StopMatcher(request.stop);
        l->stats.prompt_tokens = static_cast<std::int32_t>(length);
        l->submitted = time;
        l->request = request;
        l->request.sampling.stream += static_cast<std::uint64_t>(answer);
        if (answer == 0) {
            if (request.on_logits) l->sequence.logits_from = std::max(0, request.logits_from);
            first = l.get();
        } else {
            l->request.on_logits = nullptr;
            l->request.on_sample_logits = nullptr;
        }
        e.note(id, RequestEvent::Submitted, l->stats.prompt_tokens);
        // Without sharing, each answer computes its own prompt.
        if (answer == 0 || e.kv.contiguous()) {
            l->sequence.tokens = prompt;
            e.scheduler.add(l->sequence);
        } else {
            l->unborn = true;
            first->siblings.push_back(l.get());
        }
        e.live.emplace(id, std::move(l));
    }
    return RequestId{request_id};
}

bool Engine::step(EngineListener& listener) { return impl_->step(listener); }

bool Engine::idle() const { return impl_->scheduler.idle(); }

void Engine::release_session(std::int64_t session, bool drop_cache) {
    if (session == 0) return;
    for (auto& [id, l] : impl_->live)
        if (l->request.session == session && l->sequence.phase == SequencePhase::Held) {
            impl_->scheduler.remove(l->sequence, drop_cache);
            l->sequence.phase = SequencePhase::Dropped;
        }
    impl_->forget_dropped();
}

const Model& Engine::model() const { return *impl_->model; }
const EngineOptions& Engine::options() const { return impl_->options; }
const MemoryPlan& Engine::memory() const { return impl_->memory; }
KvSnapshot Engine::snapshot() const { return impl_->snapshot(); }
TelemetryRing& Engine::telemetry() { return impl_->telemetry; }
std::int64_t Engine::iterations() const { return impl_->iteration; }
double Engine::started() const {
    return std::chrono::duration<double>(impl_->start.time_since_epoch()).count();
}
std::uint64_t Engine::weight_bytes_per_step() const { return impl_->model->weights().bytes_per_step(); }

void Engine::poison_cache() {
    impl_->device().fill_kv(*impl_->kv_storage, std::numeric_limits<float>::quiet_NaN());
}

Status Engine::verify() const {
    std::vector<const BlockTable*> tables;
    for (const auto& [id, l] : impl_->live) tables.push_back(&l->sequence.table);
    return impl_->kv.verify(tables);
}

}  // namespace vitrine
