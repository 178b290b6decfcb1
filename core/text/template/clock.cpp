#include <array>
#include <charconv>
#include <ctime>

#include "core/text/chat_template.h"
#include "core/text/template/functions.h"

namespace vitrine {
namespace {

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in_month(int year, int month) {
    constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[static_cast<std::size_t>(month - 1)];
}

// From 0 (January 1st).
int day_of_year(const CivilTime& time) {
    int days = time.day - 1;
    for (int month = 1; month < time.month; ++month) days += days_in_month(time.year, month);
    return days;
}

// 0 is Sunday.
int day_of_week(const CivilTime& time) {
    const long long years = static_cast<long long>(time.year) - 1;
    const long long days = years * 365 + years / 4 - years / 100 + years / 400 + day_of_year(time);
    return static_cast<int>((days + 1) % 7);
}

int weeks_in_iso_year(int year) {
    const int first = day_of_week({year, 1, 1, 0, 0, 0});
    return first == 4 || (first == 3 && is_leap(year)) ? 53 : 52;
}

struct IsoWeek {
    int year = 0, week = 0;
};

IsoWeek iso_week(const CivilTime& time) {
    const int weekday = day_of_week(time) == 0 ? 7 : day_of_week(time);
    const int week = (day_of_year(time) + 1 - weekday + 10) / 7;
    if (week < 1) return {time.year - 1, weeks_in_iso_year(time.year - 1)};
    if (week > weeks_in_iso_year(time.year)) return {time.year + 1, 1};
    return {time.year, week};
}

std::string padded(int value, std::size_t width, char fill = '0') {
    std::string text = std::to_string(value);
    if (text.size() < width) text.insert(0, width - text.size(), fill);
    return text;
}

}  // namespace

CivilTime local_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    if (localtime_r(&now, &parts) == nullptr) return {};
    return {parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
            parts.tm_hour,        parts.tm_min,     std::min(parts.tm_sec, 59)};
}

// YYYY-MM-DD, then nothing or T or a space and HH:MM or HH:MM:SS.
std::optional<CivilTime> parse_civil_time(std::string_view iso) {
    const auto number = [&iso](std::size_t digits, int& value) {
        if (iso.size() < digits) return false;
        for (std::size_t i = 0; i < digits; ++i) {
            if (iso[i] < '0' || iso[i] > '9') return false;
        }
        std::from_chars(iso.data(), iso.data() + digits, value);
        iso.remove_prefix(digits);
        return true;
    };
    const auto mark = [&iso](std::string_view any) {
        if (iso.empty() || any.find(iso[0]) == std::string_view::npos) return false;
        iso.remove_prefix(1);
        return true;
    };
    CivilTime time;
    if (!number(4, time.year) || !mark("-") || !number(2, time.month) || !mark("-") || !number(2, time.day))
        return std::nullopt;
    if (!iso.empty()) {
        if (!mark("T ") || !number(2, time.hour) || !mark(":") || !number(2, time.minute))
            return std::nullopt;
        if (!iso.empty() && (!mark(":") || !number(2, time.second))) return std::nullopt;
    }
    const bool valid = iso.empty() && time.year >= 1 && time.month >= 1 && time.month <= 12 &&
                       time.day >= 1 && time.day <= days_in_month(time.year, time.month) && time.hour < 24 &&
                       time.minute < 60 && time.second < 60;
    return valid ? std::optional<CivilTime>(time) : std::nullopt;
}

namespace jinja {
namespace {

constexpr std::array<std::string_view, 7> day_names{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> month_names{"January",   "February", "March",    "April",
                                                       "May",       "June",     "July",     "August",
                                                       "September", "October",  "November", "December"};

// What one directive stands for; false where it is not known. dash: without padding ("%-d").
bool directive(char letter, bool dash, const CivilTime& t, std::string& out) {
    const auto two = [&](int value, char fill = '0') { out += padded(value, dash ? 1 : 2, fill); };
    const int weekday = day_of_week(t);
    const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
    const std::string_view day = day_names[static_cast<std::size_t>(weekday)];
    const std::string_view month = month_names[static_cast<std::size_t>(t.month - 1)];
    switch (letter) {
        case 'a': out += day.substr(0, 3); break;
        case 'A': out += day; break;
        case 'b':
        case 'h': out += month.substr(0, 3); break;
        case 'B': out += month; break;
        case 'c': out += format_time("%a %b %e %H:%M:%S %Y", t); break;
        case 'C': two(t.year / 100); break;
        case 'd': two(t.day); break;
        case 'D':
        case 'x': out += format_time("%m/%d/%y", t); break;
        case 'e': two(t.day, ' '); break;
        case 'f': out += "000000"; break;
        case 'F': out += format_time("%Y-%m-%d", t); break;
        case 'g': two(iso_week(t).year % 100); break;
        case 'G': out += padded(iso_week(t).year, 4); break;
        case 'H': two(t.hour); break;
        case 'I': two(hour12); break;
        case 'j': out += padded(day_of_year(t) + 1, dash ? 1 : 3); break;
        case 'k': two(t.hour, ' '); break;
        case 'l': two(hour12, ' '); break;
        case 'm': two(t.month); break;
        case 'M': two(t.minute); break;
        case 'n': out += '\n'; break;
        case 'p': out += t.hour < 12 ? "AM" : "PM"; break;
        case 'P': out += t.hour < 12 ? "am" : "pm"; break;
        case 'r': out += format_time("%I:%M:%S %p", t); break;
        case 'R': out += format_time("%H:%M", t); break;
        case 'S': two(t.second); break;
        case 't': out += '\t'; break;
        case 'T':
        case 'X': out += format_time("%H:%M:%S", t); break;
        case 'u': out += std::to_string(weekday == 0 ? 7 : weekday); break;
        case 'U': two((day_of_year(t) + 7 - weekday) / 7); break;
        case 'V': two(iso_week(t).week); break;
        case 'w': out += std::to_string(weekday); break;
        case 'W': two((day_of_year(t) + 7 - (weekday + 6) % 7) / 7); break;
        case 'y': two(t.year % 100); break;
        case 'Y': out += std::to_string(t.year); break;
        case 'z':
        case 'Z': break;  // a time without zone
        case '%': out += '%'; break;
        default: return false;
    }
    return true;
}

}  // namespace

std::string format_time(std::string_view format, const CivilTime& time) {
    std::string out;
    CivilTime t = time;
    if (t.month < 1 || t.month > 12) t.month = 1;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 >= format.size()) {
            out += format[i];
            continue;
        }
        const bool dash = format[i + 1] == '-' && i + 2 < format.size();
        const char letter = format[i + (dash ? 2U : 1U)];
        if (directive(letter, dash, t, out)) {
            i += dash ? 2 : 1;
        } else {
            out += '%';
        }
    }
    return out;
}

}  // namespace jinja
}  // namespace vitrine
