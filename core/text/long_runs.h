// A long run of one symbol ("AAAA…", a megabyte of it) merges to the same token over and over, with something
// else at its two ends only. So a short run of the same kind is merged instead, and the token in its middle
// is repeated: the ids are those of the whole run in a fraction of the time.
//
// Why this is exact. In the middle of a run all neighbours are equal, so the only pair is (x, x); merged from
// the left, as equals are, it leaves a middle of one longer item, and so on: x, xx, xxxx, … up to the period.
// Nothing comes between as long as the item just made merges later than the pair that made it, which
// run_period() looks at. The ends reach no further into the run than the longest piece is long at each side.
// Whether an item is left over at a stage depends on the run's length modulo the period alone, and a run is
// only cut by whole periods.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace vitrine {

// What a pair becomes, and when: lower ranks merge first.
template <class Item>
struct RunMerge {
    double rank = 0;
    Item item{};
};

template <class Item>
struct RunPeriod {
    std::size_t symbols = 1;  // in one item of the middle
    Item item{};
};

// rules(left, right) -> std::optional<RunMerge<Item>>. None where the middle of a run does not merge in plain
// stages.
template <class Item, class Rules>
std::optional<RunPeriod<Item>> run_period(Item symbol, const Rules& rules) {
    constexpr std::size_t kLongest = std::size_t{1} << 12U;
    RunPeriod<Item> period{1, symbol};
    while (period.symbols <= kLongest) {
        const std::optional<RunMerge<Item>> merge = rules(period.item, period.item);
        if (!merge) return period;
        if (!std::isfinite(merge->rank)) return std::nullopt;
        const auto comes_later = [&](const Item& right) {
            const std::optional<RunMerge<Item>> next = rules(merge->item, right);
            return !next || next->rank > merge->rank;
        };
        if (!comes_later(period.item) || !comes_later(merge->item)) return std::nullopt;
        period = {2 * period.symbols, merge->item};
    }
    return std::nullopt;
}

// The same where all pairs come together equally soon, so that the leftmost always goes first: read from the
// left, each symbol joins what stands before it as long as there is a piece of that length. Symbols in one
// item of the middle; 0 where the middle is not one item over and over, whatever stood before the run.
// is_piece(symbols), for up to `longest` of them.
template <class IsPiece>
std::size_t run_of_equals(std::size_t longest, const IsPiece& is_piece) {
    constexpr std::size_t kMost = 256;
    if (longest > kMost) return 0;
    std::size_t item = 0;
    for (std::size_t before = 0; before <= longest; ++before) {
        std::vector<std::size_t> items;
        if (before > 0) items.push_back(before);
        for (std::size_t i = 0; i < 16 * longest; ++i) {
            items.push_back(1);
            while (items.size() > 1 && is_piece(items.back() + items[items.size() - 2])) {
                const std::size_t last = items.back();
                items.pop_back();
                items.back() += last;
            }
        }
        for (std::size_t i = 2; i + 2 < items.size(); ++i) {
            if (item == 0) item = items[i];
            if (items[i] != item) return 0;
        }
    }
    return item;
}

// Runs below this many symbols are merged as they are.
inline constexpr std::size_t kLongRun = std::size_t{1} << 13U;

// How many symbols of a run may be left out of its middle: whole periods, and the rest keeps clear of both
// ends. `longest`: symbols in the longest piece of the vocabulary, or more.
inline std::size_t removable_symbols(std::size_t run, std::size_t period, std::size_t longest) {
    const std::size_t keep = 4 * (std::max(longest, period) + period);
    if (run < kLongRun || keep >= run / 2) return 0;
    return (run - keep) / period * period;
}

}  // namespace vitrine
