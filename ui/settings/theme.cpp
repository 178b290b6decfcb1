#include "ui/settings/theme.h"

#include <algorithm>
#include <array>

#include <QApplication>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>

// Outside any namespace, as the macro demands: a static library's resources are only there when asked for.
static void load_icons() { Q_INIT_RESOURCE(theme); }

namespace vitrine::ui {
namespace {

// The first of the families that is installed, else the system's.
QFont family_or_system(const QStringList& wanted, QFontDatabase::SystemFont fallback) {
    QFont font = QFontDatabase::systemFont(fallback);
    const QStringList present = QFontDatabase::families();
    for (const QString& family : wanted) {
        if (present.contains(family)) {
            font.setFamily(family);
            break;
        }
    }
    return font;
}

QFont sized(QFont font, double pixels, QFont::Weight weight = QFont::Normal) {
    // A point is 1/72 inch and a pixel of the drawings 1/96: sizes follow the desktop's text resolution.
    font.setPointSizeF(pixels * 72.0 / 96.0);
    font.setWeight(weight);
    return font;
}

Fonts make_fonts(double zoom) {
    const double z = std::clamp(zoom, 0.5, 3.0);
    const QFont sans = family_or_system({"Inter", "Inter Variable"}, QFontDatabase::GeneralFont);
    const QFont mono = family_or_system({"JetBrains Mono", "JetBrains Mono NL"}, QFontDatabase::FixedFont);
    Fonts fonts;
    fonts.text = sized(sans, 13 * z);
    fonts.strong = sized(sans, 13 * z, QFont::DemiBold);
    fonts.answer = sized(sans, 14 * z);
    fonts.caption = sized(sans, 11.5 * z);
    fonts.figure = sized(sans, 16 * z, QFont::DemiBold);
    fonts.tiny = sized(sans, 9.5 * z);
    fonts.mono = sized(mono, 12.5 * z);
    return fonts;
}

// Okabe and Ito's colour-blind-safe palette; black, which is text here, is replaced by a violet.
constexpr std::array<QRgb, sequence_hues> okabe_ito = {0xFF0072B2, 0xFFE69F00, 0xFF009E73, 0xFFCC79A7,
                                                       0xFF56B4E9, 0xFFD55E00, 0xFF7A5195, 0xFFF0E442};

Theme& current() {
    static Theme theme = Theme::light();
    return theme;
}

}  // namespace

Theme Theme::light(double text_zoom) {
    Theme t;
    t.window = QColor(0xF4, 0xF5, 0xF7);
    t.surface = QColor(0xFF, 0xFF, 0xFF);
    t.raised = QColor(0xFA, 0xFB, 0xFC);
    t.hairline = QColor(0xDC, 0xE0, 0xE5);
    t.plot_grid = QColor(0xEB, 0xEE, 0xF1);
    t.text = QColor(0x1B, 0x1F, 0x24);
    t.text_second = QColor(0x5B, 0x64, 0x70);
    t.text_third = QColor(0x8A, 0x92, 0x9C);
    t.accent = QColor(0x2F, 0x6F, 0xEB);
    t.accent_text = QColor(0xFF, 0xFF, 0xFF);
    t.selection = QColor(0xE6, 0xEE, 0xFD);
    t.good = QColor(0x1A, 0x7F, 0x52);
    t.bad = QColor(0xB3, 0x26, 0x1E);
    t.caution = QColor(0x9A, 0x67, 0x00);
    t.fonts = make_fonts(text_zoom);
    return t;
}

Theme Theme::dark(double text_zoom) {
    Theme t;
    t.is_dark = true;
    t.window = QColor(0x15, 0x17, 0x1B);
    t.surface = QColor(0x1C, 0x1F, 0x24);
    t.raised = QColor(0x22, 0x26, 0x2C);
    t.hairline = QColor(0x33, 0x39, 0x41);
    t.plot_grid = QColor(0x2A, 0x2F, 0x36);
    t.text = QColor(0xE6, 0xE8, 0xEB);
    t.text_second = QColor(0x9A, 0xA4, 0xAF);
    t.text_third = QColor(0x6E, 0x77, 0x81);
    t.accent = QColor(0x7A, 0xA7, 0xFF);
    t.accent_text = QColor(0x15, 0x17, 0x1B);
    t.selection = QColor(0x22, 0x31, 0x4F);
    t.good = QColor(0x4C, 0xC3, 0x8A);
    t.bad = QColor(0xFF, 0x7B, 0x72);
    t.caution = QColor(0xD4, 0xA7, 0x2C);
    t.fonts = make_fonts(text_zoom);
    return t;
}

SequenceColor sequence_color(int index, const Theme& theme) {
    SequenceColor c;
    if (index < 0) {
        c.fill = theme.text_third;
    } else {
        c.fill = QColor::fromRgb(okabe_ito[static_cast<std::size_t>(index % sequence_hues)]);
        constexpr std::array rounds = {SequencePattern::Solid, SequencePattern::Rising,
                                       SequencePattern::Falling, SequencePattern::Cross,
                                       SequencePattern::Dots};
        const auto round = static_cast<std::size_t>(index / sequence_hues);
        // After five rounds only the patterns repeat: forty told apart is more than anyone can.
        c.pattern = round < rounds.size() ? rounds[round] : rounds[1 + (round - 1) % (rounds.size() - 1)];
    }
    if (theme.is_dark) {
        c.fill = with_contrast(c.fill, theme.surface, 3.0);
        c.outline = c.fill;
    } else {
        c.outline = with_contrast(c.fill, theme.surface, 3.0);
    }
    c.text = ink_on(c.fill);
    c.faded = mix(theme.surface, c.fill, theme.is_dark ? 0.26 : 0.20);
    return c;
}

bool is_dark_palette(const QPalette& palette) {
    return luminance(palette.color(QPalette::Window)) < luminance(palette.color(QPalette::WindowText));
}

QPalette make_palette(const Theme& t) {
    QPalette p;
    p.setColor(QPalette::Window, t.window);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.surface);
    p.setColor(QPalette::AlternateBase, t.raised);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::PlaceholderText, t.text_third);
    p.setColor(QPalette::Button, t.raised);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::BrightText, t.bad);
    p.setColor(QPalette::ToolTipBase, t.raised);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::Highlight, t.accent);
    p.setColor(QPalette::HighlightedText, t.accent_text);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::LinkVisited, t.accent);
    p.setColor(QPalette::Light, mix(t.raised, t.surface, 0.5));
    p.setColor(QPalette::Midlight, t.raised);
    p.setColor(QPalette::Mid, t.hairline);
    p.setColor(QPalette::Dark, mix(t.hairline, t.text, 0.15));
    p.setColor(QPalette::Shadow, mix(t.window, QColor(0, 0, 0), 0.5));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        p.setColor(QPalette::Disabled, role, t.text_third);
    }
    p.setColor(QPalette::Disabled, QPalette::Highlight, t.hairline);
    p.setColor(QPalette::Disabled, QPalette::HighlightedText, t.text_second);
    // Fusion keeps a window's selection colour when it is inactive; a grey one would read as "disabled".
    p.setColor(QPalette::Inactive, QPalette::Highlight, t.accent);
    p.setColor(QPalette::Inactive, QPalette::HighlightedText, t.accent_text);
    return p;
}

const Theme& current_theme() { return current(); }

void set_current_theme(const Theme& theme) {
    current() = theme;
    emit theme_signal()->changed();
}

void apply(QApplication& application, const Theme& theme) {
    load_icons();
    if (QStyle* fusion = QStyleFactory::create("Fusion"); fusion != nullptr) QApplication::setStyle(fusion);
    QApplication::setPalette(make_palette(theme));
    QApplication::setFont(theme.fonts.text);
    application.setStyleSheet(make_style_sheet(theme));
    set_current_theme(theme);
}

ThemeSignal* theme_signal() {
    static ThemeSignal signal;
    return &signal;
}

}  // namespace vitrine::ui
