#include "ui/panels/batch_strip.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include "ui/panels/card.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double tallest_row = 18;
constexpr double lowest_row = 8;
constexpr std::array<std::int64_t, 12> windows = {10,   20,   40,   100,   200,   400,
                                                  1000, 2000, 4000, 10000, 20000, 40000};

double caption_height() { return std::ceil(QFontMetricsF(current_theme().fonts.caption).height()); }

QColor pale(const SequenceColor& color) {
    const Theme& theme = current_theme();
    return mix(theme.surface, color.fill, theme.is_dark ? 0.5 : 0.42);
}

QString name_of(BatchWork work) {
    switch (work) {
        case BatchWork::Prefill: return BatchStrip::tr("prefill");
        case BatchWork::Decode: return BatchStrip::tr("decode");
        case BatchWork::Speculative: return BatchStrip::tr("speculative");
        case BatchWork::Waiting: return BatchStrip::tr("waiting");
        case BatchWork::Preempted: return BatchStrip::tr("preempted");
    }
    return {};
}

}  // namespace

BatchStrip::BatchStrip(const BatchModel* model, const RequestBook* book, SequenceColors* colors,
                       QWidget* parent)
    : QWidget(parent), model_(model), book_(book), colors_(colors) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("Sequences by iteration"));
    connect(theme_signal(), &ThemeSignal::changed, this, [this] {
        updateGeometry();
        lay_out();
        update();
    });
}

QSize BatchStrip::sizeHint() const { return {450, static_cast<int>(4 * tallest_row + caption_height() + 6)}; }
QSize BatchStrip::minimumSizeHint() const {
    return {200, static_cast<int>(2 * tallest_row + caption_height() + 6)};
}

std::int64_t BatchStrip::left() const {
    return std::max<std::int64_t>(1, model_->figures().iteration - window_ + 1);
}

double BatchStrip::x_of(std::int64_t iteration) const {
    const double track = std::max(1.0, width() - label_width_ - 1);
    return label_width_ + static_cast<double>(iteration - left()) / static_cast<double>(window_) * track;
}

void BatchStrip::lay_out() {
    places_.clear();
    left_out_ = 0;
    const auto& rows = model_->rows();
    const std::int64_t now = model_->figures().iteration;
    // The window holds the oldest of those that are there, in steps, so that the scale rests.
    std::int64_t oldest = now;
    for (const BatchRow& row : rows)
        if (row.end < 0) oldest = std::min(oldest, row.begin);
    if (oldest == now && !rows.empty()) oldest = rows.back().begin;
    const std::int64_t wanted = std::max<std::int64_t>(40, now - oldest + 1);
    auto step = std::lower_bound(windows.begin(), windows.end() - 1, wanted) - windows.begin();
    step = std::clamp<std::ptrdiff_t>(step - zoom_, 0, static_cast<std::ptrdiff_t>(windows.size()) - 1);
    window_ = windows[static_cast<std::size_t>(step)];

    std::vector<std::size_t> visible;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].end < 0 || rows[i].end >= left()) visible.push_back(i);
    const QFontMetricsF metrics(current_theme().fonts.caption);
    double widest = 40;
    const double room = height() - caption_height() - 6;
    const auto fitting = static_cast<std::size_t>(std::max(1.0, std::floor(room / lowest_row)));
    if (visible.size() > fitting) {
        // Those that are there before those that ended; of each the newest.
        std::stable_sort(visible.begin(), visible.end(), [&](std::size_t a, std::size_t b) {
            const bool there_a = rows[a].end < 0;
            const bool there_b = rows[b].end < 0;
            return there_a != there_b ? there_a : a > b;
        });
        left_out_ = visible.size() - fitting;
        visible.resize(fitting);
        std::sort(visible.begin(), visible.end());
    }
    for (const std::size_t i : visible)
        widest = std::max(widest, std::ceil(metrics.horizontalAdvance(book_->name_of(rows[i].request))));
    label_width_ = std::min(widest + 8, std::max(60.0, width() * 0.26));
    const double row_height =
        visible.empty()
            ? tallest_row
            : std::clamp(std::floor(room / static_cast<double>(visible.size())), lowest_row, tallest_row);
    double y = 0;
    for (const std::size_t i : visible) {
        const double bar = row_height >= 12 ? row_height - 5 : row_height - 2;
        places_.push_back(
            {i, QRectF(label_width_, y + (row_height - bar) / 2, width() - label_width_ - 1, bar)});
        y += row_height;
    }
}

