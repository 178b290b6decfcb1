// Which full block holds the keys and values of which tokens after which prefix.
//
// A content is a whole prefix: the tokens of one block after a parent content, the first after a root. Equal
// contents have equal ids by construction: a look-up compares the parent's id and the token ids themselves,
// the hash only finds the bucket. A root stands for everything else that changes keys and values (model,
// weights format, rotary embedding, KV type), compared field by field. Ids are never used twice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"

namespace vitrine {

using ContentId = StrongId<struct ContentTag, std::int64_t>;

// What two sequences must have in common, besides their tokens, to share a block.
struct CacheContext {
    std::uint64_t model = 0;     // content hash of the model file
    std::string weights_format;  // "Q4_1"
    std::string rope;            // overrides and scaling choice in force
    std::string kv_dtype;        // "F16"
    auto operator<=>(const CacheContext&) const = default;
};

class PrefixCache {
  public:
    using Hash = std::uint64_t (*)(ContentId parent, std::span<const TokenId> tokens);

    PrefixCache(std::int32_t blocks, std::int32_t block_size, Hash hash = nullptr);

    ContentId root(const CacheContext& context);

    struct Hit {
        BlockId block;
        ContentId content;
    };
    // tokens: exactly one block of them.
    std::optional<Hit> find(ContentId parent, std::span<const TokenId> tokens) const;

    // The block holds these tokens after that parent. Where an equal content is known already, its id comes
    // back and `entered` is false: the block is a duplicate and stays out.
    struct Published {
        ContentId content;
        bool entered = false;
    };
    Published publish(BlockId block, ContentId parent, std::span<const TokenId> tokens);

    void forget(BlockId block);  // nothing happens where it is not in
    bool holds(BlockId block) const {
        return entries_[static_cast<std::size_t>(block.value)].content.valid();
    }
    // Of a block that is in; empty otherwise. Valid until the next change.
    std::span<const TokenId> tokens(BlockId block) const {
        if (!holds(block)) return {};
        return entries_[static_cast<std::size_t>(block.value)].tokens;
    }
    std::int32_t size() const { return static_cast<std::int32_t>(buckets_.size()); }

  private:
    struct Entry {
        ContentId content;  // invalid: not in the cache
        ContentId parent;
        std::uint64_t hash = 0;
        std::vector<TokenId> tokens;
    };
    Hash hash_;
    std::int32_t block_size_;
    std::vector<Entry> entries_;  // by block
    std::unordered_multimap<std::uint64_t, BlockId> buckets_;
    std::vector<std::pair<CacheContext, ContentId>> roots_;
    std::int64_t next_ = 0;
};

}  // namespace vitrine
