// A linear axis with readable ticks.
#pragma once

#include <vector>

#include <QString>

namespace vitrine::ui {

struct Axis {
    double low = 0;
    double high = 1;
    std::vector<double> ticks;  // multiples of step inside [low, high]
    double step = 1;

    // Value to pixel: low at `from`, high at `to`; not clamped.
    double map(double value, double from, double to) const {
        return from + (value - low) / (high - low) * (to - from);
    }
    double unmap(double pixel, double from, double to) const {
        return low + (pixel - from) / (to - from) * (high - low);
    }
    QString label(double tick) const;  // as many decimals as the step needs
};

// 1, 2 or 5 times a power of ten, at least `step`. Not a positive finite number: 1.
double nice_step(double step);

// An axis from 0 that holds `high`, ends on a tick and has at most max_ticks intervals (at least 1). Not
// finite or not positive: 0 to 1.
Axis axis_from_zero(double high, int max_intervals = 3);

// Ticks inside a range that stays as it is.
Axis axis_over(double low, double high, int max_intervals = 5);

}  // namespace vitrine::ui
