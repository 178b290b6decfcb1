#include "ui/panels/phase_strip.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/panels/latency_plot.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double columns_height = 28;
// From the bottom up: the large ones stand on the ground.
constexpr std::array order = {Phase::Matrix, Phase::Attention, Phase::Embed, Phase::Draft,
                              Phase::Sample, Phase::Schedule,  Phase::Other};

double caption_height() { return std::ceil(QFontMetricsF(current_theme().fonts.caption).height()); }

}  // namespace

PhaseStrip::PhaseStrip(const LatencyModel* model, const LatencyPlot* plot, QWidget* parent)
    : QWidget(parent), model_(model), plot_(plot) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Phases of each iteration"));
    connect(theme_signal(), &ThemeSignal::changed, this, [this] {
        updateGeometry();
        update();
    });
}

QSize PhaseStrip::sizeHint() const { return {450, static_cast<int>(columns_height + caption_height() + 4)}; }

QString PhaseStrip::name_of(Phase phase) {
    switch (phase) {
        case Phase::Schedule: return tr("schedule");
        case Phase::Draft: return tr("draft");
        case Phase::Embed: return tr("embed");
        case Phase::Matrix: return tr("matrix");
        case Phase::Attention: return tr("attention");
        case Phase::Sample: return tr("sample");
        case Phase::Other: return tr("other");
    }
    return {};
}

// Shades of one colour and of grey: the colours of sequences mean sequences.
QColor PhaseStrip::color_of(Phase phase) {
    const Theme& t = current_theme();
    switch (phase) {
        case Phase::Matrix: return mix(t.surface, t.accent, 0.95);
        case Phase::Attention: return mix(t.surface, t.accent, 0.6);
        case Phase::Embed: return mix(t.surface, t.accent, 0.35);
        case Phase::Draft: return mix(t.surface, t.text, 0.75);
        case Phase::Sample: return mix(t.surface, t.text, 0.55);
        case Phase::Schedule: return mix(t.surface, t.text, 0.35);
        case Phase::Other: return mix(t.surface, t.text, 0.2);
    }
    return t.text;
}

std::array<double, phase_count> PhaseStrip::shares() const {
    std::array<double, phase_count> sums{};
    double all = 0;
    const auto& its = model_->iterations();
    const double from = plot_->left_edge();
    for (std::size_t i = its.size(); i-- > 0 && its[i].end > from;)
        for (std::size_t p = 0; p < phase_count; ++p) {
            sums[p] += its[i].seconds[p];
            all += its[i].seconds[p];
        }
    if (all > 0)
        for (double& s : sums) s /= all;
    return sums;
}

void PhaseStrip::paintEvent(QPaintEvent*) {
    primitives_ = 0;
    const Theme& theme = current_theme();
    QPainter painter(this);
    const QRectF plot = plot_->plot_area();
    const QRectF area(plot.left(), 0, plot.width(), columns_height);
    if (area.width() < 8) return;
    painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), theme.plot_grid);

    // One column a pixel: the longest iteration in it.
    const auto& its = model_->iterations();
    const double from = plot_->left_edge();
    std::vector<const IterationPoint*> columns(static_cast<std::size_t>(std::ceil(area.width())), nullptr);
    std::vector<float> durations;
    for (std::size_t i = its.size(); i-- > 0 && its[i].end > from;) {
        const double right = plot_->x_of(its[i].end, area) - area.left();
        const auto column =
            static_cast<std::size_t>(std::clamp(right - 1, 0.0, static_cast<double>(columns.size()) - 1));
        const IterationPoint*& at = columns[column];
        if (at == nullptr || at->duration() < its[i].duration()) at = &its[i];
        durations.push_back(its[i].duration());
    }
    // Nearly all fit; a long prompt is cut off at the top.
    const double high = durations.empty() ? 0 : 1.25 * nearest_rank(durations, 90);
    double taken = area.right() + 1;
    for (std::size_t i = columns.size(); i-- > 0;) {
        const IterationPoint* it = columns[i];
        if (it == nullptr || high <= 0) continue;
        const double right = std::min(taken, std::floor(area.left()) + static_cast<double>(i) + 1);
        double left = std::max(area.left(), std::floor(plot_->x_of(it->begin, area)));
        left = std::min(left, right - 1);
        const bool apart = right - left >= 4;
        double y = area.bottom();
        for (const Phase phase : order) {
            const double h = it->of(phase) / high * area.height();
            const double top = std::max(area.top(), y - h);
            if (y - top < 0.25) continue;
            painter.fillRect(QRectF(left, top, right - left - (apart ? 1 : 0), y - top), color_of(phase));
            ++primitives_;
            y = top;
        }
        taken = left;
    }

    const std::array<double, phase_count> share = shares();
    const QFontMetricsF metrics(theme.fonts.caption);
    const double base = height() - metrics.descent() - 1;
    double x = area.left();
    for (const Phase phase : order) {
        const double s = share[static_cast<std::size_t>(phase)];
        if (s < 0.005) continue;
        const QString text =
            name_of(phase) + u' ' + format_count(std::llround(100 * s)) + QStringLiteral(" %");
        const double need = 8 + 4 + tabular_width(text, theme.fonts.caption);
        if (x + need > width()) break;
        painter.fillRect(QRectF(x, base - 8, 8, 8), color_of(phase));
        painter.setPen(theme.text_second);
        draw_tabular(painter, QPointF(x + 12, base), text, theme.fonts.caption);
        x += need + 10;
        primitives_ += 2;
    }
}

bool PhaseStrip::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QRectF area = plot_->plot_area();
        const auto& its = model_->iterations();
        const double from = plot_->left_edge();
        for (std::size_t i = its.size(); i-- > 0 && its[i].end > from;) {
            if (help->pos().x() > plot_->x_of(its[i].end, area)) break;
            if (help->pos().x() < plot_->x_of(its[i].begin, area)) continue;
            QStringList lines{
                tr("Iteration %1, %2").arg(format_count(its[i].index), format_duration(its[i].duration()))};
            for (const Phase phase : order)
                if (its[i].of(phase) > 0)
                    lines << name_of(phase) + QStringLiteral(": ") + format_duration(its[i].of(phase));
            lines << tr("%1 rows for %2 sequences")
                         .arg(format_count(its[i].rows), format_count(its[i].sequences));
            QToolTip::showText(help->globalPos(), lines.join(u'\n'), this);
            return true;
        }
        QToolTip::hideText();
        event->ignore();
        return true;
    }
    return QWidget::event(event);
}

}  // namespace vitrine::ui
