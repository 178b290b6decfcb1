#include "ui/panels/kv_grid_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include "ui/panels/card.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

// Room around the tiles for the edges of the outer ones.
constexpr int margin = 2;
// Fewer blocks are never shown: they would not get larger.
constexpr std::int32_t least_shown = 32;

}  // namespace

KvGridView::KvGridView(const KvModel* model, SequenceColors* colors, QWidget* parent)
    : QWidget(parent), model_(model), colors_(colors) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("Physical KV blocks"));
    flash_end_.setSingleShot(true);
    connect(&flash_end_, &QTimer::timeout, this, [this] {
        const QList<std::int32_t> tiles = flashing_.keys();
        flashing_.clear();
        for (const std::int32_t tile : tiles) update_tile(tile);
    });
    connect(theme_signal(), &ThemeSignal::changed, this, qOverload<>(&QWidget::update));
    // A colour that goes to another session changes tiles that the snapshot did not.
    connect(colors_, &SequenceColors::released, this, [this] { model_changed(false); });
}

KvGridView::Tile KvGridView::make_tile(std::int32_t tile) const {
    Tile out;
    const std::int32_t first = first_block(tile);
    const std::int32_t end = end_block(tile);
    SequenceKey owner = no_sequence;
    if (end - first == 1) {
        const KvBlock& block = model_->block(first);
        out.used = block.state == BlockState::Used ? 1 : 0;
        out.cached = block.state == BlockState::CachedFree ? 1 : 0;
        out.references = block.references;
        out.fill = block.fill;
        out.written = block.written;
        owner = block.owner;
    } else {
        // The colour is that of the owner with the longest lead (majority vote in one pass): a used block's
        // owner counts before a cached one's.
        std::int32_t lead = 0;
        for (std::int32_t i = first; i < end; ++i) {
            const KvBlock& block = model_->block(i);
            out.written = out.written || block.written;
            if (block.state == BlockState::Free) continue;
            const std::int32_t weight = block.state == BlockState::Used ? 2 : 1;
            (block.state == BlockState::Used ? out.used : out.cached) += 1;
            if (block.owner == owner) {
                lead += weight;
            } else if (lead < weight) {
                owner = block.owner;
                lead = weight - lead;
            } else {
                lead -= weight;
            }
        }
    }
    out.color = owner == no_sequence ? -1 : colors_->peek(owner);
    return out;
}

std::int32_t KvGridView::tile_of(std::int32_t block) const {
    if (block < first_ || block - first_ >= layout_.blocks()) return -1;
    const std::int32_t tile = layout_.tile_of(block - first_);
    return tile < layout_.tiles() ? tile : -1;
}

std::int32_t KvGridView::count_at(int zoom) const {
    const std::int32_t all = model_->block_count();
    return std::min(all, std::max(least_shown, zoom < 31 ? all >> zoom : 0));
}

void KvGridView::look_at(int zoom, std::int32_t first) {
    zoom_ = std::max(0, zoom);
    // Where halving shows nothing less, the notch is not saved up.
    while (zoom_ > 0 && count_at(zoom_) == count_at(zoom_ - 1)) --zoom_;
    first_ = std::clamp(first, 0, std::max(0, model_->block_count() - count_at(zoom_)));
    rebuild();
    emit tiles_changed();
}

void KvGridView::zoom(int notches, std::int32_t about) {
    const std::int32_t before = count_at(zoom_);
    const int wanted = std::clamp(zoom_ + notches, 0, 30);
    const std::int32_t after = count_at(wanted);
    if (before <= 0 || after == before) return;
    // The block under the pointer stays about where it is.
    const double share = static_cast<double>(std::clamp(about - first_, 0, before)) / before;
    look_at(wanted, about - static_cast<std::int32_t>(share * after));
}

void KvGridView::pan(std::int32_t blocks) {
    if (zoom_ == 0) return;
    const std::int32_t last = model_->block_count() - count_at(zoom_);
    const std::int32_t to = std::clamp(first_ + blocks, 0, std::max(0, last));
    if (to != first_) look_at(zoom_, to);
}

void KvGridView::show_all() {
    if (zoom_ != 0) look_at(0, 0);
}

void KvGridView::note(std::int32_t block, BlockEvent event) {
    if (event == BlockEvent::Share || event == BlockEvent::Free) return;
    // A block that was taken from the cache is allocated right after: that it was evicted is the news.
    if (event == BlockEvent::Allocate && noted_.value(block, event) == BlockEvent::Evict) return;
    if (noted_.size() < 65536) noted_.insert(block, event);
}

