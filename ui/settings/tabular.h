// Text whose digits all have the same width, so that a figure that changes does not jump. Qt 6.4 cannot ask a
// font for its tabular digits, so each digit is centred in a cell of the widest one.
#pragma once

#include <QFont>
#include <QPointF>
#include <QString>

class QPainter;

namespace vitrine::ui {

double tabular_width(const QString& text, const QFont& font);

// Left end of the base line at `origin`, with the painter's pen. Sets the painter's font to `font`.
void draw_tabular(QPainter& painter, const QPointF& origin, const QString& text, const QFont& font);

}  // namespace vitrine::ui
