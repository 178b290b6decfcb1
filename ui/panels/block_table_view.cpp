#include "ui/panels/block_table_view.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/plot/figure_format.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr int rows = 2;
constexpr int gap = 2;

int chip_height() {
    return static_cast<int>(std::ceil(QFontMetricsF(current_theme().fonts.caption).height())) + 3;
}
int caption_height() {
    return static_cast<int>(std::ceil(QFontMetricsF(current_theme().fonts.caption).height())) + 3;
}

QFont small_font() { return current_theme().fonts.tiny; }

}  // namespace

BlockTableView::BlockTableView(const KvModel* model, SequenceColors* colors, QWidget* parent)
    : QWidget(parent), model_(model), colors_(colors) {
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Block table"));
    connect(theme_signal(), &ThemeSignal::changed, this, [this] {
        updateGeometry();
        lay_out();
    });
}

QSize BlockTableView::sizeHint() const { return {450, caption_height() + rows * (chip_height() + gap)}; }
QSize BlockTableView::minimumSizeHint() const { return {160, sizeHint().height()}; }

void BlockTableView::show_sequence(SequenceKey key, const QString& title) {
    const SequenceView* sequence = key == no_sequence ? nullptr : model_->sequence_of(key);
    QString caption;
    if (key == no_sequence) {
        caption = tr("Block table: choose a chat to see where its tokens lie");
    } else if (sequence == nullptr) {
        caption = tr("Block table of “%1”: it holds no block now").arg(title);
    } else {
        caption = tr("Block table of “%1”: logical → physical").arg(title);
    }
    std::int32_t written = -1;
    const auto count = model_->block_count();
    if (sequence != nullptr) {
        for (const std::int32_t id : sequence->blocks) {
            if (id >= 0 && id < count && model_->block(id).written) written = id;
        }
    }
    static const std::vector<std::int32_t> none;
    const std::vector<std::int32_t>& blocks = sequence != nullptr ? sequence->blocks : none;
    if (key == key_ && caption == caption_ && written == written_ && blocks == blocks_) return;
    key_ = key;
    caption_ = caption;
    written_ = written;
    blocks_ = blocks;
    setAccessibleDescription(caption_);
    lay_out();
}

void BlockTableView::lay_out() {
    const QFontMetricsF digits(current_theme().fonts.caption);
    const QFontMetricsF small(small_font());
    // Wide enough for the largest numbers that can come, so that chips do not change their width while it
    // grows.
    const auto length = [](std::int64_t n) { return QString::number(std::max<std::int64_t>(n, 10)).size(); };
    const auto physical = static_cast<double>(length(model_->block_count() - 1));
    const auto logical = static_cast<double>(length(static_cast<std::int64_t>(blocks_.size()) - 1));
    chip_width_ = std::max(32, static_cast<int>(std::ceil(physical * digits.horizontalAdvance('0') +
                                                          logical * small.horizontalAdvance('0') + 13)));
    layout_ = BlockTableLayout(static_cast<std::int32_t>(blocks_.size()), width(), rows, chip_width_, gap);
    chip_width_ = std::max(chip_width_, (width() + gap) / layout_.columns - gap);  // the row fills the width
    update();
}

QRect BlockTableView::chip_rect(int chip) const {
    if (chip < 0 || chip >= layout_.chips) return {};
    return {(chip % layout_.columns) * (chip_width_ + gap),
            caption_height() + (chip / layout_.columns) * (chip_height() + gap), chip_width_, chip_height()};
}

int BlockTableView::chip_at(const QPoint& point) const {
    for (int chip = 0; chip < layout_.chips; ++chip) {
        if (chip_rect(chip).contains(point)) return chip;
    }
    return -1;
}

std::int32_t BlockTableView::block_in(int chip) const {
    const std::int32_t logical = layout_.logical_at(chip);
    return logical < 0 ? -1 : blocks_[static_cast<std::size_t>(logical)];
}

