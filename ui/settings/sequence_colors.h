// Which sequence has which colour, for the whole window: the square before a chat's title, its blocks, its
// points in the timeline. One object is shared by everything that shows sequences.
#pragma once

#include <QColor>
#include <QHash>
#include <QObject>

#include "ui/settings/theme.h"

class QPainter;
class QRectF;

namespace vitrine::ui {

class SequenceColors : public QObject {
    Q_OBJECT

  public:
    using QObject::QObject;

    // Index of the session's colour, handed out on first use: the lowest that no other session has. It stays
    // until release(). Sessions are keys of any value; a request outside every session can use its own
    // negative key.
    int index_of(qint64 session);
    // −1 where the session has none yet.
    int peek(qint64 session) const { return index_.value(session, -1); }
    SequenceColor color_of(qint64 session) { return sequence_color(index_of(session), current_theme()); }
    // The session's colour may be given to another one. For chats that were deleted or hold nothing any more.
    void release(qint64 session);

  signals:
    void assigned(qint64 session, int index);
    void released(qint64 session);

  private:
    QHash<qint64, int> index_;
};

// Fills `rect` with the sequence's colour and pattern, outlined where the colour needs it.
void paint_sequence(QPainter& painter, const QRectF& rect, const SequenceColor& color, double radius);
// Only the pattern (nothing for Solid).
void paint_pattern(QPainter& painter, const QRectF& rect, const SequenceColor& color);

}  // namespace vitrine::ui