void KvGridView::rebuild() {
    const std::int32_t before = layout_.blocks_per_tile();
    first_ = std::clamp(first_, 0, std::max(0, model_->block_count() - count_at(zoom_)));
    layout_ = KvGridLayout(count_at(zoom_), size() - QSize(2 * margin, 2 * margin));
    tiles_.resize(static_cast<std::size_t>(layout_.tiles()));
    for (std::int32_t i = 0; i < layout_.tiles(); ++i) tiles_[static_cast<std::size_t>(i)] = make_tile(i);
    flashing_.clear();
    update();
    if (layout_.blocks_per_tile() != before) emit tiles_changed();
}

void KvGridView::model_changed(bool flash) {
    const std::int32_t count = model_->block_count();
    if (static_cast<std::size_t>(count) != seen_.size() || count_at(zoom_) != layout_.blocks()) {
        if (static_cast<std::size_t>(count) != seen_.size()) zoom_ = 0;  // another pool
        rebuild();
        seen_ = model_->blocks();
        noted_.clear();
        if (highlight_ >= count) highlight_ = -1;
        hovered_ = -1;
        return;
    }
    for (std::int32_t i = 0; i < layout_.tiles(); ++i) {
        Tile now = make_tile(i);
        if (now == tiles_[static_cast<std::size_t>(i)]) continue;
        tiles_[static_cast<std::size_t>(i)] = now;
        update_tile(i);
    }
    bool flashed = false;
    if (flash && seen_.size() == model_->blocks().size()) {
        for (std::int32_t i = 0; i < count; ++i) {
            if (model_->block(i).same_holder(seen_[static_cast<std::size_t>(i)])) continue;
            const std::int32_t tile = tile_of(i);
            if (tile < 0) continue;
            flashing_.insert(tile, noted_.value(i, BlockEvent::Share));
            update_tile(tile);
            flashed = true;
        }
    }
    if (flashed) flash_end_.start(current_theme().metrics.flash_ms);
    seen_ = model_->blocks();
    noted_.clear();
}

QRect KvGridView::tile_rect(std::int32_t tile) const {
    return layout_.tile_rect(tile).translated(margin, margin);
}

std::int32_t KvGridView::tile_at(const QPointF& place) const {
    return layout_.tile_at(place.toPoint() - QPoint(margin, margin));
}

void KvGridView::update_tile(std::int32_t tile) {
    if (tile >= 0 && tile < layout_.tiles()) update(tile_rect(tile).adjusted(-2, -2, 2, 2));
}

void KvGridView::set_highlight(std::int32_t block) {
    if (block == highlight_) return;
    update_tile(tile_of(highlight_));
    highlight_ = block;
    update_tile(tile_of(highlight_));
}

void KvGridView::set_hovered(std::int32_t block) {
    if (block == hovered_) return;
    update_tile(tile_of(hovered_));
    hovered_ = block;
    update_tile(tile_of(hovered_));
}