void BatchStrip::model_changed() {
    lay_out();
    update();
}

void BatchStrip::resizeEvent(QResizeEvent*) { lay_out(); }

void BatchStrip::paint_run(QPainter& painter, const QRectF& box, BatchWork work, const SequenceColor& color,
                           bool edged) {
    const Theme& theme = current_theme();
    ++primitives_;
    if (work == BatchWork::Prefill || work == BatchWork::Decode || work == BatchWork::Speculative) {
        painter.fillRect(box, work == BatchWork::Prefill ? color.fill : pale(color));
        if (work == BatchWork::Speculative && box.width() >= 3) {
            SequenceColor strokes = color;
            strokes.pattern = SequencePattern::Rising;
            strokes.text = color.outline;
            paint_pattern(painter, box, strokes);
        }
        if (edged && color.outlined()) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(color.outline, 1));
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        }
        return;
    }
    const QColor ink = work == BatchWork::Preempted ? theme.caution : theme.text_third;
    if (box.width() < 3) {
        painter.fillRect(QRectF(box.left(), box.top(), box.width(), 1), ink);
        painter.fillRect(QRectF(box.left(), box.bottom() - 1, box.width(), 1), ink);
        return;
    }
    if (work == BatchWork::Preempted) {
        SequenceColor strokes = color;
        strokes.pattern = SequencePattern::Falling;
        strokes.text = ink;
        paint_pattern(painter, box, strokes);
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(ink, 1));
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
}

void BatchStrip::paint_legend(QPainter& painter) {
    const Theme& theme = current_theme();
    const QFontMetricsF metrics(theme.fonts.caption);
    const double base = height() - metrics.descent() - 1;
    const double side = 9;
    SequenceColor neutral = sequence_color(-1, theme);
    const std::array works = {BatchWork::Prefill, BatchWork::Decode, BatchWork::Speculative,
                              BatchWork::Waiting, BatchWork::Preempted};
    const QString range =
        left_out_ > 0
            ? tr("%1 more").arg(format_count(static_cast<std::int64_t>(left_out_)))
            : tr("iterations %1 to %2").arg(format_count(left()), format_count(model_->figures().iteration));
    const double range_width = tabular_width(range, theme.fonts.caption);
    double x = 0;
    for (const BatchWork work : works) {
        const QString name = name_of(work);
        const double need = side + 4 + metrics.horizontalAdvance(name) + 10;
        if (x + need > width() - range_width - 6) break;
        paint_run(painter, QRectF(x, base - side + 1, side, side), work, neutral, true);
        painter.setPen(theme.text_second);
        painter.setFont(theme.fonts.caption);
        painter.drawText(QPointF(x + side + 4, base), name);
        x += need;
        ++primitives_;
    }
    painter.setPen(theme.text_second);
    draw_tabular(painter, QPointF(width() - range_width, base), range, theme.fonts.caption);
    ++primitives_;
}

