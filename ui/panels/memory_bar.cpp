#include "ui/panels/memory_bar.h"

#include <algorithm>

#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include "ui/plot/figure_format.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double least = 2;  // pixels: what is there can be seen
constexpr double between = 1;

}  // namespace

MemoryBar::MemoryBar(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Memory"));
    connect(theme_signal(), &ThemeSignal::changed, this, qOverload<>(&QWidget::update));
}

void MemoryBar::set_parts(const std::vector<MemoryPart>& parts) {
    if (parts == parts_) return;
    parts_ = parts;
    QStringList text;
    for (const MemoryPart& part : parts_) text << part.name + u' ' + format_bytes(part.bytes);
    setAccessibleDescription(text.join(QStringLiteral(", ")));
    update();
}

QRectF MemoryBar::rect_of(std::size_t part) const {
    double all = 0;
    int shown = 0;
    for (const MemoryPart& p : parts_) {
        all += static_cast<double>(p.bytes);
        shown += p.bytes > 0 ? 1 : 0;
    }
    if (part >= parts_.size() || parts_[part].bytes == 0 || all <= 0) return {};
    // Small parts keep their two pixels; the others share the rest.
    const double room = width() - between * (shown - 1) - least * shown;
    double x = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i].bytes == 0) continue;
        const double w = least + std::max(0.0, room) * static_cast<double>(parts_[i].bytes) / all;
        if (i == part) return {x, 0, w, static_cast<double>(height())};
        x += w + between;
    }
    return {};
}

QColor MemoryBar::color_of(const MemoryPart& part) {
    const Theme& theme = current_theme();
    return part.shade <= 0 ? theme.plot_grid : mix(theme.surface, theme.accent, part.shade);
}

void MemoryBar::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath round;
    round.addRoundedRect(QRectF(rect()), 4, 4);
    painter.setClipPath(round);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const QRectF box = rect_of(i);
        if (box.isEmpty()) continue;
        const MemoryPart& part = parts_[i];
        painter.fillRect(box, color_of(part));
        if (part.filled > 0) {
            QRectF used = box;
            used.setWidth(box.width() * std::min(part.filled, 1.0));
            painter.fillRect(used, mix(color_of(part), theme.text, 0.45));
        }
    }
}

bool MemoryBar::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (!rect_of(i).contains(help->pos())) continue;
            QString text = parts_[i].name + u' ' + format_bytes(parts_[i].bytes);
            if (parts_[i].filled >= 0) text += u' ' + tr("(%1 in use)").arg(format_percent(parts_[i].filled));
            QToolTip::showText(help->globalPos(), text, this, rect_of(i).toAlignedRect());
            return true;
        }
        QToolTip::hideText();
        event->ignore();
        return true;
    }
    return QWidget::event(event);
}

}  // namespace vitrine::ui
