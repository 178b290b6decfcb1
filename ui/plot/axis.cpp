#include "ui/plot/axis.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace vitrine::ui {
namespace {

constexpr int most_intervals = 100;  // bounds the work whatever the caller asks

void fill_ticks(Axis& axis) {
    // From the multiple, not by adding up: sums of 0.1 drift.
    const double first = std::ceil(axis.low / axis.step - 1e-9);
    const double last = std::floor(axis.high / axis.step + 1e-9);
    for (double i = first; i <= last && axis.ticks.size() <= most_intervals; ++i)
        axis.ticks.push_back(i * axis.step);
}

}  // namespace

double nice_step(double step) {
    if (!std::isfinite(step) || step <= 0) return 1;
    const double power = std::pow(10.0, std::floor(std::log10(step)));
    if (!(power > 0) || !std::isfinite(power)) return 1;
    const double mantissa = step / power;
    constexpr double slack = 1e-9;  // 0.3 / 3 must not become 0.2
    for (const double nice : {1.0, 2.0, 5.0}) {
        if (mantissa <= nice + slack) return nice * power;
    }
    return 10 * power;
}

Axis axis_from_zero(double high, int max_intervals) {
    Axis axis;
    if (!std::isfinite(high) || high <= 0 || high > 1e300) high = 1;
    high = std::max(high, 1e-12);
    const int n = std::clamp(max_intervals, 1, most_intervals);
    axis.step = nice_step(high / n);
    axis.high = std::ceil(high / axis.step - 1e-9) * axis.step;
    fill_ticks(axis);
    return axis;
}

Axis axis_over(double low, double high, int max_intervals) {
    Axis axis;
    if (!std::isfinite(low) || !std::isfinite(high) || !(high > low) || high - low > 1e300) {
        low = 0;
        high = 1;
    }
    axis.low = low;
    axis.high = high;
    axis.step = nice_step((high - low) / std::clamp(max_intervals, 1, most_intervals));
    fill_ticks(axis);
    return axis;
}

QString Axis::label(double tick) const {
    const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 12);
    std::array<char, 352> buffer{};
    const double value = std::fabs(tick) < step / 2 ? 0 : tick;  // no "−0"
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::fixed, decimals);
    QString text = QString::fromLatin1(buffer.data(), end.ptr - buffer.data());
    if (text.startsWith('-')) text[0] = QChar(u'\u2212');
    return text;
}

}  // namespace vitrine::ui
