#include <algorithm>

#include "core/engine/engine_impl.h"

namespace vitrine {

void Engine::Impl::copy_blocks(const StepPlan& plan) {
    if (plan.copies.empty()) return;
    std::vector<BlockCopy> copies;
    copies.reserve(plan.copies.size());
    for (const PlannedCopy& c : plan.copies) copies.push_back({c.from.value, c.to.value});
    device().copy_blocks(*kv_storage, copies);
    if (drafter) drafter->copy(copies);
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
        for (std::int32_t i = 0; i < item.count - item.drafts; ++i)
            tokens.push_back(
                s.tokens[static_cast<std::size_t>(item.start) + static_cast<std::size_t>(i)].value);
        if (item.drafts > 0)
            for (const TokenId id : live_of(s).draft.tokens) tokens.push_back(id.value);
        for (std::int32_t i = 0; i < item.count; ++i) positions.push_back(item.start + i);
        for (std::int32_t i = item.count - item.outputs; i < item.count; ++i)
            output_rows.push_back(first_row + i);
        slices.push_back(
            {.first_row = first_row,
             .rows = item.count,
             .start = item.start,
             .blocks = std::span<const std::int32_t>(tables).subspan(first_block, s.table.blocks.size()),
             .rope_set = s.table.rope_set});
    }
    prepare_samples(plan);
    return forward(device(), model->config(), model->weights(), *kv_storage, workspace,
                   {.tokens = tokens,
                    .positions = positions,
                    .sequences = slices,
                    .output_rows = output_rows,
                    .ropes = model->config().ropes,
                    .rope_sets = model->config().rope_sets()},
                   samples);
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

void Engine::Impl::forget_dropped() {
    std::erase_if(live, [](const auto& entry) {
        return entry.second->finished && entry.second->sequence.phase == SequencePhase::Dropped;
    });
}

void Engine::Impl::add_phases(const StepPlan& plan, const PhaseTimes& times, double seconds) {
    PhaseTimes bytes = weight_bytes;
    bytes.embed *= plan.tokens;
    double keys = 0;  // in all layers
    std::int32_t outputs = 0;
    for (const StepItem& item : plan.items) {
        outputs += item.outputs;
        for (const ModelConfig::Layer& layer : model->config().layer) {
            const std::int32_t seen = item.start + item.count;
            keys += layer.window > 0 ? std::min(seen, layer.window + item.count) : seen;
        }
    }
    const auto layers = std::max<std::size_t>(model->config().layer.size(), 1);
    bytes.attention =
        keys * static_cast<double>(kv_storage->shape.bytes_per_token()) / static_cast<double>(layers);
    if (outputs == 0) bytes.logits = 0;
    bytes.sample = static_cast<double>(samples.size()) * model->config().vocab * sizeof(float);
    phases +=
        {.seconds = times, .bytes = bytes, .host = std::max(0.0, seconds - times.total()), .iterations = 1};
}

bool Engine::Impl::step(EngineListener& listener) {
    forget_dropped();
    story.between();
    sweep_cancelled(listener);
    if (scheduler.idle()) {
        forget_dropped();
        return false;
    }
    ++iteration;
    story.begin(iteration);
    const double begin = now();
    StepPlan plan = scheduler.plan();
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
    plan_drafts(plan);
    copy_blocks(plan);
    make_drafts(plan);
    const double drafted = now();
    const Status ran = run(plan);
    const double computed = now();
    draft_seconds = static_cast<float>(drafted - planned);
    verify_seconds = static_cast<float>(computed - drafted);
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
                   .start = drafted,
                   .duration = verify_seconds,
                   .first = item.start,
                   .tokens = item.count,
                   .outputs = item.outputs};
        telemetry.push(r);
        if (item.start < live_of(*item.sequence).stats.prompt_tokens)
            note(item.sequence->id.value, RequestEvent::PrefillChunk, item.count, verify_seconds);
    }
    scheduler.commit(plan);
    tokens_of_step = 0;
    for (const StepItem& item : plan.items) {
        const BlockTable& table = item.sequence->table;
        const auto last = static_cast<std::size_t>((item.start + item.count - 1) / options.block_size);
        if (last < table.blocks.size())
            story.wrote(item.sequence->id, item.start, item.count, table.blocks[last], options.block_size);
    }
    deliver(plan, listener);

    const double end = now();
    observe_step(plan, end - begin - static_cast<double>(draft_seconds));
    const PhaseTimes times = device().phase_times();
    add_phases(plan, times, end - begin);
    Record r{};
    r.kind = RecordKind::Iteration;
    r.iteration = {.index = iteration,
                   .start = begin,
                   .duration = static_cast<float>(end - begin),
                   .schedule = static_cast<float>(planned - begin),
                   .embed = static_cast<float>(times.embed),
                   .matrix = static_cast<float>(times.matrix()),
                   .attention = static_cast<float>(times.attention),
                   .sample = static_cast<float>(times.sample + end - computed),
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

}  // namespace vitrine
