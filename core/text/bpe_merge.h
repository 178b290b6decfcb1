// The merge loop of byte-pair encoding (Sennrich et al. 2016): of all neighbouring pairs that may merge, the
// one with the lowest rank is merged, the leftmost of equals, until none is left.
//
// Short sequences are searched directly. Long ones (a run of one character class can be a megabyte) keep a
// queue for each rank, because such runs have many pairs and few ranks: O(n log n) for any input. Of a long
// run of one symbol only the ends are merged (long_runs.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <queue>

#include "core/text/long_runs.h"

namespace vitrine {

// A piece of the text on its way to a token.
struct BpeSymbol {
    std::int32_t id = -1;     // row of the vocabulary, -1: not in it
    std::uint32_t begin = 0;  // first byte in the text
    std::uint32_t size = 0;   // bytes
};

struct BpeMerge {
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t rank = kNone;  // lower merges first; kNone: this pair does not merge
    std::int32_t id = -1;        // what it becomes
};

namespace bpe_detail {

inline constexpr std::size_t kShort = 48;

// Positions waiting at one rank, given back in ascending order. They mostly arrive so; a heap only where not.
class PositionQueue {
  public:
    bool empty() const { return head_ == items_.size(); }
    void push(std::uint32_t position) {
        if (!heap_ && !empty() && position < items_.back()) {
            items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
            head_ = 0;
            heap_ = true;  // what is ascending is a heap already
        }
        items_.push_back(position);
        if (heap_) std::push_heap(items_.begin(), items_.end(), std::greater<>());
    }
    std::uint32_t pop() {
        std::uint32_t position = 0;
        if (heap_) {
            std::pop_heap(items_.begin(), items_.end(), std::greater<>());
            position = items_.back();
            items_.pop_back();
        } else {
            position = items_[head_++];
        }
        if (empty()) {
            items_.clear();
            head_ = 0;
            heap_ = false;
        }
        return position;
    }

