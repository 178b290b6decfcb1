#include "ui/models/figures.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace vitrine::ui {

QString figure_text(double value) {
    if (!std::isfinite(value)) return QStringLiteral("–");
    const double size = std::fabs(value);
    if (size >= 99.95) return QString::number(std::llround(value));
    int digits = 2;
    if (size >= 9.995) {
        digits = 1;
    } else if (size > 0 && size < 0.9995) {
        digits = std::min(6, 2 - static_cast<int>(std::floor(std::log10(size))));
    }
    return QString::number(value, 'f', digits);
}

QString count_text(qint64 count) {
    QString digits = QString::number(count < 0 ? -count : count);
    for (qsizetype at = digits.size() - 3; at > 0; at -= 3) digits.insert(at, QChar(0x202F));
    return count < 0 ? QStringLiteral("−") + digits : digits;
}

QString bytes_text(std::uint64_t bytes) {
    static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1000 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    const QString number = unit == 0 ? QString::number(bytes) : figure_text(value);
    return number + QChar(0x00A0) + QLatin1String(units[unit]);
}

QString duration_text(double seconds) {
    if (seconds < 0.9995) return figure_text(seconds * 1000) + QStringLiteral("\u00A0ms");
    return figure_text(seconds) + QStringLiteral("\u00A0s");
}

}  // namespace vitrine::ui
