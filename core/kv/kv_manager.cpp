#include "core/kv/kv_manager.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>

namespace vitrine {

KvManager::KvManager(std::int32_t blocks, std::int32_t block_size, const CacheContext& context,
                     KvPolicy policy, PrefixCache::Hash hash)
    : block_size_(block_size), policy_(policy), pool_(blocks), cache_(blocks, block_size, hash) {
    if (policy_.contiguous) policy_.prefix_cache = false;
    for (std::int32_t set = 0; set < std::max(1, policy.rope_sets); ++set) {
        CacheContext keyed = context;
        keyed.rope += ", set " + std::to_string(set);
        roots_.push_back(cache_.root(keyed));
    }
    pool_.set_evict_hook([this](BlockId block) {
        cache_.forget(block);
        tell({.kind = KvChangeKind::Evict, .block = block});
    });
}

// Visits the cached blocks of the longest known prefix, up to `limit` tokens and all but the last token. The
// last block of a fully known prompt is taken as well: all but its last token is then known, and writing that
// one copies the block.
template <class Visit>
void KvManager::walk_prefix(std::span<const TokenId> tokens, std::int32_t limit, std::int32_t rope_set,
                            Visit visit) const {
    if (!policy_.prefix_cache || tokens.empty()) return;
    const auto size = static_cast<std::size_t>(block_size_);
    const auto most = static_cast<std::size_t>(
        std::clamp<std::int64_t>(limit, 0, static_cast<std::int64_t>(tokens.size()) - 1));
    ContentId content = root(rope_set);
    for (std::size_t begin = 0; begin < most && begin + size <= tokens.size(); begin += size) {
        const auto hit = cache_.find(content, tokens.subspan(begin, size));
        if (!hit) return;
        content = hit->content;
        visit(*hit);
    }
}

PrefixMatch KvManager::peek_prefix(std::span<const TokenId> tokens, std::int32_t limit,
                                   std::int32_t rope_set) const {
    PrefixMatch match;
    walk_prefix(tokens, limit, rope_set, [&](const PrefixCache::Hit& hit) {
        ++match.blocks;
        match.free_blocks += pool_.references(hit.block) == 0 ? 1 : 0;
    });
    return match;
}

std::int32_t KvManager::match_prefix(BlockTable& table, std::span<const TokenId> tokens, std::int32_t limit) {
    assert(table.blocks.empty());
    table.published = 0;
    table.content = root(table.rope_set);
    walk_prefix(tokens, limit, table.rope_set, [&](const PrefixCache::Hit& hit) {
        pool_.acquire(hit.block);
        table.blocks.push_back(hit.block);
        table.content = hit.content;
        tell({.kind = KvChangeKind::Share,
              .block = hit.block,
              .owner = table.owner,
              .logical = table.published});
        ++table.published;
    });
    const std::int32_t covered = table.published * block_size_;
    return std::max(0, std::min({covered, limit, static_cast<std::int32_t>(tokens.size()) - 1}));
}

std::int32_t KvManager::blocks_missing(const BlockTable& table, std::int32_t tokens) const {
    return std::max(0, blocks_for(tokens) - static_cast<std::int32_t>(table.blocks.size()));
}

bool KvManager::reserve(BlockTable& table, std::int32_t tokens) {
    const std::int32_t missing = blocks_missing(table, tokens);
    if (missing > pool_.free_count()) return false;
    std::optional<BlockId> run;
    if (policy_.contiguous && missing > 0) {
        if (table.blocks.empty()) run = pool_.allocate_run(missing);
        if (!run) return false;
    }
    for (std::int32_t i = 0; i < missing; ++i) {
        const BlockId block = run ? BlockId{run->value + i} : *pool_.allocate();
        table.blocks.push_back(block);
        tell({.kind = KvChangeKind::Allocate,
              .block = block,
              .owner = table.owner,
              .logical = static_cast<std::int32_t>(table.blocks.size()) - 1});
    }
    return true;
}

bool KvManager::make_writable(BlockTable& table, std::int32_t first, std::int32_t count,
                              std::vector<PlannedCopy>& copies) {
    if (count <= 0) return true;
    const std::int32_t begin = first / block_size_;
    const std::int32_t end = blocks_for(first + count);
    assert(end <= static_cast<std::int32_t>(table.blocks.size()));
    const auto needs_copy = [&](std::int32_t i) {
        const BlockId b = table.blocks[static_cast<std::size_t>(i)];
        return pool_.references(b) > 1 || pool_.cached(b);
    };
    std::int32_t needed = 0;
    for (std::int32_t i = begin; i < end; ++i) needed += needs_copy(i) ? 1 : 0;
    if (needed > pool_.free_count()) return false;
    for (std::int32_t i = begin; i < end; ++i) {
        if (!needs_copy(i)) continue;
        BlockId& slot = table.blocks[static_cast<std::size_t>(i)];
        const BlockId from = slot;
        const BlockId to = *pool_.allocate();
        // What lies before the first position to be written must come along.
        if (i * block_size_ < first) copies.push_back({from, to});
        slot = to;
        tell({.kind = KvChangeKind::Copy, .block = to, .from = from, .owner = table.owner, .logical = i});
        const Status released = pool_.release(from);
        assert(released.ok());
        (void)released;
    }
    if (begin < table.published) {
        // From here on the content is this sequence's own again.
        table.published = begin;
        table.content = ContentId{};
    }
    return true;
}

void KvManager::publish(BlockTable& table, std::span<const TokenId> tokens, std::int32_t computed) {
    if (!policy_.prefix_cache) return;
    const std::int32_t full = std::min(computed, static_cast<std::int32_t>(tokens.size())) / block_size_;
    if (table.published >= full) return;
    if (!table.content.valid()) {
        // Contents before `published` are known by their tokens: walk down to the last of them.
        ContentId content = root(table.rope_set);
        for (std::int32_t i = 0; i < table.published; ++i) {
            const auto hit = cache_.find(
                content, tokens.subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(block_size_),
                                        static_cast<std::size_t>(block_size_)));
            if (!hit) {
                table.published = i;  // evicted or a duplicate that was never entered: start anew from here
                break;
            }
            content = hit->content;
        }
        table.content = content;
    }
    if (table.published < table.given_back) return;  // what would come next is not here any more
    for (std::int32_t i = table.published; i < full; ++i) {
        const BlockId block = table.blocks[static_cast<std::size_t>(i)];
        const auto published =
            cache_.publish(block, table.content,
                           tokens.subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(block_size_),
                                          static_cast<std::size_t>(block_size_)));
        if (published.entered) pool_.set_cached(block, true);
        table.content = published.content;
        table.published = i + 1;
    }
}

