#include "core/kv/block_pool.h"

#include <algorithm>
#include <string>

namespace vitrine {
namespace {

Error broken(const std::string& what) { return Error{ErrorKind::Internal, "Block pool: " + what + "."}; }

}  // namespace

BlockPool::BlockPool(std::int32_t blocks) : slots_(static_cast<std::size_t>(blocks > 0 ? blocks : 0)) {
    for (std::int32_t i = 0; i < blocks; ++i) push_back(BlockId{i});
}

void BlockPool::unlink(BlockId block) {
    Slot& s = at(block);
    (s.previous < 0 ? first_ : slots_[static_cast<std::size_t>(s.previous)].next) = s.next;
    (s.next < 0 ? last_ : slots_[static_cast<std::size_t>(s.next)].previous) = s.previous;
    s.previous = s.next = -1;
    --free_count_;
    if (s.cached) --cached_free_count_;
}

void BlockPool::push_front(BlockId block) {
    Slot& s = at(block);
    s.previous = -1;
    s.next = first_;
    (first_ < 0 ? last_ : slots_[static_cast<std::size_t>(first_)].previous) = block.value;
    first_ = block.value;
    ++free_count_;
    if (s.cached) ++cached_free_count_;
}

void BlockPool::push_back(BlockId block) {
    Slot& s = at(block);
    s.next = -1;
    s.previous = last_;
    (last_ < 0 ? first_ : slots_[static_cast<std::size_t>(last_)].next) = block.value;
    last_ = block.value;
    ++free_count_;
    if (s.cached) ++cached_free_count_;
}

std::optional<BlockId> BlockPool::allocate() {
    if (first_ < 0) return std::nullopt;
    const BlockId block{first_};
    take(block);
    return block;
}

void BlockPool::take(BlockId block) {
    unlink(block);
    Slot& s = at(block);
    if (s.cached) {
        s.cached = false;
        if (evict_) evict_(block);
    }
    s.references = 1;
}

std::int32_t BlockPool::find_run(std::int32_t count) const {
    std::int32_t length = 0;
    for (std::int32_t i = 0; i < size(); ++i) {
        length = slots_[static_cast<std::size_t>(i)].references == 0 ? length + 1 : 0;
        if (length >= std::max(count, 1)) return i - length + 1;
    }
    return -1;
}

std::optional<BlockId> BlockPool::allocate_run(std::int32_t count) {
    const std::int32_t first = find_run(count);
    if (count < 1 || first < 0) return std::nullopt;
    for (std::int32_t i = first; i < first + count; ++i) take(BlockId{i});
    return BlockId{first};
}

void BlockPool::acquire(BlockId block) {
    Slot& s = at(block);
    if (s.references == 0) unlink(block);
    ++s.references;
}

Status BlockPool::release(BlockId block) {
    if (block.value < 0 || block.value >= size())
        return broken("block " + std::to_string(block.value) + " does not exist");
    Slot& s = at(block);
    if (s.references <= 0) return broken("block " + std::to_string(block.value) + " was freed twice");
    if (--s.references == 0) {
        if (s.cached)
            push_back(block);
        else
            push_front(block);
    }
    return {};
}

void BlockPool::set_cached(BlockId block, bool cached) {
    Slot& s = at(block);
    if (s.cached == cached) return;
    if (s.references > 0) {
        s.cached = cached;
        return;
    }
    unlink(block);
    s.cached = cached;
    if (cached)
        push_back(block);
    else
        push_front(block);
}

Status BlockPool::verify() const {
    std::vector<bool> listed(slots_.size(), false);
    std::int32_t count = 0;
    std::int32_t cached = 0;
    std::int32_t previous = -1;
    for (std::int32_t i = first_; i >= 0; i = slots_[static_cast<std::size_t>(i)].next) {
        const auto index = static_cast<std::size_t>(i);
        if (index >= slots_.size()) return broken("the free list leaves the pool");
        if (listed[index]) return broken("block " + std::to_string(i) + " is in the free list twice");
        listed[index] = true;
        if (slots_[index].previous != previous)
            return broken("the free list is torn at block " + std::to_string(i));
        if (slots_[index].references != 0) return broken("block " + std::to_string(i) + " is free and used");
        ++count;
        if (slots_[index].cached) ++cached;
        previous = i;
    }
    if (previous != last_) return broken("the free list does not end at its last block");
    if (count != free_count_ || cached != cached_free_count_) return broken("the free counters are wrong");
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].references < 0)
            return broken("block " + std::to_string(i) + " has a negative reference count");
        if (!listed[i] && slots_[i].references == 0) return broken("block " + std::to_string(i) + " is lost");
    }
    return {};
}

Status BlockPool::verify(std::span<const BlockId> owners) const {
    VITRINE_CHECK(verify());
    std::vector<std::int32_t> held(slots_.size(), 0);
    for (const BlockId b : owners) {
        if (b.value < 0 || b.value >= size())
            return broken("a table names block " + std::to_string(b.value) + ", which does not exist");
        ++held[static_cast<std::size_t>(b.value)];
    }
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (held[i] != slots_[i].references)
            return broken("block " + std::to_string(i) + " has " + std::to_string(slots_[i].references) +
                          " references and " + std::to_string(held[i]) + " owners");
    return {};
}

}  // namespace vitrine
