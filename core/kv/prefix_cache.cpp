#include "core/kv/prefix_cache.h"

#include <algorithm>

#include <xxhash.h>

namespace vitrine {
namespace {

std::uint64_t default_hash(ContentId parent, std::span<const TokenId> tokens) {
    static_assert(sizeof(TokenId) == sizeof(std::int32_t));
    return XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), static_cast<XXH64_hash_t>(parent.value));
}

}  // namespace

PrefixCache::PrefixCache(std::int32_t blocks, std::int32_t block_size, Hash hash)
    : hash_(hash ? hash : default_hash),
      block_size_(block_size),
      entries_(static_cast<std::size_t>(blocks)) {}

ContentId PrefixCache::root(const CacheContext& context) {
    for (const auto& [known, id] : roots_)
        if (known == context) return id;
    roots_.emplace_back(context, ContentId{next_++});
    return roots_.back().second;
}

std::optional<PrefixCache::Hit> PrefixCache::find(ContentId parent, std::span<const TokenId> tokens) const {
    if (tokens.size() != static_cast<std::size_t>(block_size_)) return std::nullopt;
    const auto [begin, end] = buckets_.equal_range(hash_(parent, tokens));
    for (auto it = begin; it != end; ++it) {
        const Entry& e = entries_[static_cast<std::size_t>(it->second.value)];
        if (e.parent == parent && std::equal(tokens.begin(), tokens.end(), e.tokens.begin(), e.tokens.end()))
            return Hit{it->second, e.content};
    }
    return std::nullopt;
}

PrefixCache::Published PrefixCache::publish(BlockId block, ContentId parent,
                                            std::span<const TokenId> tokens) {
    if (const auto known = find(parent, tokens)) return {known->content, known->block == block};
    forget(block);
    Entry& e = entries_[static_cast<std::size_t>(block.value)];
    e.content = ContentId{next_++};
    e.parent = parent;
    e.hash = hash_(parent, tokens);
    e.tokens.assign(tokens.begin(), tokens.end());
    buckets_.emplace(e.hash, block);
    return {e.content, true};
}

void PrefixCache::forget(BlockId block) {
    Entry& e = entries_[static_cast<std::size_t>(block.value)];
    if (!e.content.valid()) return;
    const auto [begin, end] = buckets_.equal_range(e.hash);
    for (auto it = begin; it != end; ++it)
        if (it->second == block) {
            buckets_.erase(it);
            break;
        }
    e.content = ContentId{};
    e.parent = ContentId{};
    e.tokens.clear();
}

}  // namespace vitrine
