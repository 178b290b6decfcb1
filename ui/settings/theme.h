// What the window looks like: one value with every colour, measure and font, in light and in dark.
//
// Widgets read current_theme() when they paint and repaint on theme_signal()->changed(); none keeps a colour.
// Ordinary Qt widgets are dressed by the application's palette and style sheet. The sheet knows these values
// of the dynamic property "role" (setProperty("role", "…") before the widget is shown):
//   QPushButton/QToolButton  primary   filled with the accent: the one main action
//                            chip      top bar: raised, hairline, radius 6
//                            flat      no frame until hovered
//                            danger    text in "bad"
//   QLabel                   second    secondary text      third  placeholder
//                            caption   11.5 px, secondary  heading  semibold
//                            section   heading of a part of a list
//   QFrame/QWidget           card, surface, raised, window  that background (card with hairline and radius 8)
//                            hairline  a line, 1 px
#pragma once

#include <QBrush>
#include <QColor>
#include <QFont>
#include <QObject>
#include <QString>

#include "ui/settings/color.h"

class QApplication;
class QPalette;

namespace vitrine::ui {

// Pixels at 100 %.
struct Metrics {
    int grid = 4;
    int side_list = 236;
    int docks = 492;
    int docks_min = 360;
    int text_column = 660;
    int row = 30;
    int radius_chip = 6;
    int radius_card = 8;
    int radius_message = 10;
    int radius_block = 2;
    int flash_ms = 150;          // a change flashes once
    int figure_update_ms = 250;  // figures change at most this often
};

// Sizes follow the screen's text resolution; text_zoom of Theme::light/dark scales them all.
struct Fonts {
    QFont text;     // 13
    QFont strong;   // 13, 600
    QFont answer;   // 14
    QFont caption;  // 11.5
    QFont figure;   // 16, 600; draw digits with draw_tabular (ui/settings/tabular.h)
    QFont tiny;     // 9.5: marks inside blocks
    QFont mono;     // 12.5, code
};

// How the second, third … round of the eight sequence colours is told from the first.
enum class SequencePattern { Solid, Rising, Falling, Cross, Dots };

// Colours of one sequence, see sequence_color().
struct SequenceColor {
    QColor fill;                                       // a block, a bar, the square before a title
    QColor outline;                                    // ≥ 3:1 on the surface: edges, points, lines
    QColor text;                                       // black or white on fill
    QColor faded;                                      // cached-free, and the empty part of a used block
    SequencePattern pattern = SequencePattern::Solid;  // drawn in text's colour over fill
    bool outlined() const { return outline != fill; }  // fill alone has too little contrast
};

struct Theme {
    bool is_dark = false;

    QColor window;   // behind everything
    QColor surface;  // chat, cards, bars
    QColor raised;   // side list, composer, chips
    QColor hairline;
    QColor plot_grid;  // lines inside plots, empty blocks
    QColor text;
    QColor text_second;
    QColor text_third;  // decoration and placeholders only
    QColor accent;
    QColor accent_text;  // on accent
    QColor selection;    // behind selected rows and the user's messages
    QColor good;
    QColor bad;
    QColor caution;

    Metrics metrics;
    Fonts fonts;

    static Theme light(double text_zoom = 1.0);
    static Theme dark(double text_zoom = 1.0);
};

// Colours of the sequence with this index (0, 1, 2 …; SequenceColors hands them out). Eight Okabe–Ito hues,
// then again with a pattern. In the dark theme a hue under 3:1 on the surface is lightened; in the light one
// it gets a darker outline. A negative index is "nobody in particular": neutral grey.
SequenceColor sequence_color(int index, const Theme& theme);
constexpr int sequence_hues = 8;

// Whether the desktop's palette is dark. Ask before apply() replaces it.
bool is_dark_palette(const QPalette& palette);

// Makes `theme` current and dresses the application: Fusion, palette, font, style sheet. Emits changed().
void apply(QApplication& application, const Theme& theme);

// The light theme until apply() was called.
const Theme& current_theme();
// Only makes it current, for tests that have widgets but want no style sheet. Emits changed().
void set_current_theme(const Theme& theme);

QPalette make_palette(const Theme& theme);
QString make_style_sheet(const Theme& theme);

class ThemeSignal : public QObject {
    Q_OBJECT

  signals:
    void changed();
};
ThemeSignal* theme_signal();  // lives as long as the program

}  // namespace vitrine::ui
