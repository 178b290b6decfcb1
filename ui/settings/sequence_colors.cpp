#include "ui/settings/sequence_colors.h"

#include <QPainter>
#include <QSet>

namespace vitrine::ui {

int SequenceColors::index_of(qint64 session) {
    if (const auto it = index_.constFind(session); it != index_.constEnd()) return *it;
    QSet<int> taken;
    taken.reserve(index_.size());
    for (const int index : std::as_const(index_)) taken.insert(index);
    int index = 0;
    while (taken.contains(index)) ++index;
    index_.insert(session, index);
    emit assigned(session, index);
    return index;
}

void SequenceColors::release(qint64 session) {
    if (index_.remove(session) > 0) emit released(session);
}

void paint_pattern(QPainter& painter, const QRectF& rect, const SequenceColor& color) {
    if (color.pattern == SequencePattern::Solid || rect.isEmpty()) return;
    QColor ink = color.text;
    ink.setAlphaF(0.55F);
    painter.save();
    painter.setClipRect(rect, Qt::IntersectClip);
    const double step = 4.0;
    const auto slanted = [&](bool rising) {
        for (double x = -rect.height(); x < rect.width(); x += step) {
            const double from = rect.left() + x;
            painter.drawLine(rising ? QLineF(from, rect.bottom(), from + rect.height(), rect.top())
                                    : QLineF(from, rect.top(), from + rect.height(), rect.bottom()));
        }
    };
    if (color.pattern == SequencePattern::Dots) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(ink);
        for (double y = rect.top() + step / 2; y < rect.bottom(); y += step) {
            for (double x = rect.left() + step / 2; x < rect.right(); x += step) {
                painter.drawRect(QRectF(x - 0.75, y - 0.75, 1.5, 1.5));
            }
        }
    } else {
        painter.setPen(QPen(ink, 1.0));
        if (color.pattern != SequencePattern::Falling) slanted(true);
        if (color.pattern != SequencePattern::Rising) slanted(false);
    }
    painter.restore();
}

void paint_sequence(QPainter& painter, const QRectF& rect, const SequenceColor& color, double radius) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color.fill);
    painter.drawRoundedRect(rect, radius, radius);
    paint_pattern(painter, rect.adjusted(radius / 2, radius / 2, -radius / 2, -radius / 2), color);
    if (color.outlined()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(color.outline, 1.0));
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    }
    painter.restore();
}

}  // namespace vitrine::ui