void KvGridView::paint_tile(QPainter& painter, std::int32_t tile, const std::vector<SequenceColor>& palette) {
    const Theme& theme = current_theme();
    const Tile& t = tiles_[static_cast<std::size_t>(tile)];
    const QRectF rect = tile_rect(tile);
    const bool round = layout_.cell() >= 9;
    const double radius = round ? theme.metrics.radius_block : 0;
    const SequenceColor& color = palette[static_cast<std::size_t>(std::ptrdiff_t{t.color} + 1)];
    const auto area = [&](const QRectF& where, const QColor& with) {
        ++primitives_;
        if (round) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(with);
            painter.drawRoundedRect(where, radius, radius);
        } else {
            painter.fillRect(where, with);
        }
    };
    const auto edge = [&](const QColor& with, double width, double out) {
        ++primitives_;
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(with, width));
        const double d = out - width / 2;
        painter.drawRoundedRect(rect.adjusted(-d, -d, d, d), radius + out, radius + out);
    };

    const std::int32_t blocks = layout_.end_block(tile) - layout_.first_block(tile);
    if (t.used == 0 && t.cached == 0) {
        if (round) {
            edge(mix(theme.plot_grid, theme.hairline, 0.35), 1, 0);
        } else {
            area(rect, theme.plot_grid);
        }
    } else if (blocks == 1) {
        const int size = model_->snapshot()->block_size;
        const double level = size > 0 ? std::clamp(static_cast<double>(t.fill) / size, 0.0, 1.0) : 1.0;
        if (t.used == 0) {
            area(rect, color.faded);
        } else if (level >= 1) {
            area(rect, color.fill);
            if (round) paint_pattern(painter, rect.adjusted(1, 1, -1, -1), color);
        } else {
            area(rect, color.faded);
            // At least two pixels: a block with one token is not an empty one.
            const double height = level > 0 ? std::max(2.0, std::round(level * rect.height())) : 0;
            if (height > 0) {
                painter.save();
                painter.setClipRect(QRectF(rect.left(), rect.bottom() - height, rect.width(), height),
                                    Qt::IntersectClip);
                area(rect, color.fill);
                if (round) paint_pattern(painter, rect.adjusted(1, 1, -1, -1), color);
                painter.restore();
            }
        }
        // On white, a hue under 3:1 gets its edge; a row of them would be a wash of yellow otherwise.
        if (round && t.used > 0 && color.outlined()) edge(mix(color.fill, color.outline, 0.75), 1, 0);
    } else {
        area(rect, theme.plot_grid);
        const double cell = rect.height();
        const double used = std::ceil(cell * t.used / blocks);
        const double either = std::max(used, std::ceil(cell * (t.used + t.cached) / blocks));
        if (either > used) {
            area(QRectF(rect.left(), rect.bottom() - either, rect.width(), either - used),
                 mix(theme.plot_grid, color.fill, 0.3));
        }
        if (used > 0) area(QRectF(rect.left(), rect.bottom() - used, rect.width(), used), color.fill);
    }

    if (blocks == 1 && t.used > 0 && t.references > 1) {
        ++primitives_;
        QFont font = theme.fonts.tiny;
        font.setWeight(QFont::Bold);
        font.setPixelSize(std::clamp(layout_.cell() - 3, 8, 15));
        const QString count = t.references > 9 ? QStringLiteral("+") : QString::number(t.references);
        if (layout_.cell() >= 10) {
            painter.setPen(color.text);
            painter.setFont(font);
            const QFontMetricsF metrics(font);
            painter.drawText(QPointF(rect.center().x() - metrics.horizontalAdvance(count) / 2,
                                     rect.center().y() + metrics.capHeight() / 2),
                             count);
        } else {
            const QPointF corner = rect.topRight();
            const double n = std::max(2.0, rect.width() * 0.5);
            painter.setPen(Qt::NoPen);
            painter.setBrush(color.text);
            const std::array<QPointF, 3> notch = {corner, corner - QPointF(n, 0), corner + QPointF(0, n)};
            painter.drawPolygon(notch.data(), 3);
        }
    }
    if (flashing_.contains(tile)) {
        // Taken: grey; copied: accent; content forgotten: caution. Once, and gone.
        const BlockEvent what = flashing_.value(tile);
        QColor flash = what == BlockEvent::Copy    ? theme.accent
                       : what == BlockEvent::Evict ? theme.caution
                                                   : theme.text;
        flash.setAlphaF(what == BlockEvent::Copy || what == BlockEvent::Evict ? 0.6F : 0.35F);
        area(rect, flash);
    }
    const bool marked =
        (highlight_ >= 0 && tile_of(highlight_) == tile) || (hovered_ >= 0 && tile_of(hovered_) == tile);
    const double out = layout_.cell() >= 6 ? 1.5 : 1;
    if (marked) {
        edge(theme.accent, 2, out);
    } else if (t.written) {
        edge(theme.text, layout_.cell() >= 9 ? 1.5 : 1, out);
    }
}

void KvGridView::paintEvent(QPaintEvent* event) {
    primitives_ = 0;
    if (layout_.tiles() == 0) return;
    const Theme& theme = current_theme();
    int most = -1;
    for (const Tile& tile : tiles_) most = std::max(most, tile.color);
    std::vector<SequenceColor> palette;
    palette.reserve(static_cast<std::size_t>(most) + 2);
    for (int i = -1; i <= most; ++i) palette.push_back(sequence_color(i, theme));

    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRect dirty = event->rect();
    const auto [first, end] =
        layout_.tiles_in(dirty.translated(-margin, -margin).adjusted(0, -margin, 0, margin));
    const QRegion& region = event->region();
    std::vector<std::int32_t> edged;  // their edges lie over the neighbours
    for (std::int32_t i = first; i < end; ++i) {
        if (!region.intersects(tile_rect(i).adjusted(-2, -2, 2, 2))) continue;
        const bool marked =
            (highlight_ >= 0 && tile_of(highlight_) == i) || (hovered_ >= 0 && tile_of(hovered_) == i);
        if (marked || tiles_[static_cast<std::size_t>(i)].written) {
            edged.push_back(i);
        } else {
            paint_tile(painter, i, palette);
        }
    }
    for (const std::int32_t i : edged) paint_tile(painter, i, palette);
    if (zoom_ > 0) {
        // Which part of the pool is in view.
        const double all = model_->block_count();
        const QRectF track(margin, height() - 2, width() - 2 * margin, 2);
        painter.fillRect(track, theme.plot_grid);
        painter.fillRect(QRectF(track.left() + first_ / all * track.width(), track.top(),
                                std::max(8.0, layout_.blocks() / all * track.width()), 2),
                         theme.text_second);
        primitives_ += 2;
    }
}

