#include "ui/settings/sequence_colors.h"

#include <QPainter>
#include <QSet>

namespace vitrine::ui {

int SequenceColors::peek(qint64 session) const {
    const auto it = entries_.constFind(session);
    return it == entries_.constEnd() ? -1 : it->index;
}

int SequenceColors::index_of(qint64 session) {
    if (const int known = peek(session); known >= 0) return known;
    QSet<int> taken;
    taken.reserve(entries_.size());
    for (const Entry& entry : std::as_const(entries_)) taken.insert(entry.index);
    int index = 0;
    while (taken.contains(index)) ++index;
    if (index >= sequence_hues) {
        auto oldest = entries_.end();
        for (auto it = entries_.begin(); it != entries_.end(); ++it) {
            if (it->idle_since == 0 || it->index >= sequence_hues) continue;
            if (oldest == entries_.end() || it->idle_since < oldest->idle_since) oldest = it;
        }
        if (oldest != entries_.end()) {
            index = oldest->index;
            const qint64 previous = oldest.key();
            entries_.erase(oldest);
            emit released(previous);
        }
    }
    entries_.insert(session, {index, 0});
    emit assigned(session, index);
    return index;
}

void SequenceColors::set_live(const QSet<qint64>& sessions) {
    ++clock_;
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if (sessions.contains(it.key())) {
            it->idle_since = 0;
        } else if (it->idle_since == 0) {
            it->idle_since = clock_;
        }
    }
}

void SequenceColors::release(qint64 session) {
    if (entries_.remove(session) > 0) emit released(session);
}

void paint_pattern(QPainter& painter, const QRectF& rect, const SequenceColor& color) {
    if (color.pattern == SequencePattern::Solid || rect.isEmpty()) return;
    QColor ink = color.text;
    ink.setAlphaF(0.55F);
    painter.save();
    painter.setClipRect(rect, Qt::IntersectClip);
    const double step = 4.0;
    const auto slanted = [&](bool rising) {
        const int lines = static_cast<int>((rect.width() + rect.height()) / step) + 1;
        for (int i = 0; i < lines; ++i) {
            const double from = rect.left() - rect.height() + i * step;
            painter.drawLine(rising ? QLineF(from, rect.bottom(), from + rect.height(), rect.top())
                                    : QLineF(from, rect.top(), from + rect.height(), rect.bottom()));
        }
    };
    if (color.pattern == SequencePattern::Dots) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(ink);
        const int columns = static_cast<int>(rect.width() / step) + 1;
        const int rows = static_cast<int>(rect.height() / step) + 1;
        for (int i = 0; i < rows * columns; ++i) {
            const int row = i / columns;
            const QPointF dot = rect.topLeft() + QPointF(i % columns + 0.5, row + 0.5) * step;
            painter.drawRect(QRectF(dot.x() - 0.75, dot.y() - 0.75, 1.5, 1.5));
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
