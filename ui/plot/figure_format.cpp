#include "ui/plot/figure_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace vitrine::ui {
namespace {

constexpr char16_t narrow_space = u'\u202F';
constexpr char16_t no_break_space = u'\u00A0';
constexpr char16_t minus = u'\u2212';

// "12345.6" → "12 345.6"
QString grouped(std::string_view digits) {
    const std::size_t point = std::min(digits.find('.'), digits.size());
    QString out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && i < point && (point - i) % 3 == 0) out += narrow_space;
        out += QLatin1Char(digits[i]);
    }
    return out;
}

// Decimal exponent after rounding to `digits` significant ones: 9.996 → 1 with three.
int exponent_of(double value, int digits) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::scientific, digits - 1);
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
    const std::size_t e = text.find('e');
    int exponent = 0;
    if (e != std::string_view::npos) {
        const std::size_t first = text[e + 1] == '+' ? e + 2 : e + 1;
        std::from_chars(text.data() + first, text.data() + text.size(), exponent);
    }
    return exponent;
}

QString trimmed(QString text) {
    if (!text.contains('.')) return text;
    while (text.endsWith('0')) text.chop(1);
    if (text.endsWith('.')) text.chop(1);
    return text;
}

}  // namespace

QString no_value() { return QStringLiteral("\u2013"); }

QString format_significant(double value, int digits) {
    if (!std::isfinite(value)) return no_value();
    if (value == 0) return QStringLiteral("0");
    const int n = std::clamp(digits, 1, 15);
    double magnitude = std::fabs(value);
    const int exponent = exponent_of(magnitude, n);
    QString text;
    std::array<char, 64> buffer{};
    if (exponent >= 15 || exponent < -9) {  // nothing we measure; still never a string of unbounded length
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude,
                                       std::chars_format::scientific, n - 1);
        text = QString::fromLatin1(buffer.data(), end.ptr - buffer.data());
    } else {
        const int decimals = n - 1 - exponent;
        if (decimals < 0) {  // 1234 with three digits: the fourth is not known to be worth showing
            const double unit = std::pow(10.0, -decimals);
            magnitude = std::nearbyint(magnitude / unit) * unit;
        }
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude,
                                       std::chars_format::fixed, std::max(decimals, 0));
        text = grouped({buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())});
    }
    return value < 0 ? QChar(minus) + text : text;
}

QString format_count(std::int64_t value) {
    std::array<char, 24> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
    const bool negative = text.front() == '-';
    if (negative) text.remove_prefix(1);
    return negative ? QChar(minus) + grouped(text) : grouped(text);
}

QString format_figure(double value, const QString& unit, int digits) {
    if (!std::isfinite(value)) return no_value();
    return format_significant(value, digits) + QChar(no_break_space) + unit;
}

QString format_duration(double seconds) {
    if (!std::isfinite(seconds)) return no_value();
    const double s = std::fabs(seconds);
    if (s == 0) return format_figure(seconds, QStringLiteral("ms"));
    // The limits are those of the rounded text, so that 999.6 µs is "1.00 ms" and not "1 000 µs".
    if (s < 0.9995e-3) return format_figure(seconds * 1e6, QStringLiteral("µs"));
    if (s < 0.9995) return format_figure(seconds * 1e3, QStringLiteral("ms"));
    if (s < 99.95) return format_figure(seconds, QStringLiteral("s"));
    if (s > 1e9) return format_figure(seconds, QStringLiteral("s"));
    const auto whole = static_cast<std::int64_t>(std::llround(s));
    const QString text = QStringLiteral("%1 min %2 s").arg(format_count(whole / 60)).arg(whole % 60);
    return seconds < 0 ? QChar(minus) + text : text;
}

QString format_bytes(std::uint64_t bytes) {
    static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < units.size()) {
        value /= 1024.0;
        ++unit;
    }
    // 1000…1023 of a unit need four digits; three would round 1013 to "1 010".
    const QString text =
        value >= 1000 ? format_count(std::llround(value)) : trimmed(format_significant(value));
    return text + QChar(no_break_space) + QString::fromLatin1(units[unit]);
}

QString format_percent(double share) {
    if (!std::isfinite(share)) return no_value();
    if (share == 1) return QStringLiteral("100") + QChar(no_break_space) + QChar('%');
    return format_figure(share * 100.0, QStringLiteral("%"));
}

QString format_times(double ratio) {
    if (!std::isfinite(ratio)) return no_value();
    return format_significant(ratio) + QChar(u'\u00D7');
}

}  // namespace vitrine::ui
