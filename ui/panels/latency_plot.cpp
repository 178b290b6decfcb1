#include "ui/panels/latency_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/panels/card.h"
#include "ui/plot/figure_format.h"
#include "ui/plot/point_series.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double gutter = 44;  // for the numbers of the axis
constexpr double dot = 3;
constexpr int with_histogram = 340;  // from this width on
constexpr double histogram_width = 40;
constexpr double histogram_gap = 8;
constexpr double reach = 7;  // pixels from the pointer to a point

}  // namespace

LatencyPlot::LatencyPlot(const LatencyModel* model, SequenceColors* colors, KeyOfRequest key, QWidget* parent)
    : QWidget(parent), model_(model), colors_(colors), key_(std::move(key)), axis_(axis_from_zero(10)) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("Time of each token"));
    connect(theme_signal(), &ThemeSignal::changed, this, qOverload<>(&QWidget::update));
}

QRectF LatencyPlot::plot_area() const {
    // A label's height above for the marks, half a label's below for the lowest number.
    const double text = QFontMetricsF(current_theme().fonts.caption).height();
    const double right = width() >= with_histogram ? histogram_width + histogram_gap : 0;
    return QRectF(rect()).adjusted(gutter, std::ceil(text), -2 - right, -std::ceil(text / 2));
}

QRectF LatencyPlot::histogram_area() const {
    if (width() < with_histogram) return {};
    const QRectF area = plot_area();
    return {area.right() + histogram_gap, area.top(), histogram_width, area.height()};
}

double LatencyPlot::left_edge() const { return std::max(0.0, model_->now() - window_); }

double LatencyPlot::x_of(double at, const QRectF& area) const {
    return area.left() + (at - left_edge()) / window_ * area.width();
}

QPointF LatencyPlot::place_of(const LatencyPoint& point) const {
    const QRectF area = plot_area();
    const double ms = std::min(point.interval * 1e3, axis_.high);
    return {x_of(point.at, area), axis_.map(ms, area.bottom(), area.top())};
}

