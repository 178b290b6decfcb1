// Points of a plot, drawn with a cost bounded by the plot's pixels: two points that would cover the same spot
// are drawn once.
#pragma once

#include <cstdint>
#include <vector>

#include <QColor>
#include <QRectF>

class QPainter;

namespace vitrine::ui {

class PointSeries {
  public:
    // Area in widget pixels; a spot is `spot` × `spot` of them. At most `capacity()` points are ever kept.
    explicit PointSeries(const QRectF& area, double spot = 2.0);

    // `group` chooses the colour in paint(); the last point on a spot wins, newest last. Points outside the
    // area (or not finite) are left out. Returns whether the point took a new spot.
    bool add(double x, double y, int group);

    std::size_t size() const { return used_.size(); }
    std::size_t capacity() const { return spots_.size(); }

    // Dots of `diameter`, one brush change per group. Returns how many were drawn.
    int paint(QPainter& painter, double diameter, const std::vector<QColor>& colors) const;

  private:
    QRectF area_;
    double spot_;
    int columns_ = 0;
    int rows_ = 0;
    std::vector<std::int32_t> spots_;  // group on this spot, −1: none
    std::vector<std::int32_t> used_;   // spots in order of first use
    std::vector<std::pair<float, float>>
        place_;  // parallel to used_: exact place of the point that came first
};

}  // namespace vitrine::ui
