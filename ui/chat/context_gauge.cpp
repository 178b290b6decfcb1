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

}  // namespace

ContextGauge::ContextGauge(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Context"));
    setToolTip(tr(
        "Tokens of this conversation as the model gets it: system prompt, all turns, and the message being "
        "written, counted with the model's own template and tokenizer."));
    connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
}

void ContextGauge::set_figures(int total, int draft, int context) {
    if (total == total_ && draft == draft_ && context == context_) return;
    total_ = total;
    draft_ = draft;
    context_ = context;
    setAccessibleDescription(text());
    update();
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
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF bar(0, (height() - bar_height) / 2.0, std::min(bar_width, width() / 2.0), bar_height);
    QPainterPath round;
    round.addRoundedRect(bar, 3, 3);
    painter.fillPath(round, theme.plot_grid);
    const bool full = overfull();
    if (context_ > 0 && total_ > 0) {
        const double share = std::min(1.0, static_cast<double>(total_) / context_);
        const double draft = std::min(share, static_cast<double>(draft_) / context_);
        painter.setClipPath(round);
        // At least two pixels, so that "something" never looks like "nothing".
        const double filled = std::max(2.0, share * bar.width());
        painter.fillRect(QRectF(bar.left(), bar.top(), filled, bar.height()),
                         full ? theme.bad : theme.accent);
        if (draft > 0 && !full) {
            const double width = std::max(2.0, draft * bar.width());
            painter.fillRect(QRectF(bar.left() + filled - std::min(width, filled), bar.top(),
                                    std::min(width, filled), bar.height()),
                             mix(theme.surface, theme.accent, 0.5));
        }
        painter.setClipping(false);
    }
    const QFont& font = theme.fonts.caption;
    const double base = height() / 2.0 + QFontMetricsF(font).ascent() / 2 - 1;
    double x = bar.right() + 10;
    painter.setPen(full ? theme.bad : theme.text_second);
    draw_tabular(painter, QPointF(x, base), text(), font);
    x += tabular_width(text(), font) + 12;
    const QString mine = tr("%1 in this message").arg(count_text(draft_));
    if (draft_ > 0 && x + tabular_width(mine, font) <= width())
        draw_tabular(painter, QPointF(x, base), mine, font);
}

}  // namespace vitrine::ui
