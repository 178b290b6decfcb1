#include <algorithm>
#include <cmath>
#include <limits>

#include "core/engine/engine_impl.h"

namespace vitrine {

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<RequestId> Engine::submit(Request request) {
    Impl& e = *impl_;
    const std::int32_t vocab = e.model->config().vocab;
    if (request.prompt.empty())
        return invalid_request("The prompt is empty: there is nothing to continue. Write something first.");
    for (const TokenId id : request.prompt)
        if (id.value < 0 || id.value >= vocab)
            return invalid_request("Token id " + std::to_string(id.value) +
                                   " is outside the vocabulary (0 to " + std::to_string(vocab - 1) + ").");
    VITRINE_CHECK(validate(request.sampling, vocab));
    VITRINE_CHECK(validate(request.speculation));
    if (request.n < 1 || request.n > 4096)
        return invalid_request("A request can have 1 to 4096 answers, not " + std::to_string(request.n) +
                               ".");
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

Status Engine::set_draft(std::shared_ptr<Model> draft) { return impl_->set_draft(std::move(draft)); }
const std::shared_ptr<Model>& Engine::draft() const { return impl_->draft_model; }

Status Engine::set_speculation(RequestId request, const Speculation& speculation) {
    VITRINE_CHECK(validate(speculation));
    for (auto& [id, l] : impl_->live)
        if (l->request_id == request.value) l->request.speculation = speculation;
    return {};
}

SpeculationFigures Engine::speculation() const { return impl_->speculation_figures(); }

bool Engine::step(EngineListener& listener) { return impl_->step(listener); }

void Engine::drop_cancelled(EngineListener& listener) {
    impl_->story.between();
    impl_->sweep_cancelled(listener);
    impl_->forget_dropped();
}

bool Engine::idle() const { return impl_->scheduler.idle(); }

void Engine::release_session(std::int64_t session, bool drop_cache) {
    if (session == 0) return;
    impl_->story.between();
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
std::vector<TokenId> Engine::block_tokens(BlockId block) const { return impl_->block_tokens(block); }
TelemetryRing& Engine::telemetry() { return impl_->telemetry; }
std::int64_t Engine::iterations() const { return impl_->iteration; }
double Engine::started() const {
    return std::chrono::duration<double>(impl_->start.time_since_epoch()).count();
}
std::uint64_t Engine::weight_bytes_per_step() const { return impl_->model->weights().bytes_per_step(); }

PhaseFigures Engine::take_phases() { return std::exchange(impl_->phases, {}); }

void Engine::poison_cache() {
    impl_->device().fill_kv(*impl_->kv_storage, std::numeric_limits<float>::quiet_NaN());
}

Status Engine::verify() const {
    std::vector<const BlockTable*> tables;
    for (const auto& [id, l] : impl_->live) tables.push_back(&l->sequence.table);
    return impl_->kv.verify(tables);
}

}  // namespace vitrine
