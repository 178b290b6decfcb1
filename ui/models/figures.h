// Numbers as texts for people, the same in every locale.
#pragma once

#include <cstdint>

#include <QString>

namespace vitrine::ui {

// "92.4 MiB": three significant digits, no comma locale.
QString bytes_text(std::uint64_t bytes);
// 8192 → "8 192" with a narrow no-break space.
QString count_text(qint64 count);
// Three significant digits with a point: "104", "5.81", "0.0412".
QString figure_text(double value);
// Seconds: "5.81 ms", "412 ms", "2.04 s".
QString duration_text(double seconds);

}  // namespace vitrine::ui
