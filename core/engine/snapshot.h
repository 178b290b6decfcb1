// The KV pool at one moment, as plain values: made by the engine, shown by panels that know nothing else of
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine {

enum class BlockState : std::uint8_t { Free, CachedFree, Used };

struct BlockView {
    BlockState state = BlockState::Free;
    std::int32_t references = 0;
    std::int32_t fill = 0;    // tokens in it
    std::int64_t owner = -1;  // request of one of its owners, −1: none
};

enum class SequenceState : std::uint8_t { Waiting, Running, Held };

// Why a sequence was not let in by the last iteration.
enum class WaitReason : std::uint8_t {
    None,
    Arrived,  // no iteration has looked at it yet
    Blocks,   // the pool has too few free blocks for it
    Slots,    // as many run as may
    Behind    // another one waits before it
};

struct SequenceView {
    std::int64_t request = -1;
    std::int64_t session = 0;
    SequenceState state = SequenceState::Waiting;
    std::int32_t tokens = 0;
    std::int32_t computed = 0;
    std::int32_t prompt_tokens = 0;
    std::int32_t answer = 0;           // of its request
    std::vector<std::int32_t> blocks;  // block table, logical → physical, from logical block given_back on
    std::int32_t given_back = 0;       // leading blocks that no window reaches any more
    WaitReason wait = WaitReason::None;  // of a waiting one
    std::int32_t wait_blocks = 0;        // Blocks: how many it needs free at once
    std::int64_t wait_behind = -1;       // Behind: the request that is first
};

// The KV pool at one moment: an immutable value for panels.
struct KvSnapshot {
    std::int64_t iteration = 0;
    std::int32_t block_size = 0;
    std::uint64_t block_bytes = 0;
    std::int32_t context = 0;
    bool contiguous = false;  // a static cache: each table is one run of blocks, reserved at once
    std::vector<BlockView> blocks;
    std::vector<SequenceView> sequences;  // running, waiting, held
    std::int32_t used = 0;
    std::int32_t free = 0;           // never used or forgotten
    std::int32_t cached_free = 0;    // free, and found again if a prompt begins with them
    std::int32_t shared = 0;         // blocks with more than one reference
    std::int32_t wasted_tokens = 0;  // empty places in used blocks (internal fragmentation)
    // Share of the places in used blocks that hold nothing, 0 to 1: the waste of the PagedAttention paper.
    double waste() const {
        const double places = static_cast<double>(used) * block_size;
        return places > 0 ? wasted_tokens / places : 0.0;
    }
    // In one sentence, of the latest iteration that changed the hands of a block.
    std::string last_change;
    // And of the very last iteration, whatever it did: for whoever goes step by step.
    std::string last_step;
};

}  // namespace vitrine
