#include "ui/chat/token_coloring.h"

#include <algorithm>
#include <cmath>

#include <QCoreApplication>

#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("TokenColoring", text); }

// As much of `color` on the surface as leaves the text readable.
QColor step(const Theme& theme, const QColor& color, double share) {
    QColor fill = mix(theme.surface, color, share);
    while (share > 0.02 && contrast(theme.text, fill) < 4.6) {
        share -= 0.02;
        fill = mix(theme.surface, color, share);
    }
    return fill;
}

constexpr double strongest = 0.55;

TokenLook probability_look(double p, const Theme& theme) {
    // Five steps are as many as can be told apart behind text; what was near certain stays plain.
    const double doubt = p >= 0.9 ? 0 : p >= 0.6 ? 0.18 : p >= 0.3 ? 0.36 : p >= 0.1 ? 0.62 : 1.0;
    TokenLook look;
    if (doubt > 0) look.fill = step(theme, theme.bad, doubt * strongest);
    return look;
}

TokenLook latency_look(double times, const Theme& theme) {
    const double slow = times < 1.25 ? 0 : times < 2 ? 0.25 : times < 4 ? 0.55 : 1.0;
    TokenLook look;
    if (slow > 0) look.fill = step(theme, sequence_color(4, theme).fill, slow * strongest);
    return look;
}

TokenLook origin_look(TokenOrigin origin, const Theme& theme) {
    TokenLook look;
    switch (origin) {
        case TokenOrigin::Sampled: break;
        case TokenOrigin::Accepted: look.fill = step(theme, theme.good, 0.24); break;
        case TokenOrigin::Corrected: look.underline = theme.bad; break;
        case TokenOrigin::Bonus: look.frame = theme.accent; break;
    }
    return look;
}

}  // namespace

TokenLook look_of(Coloring coloring, const TracedToken& token, bool first, float median, const Theme& theme) {
    switch (coloring) {
        case Coloring::None: break;
        case Coloring::Probability:
            return probability_look(std::exp(static_cast<double>(token.log_probability)), theme);
        case Coloring::Origin: return origin_look(token.origin, theme);
        case Coloring::Latency:
            // The first one has waited for the prompt; that is another story.
            if (!first && median > 0) return latency_look(static_cast<double>(token.seconds / median), theme);
            break;
    }
    return {};
}

std::vector<LegendEntry> legend_of(Coloring coloring, const Theme& theme) {
    switch (coloring) {
        case Coloring::None: break;
        case Coloring::Probability:
            return {{tr("0.9 and more"), probability_look(0.95, theme)},
                    {tr("0.6"), probability_look(0.7, theme)},
                    {tr("0.3"), probability_look(0.4, theme)},
                    {tr("0.1"), probability_look(0.2, theme)},
                    {tr("less"), probability_look(0.01, theme)}};
        case Coloring::Origin:
            return {{tr("sampled"), origin_look(TokenOrigin::Sampled, theme)},
                    {tr("draft, accepted"), origin_look(TokenOrigin::Accepted, theme)},
                    {tr("corrected"), origin_look(TokenOrigin::Corrected, theme)},
                    {tr("bonus"), origin_look(TokenOrigin::Bonus, theme)}};
        case Coloring::Latency:
            return {{tr("as the median"), latency_look(1, theme)},
                    {tr("1.25×"), latency_look(1.5, theme)},
                    {tr("2×"), latency_look(3, theme)},
                    {tr("4× and more"), latency_look(5, theme)}};
    }
    return {};
}

}  // namespace vitrine::ui
