#include "ui/settings/color.h"

#include <algorithm>
#include <cmath>

namespace vitrine::ui {

double luminance(const QColor& color) {
    const auto linear = [](int channel) {
        const double c = channel / 255.0;
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.red()) + 0.7152 * linear(color.green()) + 0.0722 * linear(color.blue());
}

double contrast(const QColor& a, const QColor& b) {
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QColor mix(const QColor& under, const QColor& over, double share) {
    const double s = std::clamp(share, 0.0, 1.0);
    const auto channel = [s](int u, int o) { return static_cast<int>(std::lround(u + (o - u) * s)); };
    return {channel(under.red(), over.red()), channel(under.green(), over.green()),
            channel(under.blue(), over.blue())};
}

QColor with_contrast(const QColor& color, const QColor& background, double ratio) {
    if (contrast(color, background) >= ratio) return color;
    const QColor target = ink_on(background);
    // 64 steps: fine enough that the least sufficient step is not visibly more than needed.
    constexpr int steps = 64;
    for (int i = 1; i < steps; ++i) {
        const QColor moved = mix(color, target, static_cast<double>(i) / steps);
        if (contrast(moved, background) >= ratio) return moved;
    }
    return target;
}

QColor ink_on(const QColor& background) {
    const QColor black(0, 0, 0);
    const QColor white(255, 255, 255);
    return contrast(black, background) >= contrast(white, background) ? black : white;
}

}  // namespace vitrine::ui