template <class T, class End>
std::size_t LatencyPlot::first_visible(const LastOf<T>& items, End end) const {
    // In order of time but for ties and late records: a binary search is exact enough, one second early is
    // taken.
    std::size_t low = 0;
    std::size_t high = items.size();
    const double from = left_edge() - 1;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (end(items[middle]) < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void LatencyPlot::choose_scale(double typical) {
    // About 200 tokens fit; steps, so that the scale rests while the speed wavers.
    constexpr std::array windows = {1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0};
    if (std::isfinite(typical)) {
        const double wanted = 200 * typical;
        // Only well outside of the present step is it left.
        if (wanted > window_ * 1.25 || wanted < window_ * 0.3) {
            window_ = windows.back();
            for (const double w : windows) {
                if (w < wanted) continue;
                window_ = w;
                break;
            }
        }
    }
    // The axis holds nearly all points; the few above are drawn as arrows at its end.
    std::vector<float> visible;
    const auto& points = model_->points();
    for (std::size_t i = first_visible(points, [](const LatencyPoint& p) { return p.at; }); i < points.size();
         ++i) {
        visible.push_back(points[i].interval);
    }
    if (visible.empty()) return;
    const double most = *std::max_element(visible.begin(), visible.end());
    const double high = 1e3 * std::min(most, 1.6 * nearest_rank(visible, 90)) * 1.05;
    const Axis wanted = axis_from_zero(high, 3);
    if (wanted.high > axis_.high || wanted.high < axis_.high * 0.6) axis_ = wanted;
}

void LatencyPlot::model_changed(double typical) {
    choose_scale(typical);
    if (hovered_ >= 0) hovered_ = -1;
    chosen_ = -1;  // it has moved on
    update();
}

void LatencyPlot::paintEvent(QPaintEvent*) {
    primitives_ = 0;
    points_drawn_ = 0;
    const Theme& theme = current_theme();
    const QRectF area = plot_area();
    if (area.width() < 8 || area.height() < 8) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);

    const QFontMetricsF metrics(theme.fonts.caption);
    for (const double tick : axis_.ticks) {
        const double y = std::round(axis_.map(tick, area.bottom(), area.top()));
        painter.fillRect(QRectF(area.left(), y, area.width(), 1), theme.plot_grid);
        const QString label = axis_.label(tick);
        painter.setPen(theme.text_second);
        draw_tabular(
            painter,
            QPointF(area.left() - 8 - tabular_width(label, theme.fonts.caption), y + metrics.capHeight() / 2),
            label, theme.fonts.caption);
        primitives_ += 2;
    }

    // Colours of the sequences in view; −1 (index 0) is a request of nobody known.
    std::vector<QColor> inks{sequence_color(-1, theme).outline};
    const auto group_of = [&](std::int64_t request) {
        const SequenceKey key = key_(request);
        const int index = key == no_sequence ? -1 : colors_->peek(key);
        while (static_cast<int>(inks.size()) < index + 2) {
            inks.push_back(sequence_color(static_cast<int>(inks.size()) - 1, theme).outline);
        }
        return index + 1;
    };

    painter.save();
    painter.setClipRect(area.adjusted(-2, -2, 2, 1));
    // Bars of one pixel column are one bar, its height that of the longest chunk.
    const auto& bars = model_->bars();
    double last_right = -1;
    double run_left = 0;  // of chunks that follow one another: one label for all
    std::vector<std::pair<double, double>> runs;
    for (std::size_t i = first_visible(bars, [](const PrefillBar& b) { return b.end; }); i < bars.size();
         ++i) {
        const double left = std::max(area.left(), x_of(bars[i].begin, area));
        const double right = std::min(area.right(), x_of(bars[i].end, area));
        if (right < area.left() || (right - left < 1 && right - last_right < 1)) continue;
        if (left - last_right > 2) run_left = left;
        if (!runs.empty() && runs.back().first == run_left) {
            runs.back().second = right;
        } else {
            runs.emplace_back(run_left, right);
        }
        last_right = right;
        const double ms = std::min((bars[i].end - bars[i].begin) * 1e3, axis_.high);
        const double top = axis_.map(ms, area.bottom(), area.top());
        const QColor ink = inks[static_cast<std::size_t>(group_of(bars[i].request))];
        painter.fillRect(QRectF(left, top, std::max(1.0, right - left - 0.5), area.bottom() - top),
                         mix(theme.surface, ink, theme.is_dark ? 0.38 : 0.28));
        ++primitives_;
    }

    const auto& points = model_->points();
    PointSeries series(area.adjusted(-1, -1, 1, 1), 1.5);
    PointSeries arrows(QRectF(area.left() - 1, 0, area.width() + 2, 8), 6);
    std::vector<std::pair<double, int>> above;
    for (std::size_t i = first_visible(points, [](const LatencyPoint& p) { return p.at; }); i < points.size();
         ++i) {
        const double x = x_of(points[i].at, area);
        const double ms = points[i].interval * 1e3;
        const int group = group_of(points[i].request);
        if (ms > axis_.high) {
            if (arrows.add(x, 1, group)) above.emplace_back(x, group);
        } else {
            series.add(x, axis_.map(ms, area.bottom(), area.top()), group);
        }
    }
    points_drawn_ = series.paint(painter, dot, inks);
    painter.restore();
    painter.setPen(Qt::NoPen);
    for (const auto& [x, group] : above) {
        const std::array<QPointF, 3> arrow = {QPointF(x, area.top() - 3), QPointF(x - 3, area.top() + 2),
                                              QPointF(x + 3, area.top() + 2)};
        painter.setBrush(inks[static_cast<std::size_t>(group)]);
        painter.drawPolygon(arrow.data(), 3);
    }
    points_drawn_ += static_cast<int>(above.size());
    primitives_ += points_drawn_;
    const QString prefill = tr("prefill");
    for (const auto& [left, right] : runs) {
        if (right - left < metrics.horizontalAdvance(prefill) + 2) continue;
        painter.setPen(theme.text_second);
        painter.setFont(theme.fonts.caption);
        painter.drawText(QPointF((left + right - metrics.horizontalAdvance(prefill)) / 2, area.bottom() - 4),
                         prefill);
        ++primitives_;
    }
    paint_marks(painter, area);
    paint_histogram(painter);

    for (const std::ptrdiff_t marked : {hovered_, chosen_}) {
        if (marked < 0 || static_cast<std::size_t>(marked) >= points.size()) continue;
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(marked == chosen_ ? theme.accent : theme.text, 1.5));
        painter.drawEllipse(place_of(points[static_cast<std::size_t>(marked)]), 4.5, 4.5);
        ++primitives_;
    }
}

void LatencyPlot::paint_histogram(QPainter& painter) {
    const QRectF area = histogram_area();
    if (area.isEmpty()) return;
    const Theme& theme = current_theme();
    const int bins = std::max(1, static_cast<int>(area.height() / 3));
    const std::vector<int> counts = model_->histogram(bins, axis_.high / 1e3);
    const int most = *std::max_element(counts.begin(), counts.end());
    if (most == 0) return;
    const double step = area.height() / bins;
    painter.fillRect(QRectF(area.left(), area.top(), 1, area.height()), theme.plot_grid);
    const QColor ink = mix(theme.surface, theme.text_second, 0.7);
    for (int i = 0; i < bins; ++i) {
        const int n = counts[static_cast<std::size_t>(i)];
        if (n == 0) continue;
        // One of a thousand is still seen.
        const double w = std::max(1.0, (area.width() - 2) * n / most);
        painter.fillRect(QRectF(area.left() + 1, area.bottom() - (i + 1) * step, w, std::max(1.0, step - 1)),
                         ink);
        ++primitives_;
    }
}

