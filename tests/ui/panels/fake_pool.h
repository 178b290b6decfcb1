// Pools as the engine would show them, made up for tests of the panels.
#pragma once

#include <algorithm>
#include <memory>

#include "core/engine/snapshot.h"

namespace vitrine::test {

inline std::shared_ptr<KvSnapshot> empty_pool(std::int32_t blocks, std::int32_t block_size = 16) {
    auto s = std::make_shared<KvSnapshot>();
    s->block_size = block_size;
    s->block_bytes = 368640;
    s->context = 8192;
    s->blocks.resize(static_cast<std::size_t>(blocks));
    s->free = blocks;
    return s;
}

// A sequence of `tokens` tokens in these physical blocks.
inline void add_sequence(KvSnapshot& s, std::int64_t request, std::int64_t session, SequenceState state,
                         std::int32_t tokens, std::vector<std::int32_t> table) {
    SequenceView view;
    view.request = request;
    view.session = session;
    view.state = state;
    view.tokens = tokens;
    view.computed = tokens;
    view.blocks = std::move(table);
    std::int32_t left = tokens;
    for (const std::int32_t id : view.blocks) {
        BlockView& block = s.blocks[static_cast<std::size_t>(id)];
        block.state = BlockState::Used;
        ++block.references;
        block.fill = std::min(left, s.block_size);
        if (block.owner < 0) block.owner = request;
        left -= block.fill;
    }
    s.sequences.push_back(std::move(view));
}

// The last owner is known only where `request` is among the sequences.
inline void add_cached(KvSnapshot& s, std::int32_t block, std::int64_t request) {
    BlockView& view = s.blocks[static_cast<std::size_t>(block)];
    view = {BlockState::CachedFree, 0, s.block_size, request};
}

inline void count(KvSnapshot& s) {
    s.used = s.free = s.cached_free = s.shared = s.wasted_tokens = 0;
    for (const BlockView& block : s.blocks) {
        s.used += block.state == BlockState::Used ? 1 : 0;
        s.free += block.state == BlockState::Free ? 1 : 0;
        s.cached_free += block.state == BlockState::CachedFree ? 1 : 0;
        s.shared += block.references > 1 ? 1 : 0;
        if (block.state == BlockState::Used) s.wasted_tokens += s.block_size - block.fill;
    }
}

// Three chats, the first two with a common beginning, as in a lesson about shared blocks.
inline std::shared_ptr<KvSnapshot> lesson_pool() {
    auto s = empty_pool(248);
    add_sequence(*s, 5, 1, SequenceState::Running, 205, {7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 30, 31, 42});
    add_sequence(*s, 6, 2, SequenceState::Running, 236,
                 {7, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 36, 37, 38});
    add_sequence(*s, 4, 3, SequenceState::Held, 37, {27, 28, 29});
    for (const std::int32_t b : {10, 11, 12, 13, 14, 15, 16, 17}) add_cached(*s, b, 5);
    for (const std::int32_t b : {52, 53, 54}) add_cached(*s, b, 4);
    for (const std::int32_t b : {86, 87}) add_cached(*s, b, -1);
    s->iteration = 412;
    s->last_change =
        "Iteration 412: “Tides” crossed into logical block 12; physical block 42 came from the free list.";
    count(*s);
    return s;
}

}  // namespace vitrine::test