void BatchStrip::paintEvent(QPaintEvent*) {
    primitives_ = 0;
    const Theme& theme = current_theme();
    QPainter painter(this);
    const QFontMetricsF metrics(theme.fonts.caption);
    const std::int64_t from = left();
    // Names that would lie over each other are squares of the sequence's colour.
    const double pitch = places_.size() > 1 ? places_[1].track.top() - places_[0].track.top() : tallest_row;
    for (const Place& place : places_) {
        const BatchRow& row = model_->rows()[place.row];
        const SequenceKey key = book_->key_of_request(row.request);
        const SequenceColor color = sequence_color(colors_->peek(key), theme);
        if (pitch >= caption_height() - 1) {
            painter.setPen(theme.text_second);
            painter.setFont(theme.fonts.caption);
            const QString name =
                metrics.elidedText(book_->name_of(row.request), Qt::ElideRight, label_width_ - 8);
            painter.drawText(QPointF(label_width_ - 8 - metrics.horizontalAdvance(name),
                                     place.track.center().y() + metrics.capHeight() / 2),
                             name);
            ++primitives_;
        } else {
            painter.fillRect(QRectF(label_width_ - 10, place.track.top(), 6, place.track.height()),
                             color.fill);
        }
        // From the newest back, so that what is before the window is not looked at; runs that would share a
        // pixel are one.
        double taken = place.track.right() + 1;
        for (auto run = row.runs.rbegin(); run != row.runs.rend() && run->last >= from; ++run) {
            double begin = std::max(x_of(std::max(run->first, from)), place.track.left());
            double end = std::min(x_of(run->last + 1), place.track.right() + 1);
            begin = std::floor(begin);
            end = std::min(std::ceil(end), taken);
            if (end <= begin) continue;
            const bool gap = end - begin >= 4 && run->work == BatchWork::Prefill;
            paint_run(painter,
                      QRectF(begin, place.track.top(), end - begin - (gap ? 1 : 0), place.track.height()),
                      run->work, color, end - begin >= 4);
            taken = begin;
        }
    }
    paint_legend(painter);
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.accent, 1));
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

QString BatchStrip::describe(const QPointF& place) const {
    for (const Place& p : places_) {
        if (place.y() < p.track.top() - 3 || place.y() > p.track.bottom() + 3) continue;
        const BatchRow& row = model_->rows()[p.row];
        QStringList lines{book_->quoted(row.request)};
        if (row.prompt > 0) lines << tr("Prompt of %1 tokens").arg(format_count(row.prompt));
        for (const BatchRun& run : row.runs) {
            if (place.x() < x_of(run.first) || place.x() >= x_of(run.last + 1)) continue;
            lines << (run.first == run.last
                          ? tr("Iteration %1: %2").arg(format_count(run.first), name_of(run.work))
                          : tr("Iterations %1 to %2: %3")
                                .arg(format_count(run.first), format_count(run.last), name_of(run.work)));
            if (run.rows > 0) lines << tr("%1 tokens computed").arg(format_count(run.rows));
            break;
        }
        return lines.join('\n');
    }
    return {};
}

void BatchStrip::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    for (const Place& p : places_)
        if (event->position().y() >= p.track.top() - 3 && event->position().y() <= p.track.bottom() + 3)
            return emit row_clicked(model_->rows()[p.row].request);
}

void BatchStrip::zoom(int notches) {
    zoom_ = std::clamp(zoom_ + notches, -static_cast<int>(windows.size()), static_cast<int>(windows.size()));
    const std::int64_t before = window_;
    lay_out();
    // Beyond the ends of the scale nothing is saved up.
    if (window_ == before) zoom_ -= notches;
    update();
}

void BatchStrip::wheelEvent(QWheelEvent* event) {
    if (!event->modifiers().testFlag(Qt::ControlModifier)) return QWidget::wheelEvent(event);
    wheel_ += event->angleDelta().y();
    const int notches = wheel_ / 120;
    wheel_ -= notches * 120;
    if (notches != 0) zoom(notches);
    event->accept();
}

void BatchStrip::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Plus: zoom(1); break;
        case Qt::Key_Minus: zoom(-1); break;
        case Qt::Key_0:
            zoom_ = 0;
            model_changed();
            break;
        default: QWidget::keyPressEvent(event);
    }
}

bool BatchStrip::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString text = describe(help->pos());
        if (text.isEmpty()) {
            QToolTip::hideText();
            event->ignore();
        } else {
            QToolTip::showText(help->globalPos(), plain_tooltip(text), this);
        }
        return true;
    }
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) update();
    return QWidget::event(event);
}

}  // namespace vitrine::ui