void LatencyPlot::paint_marks(QPainter& painter, const QRectF& area) {
    const Theme& theme = current_theme();
    const QFontMetricsF metrics(theme.fonts.caption);
    const auto& marks = model_->marks();
    double free_from = area.left();  // labels do not overlap: a later one gives way
    double last_line = -10;
    for (std::size_t i = first_visible(marks, [](const LatencyMark& m) { return m.at; }); i < marks.size();
         ++i) {
        const LatencyMark& mark = marks[i];
        const double x = std::floor(x_of(mark.at, area)) + 0.5;  // a crisp line
        if (x < area.left() || x > area.right() + 1 || x - last_line < 2) continue;
        last_line = x;
        QString label;
        QColor ink = theme.bad;
        switch (mark.kind) {
            case MarkKind::FirstToken: {
                label = tr("TTFT %1").arg(format_duration(mark.seconds));
                const SequenceKey key = key_(mark.request);
                ink = sequence_color(key == no_sequence ? -1 : colors_->peek(key), theme).outline;
                break;
            }
            case MarkKind::Preempted:
                label = tr("preempted");
                ink = theme.caution;
                break;
            case MarkKind::Evicted:
                label = tr("%1 evicted").arg(format_count(mark.count));
                ink = theme.caution;
                break;
            case MarkKind::Format:
                label = QString::fromStdString(mark.label);
                ink = theme.accent;
                break;
            case MarkKind::Cancelled: label = tr("cancelled"); break;
            case MarkKind::Failed: label = tr("failed"); break;
        }
        const double width = tabular_width(label, theme.fonts.caption);
        double left = x + 4;
        if (left + width > area.right() + 2) left = x - 4 - width;
        const bool labelled = left >= free_from;
        painter.setPen(QPen(ink, 1, Qt::DashLine, Qt::FlatCap));
        const double top = labelled ? area.top() - metrics.height() + 3 : area.top() + 2;
        painter.drawLine(QPointF(x, top), QPointF(x, area.bottom()));
        ++primitives_;
        if (!labelled) continue;
        painter.setPen(theme.text_second);
        draw_tabular(painter, QPointF(left, area.top() - metrics.descent() + 1), label, theme.fonts.caption);
        free_from = left + width + 6;
        ++primitives_;
    }
}

std::ptrdiff_t LatencyPlot::point_near(const QPointF& place) const {
    const auto& points = model_->points();
    std::ptrdiff_t best = -1;
    double distance = reach * reach;
    for (std::size_t i = first_visible(points, [](const LatencyPoint& p) { return p.at; }); i < points.size();
         ++i) {
        const QPointF d = place_of(points[i]) - place;
        const double squared = d.x() * d.x() + d.y() * d.y();
        if (squared > distance) continue;
        distance = squared;
        best = static_cast<std::ptrdiff_t>(i);
    }
    return best;
}

void LatencyPlot::mouseMoveEvent(QMouseEvent* event) {
    const std::ptrdiff_t now = point_near(event->position());
    if (now == hovered_) return;
    hovered_ = now;
    update();
}

void LatencyPlot::leaveEvent(QEvent*) {
    if (hovered_ < 0) return;
    hovered_ = -1;
    update();
}

void LatencyPlot::mousePressEvent(QMouseEvent* event) {
    const std::ptrdiff_t at = point_near(event->position());
    if (event->button() != Qt::LeftButton || at < 0) return;
    const LatencyPoint& point = model_->points()[static_cast<std::size_t>(at)];
    emit point_clicked(point.request, point.index);
}

// From token to token with the arrow keys; Enter goes to it.
void LatencyPlot::keyPressEvent(QKeyEvent* event) {
    const auto count = static_cast<std::ptrdiff_t>(model_->points().size());
    if (count == 0) return QWidget::keyPressEvent(event);
    std::ptrdiff_t to = chosen_ < 0 ? count - 1 : chosen_;
    switch (event->key()) {
        case Qt::Key_Left: to -= chosen_ < 0 ? 0 : 1; break;
        case Qt::Key_Right: to += chosen_ < 0 ? 0 : 1; break;
        case Qt::Key_Home:
            to = static_cast<std::ptrdiff_t>(
                first_visible(model_->points(), [](const LatencyPoint& p) { return p.at; }));
            break;
        case Qt::Key_End: to = count - 1; break;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (chosen_ >= 0 && chosen_ < count) {
                const LatencyPoint& point = model_->points()[static_cast<std::size_t>(chosen_)];
                emit point_clicked(point.request, point.index);
            }
            return;
        default: return QWidget::keyPressEvent(event);
    }
    chosen_ = std::clamp<std::ptrdiff_t>(to, 0, count - 1);
    if (describe_) setAccessibleDescription(describe_(model_->points()[static_cast<std::size_t>(chosen_)]));
    update();
}

bool LatencyPlot::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && describe_) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const std::ptrdiff_t at = point_near(help->pos());
        if (at < 0) {
            QToolTip::hideText();
            event->ignore();
        } else {
            QToolTip::showText(help->globalPos(),
                               plain_tooltip(describe_(model_->points()[static_cast<std::size_t>(at)])),
                               this);
        }
        return true;
    }
    return QWidget::event(event);
}

}  // namespace vitrine::ui
