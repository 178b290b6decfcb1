#include "ui/plot/point_series.h"

#include <algorithm>
#include <cmath>

#include <QPainter>

namespace vitrine::ui {

PointSeries::PointSeries(const QRectF& area, double spot) : area_(area), spot_(std::max(spot, 0.5)) {
    constexpr double most = 8192;  // a plot larger than any screen still has a bounded table
    columns_ = static_cast<int>(std::clamp(std::ceil(area.width() / spot_) + 1, 0.0, most));
    rows_ = static_cast<int>(std::clamp(std::ceil(area.height() / spot_) + 1, 0.0, most));
    spots_.assign(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_), -1);
}

bool PointSeries::add(double x, double y, int group) {
    if (!std::isfinite(x) || !std::isfinite(y) || group < 0) return false;
    if (x < area_.left() || x > area_.right() || y < area_.top() || y > area_.bottom()) return false;
    const int column = static_cast<int>((x - area_.left()) / spot_);
    const int row = static_cast<int>((y - area_.top()) / spot_);
    if (column >= columns_ || row >= rows_) return false;
    const auto at =
        static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(column);
    const bool fresh = spots_[at] < 0;
    spots_[at] = group;
    if (fresh) {
        used_.push_back(static_cast<std::int32_t>(at));
        place_.emplace_back(static_cast<float>(x), static_cast<float>(y));
    }
    return fresh;
}

int PointSeries::paint(QPainter& painter, double diameter, const std::vector<QColor>& colors) const {
    // Lines of no length with a round cap: one call a colour for all its points.
    std::vector<std::vector<QPointF>> groups(colors.size());
    for (std::size_t i = 0; i < used_.size(); ++i) {
        const auto group = static_cast<std::size_t>(spots_[static_cast<std::size_t>(used_[i])]);
        if (group < groups.size()) groups[group].emplace_back(place_[i].first, place_[i].second);
    }
    int drawn = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (groups[g].empty()) continue;
        painter.setPen(QPen(colors[g], diameter, Qt::SolidLine, Qt::RoundCap));
        painter.drawPoints(groups[g].data(), static_cast<int>(groups[g].size()));
        drawn += static_cast<int>(groups[g].size());
    }
    return drawn;
}

}  // namespace vitrine::ui