void KvGridView::resizeEvent(QResizeEvent*) { rebuild(); }

void KvGridView::mouseMoveEvent(QMouseEvent* event) {
    if (dragging_ && zoom_ > 0) {
        dragged_ += drag_from_.y() - event->position().y();
        drag_from_ = event->position();
        const int rows = static_cast<int>(dragged_ / layout_.pitch());
        if (rows != 0) {
            dragged_ -= rows * layout_.pitch();
            pan(rows * layout_.columns() * layout_.blocks_per_tile());
        }
        return;
    }
    const std::int32_t tile = tile_at(event->position());
    const std::int32_t block = tile < 0 ? -1 : first_block(tile);
    if (block == hovered_) return;
    set_hovered(block);
    emit block_hovered(block);
}

void KvGridView::leaveEvent(QEvent*) {
    if (hovered_ < 0) return;
    set_hovered(-1);
    emit block_hovered(-1);
}

void KvGridView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    dragging_ = true;
    dragged_ = 0;
    drag_from_ = event->position();
    const std::int32_t tile = tile_at(event->position());
    if (tile >= 0) emit block_clicked(first_block(tile));
}

void KvGridView::mouseReleaseEvent(QMouseEvent*) { dragging_ = false; }

void KvGridView::wheelEvent(QWheelEvent* event) {
    const bool zooms = event->modifiers().testFlag(Qt::ControlModifier);
    if (layout_.tiles() == 0 || (!zooms && zoom_ == 0))
        return QWidget::wheelEvent(event);  // scrolls the dock
    event->accept();
    wheel_ += event->angleDelta().y();
    const int notches = wheel_ / 120;
    if (notches == 0) return;
    wheel_ -= notches * 120;
    if (zooms) {
        const std::int32_t tile = tile_at(event->position());
        zoom(notches, tile < 0 ? first_ + layout_.blocks() / 2 : first_block(tile));
    } else {
        pan(-2 * notches * layout_.columns() * layout_.blocks_per_tile());
    }
}

void KvGridView::focusInEvent(QFocusEvent* event) {
    // Somebody walks with the keyboard: show where they are.
    const bool walked = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
    if (walked && highlight_ < 0 && layout_.tiles() > 0) emit block_clicked(first_);
}

void KvGridView::keyPressEvent(QKeyEvent* event) {
    if (layout_.tiles() == 0) return QWidget::keyPressEvent(event);
    const std::int32_t row = layout_.columns() * layout_.blocks_per_tile();
    const std::int32_t here =
        highlight_ >= 0 && tile_of(highlight_) >= 0 ? highlight_ : first_ + layout_.blocks() / 2;
    const std::int32_t from = highlight_ < 0 ? first_ : highlight_;
    std::int32_t to = -1;
    switch (event->key()) {
        case Qt::Key_Left: to = from - layout_.blocks_per_tile(); break;
        case Qt::Key_Right: to = from + layout_.blocks_per_tile(); break;
        case Qt::Key_Up: to = from - row; break;
        case Qt::Key_Down: to = from + row; break;
        case Qt::Key_Home: to = 0; break;
        case Qt::Key_End: to = model_->block_count() - 1; break;
        case Qt::Key_Plus: return zoom(1, here);
        case Qt::Key_Minus: return zoom(-1, here);
        case Qt::Key_0: return show_all();
        case Qt::Key_PageUp: return pan(-row * std::max(1, layout_.rows() - 1));
        case Qt::Key_PageDown: return pan(row * std::max(1, layout_.rows() - 1));
        default: return QWidget::keyPressEvent(event);
    }
    if (to < 0 || to >= model_->block_count()) return;
    if (tile_of(to) < 0)
        look_at(zoom_, to < first_ ? to / row * row : to / row * row + row - layout_.blocks());
    const std::int32_t tile = tile_of(to);
    if (tile >= 0) emit block_clicked(first_block(tile));
}

bool KvGridView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && describe_) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const std::int32_t tile = tile_at(help->pos());
        if (tile < 0) {
            QToolTip::hideText();
            event->ignore();
        } else {
            QToolTip::showText(help->globalPos(),
                               plain_tooltip(describe_(first_block(tile), end_block(tile))), this,
                               tile_rect(tile));
        }
        return true;
    }
    return QWidget::event(event);
}

}  // namespace vitrine::ui
