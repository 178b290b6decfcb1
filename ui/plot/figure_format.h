// How measured values are written: three significant digits, unit always there, an en dash where there is no
// value yet (NaN, infinity, nullopt), never 0 for "unknown". The same on every computer: the decimal sign is
// a point and groups of three are set apart by a narrow space, whatever the locale.
//
// Digits are rounded half to even on the decimal value of the double, and the number of significant digits
// holds after rounding too (9.996 is "10.0"). Trailing zeros stay, so that a live figure keeps its width.
#pragma once

#include <cstdint>
#include <limits>

#include <QString>

namespace vitrine::ui {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

QString no_value();  // "–"

// 5.8 → "5.80", 171.3 → "171", 1234 → "1 230", 0.0004 → "0.000400", 0 → "0", −2 → "−2.00".
QString format_significant(double value, int digits = 3);

// Exact: 8192 → "8 192".
QString format_count(std::int64_t value);

// "5.80 ms", "171 tok/s": value, no-break space, unit.
QString format_figure(double value, const QString& unit, int digits = 3);

QString format_duration(double seconds);    // "950 µs", "5.80 ms", "1.25 s", "2 min 5 s"
QString format_bytes(std::uint64_t bytes);  // "512 B", "22.5 KiB", "87 MiB", "1.05 GiB"; no trailing zeros
QString format_percent(double share);       // 0.024 → "2.40 %"; exactly 0 → "0 %", 1 → "100 %"
QString format_times(double ratio);         // "1.38×"

}  // namespace vitrine::ui
