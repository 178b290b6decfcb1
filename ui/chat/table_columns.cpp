#include "ui/chat/table_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vitrine::ui {

std::vector<double> column_widths(const std::vector<double>& natural, double room, double least) {
    std::vector<double> widths(natural.size());
    if (natural.empty()) return widths;
    const auto n = static_cast<double>(natural.size());
    least = std::min(least, std::floor(room / n));
    std::vector<double> wish(natural.size());
    std::transform(natural.begin(), natural.end(), wish.begin(),
                   [&](double w) { return std::max(least, std::ceil(w)); });
    if (std::accumulate(wish.begin(), wish.end(), 0.0) <= room) return wish;
    std::vector<std::size_t> order(natural.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
    double left = room;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const double share = std::floor(left / static_cast<double>(order.size() - i));
        widths[order[i]] = std::min(wish[order[i]], share);
        left -= widths[order[i]];
    }
    return widths;
}

}  // namespace vitrine::ui
