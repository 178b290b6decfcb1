#include "ui/chat/context_gauge.h"

#include <algorithm>

#include <QPainter>
#include <QPainterPath>

#include "ui/models/figures.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double bar_width = 120;
constexpr double bar_height = 6;
constexpr double bar_gap = 10;
constexpr double shortest_bar = 40;

}  // namespace

ContextGauge::ContextGauge(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Context"));
    setToolTip(explanation());
    connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
}

void ContextGauge::set_figures(int total, int draft, int context, int system) {
    if (total == total_ && draft == draft_ && context == context_ && system == system_) return;
    system_ = system;
    total_ = total;
    draft_ = draft;
    context_ = context;
    QString parts = text();
    if (total_ >= 0)
        parts = tr("%1: system prompt %2, conversation %3, this message %4.")
                    .arg(parts, count_text(system_), count_text(std::max(0, total_ - system_ - draft_)),
                         count_text(draft_));
    setAccessibleDescription(parts);
    setToolTip(total_ < 0 ? explanation() : parts + u'\n' + explanation());
    update();
}

QString ContextGauge::explanation() {
    return tr(
        "Tokens of this conversation as the model gets it: system prompt, all turns with what the template "
        "puts around them, and the message being written, counted with the model's own tokenizer.");
}

void ContextGauge::clear() { set_figures(-1, 0, 0); }

QString ContextGauge::text() const {
    if (context_ <= 0) return tr("no model");
    if (total_ < 0) return tr("– of %1 tokens").arg(count_text(context_));
    return tr("%1 of %2 tokens").arg(count_text(total_), count_text(context_));
}

QSize ContextGauge::sizeHint() const {
    return {330, static_cast<int>(QFontMetricsF(current_theme().fonts.caption).height()) + 8};
}

void ContextGauge::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    const QFont& font = theme.fonts.caption;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool full = overfull();
    const double base = height() / 2.0 + QFontMetricsF(font).ascent() / 2 - 1;

    // Where there is little room, first the bar goes, then the words.
    QString figures = text();
    const double left_for_bar = width() - tabular_width(figures, font) - bar_gap;
    if (left_for_bar < shortest_bar && context_ > 0 && tabular_width(figures, font) > width())
        figures =
            tr("%1 / %2").arg(total_ < 0 ? QStringLiteral("–") : count_text(total_), count_text(context_));
    double x = 0;
    if (left_for_bar >= shortest_bar) {
        const QRectF bar(0, (height() - bar_height) / 2.0, std::min(bar_width, left_for_bar), bar_height);
        paint_bar(painter, bar);
        x = bar.right() + bar_gap;
    }
    painter.setPen(full ? theme.bad : theme.text_second);
    draw_tabular(painter, QPointF(x, base), figures, font);
    x += tabular_width(figures, font) + 12;
    const QString mine = tr("%1 in this message").arg(count_text(draft_));
    if (draft_ > 0 && x + tabular_width(mine, font) <= width())
        draw_tabular(painter, QPointF(x, base), mine, font);
}

void ContextGauge::paint_bar(QPainter& painter, const QRectF& bar) const {
    const Theme& theme = current_theme();
    QPainterPath round;
    round.addRoundedRect(bar, 3, 3);
    painter.fillPath(round, theme.plot_grid);
    if (context_ <= 0 || total_ <= 0) return;
    const bool full = overfull();
    const double share = std::min(1.0, static_cast<double>(total_) / context_);
    const double draft = std::min(share, static_cast<double>(draft_) / context_);
    painter.save();
    painter.setClipPath(round);
    // At least two pixels, so that "something" never looks like "nothing".
    const double filled = std::max(2.0, share * bar.width());
    painter.fillRect(QRectF(bar.left(), bar.top(), filled, bar.height()), full ? theme.bad : theme.accent);
    if (system_ > 0 && !full) {
        const double width = std::min(std::max(2.0, bar.width() * system_ / context_), filled);
        painter.fillRect(QRectF(bar.left(), bar.top(), width, bar.height()), theme.text_second);
    }
    if (draft > 0 && !full) {
        const double width = std::min(std::max(2.0, draft * bar.width()), filled);
        painter.fillRect(QRectF(bar.left() + filled - width, bar.top(), width, bar.height()),
                         mix(theme.surface, theme.accent, 0.5));
    }
    painter.restore();
}

}  // namespace vitrine::ui
