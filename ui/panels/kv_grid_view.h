// The physical pool as a grid of tiles, see KvGridLayout. What a tile shows:
//   free         an empty outline
//   used         the colour of its owner, from the bottom up to its fill level
//   shared       its reference count on it (a notch where there is no room for digits)
//   cached-free  faded
//   being written  a dark edge;  hovered or selected: an accent edge
// Only tiles that changed are painted again.
#pragma once

#include <functional>
#include <vector>

#include <QSet>
#include <QTimer>
#include <QWidget>

#include "ui/panels/kv_grid_layout.h"
#include "ui/panels/kv_model.h"
#include "ui/settings/sequence_colors.h"

namespace vitrine::ui {

class KvGridView : public QWidget {
    Q_OBJECT

  public:
    // Both live longer than the view.
    KvGridView(const KvModel* model, SequenceColors* colors, QWidget* parent = nullptr);

    // The model has a new snapshot. With `flash`, blocks that changed hands light up for 150 ms.
    void model_changed(bool flash);
    // −1: none.
    void set_highlight(std::int32_t block);
    std::int32_t highlight() const { return highlight_; }
    void set_hovered(std::int32_t block);
    // Text of the tooltip of a block, and of several in one tile.
    void set_describe(std::function<QString(std::int32_t first, std::int32_t end)> describe) {
        describe_ = std::move(describe);
    }

    const KvGridLayout& layout_of_tiles() const { return layout_; }
    // Of a tile, in the widget's pixels.
    QRect tile_rect(std::int32_t tile) const;
    // Rectangles, texts and lines of the last paint: what its cost is made of.
    int primitives() const { return primitives_; }
    int flashing() const { return static_cast<int>(flashing_.size()); }

    QSize sizeHint() const override { return {450, 128}; }
    QSize minimumSizeHint() const override { return {160, 56}; }

  signals:
    void tiles_changed();  // another number of blocks in a tile
    void block_clicked(std::int32_t block);
    void block_hovered(std::int32_t block);  // −1: none

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    bool event(QEvent* event) override;

  private:
    // What a tile looks like; equal values paint equal pixels.
    struct Tile {
        std::int32_t used = 0;
        std::int32_t cached = 0;
        std::int32_t references = 0;  // of a single block
        std::int32_t fill = 0;        // tokens: of a single block
        int color = -1;               // index of the owner's colour
        bool written = false;
        bool operator==(const Tile&) const = default;
    };
    Tile make_tile(std::int32_t tile) const;
    std::int32_t tile_at(const QPointF& place) const;
    void rebuild();
    void update_tile(std::int32_t tile);
    void paint_tile(QPainter& painter, std::int32_t tile, const std::vector<SequenceColor>& palette);

    const KvModel* model_;
    SequenceColors* colors_;
    std::function<QString(std::int32_t, std::int32_t)> describe_;
    KvGridLayout layout_;
    std::vector<Tile> tiles_;
    std::vector<KvBlock> seen_;  // blocks of the last snapshot, for flashes
    QSet<std::int32_t> flashing_;
    QTimer flash_end_;
    std::int32_t highlight_ = -1;
    std::int32_t hovered_ = -1;
    int primitives_ = 0;
};

}  // namespace vitrine::ui