void BlockTableView::set_highlight(std::int32_t block) {
    if (block == highlight_) return;
    highlight_ = block;
    update();
}

void BlockTableView::set_hovered(std::int32_t block) {
    if (block == hovered_) return;
    hovered_ = block;
    update();
}

void BlockTableView::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetricsF digits(theme.fonts.caption);
    const QFont small = small_font();
    painter.setPen(theme.text_second);
    painter.setFont(theme.fonts.caption);
    painter.drawText(QPointF(0, digits.ascent()), digits.elidedText(caption_, Qt::ElideMiddle, width()));

    for (int chip = 0; chip < layout_.chips; ++chip) {
        const QRectF rect = chip_rect(chip);
        const double base = rect.top() + (rect.height() + digits.capHeight()) / 2;
        const std::int32_t logical = layout_.logical_at(chip);
        if (logical < 0) {
            const QString text = QStringLiteral("+") + format_count(layout_.left_out);
            painter.setPen(theme.text_second);
            const double room = rect.width();
            const QFont& font = tabular_width(text, theme.fonts.caption) > room ? small : theme.fonts.caption;
            draw_tabular(painter, QPointF(rect.center().x() - tabular_width(text, font) / 2, base), text,
                         font);
            continue;
        }
        const std::int32_t block = block_in(chip);
        const bool known = block >= 0 && block < model_->block_count();
        const bool marked = block >= 0 && (block == highlight_ || block == hovered_);
        const bool shared = known && model_->block(block).references > 1;
        painter.setBrush(marked ? theme.selection : theme.surface);
        if (block == written_ && !marked) {
            painter.setPen(QPen(theme.text, 1.5));
        } else {
            painter.setPen(QPen(marked ? theme.accent : theme.hairline, 1));
        }
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
        if (shared) {  // the same block is in another table too: a bar in the owner's colour under the number
            const KvBlock& of = model_->block(block);
            const int index = of.owner == no_sequence ? -1 : colors_->peek(of.owner);
            painter.setPen(Qt::NoPen);
            painter.setBrush(sequence_color(index, theme).outline);
            painter.drawRect(QRectF(rect.left() + 4, rect.bottom() - 3, rect.width() - 8, 1.5));
        }
        painter.setPen(theme.text_second);
        draw_tabular(painter, QPointF(rect.left() + 4, base), QString::number(logical), small);
        const QString number = QString::number(block);
        painter.setPen(theme.text);
        draw_tabular(painter, QPointF(rect.right() - 4 - tabular_width(number, theme.fonts.caption), base),
                     number, theme.fonts.caption);
    }
}

void BlockTableView::resizeEvent(QResizeEvent*) { lay_out(); }

void BlockTableView::mouseMoveEvent(QMouseEvent* event) {
    const std::int32_t block = block_in(chip_at(event->position().toPoint()));
    if (block == hovered_) return;
    set_hovered(block);
    emit block_hovered(block);
}

void BlockTableView::leaveEvent(QEvent*) {
    if (hovered_ < 0) return;
    set_hovered(-1);
    emit block_hovered(-1);
}

void BlockTableView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    const int chip = chip_at(event->position().toPoint());
    const std::int32_t block = block_in(chip);
    if (block >= 0) emit block_clicked(block, layout_.logical_at(chip));
}

bool BlockTableView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int chip = chip_at(help->pos());
        const std::int32_t logical = layout_.logical_at(chip);
        if (logical < -1) {
            QToolTip::hideText();
            event->ignore();
            return true;
        }
        const QString text =
            logical < 0 ? tr("%1 blocks in between are not shown").arg(format_count(layout_.left_out))
                        : tr("Logical block %1 lies in physical block %2")
                              .arg(format_count(logical), format_count(block_in(chip)));
        QToolTip::showText(help->globalPos(), text, this, chip_rect(chip));
        return true;
    }
    return QWidget::event(event);
}

}  // namespace vitrine::ui
