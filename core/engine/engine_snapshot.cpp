#include <algorithm>

#include "core/engine/engine_impl.h"

namespace vitrine {

void Engine::Impl::describe_wait(const Sequence& q, SequenceView& v) const {
    const Refusal& refused = scheduler.refusal();
    const auto waiting = scheduler.waiting();
    if (refused.sequence == nullptr || waiting.front() != refused.sequence) {
        v.wait = WaitReason::Arrived;
    } else if (refused.sequence != &q) {
        v.wait = WaitReason::Behind;
        v.wait_behind = refused.sequence->id.value;
    } else if (refused.blocks > 0) {
        v.wait = WaitReason::Blocks;
        v.wait_blocks = refused.blocks;
    } else {
        v.wait = WaitReason::Slots;
    }
}

std::vector<TokenId> Engine::Impl::block_tokens(BlockId block) const {
    if (block.value < 0 || block.value >= options.blocks) return {};
    for (const auto& [id, l] : live) {
        const Sequence& q = l->sequence;
        if (q.phase == SequencePhase::Dropped || l->unborn) continue;
        const auto at = std::find(q.table.blocks.begin(), q.table.blocks.end(), block);
        if (at == q.table.blocks.end()) continue;
        const auto first = static_cast<std::ptrdiff_t>(at - q.table.blocks.begin()) * options.block_size;
        const auto end = std::min<std::ptrdiff_t>(first + options.block_size, q.computed);
        if (first < end) return {q.tokens.begin() + first, q.tokens.begin() + end};
    }
    const auto cached = kv.cache().tokens(block);
    return {cached.begin(), cached.end()};
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
        if (v.state == SequenceState::Waiting) describe_wait(q, v);
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
    s.last_step = story.last_step();
    return s;
}

}  // namespace vitrine
