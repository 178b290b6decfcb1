#include <algorithm>
#include <cmath>

#include "core/engine/engine_impl.h"

namespace vitrine {

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

void Engine::Impl::on_change(const KvChange& change) {
    story.add(change);
    if (drafter && (change.kind == KvChangeKind::Allocate || change.kind == KvChangeKind::Copy))
        drafter->forget(change.block);
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
                          const std::optional<Error>& error) {
    l.finished = true;
    l.stats.total_seconds = now() - l.submitted;
    l.stats.preemptions = l.sequence.preemptions;
    const bool keep = l.request.session != 0 && reason != FinishReason::Failed &&
                      l.sequence.phase == SequencePhase::Running;
    if (keep) {
        take_over_session(l);
        scheduler.settle(l.sequence);
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

Error Engine::Impl::no_result() {
    const Status why = device().finish_step();
    return why.ok() ? Error{ErrorKind::Io, "The device has no result of the step."} : why.error();
}

void Engine::Impl::deliver(const StepPlan& plan, EngineListener& listener) {
    const auto width = static_cast<std::size_t>(model->config().vocab);
    std::size_t output = 0;
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        const StepItem& item = plan.items[i];
        Live& l = live_of(*item.sequence);
        if (item.drafts > 0) {
            verify_drafts(item, l, output, listener);
            output += static_cast<std::size_t>(item.outputs);
            continue;
        }
        const std::int32_t end = item.start + item.count;
        const bool due = end == l.sequence.length();
        for (std::int32_t position = end - item.outputs; position < end; ++position, ++output) {
            const bool last = due && position == end - 1;
            const bool scored = is_scored(l, position);
            const bool wanted = last && l.request.max_tokens != 0;
            if (!scored && !wanted) continue;
            if (wanted && deliver_drawn(i, l, listener)) continue;
            const auto row = device().read(*workspace.logits, output * width, width);
            if (row.size() != width) {
                finish(l, FinishReason::Failed, listener, no_result());
                output += static_cast<std::size_t>(end - position);
                break;
            }
            if (scored) {
                l.request.on_logits(position, row);
                l.sequence.logits_from = position + 1;  // not again after a preemption
            }
            if (!wanted) continue;
            const std::vector<Live*> others = l.siblings;
            give_birth(l);
            sample_row(l, row, listener);
            for (Live* other : others)
                if (!other->finished) sample_row(*other, row, listener);
        }
        if (due && !l.finished && l.request.max_tokens == 0) finish(l, FinishReason::Length, listener);
    }
}

void Engine::Impl::sample_row(Live& l, std::span<const float> row, EngineListener& listener) {
    if (l.request.on_sample_logits) l.request.on_sample_logits(row);
    deliver_token(l,
                  sampler.sample(row, vocabulary_of(l), l.sequence.tokens, l.request.sampling,
                                 static_cast<std::uint64_t>(l.stats.generated_tokens), l.request.candidates),
                  listener);
}

void Engine::Impl::deliver_token(Live& l, Result<Sampled> sampled, EngineListener& listener,
                                 TokenOrigin origin) {
    const Tokenizer& tokenizer = model->tokenizer();
    const std::int32_t index = l.stats.generated_tokens;
    if (!sampled.ok()) {
        finish(l, FinishReason::Failed, listener, sampled.error());
        return;
    }
    l.sequence.tokens.push_back(sampled->id);
    if (origin == TokenOrigin::Accepted) scheduler.accept(l.sequence);
    ++l.stats.generated_tokens;
    ++tokens_of_step;
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
               .origin = origin};
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
    event.position = l.sequence.length() - 1;
    event.candidates = std::move(sampled->candidates);
    event.origin = origin;
    event.processed = std::move(sampled->processed);
    event.probability = sampled->probability;
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

}  // namespace vitrine
