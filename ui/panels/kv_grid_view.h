// The physical pool as a grid of tiles, see KvGridLayout. What a tile shows:
//   free         an empty outline
//   used         the colour of its owner, from the bottom up to its fill level
//   shared       its reference count on it (a notch where there is no room for digits)
//   cached-free  faded
//   being written  a dark edge;  hovered or selected: an accent edge
// Only tiles that changed are painted again.
//
// Zoom: Ctrl and the wheel, or + and −, show half or twice as many blocks, down to single ones, about the one
// under the pointer; 0 shows all. Pan: the wheel, dragging, Page up and down.
#pragma once

#include <functional>
#include <vector>

#include <QHash>
#include <QTimer>
#include <QWidget>

#include "core/telemetry/records.h"
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

    // Of the blocks in view.
    const KvGridLayout& layout_of_tiles() const { return layout_; }
    std::int32_t first_shown() const { return first_; }
    std::int32_t shown() const { return layout_.blocks(); }
    bool zoomed() const { return zoom_ > 0; }
    // `notches` halvings (negative: doublings) of what is shown, about this block.
    void zoom(int notches, std::int32_t about);
    void pan(std::int32_t blocks);
    void show_all();
    // What happened to a block since the last snapshot, for the colour of its flash.
    void note(std::int32_t block, BlockEvent event);
    // Of a tile, in the widget's pixels.
    QRect tile_rect(std::int32_t tile) const;
    // Rectangles, texts and lines of the last paint: what its cost is made of.
    int primitives() const { return primitives_; }
    int flashing() const { return static_cast<int>(flashing_.size()); }

    QSize sizeHint() const override { return {450, 128}; }
    QSize minimumSizeHint() const override { return {160, 56}; }

  signals:
    void tiles_changed();  // other blocks are in view, or another number of them in a tile
    void block_clicked(std::int32_t block);
    void block_hovered(std::int32_t block);  // −1: none

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
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
    std::int32_t first_block(std::int32_t tile) const { return first_ + layout_.first_block(tile); }
    std::int32_t end_block(std::int32_t tile) const { return first_ + layout_.end_block(tile); }
    // −1: not in view.
    std::int32_t tile_of(std::int32_t block) const;
    std::int32_t count_at(int zoom) const;  // blocks in view
    void look_at(int zoom, std::int32_t first);
    void rebuild();
    void update_tile(std::int32_t tile);
    void paint_tile(QPainter& painter, std::int32_t tile, const std::vector<SequenceColor>& palette);

    const KvModel* model_;
    SequenceColors* colors_;
    std::function<QString(std::int32_t, std::int32_t)> describe_;
    KvGridLayout layout_;
    std::vector<Tile> tiles_;
    std::vector<KvBlock> seen_;                 // blocks of the last snapshot, for flashes
    QHash<std::int32_t, BlockEvent> flashing_;  // by tile
    QHash<std::int32_t, BlockEvent> noted_;     // by block, since the last snapshot
    std::int32_t first_ = 0;                    // block in view
    int zoom_ = 0;
    int wheel_ = 0;
    double dragged_ = 0;  // pixels that are no whole row yet
    QPointF drag_from_;
    bool dragging_ = false;
    QTimer flash_end_;
    std::int32_t highlight_ = -1;
    std::int32_t hovered_ = -1;
    int primitives_ = 0;
};

}  // namespace vitrine::ui
