#include "core/sample/processed.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "core/sample/softmax.h"

namespace vitrine {

// Whole groups are skipped by their vectorised sums, the group that holds it is walked.
std::int32_t draw_by_id(const std::vector<float>& row, double u, std::int32_t fallback) {
    constexpr std::size_t group = 1024;
    const std::span<const float> z(row);
    std::vector<double> sums;
    double total = 0;
    for (std::size_t i = 0; i < z.size(); i += group) {
        sums.push_back(sum_of_exponentials(z.subspan(i, std::min(group, z.size() - i)), 0.0F));
        total += sums.back();
    }
    double rest = u * total;
    std::int32_t last = fallback;
    for (std::size_t g = 0; g < sums.size(); ++g) {
        if (rest >= sums[g]) {
            rest -= sums[g];
            continue;
        }
        for (std::size_t i = g * group; i < std::min(z.size(), (g + 1) * group); ++i) {
            const double weight = std::exp(static_cast<double>(z[i]));
            if (weight > 0) last = static_cast<std::int32_t>(i);
            rest -= weight;
            if (rest < 0) return last;
        }
        return last;
    }
    return last;
}

Processed::Processed(std::vector<std::pair<TokenId, double>> tokens) : tokens_(std::move(tokens)) {
    by_id_.reserve(tokens_.size());
    for (const auto& [id, probability] : tokens_) by_id_.emplace_back(id.value, probability);
    std::sort(by_id_.begin(), by_id_.end());
}

Processed::Processed(std::vector<float> tempered)
    : tempered_(std::move(tempered)), total_(sum_of_exponentials(tempered_, 0.0F)) {}

double Processed::probability(TokenId id) const {
    if (!tempered_.empty()) {
        if (id.value < 0 || static_cast<std::size_t>(id.value) >= tempered_.size() || total_ <= 0) return 0;
        return std::exp(static_cast<double>(tempered_[static_cast<std::size_t>(id.value)])) / total_;
    }
    const auto at =
        std::lower_bound(by_id_.begin(), by_id_.end(), id.value,
                         [](const auto& entry, std::int32_t value) { return entry.first < value; });
    return at != by_id_.end() && at->first == id.value ? at->second : 0;
}

TokenId Processed::draw(double u) const {
    if (!tempered_.empty()) {
        const auto top = std::max_element(tempered_.begin(), tempered_.end());
        return TokenId{draw_by_id(tempered_, u, static_cast<std::int32_t>(top - tempered_.begin()))};
    }
    if (tokens_.empty()) return {};
    double rest = u;
    for (const auto& [id, probability] : tokens_) {
        rest -= probability;
        if (rest < 0) return id;
    }
    return tokens_.back().first;
}

// weight(id, own probability) is what the token counts.
template <class Weight>
TokenId Processed::draw_weighted(const Weight& weight, double u) const {
    const auto each = [&](const auto& visit) {
        if (!tempered_.empty()) {
            for (std::size_t i = 0; i < tempered_.size(); ++i)
                if (!visit(TokenId{static_cast<std::int32_t>(i)},
                           std::exp(static_cast<double>(tempered_[i])) / total_))
                    return;
        } else {
            for (const auto& [id, probability] : tokens_)
                if (!visit(id, probability)) return;
        }
    };
    double total = 0;
    each([&](TokenId id, double own) {
        total += weight(id, own);
        return true;
    });
    // Rounding: the two were the same, and the offer was not refused but for that.
    if (!(total > 1e-12)) return draw(u);
    double rest = u * total;
    TokenId chosen;
    each([&](TokenId id, double own) {
        const double w = weight(id, own);
        if (w <= 0) return true;
        chosen = id;
        rest -= w;
        return rest >= 0;
    });
    return chosen.valid() ? chosen : draw(u);
}

TokenId Processed::draw_residual(const Processed& other, double u) const {
    return draw_weighted(
        [&](TokenId id, double own) { return own > 0 ? std::max(0.0, own - other.probability(id)) : 0.0; },
        u);
}

}  // namespace vitrine
