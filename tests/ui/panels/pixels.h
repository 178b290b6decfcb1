// Looking at what a widget painted, at any screen scale.
#pragma once

#include <QImage>
#include <QTest>
#include <QWidget>

namespace vitrine::test {

// The widget as it is painted now, in its own scale.
inline QImage picture(QWidget& widget) { return widget.grab().toImage(); }

// A part of it, on the ground that its parents paint.
inline QImage part(QWidget& whole, QWidget& child) {
    return whole.grab(QRect(child.mapTo(&whole, QPoint(0, 0)), child.size())).toImage();
}

// Colour at a place given in the widget's pixels.
inline QColor at(const QImage& image, const QPointF& place) {
    const double scale = image.devicePixelRatio();
    return image.pixelColor(static_cast<int>(place.x() * scale), static_cast<int>(place.y() * scale));
}

// How many pixels of a part have this colour.
inline int count_of(const QImage& image, const QRectF& part, const QColor& color) {
    const double scale = image.devicePixelRatio();
    int n = 0;
    for (int y = static_cast<int>(part.top() * scale); y < static_cast<int>(part.bottom() * scale); ++y) {
        for (int x = static_cast<int>(part.left() * scale); x < static_cast<int>(part.right() * scale); ++x) {
            if (image.rect().contains(x, y) && image.pixelColor(x, y) == color) ++n;
        }
    }
    return n;
}

}  // namespace vitrine::test
