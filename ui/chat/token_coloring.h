// What the tokens of an answer are coloured by, and with which colours. Never by hue alone: probability and
// latency are steps of lightness of one colour, origins differ by shape (filled, underlined, framed). Text
// keeps at least 4.5:1 on every one of them.
#pragma once

#include <vector>

#include <QColor>
#include <QString>

#include "ui/models/token_trace.h"

namespace vitrine::ui {

struct Theme;

enum class Coloring { None, Probability, Origin, Latency };

struct TokenLook {
    QColor fill;       // invalid: none
    QColor underline;  // invalid: none
    QColor frame;      // invalid: none
    bool operator==(const TokenLook&) const = default;
    bool plain() const { return !fill.isValid() && !underline.isValid() && !frame.isValid(); }
};

// median: seconds of the middle token of the answer.
TokenLook look_of(Coloring coloring, const TracedToken& token, bool first, float median, const Theme& theme);

struct LegendEntry {
    QString text;
    TokenLook look;
};
std::vector<LegendEntry> legend_of(Coloring coloring, const Theme& theme);

}  // namespace vitrine::ui
