// (left id, right id) -> rank and result of the merge: a flat hash table, because looking up pairs is most of
// the work of byte-pair encoding.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/text/bpe_merge.h"

namespace vitrine {

class PairTable {
  public:
    explicit PairTable(std::size_t pairs) : slots_(std::bit_ceil(2 * pairs + 2)) {}

    // At most as many pairs as the constructor was told. False where the pair is there already.
    bool insert(std::int32_t left, std::int32_t right, BpeMerge merge) {
        Slot& slot = slots_[place_of(key_of(left, right))];
        if (slot.key != kEmpty) return false;
        slot = {key_of(left, right), merge};
        return true;
    }

    BpeMerge find(std::int32_t left, std::int32_t right) const {
        return slots_[place_of(key_of(left, right))].merge;  // an empty slot holds "does not merge"
    }

  private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair of valid ids
    struct Slot {
        std::uint64_t key = kEmpty;
        BpeMerge merge;
    };

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
        return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) |
               static_cast<std::uint32_t>(right);
    }
    // Where the key is, or the free slot where it would be.
    std::size_t place_of(std::uint64_t key) const {
        std::uint64_t hash = key;  // the finalizer of MurmurHash3 (Appleby)
        hash = (hash ^ (hash >> 33U)) * 0xFF51AFD7ED558CCDULL;
        hash = (hash ^ (hash >> 33U)) * 0xC4CEB9FE1A85EC53ULL;
        hash ^= hash >> 33U;
        const std::size_t mask = slots_.size() - 1;
        auto place = static_cast<std::size_t>(hash) & mask;
        while (slots_[place].key != key && slots_[place].key != kEmpty) place = (place + 1) & mask;
        return place;
    }

    std::vector<Slot> slots_;
};

}  // namespace vitrine
