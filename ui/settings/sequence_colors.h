// Which sequence has which colour, for the whole window: the square before a chat's title, its blocks, its
// points in the timeline. One object is shared by everything that shows sequences.
#pragma once

#include <QColor>
#include <QHash>
#include <QObject>
#include <QSet>

#include "ui/settings/theme.h"

class QPainter;
class QRectF;

namespace vitrine::ui {

class SequenceColors : public QObject {
    Q_OBJECT

  public:
    using QObject::QObject;

    // Index of the session's colour, handed out on first use and kept: the lowest that no other session has.
    // When all eight hues are taken, the hue of a session that is not live any more is taken over (the one
    // that has been idle longest); only where all are live does a pattern begin. Sessions are keys of any
    // value; a request outside every session can use a negative key of its own.
    int index_of(qint64 session);
    // −1 where the session has none (yet, or any more).
    int peek(qint64 session) const;
    SequenceColor color_of(qint64 session) { return sequence_color(index_of(session), current_theme()); }
    // Which sessions hold something in the engine now. The others keep their colour until it is needed.
    void set_live(const QSet<qint64>& sessions);
    // The session's colour may be given to another one at once. For chats that were deleted.
    void release(qint64 session);

  signals:
    void assigned(qint64 session, int index);
    void released(qint64 session);

  private:
    struct Entry {
        int index = 0;
        quint64 idle_since = 0;  // 0: live, else when it stopped being so (counts calls)
    };
    QHash<qint64, Entry> entries_;
    quint64 clock_ = 0;
};

// Fills `rect` with the sequence's colour and pattern, outlined where the colour needs it.
void paint_sequence(QPainter& painter, const QRectF& rect, const SequenceColor& color, double radius);
// Only the pattern (nothing for Solid).
void paint_pattern(QPainter& painter, const QRectF& rect, const SequenceColor& color);

}  // namespace vitrine::ui
