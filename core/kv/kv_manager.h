// Block tables over the pool and the prefix cache: what the scheduler asks for.
//
// Every call either does all that it says or nothing. Device memory is not touched here: copies that are
// needed are returned and must be carried out, in order, before the step that writes the blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/kv/block_pool.h"
#include "core/kv/prefix_cache.h"

namespace vitrine {

// One sequence's blocks in logical order. Owned by the sequence; changed by KvManager alone.
struct BlockTable {
    SequenceId owner;
    std::vector<BlockId> blocks;
    std::int32_t published = 0;  // how many leading blocks have a content id
    ContentId content;           // content of the last published one; invalid: none yet
    // Which of the model's sets of rotary embeddings its keys are, or will be, turned with. Changed only
    // while the table is empty or nothing of it is computed.
    std::int32_t rope_set = 0;
    std::int32_t given_back = 0;  // so many leading blocks lie before every window: invalid ids
};

struct KvPolicy {
    bool prefix_cache = true;
    // Blocks of a table lie side by side, reserved all at once and never shared: what engines without paging
    // do, for comparison. Turns the prefix cache off.
    bool contiguous = false;
    std::int32_t rope_sets = 1;
};

enum class KvChangeKind : std::uint8_t { Allocate, Share, Copy, Free, Evict };

struct KvChange {
    KvChangeKind kind = KvChangeKind::Allocate;
    BlockId block{};
    BlockId from{};      // Copy: the source
    SequenceId owner{};  // invalid for Evict
    std::int32_t logical = -1;
    bool last_reference = false;  // Free: nobody else uses it
};

struct PlannedCopy {
    BlockId from;
    BlockId to;
};

// What match_prefix() would find.
struct PrefixMatch {
    std::int32_t blocks = 0;
    std::int32_t free_blocks = 0;  // of these, how many are in the free list now
};

class KvManager {
  public:
    KvManager(std::int32_t blocks, std::int32_t block_size, const CacheContext& context, KvPolicy policy,
              PrefixCache::Hash hash = nullptr);
    KvManager(std::int32_t blocks, std::int32_t block_size, const CacheContext& context, bool prefix_cache,
              PrefixCache::Hash hash = nullptr)
        : KvManager(blocks, block_size, context, KvPolicy{.prefix_cache = prefix_cache}, hash) {}

    // For telemetry; called during the calls below.
    void set_observer(std::function<void(const KvChange&)> observer) { observer_ = std::move(observer); }

    // Fills an empty table with cached blocks of the longest known prefix and returns how many tokens of it
    // need no computing: at most `limit` and at most all but the last token.
    std::int32_t match_prefix(BlockTable& table, std::span<const TokenId> tokens, std::int32_t limit);

    PrefixMatch peek_prefix(std::span<const TokenId> tokens, std::int32_t limit,
                            std::int32_t rope_set = 0) const;

    // How many blocks reserve() would have to take from the free list, beyond those the table has.
    std::int32_t blocks_missing(const BlockTable& table, std::int32_t tokens) const;
    // The table covers `tokens` tokens afterwards. False, and nothing changed, where blocks run out.
    // Contiguous: an empty table gets its run, and no table grows beyond what it got.
    bool reserve(BlockTable& table, std::int32_t tokens);
    // Positions [first, first + count) may be written afterwards: blocks that others use, or that the prefix
    // cache may hand out, are replaced by copies. False, and nothing changed, where blocks run out.
    bool make_writable(BlockTable& table, std::int32_t first, std::int32_t count,
                       std::vector<PlannedCopy>& copies);
    // Enters blocks that have become full of computed, accepted tokens into the prefix cache.
    void publish(BlockTable& table, std::span<const TokenId> tokens, std::int32_t computed);
    // Gives back the blocks behind those that `tokens` tokens need: what was reserved for a draft that was
    // not accepted. Nothing of them was published. A contiguous run stays whole.
    void truncate(BlockTable& table, std::int32_t tokens);
    // The other table gets the same blocks (parallel answers to one prompt). Not with contiguous tables.
    void fork(const BlockTable& from, BlockTable& to);
    // Gives back the blocks that lie wholly before `first_needed`: no window reaches them any more.
    void give_back_before(BlockTable& table, std::int32_t first_needed);
    // Gives everything back, the tail first. With drop_cache, content that nobody else uses is forgotten.
    void release(BlockTable& table, bool drop_cache = false);

    std::int32_t block_size() const { return block_size_; }
    std::int32_t blocks_for(std::int32_t tokens) const { return (tokens + block_size_ - 1) / block_size_; }
    bool prefix_cache_enabled() const { return policy_.prefix_cache; }
    bool contiguous() const { return policy_.contiguous; }
    const BlockPool& pool() const { return pool_; }
    const PrefixCache& cache() const { return cache_; }

    // `tables`: all tables there are.
    Status verify(std::span<const BlockTable* const> tables) const;

  private:
    template <class Visit>
    void walk_prefix(std::span<const TokenId> tokens, std::int32_t limit, std::int32_t rope_set,
                     Visit visit) const;
    ContentId root(std::int32_t rope_set) const { return roots_[static_cast<std::size_t>(rope_set)]; }
    void release_one(BlockTable& table, std::size_t logical);
    void tell(const KvChange& change) const {
        if (observer_) observer_(change);
    }
    std::int32_t block_size_;
    KvPolicy policy_;
    BlockPool pool_;
    PrefixCache cache_;
    std::vector<ContentId> roots_;  // by set of rotary embeddings
    std::function<void(const KvChange&)> observer_;
};

}  // namespace vitrine