  private:
    std::vector<std::uint32_t> items_;
    std::size_t head_ = 0;
    bool heap_ = false;
};

template <class Rules>
void merge_short(std::vector<BpeSymbol>& symbols, const Rules& rules) {
    std::vector<BpeMerge> merges;  // [i]: of symbols i and i + 1
    merges.reserve(symbols.size());
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) merges.push_back(rules(symbols[i], symbols[i + 1]));
    while (!merges.empty()) {
        const auto best =
            std::min_element(merges.begin(), merges.end(),
                             [](const BpeMerge& a, const BpeMerge& b) { return a.rank < b.rank; });
        if (best->rank == BpeMerge::kNone) return;
        const auto at = best - merges.begin();
        const auto i = static_cast<std::size_t>(at);
        symbols[i].id = best->id;
        symbols[i].size += symbols[i + 1].size;
        symbols.erase(symbols.begin() + at + 1);
        merges.erase(merges.begin() + at);
        if (i < merges.size()) merges[i] = rules(symbols[i], symbols[i + 1]);
        if (i > 0) merges[i - 1] = rules(symbols[i - 1], symbols[i]);
    }
}

template <class Rules>
void merge_long(std::vector<BpeSymbol>& symbols, const Rules& rules) {
    constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
    const auto count = static_cast<std::uint32_t>(symbols.size());
    std::vector<std::uint32_t> next(count);      // kEnd: none
    std::vector<std::uint32_t> previous(count);  // kEnd: none
    std::vector<BpeMerge> merges(count);         // of a symbol and the one after it

    std::unordered_map<std::uint32_t, std::size_t> queue_of_rank;
    std::vector<PositionQueue> queues;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>
        ranks;  // with something queued
    std::uint32_t last_rank = BpeMerge::kNone;
    std::size_t last_queue = 0;
    const auto queue_for = [&](std::uint32_t rank) -> PositionQueue& {
        if (rank != last_rank) {
            const auto [entry, fresh] = queue_of_rank.try_emplace(rank, queues.size());
            if (fresh) queues.emplace_back();
            last_rank = rank;
            last_queue = entry->second;
        }
        return queues[last_queue];
    };
    const auto look_at = [&](std::uint32_t left) {
        const std::uint32_t right = next[left];
        merges[left] = right == kEnd ? BpeMerge{} : rules(symbols[left], symbols[right]);
        const std::uint32_t rank = merges[left].rank;
        if (rank == BpeMerge::kNone) return;
        PositionQueue& queue = queue_for(rank);
        if (queue.empty()) ranks.push(rank);
        queue.push(left);
    };

    for (std::uint32_t i = 0; i < count; ++i) {
        next[i] = i + 1 < count ? i + 1 : kEnd;
        previous[i] = i > 0 ? i - 1 : kEnd;
    }
    for (std::uint32_t i = 0; i < count; ++i) look_at(i);

    while (!ranks.empty()) {
        const std::uint32_t rank = ranks.top();
        PositionQueue& queue = queue_for(rank);
        const std::uint32_t left = queue.pop();
        if (queue.empty()) ranks.pop();
        // The pair that was queued may have changed since: then its rank is another one (or the new pair has
        // the same rank at the same place, which makes it the right one to merge).
        if (merges[left].rank != rank) continue;
        const std::uint32_t right = next[left];
        symbols[left].id = merges[left].id;
        symbols[left].size += symbols[right].size;
        merges[right] = BpeMerge{};
        next[left] = next[right];
        if (next[left] != kEnd) previous[next[left]] = left;
        if (previous[left] != kEnd) look_at(previous[left]);
        look_at(left);
    }

    std::size_t kept = 0;
    for (std::uint32_t i = 0; i != kEnd; i = next[i]) symbols[kept++] = symbols[i];
    symbols.resize(kept);
}

// Symbols left out of a run: behind `begin`, a place in the middle that is left, `copies` more of the item.
struct CutRun {
    std::uint32_t begin = 0;
    std::size_t copies = 0;
    std::int32_t id = -1;
};

template <class Rules>
std::vector<CutRun> shorten_runs(std::vector<BpeSymbol>& symbols, const Rules& rules, std::size_t longest) {
    const auto merged = [&](std::int32_t left, std::int32_t right) -> std::optional<RunMerge<std::int32_t>> {
        const BpeMerge merge = rules(BpeSymbol{left, 0, 0}, BpeSymbol{right, 0, 0});
        if (merge.rank == BpeMerge::kNone) return std::nullopt;
        return RunMerge<std::int32_t>{static_cast<double>(merge.rank), merge.id};
    };
    std::vector<CutRun> cuts;
    std::size_t kept = 0;
    for (std::size_t begin = 0, end = 0; begin < symbols.size(); begin = end) {
        const std::int32_t id = symbols[begin].id;
        while (end < symbols.size() && symbols[end].id == id) ++end;
        std::size_t stays = end - begin;
        if (stays >= kLongRun) {
            const auto period = run_period(id, merged);
            const std::size_t less = period ? removable_symbols(stays, period->symbols, longest) : 0;
            stays -= less;
            if (less > 0) {
                cuts.push_back(
                    {static_cast<std::uint32_t>(kept + stays / 2), less / period->symbols, period->item});
            }
        }
        for (std::size_t i = 0; i < stays; ++i, ++kept) symbols[kept].id = id;
    }
    if (cuts.empty()) return cuts;
    symbols.resize(kept);
    // From here on a symbol's size counts symbols.
    for (std::size_t i = 0; i < kept; ++i) symbols[i] = {symbols[i].id, static_cast<std::uint32_t>(i), 1};
    return cuts;
}

inline void lengthen_runs(std::vector<BpeSymbol>& symbols, const std::vector<CutRun>& cuts) {
    if (cuts.empty()) return;
    std::vector<BpeSymbol> all;
    auto cut = cuts.begin();
    for (const BpeSymbol& symbol : symbols) {
        if (cut != cuts.end() && symbol.begin >= cut->begin) {
            all.insert(all.end(), cut->copies, BpeSymbol{cut->id, symbol.begin, 0});
            ++cut;
        }
        all.push_back(symbol);
    }
    symbols = std::move(all);
}

}  // namespace bpe_detail

// Merges in place. rules(left, right) -> BpeMerge must depend on the ids of the two symbols alone; fewer than
// 2^32 - 1 symbols. `longest`: bytes of the longest token; 0: not known, runs are not shortened. Of the
// symbols that come out, only the ids mean something where runs were shortened.
template <class Rules>
void bpe_merge(std::vector<BpeSymbol>& symbols, const Rules& rules, std::size_t longest = 0) {
    if (symbols.size() < 2) return;
    if (symbols.size() <= bpe_detail::kShort) {
        bpe_detail::merge_short(symbols, rules);
    } else if (symbols.size() < kLongRun || longest == 0) {
        bpe_detail::merge_long(symbols, rules);
    } else {
        const std::vector<bpe_detail::CutRun> cuts = bpe_detail::shorten_runs(symbols, rules, longest);
        bpe_detail::merge_long(symbols, rules);
        bpe_detail::lengthen_runs(symbols, cuts);
    }
}

}  // namespace vitrine
