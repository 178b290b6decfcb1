// Geometry of the block grid: which block lies where, from 32 blocks to 100 000 in the same space. No
// widgets.
#pragma once

#include <cstdint>

#include <QPoint>
#include <QRect>
#include <QSize>

namespace vitrine::ui {

// Square tiles from left to right and top to bottom. A tile is one block while a block can still be told from
// its neighbour; with more blocks a tile stands for a power of two of them. The number of tiles is bounded by
// the area.
class KvGridLayout {
  public:
    KvGridLayout() = default;
    // `blocks` < 0 counts as 0; an area without room gives no tiles.
    KvGridLayout(std::int32_t blocks, const QSize& area);

    std::int32_t blocks() const { return blocks_; }
    std::int32_t tiles() const { return tiles_; }
    std::int32_t blocks_per_tile() const { return per_tile_; }
    int columns() const { return columns_; }
    int rows() const { return rows_; }
    int cell() const { return cell_; }    // side of a tile, pixels
    int pitch() const { return pitch_; }  // from one tile to the next, pixels
    QSize extent() const;                 // what the tiles cover

    QRect tile_rect(std::int32_t tile) const;
    std::int32_t tile_of(std::int32_t block) const { return block / per_tile_; }
    std::int32_t first_block(std::int32_t tile) const { return tile * per_tile_; }
    // One past the last block of the tile.
    std::int32_t end_block(std::int32_t tile) const;
    // −1: between tiles or outside.
    std::int32_t tile_at(const QPoint& point) const;
    // Tiles whose rows a rectangle touches: [first, end).
    std::pair<std::int32_t, std::int32_t> tiles_in(const QRect& rect) const;

    bool operator==(const KvGridLayout&) const = default;

    static constexpr int max_pitch = 40;
    static constexpr int min_pitch = 6;  // one block a tile; below, tiles merge

  private:
    std::int32_t blocks_ = 0;
    std::int32_t tiles_ = 0;
    std::int32_t per_tile_ = 1;
    int columns_ = 0;
    int rows_ = 0;
    int cell_ = 0;
    int pitch_ = 1;
};

// Which entries of a long block table are shown in the chips that there is room for: the beginning, a gap
// that says how many are left out, and the end, where the sequence grows.
struct BlockTableLayout {
    BlockTableLayout() = default;
    BlockTableLayout(std::int32_t entries, int width, int rows, int chip_width, int gap);

    int columns = 0;
    int chips = 0;              // shown, the gap's included
    std::int32_t head = 0;      // entries before the gap
    std::int32_t left_out = 0;  // 0: no gap
    std::int32_t entries = 0;

    // Logical index in the chip at this place; −1: the gap, −2: no such chip.
    std::int32_t logical_at(int chip) const;
    // Chip that shows this entry, −1: left out.
    int chip_of(std::int32_t logical) const;
};

}  // namespace vitrine::ui
