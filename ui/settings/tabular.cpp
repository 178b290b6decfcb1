#include "ui/settings/tabular.h"

#include <algorithm>

#include <QFontMetricsF>
#include <QPainter>

namespace vitrine::ui {
namespace {

double digit_cell(const QFontMetricsF& metrics) {
    double cell = 0;
    for (char16_t c = u'0'; c <= u'9'; ++c) cell = std::max(cell, metrics.horizontalAdvance(QChar(c)));
    return cell;
}

bool is_digit(QChar c) { return c >= '0' && c <= '9'; }

// Calls place(piece, x, width): digits one by one, everything between them in one piece.
template <class Place>
double lay_out(const QString& text, const QFontMetricsF& metrics, Place place) {
    const double cell = digit_cell(metrics);
    double x = 0;
    for (qsizetype i = 0; i < text.size();) {
        if (is_digit(text[i])) {
            const QString digit = text.mid(i, 1);
            place(digit, x + (cell - metrics.horizontalAdvance(digit)) / 2);
            x += cell;
            ++i;
            continue;
        }
        qsizetype end = i;
        while (end < text.size() && !is_digit(text[end])) ++end;
        const QString piece = text.mid(i, end - i);
        place(piece, x);
        x += metrics.horizontalAdvance(piece);
        i = end;
    }
    return x;
}

}  // namespace

double tabular_width(const QString& text, const QFont& font) {
    return lay_out(text, QFontMetricsF(font), [](const QString&, double) {});
}

void draw_tabular(QPainter& painter, const QPointF& origin, const QString& text, const QFont& font) {
    painter.setFont(font);
    lay_out(text, QFontMetricsF(font, painter.device()), [&](const QString& piece, double x) {
        painter.drawText(QPointF(origin.x() + x, origin.y()), piece);
    });
}

}  // namespace vitrine::ui
