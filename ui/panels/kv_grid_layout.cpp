#include "ui/panels/kv_grid_layout.h"

#include <algorithm>

namespace vitrine::ui {
namespace {

int gap_of(int pitch) { return pitch >= 11 ? 2 : 1; }

// The last tile of a row or column needs no gap after it.
int fitting(int pixels, int pitch) { return std::max(0, (pixels + gap_of(pitch)) / pitch); }

}  // namespace

KvGridLayout::KvGridLayout(std::int32_t blocks, const QSize& area) : blocks_(std::max(blocks, 0)) {
    if (blocks_ == 0 || fitting(area.width(), min_pitch) == 0 || fitting(area.height(), min_pitch) == 0)
        return;
    const auto room = [&](int pitch) {
        return static_cast<std::int64_t>(fitting(area.width(), pitch)) * fitting(area.height(), pitch);
    };
    while ((blocks_ + static_cast<std::int64_t>(per_tile_) - 1) / per_tile_ > room(min_pitch)) {
        if (per_tile_ > (1 << 29)) return;
        per_tile_ *= 2;
    }
    tiles_ = static_cast<std::int32_t>((blocks_ + static_cast<std::int64_t>(per_tile_) - 1) / per_tile_);
    pitch_ = max_pitch;
    while (pitch_ > min_pitch && room(pitch_) < tiles_) --pitch_;
    cell_ = pitch_ - gap_of(pitch_);
    columns_ = std::min(fitting(area.width(), pitch_), static_cast<int>(tiles_));
    rows_ = (tiles_ + columns_ - 1) / columns_;
}

QSize KvGridLayout::extent() const {
    if (tiles_ == 0) return {0, 0};
    return {columns_ * pitch_ - (pitch_ - cell_), rows_ * pitch_ - (pitch_ - cell_)};
}

QRect KvGridLayout::tile_rect(std::int32_t tile) const {
    if (tile < 0 || tile >= tiles_) return {};
    return {(tile % columns_) * pitch_, (tile / columns_) * pitch_, cell_, cell_};
}

std::int32_t KvGridLayout::end_block(std::int32_t tile) const {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(blocks_, (static_cast<std::int64_t>(tile) + 1) * per_tile_));
}

std::int32_t KvGridLayout::tile_at(const QPoint& point) const {
    if (tiles_ == 0 || point.x() < 0 || point.y() < 0) return -1;
    const int column = point.x() / pitch_;
    const int row = point.y() / pitch_;
    if (column >= columns_ || row >= rows_) return -1;
    if (point.x() - column * pitch_ >= cell_ || point.y() - row * pitch_ >= cell_) return -1;
    const std::int32_t tile = row * columns_ + column;
    return tile < tiles_ ? tile : -1;
}

std::pair<std::int32_t, std::int32_t> KvGridLayout::tiles_in(const QRect& rect) const {
    if (tiles_ == 0 || rect.isEmpty()) return {0, 0};
    const int first = std::clamp(rect.top() / pitch_, 0, rows_);
    const int last = std::clamp(rect.bottom() / pitch_, -1, rows_ - 1);
    return {std::min(first * columns_, static_cast<int>(tiles_)),
            std::min((last + 1) * columns_, static_cast<int>(tiles_))};
}

BlockTableLayout::BlockTableLayout(std::int32_t count, int width, int rows, int chip_width, int gap)
    : entries(std::max(count, 0)) {
    columns = std::max(1, (width + gap) / std::max(1, chip_width + gap));
    const int room = columns * std::max(1, rows);
    if (entries <= room) {
        chips = entries;
        head = entries;
        return;
    }
    chips = room;
    // A third for the beginning: it is the part that is shared with others.
    head = (room - 1) / 3;
    left_out = entries - (room - 1);
}

std::int32_t BlockTableLayout::logical_at(int chip) const {
    if (chip < 0 || chip >= chips) return -2;
    if (left_out == 0 || chip < head) return chip;
    return chip == head ? -1 : chip - 1 + left_out;
}

int BlockTableLayout::chip_of(std::int32_t logical) const {
    if (logical < 0 || logical >= entries) return -1;
    if (left_out == 0 || logical < head) return logical;
    return logical < head + left_out ? -1 : logical - left_out + 1;
}

}  // namespace vitrine::ui