void KvManager::fork(const BlockTable& from, BlockTable& to) {
    assert(to.blocks.empty() && !policy_.contiguous);
    to.blocks = from.blocks;
    to.published = from.published;
    to.content = from.content;
    to.rope_set = from.rope_set;
    to.given_back = from.given_back;
    for (auto i = static_cast<std::size_t>(to.given_back); i < to.blocks.size(); ++i) {
        pool_.acquire(to.blocks[i]);
        tell({.kind = KvChangeKind::Share,
              .block = to.blocks[i],
              .owner = to.owner,
              .logical = static_cast<std::int32_t>(i)});
    }
}

void KvManager::release_one(BlockTable& table, std::size_t logical) {
    const BlockId block = table.blocks[logical];
    const Status released = pool_.release(block);
    assert(released.ok());
    (void)released;
    tell({.kind = KvChangeKind::Free,
          .block = block,
          .owner = table.owner,
          .logical = static_cast<std::int32_t>(logical),
          .last_reference = pool_.references(block) == 0});
}

void KvManager::release(BlockTable& table, bool drop_cache) {
    for (std::size_t i = table.blocks.size(); i-- > static_cast<std::size_t>(table.given_back);) {
        const BlockId block = table.blocks[i];
        if (drop_cache && pool_.references(block) == 1 && pool_.cached(block)) {
            cache_.forget(block);
            pool_.set_cached(block, false);
        }
        release_one(table, i);
    }
    table.blocks.clear();
    table.published = 0;
    table.content = ContentId{};
    table.given_back = 0;
}

void KvManager::truncate(BlockTable& table, std::int32_t tokens) {
    if (policy_.contiguous) return;
    const auto kept = static_cast<std::size_t>(std::max(blocks_for(tokens), table.given_back));
    assert(static_cast<std::size_t>(table.published) <= kept);
    while (table.blocks.size() > kept) {
        release_one(table, table.blocks.size() - 1);
        table.blocks.pop_back();
    }
}

void KvManager::give_back_before(BlockTable& table, std::int32_t first_needed) {
    if (policy_.contiguous) return;  // a run stays whole
    const std::int32_t end =
        std::min(first_needed / block_size_, static_cast<std::int32_t>(table.blocks.size()));
    for (std::int32_t i = table.given_back; i < end; ++i) {
        release_one(table, static_cast<std::size_t>(i));
        table.blocks[static_cast<std::size_t>(i)] = BlockId{};
    }
    table.given_back = std::max(table.given_back, end);
}

Status KvManager::verify(std::span<const BlockTable* const> tables) const {
    std::vector<BlockId> owners;
    for (const BlockTable* t : tables)
        owners.insert(owners.end(), t->blocks.begin() + t->given_back, t->blocks.end());
    VITRINE_CHECK(pool_.verify(owners));
    for (std::int32_t i = 0; i < pool_.size(); ++i)
        if (pool_.cached(BlockId{i}) != cache_.holds(BlockId{i}))
            return Error{ErrorKind::Internal,
                         "Block " + std::to_string(i) + ": pool and prefix cache disagree on its content."};
    return {};
}

}  // namespace vitrine
