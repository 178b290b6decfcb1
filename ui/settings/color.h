// Arithmetic on colours: contrast by WCAG 2.1 and mixing.
#pragma once

#include <QColor>

namespace vitrine::ui {

// Relative luminance of an sRGB colour, 0 (black) to 1 (white); alpha is ignored. WCAG 2.1, "relative
// luminance".
double luminance(const QColor& color);

// (lighter + 0.05) / (darker + 0.05), 1 to 21. WCAG 2.1 asks for 4.5 for text and 3 for graphics.
double contrast(const QColor& a, const QColor& b);

// `share` of `over` on `under`, both opaque. share is clamped to 0…1.
QColor mix(const QColor& under, const QColor& over, double share);

// `color` moved towards black or white, whichever is away from `background`, by the least amount that reaches
// `ratio`; unchanged where it has it already. Hue stays recognisable because the move is a mix.
QColor with_contrast(const QColor& color, const QColor& background, double ratio);

// `color` for text on `background`: moved to 4.5:1 where it falls short (the light accent on a selected row
// does).
inline QColor ink(const QColor& color, const QColor& background) {
    return with_contrast(color, background, 4.5);
}

// Black or white, whichever reads better on `background`.
QColor ink_on(const QColor& background);

}  // namespace vitrine::ui
