// Physical KV blocks: who is free, who is used, how often (Kwon et al. 2023, PagedAttention).
//
// Every block is in exactly one of: free list, used; free ⇔ reference count 0. A free block may keep its
// content for the prefix cache ("cached"). Blocks without content are handed out first, then the cached ones
// in the order in which they were freed; handing one out evicts its content.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace vitrine {

class BlockPool {
  public:
    explicit BlockPool(std::int32_t blocks);

    // Called with a cached block just before it is handed out anew.
    void set_evict_hook(std::function<void(BlockId)> hook) { evict_ = std::move(hook); }

    std::optional<BlockId> allocate();  // reference count 1; nothing where every block is used
    // The first of `count` free blocks that lie side by side, with reference count 1 each; nothing where
    // there is no such run. Takes time in the size of the pool.
    std::optional<BlockId> allocate_run(std::int32_t count);
    bool has_run(std::int32_t count) const { return find_run(count) >= 0; }
    void acquire(BlockId block);    // one more reference; takes a free block out of the free list
    Status release(BlockId block);  // one reference less; Internal error where there was none (double free)
    // Whether the block's content can be found again. Turning it off in a free block moves it to the front.
    void set_cached(BlockId block, bool cached);

    std::int32_t size() const { return static_cast<std::int32_t>(slots_.size()); }
    std::int32_t free_count() const { return free_count_; }
    std::int32_t cached_free_count() const { return cached_free_count_; }
    std::int32_t references(BlockId block) const { return at(block).references; }
    bool cached(BlockId block) const { return at(block).cached; }

    // Invariants of the lists and counters. With `owners` (every reference that somebody holds, in any order)
    // also: the sum of references is the number of owners, block by block.
    Status verify() const;
    Status verify(std::span<const BlockId> owners) const;

  private:
    struct Slot {
        std::int32_t references = 0;
        std::int32_t previous = -1;  // free list
        std::int32_t next = -1;
        bool cached = false;
    };
    Slot& at(BlockId b) { return slots_[static_cast<std::size_t>(b.value)]; }
    const Slot& at(BlockId b) const { return slots_[static_cast<std::size_t>(b.value)]; }
    std::int32_t find_run(std::int32_t count) const;  // −1: none
    void take(BlockId block);
    void unlink(BlockId block);
    void push_front(BlockId block);
    void push_back(BlockId block);

    std::vector<Slot> slots_;
    std::int32_t first_ = -1;
    std::int32_t last_ = -1;
    std::int32_t free_count_ = 0;
    std::int32_t cached_free_count_ = 0;
    std::function<void(BlockId)> evict_;
};

}  // namespace vitrine
