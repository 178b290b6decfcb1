// The application's style sheet: what Fusion and the palette leave open. Every colour comes from the Theme.
#include <QHash>

#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

// @name is replaced by a colour, $name by a measure.
constexpr const char* sheet = R"(
QMainWindow, QDialog { background: @window; }
QMainWindow::separator { background: transparent; width: 3px; height: 3px; }
QSplitter::handle { background: @hairline; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }

QFrame[role="card"], QWidget[role="card"] { background: @surface; border: 1px solid @hairline; border-radius: $cardpx; }
QFrame[role="surface"], QWidget[role="surface"] { background: @surface; border: none; }
QFrame[role="raised"], QWidget[role="raised"] { background: @raised; border: none; }
QFrame[role="window"], QWidget[role="window"] { background: @window; border: none; }
QFrame[role="hairline"] { background: @hairline; border: none; min-height: 1px; min-width: 1px; }

QLabel { background: transparent; }
QLabel[role="second"] { color: @second; }
QLabel[role="third"] { color: @third; }
QLabel[role="caption"] { color: @second; font-size: $captionpt; }
QLabel[role="section"] { color: @second; font-size: $captionpt; font-weight: 600; }
QLabel[role="heading"] { font-weight: 600; }

QPushButton, QToolButton {
  background: @raised; color: @text; border: 1px solid @hairline; border-radius: $chippx; padding: 4px 12px; min-height: 18px;
}
QToolButton { padding: 4px 8px; }
QPushButton:hover, QToolButton:hover { background: @hover; border-color: @edge; }
QPushButton:pressed, QToolButton:pressed { background: @pressed; }
QPushButton:focus, QToolButton:focus { border-color: @accent; }
QPushButton:checked, QToolButton:checked { background: @selection; border-color: @accent; }
QPushButton:disabled, QToolButton:disabled { color: @third; background: @raised; }
QPushButton[role="primary"], QToolButton[role="primary"] { background: @accent; color: @accent_text; border-color: @accent; font-weight: 600; }
QPushButton[role="primary"]:hover, QToolButton[role="primary"]:hover { background: @accent_hover; border-color: @accent_hover; }
QPushButton[role="primary"]:focus, QToolButton[role="primary"]:focus { border-color: @text; }
QPushButton[role="primary"]:disabled, QToolButton[role="primary"]:disabled { background: @grid; color: @third; border-color: @grid; }
QPushButton[role="flat"], QToolButton[role="flat"] { background: transparent; border-color: transparent; }
QPushButton[role="flat"]:hover, QToolButton[role="flat"]:hover { background: @hover; }
QPushButton[role="flat"]:focus, QToolButton[role="flat"]:focus { border-color: @accent; }
QPushButton[role="flat"]:checked, QToolButton[role="flat"]:checked { background: @selection; color: @accent_on_selection; }
QPushButton[role="danger"] { color: @bad; }
QToolButton::menu-indicator, QPushButton::menu-indicator { image: none; width: 0; }

QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox {
  background: @surface; color: @text; border: 1px solid @hairline; border-radius: $chippx; padding: 4px 8px;
  selection-background-color: @accent; selection-color: @accent_text;
}
QAbstractSpinBox { padding: 3px 22px 3px 8px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { subcontrol-origin: border; width: 20px; border: none; background: transparent; }
QAbstractSpinBox::up-button { subcontrol-position: top right; margin: 2px 2px 0 0; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; margin: 0 2px 2px 0; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: @hover; border-radius: 3px; }
QAbstractSpinBox::up-arrow { image: url(:/vitrine/theme/icons/up-@mode.svg); width: 9px; height: 9px; }
QAbstractSpinBox::down-arrow { image: url(:/vitrine/theme/icons/down-@mode.svg); width: 9px; height: 9px; }
QComboBox { background: @raised; color: @text; border: 1px solid @hairline; border-radius: $chippx; padding: 4px 28px 4px 10px; min-height: 18px; }
QComboBox:hover { background: @hover; border-color: @edge; }
QComboBox:focus { border-color: @accent; }
QComboBox:disabled { color: @third; }
QComboBox::drop-down { subcontrol-origin: border; subcontrol-position: center right; width: 24px; border: none; background: transparent; }
QComboBox::down-arrow { image: url(:/vitrine/theme/icons/down-@mode.svg); width: 10px; height: 10px; }
QComboBox QAbstractItemView { background: @raised; border: 1px solid @hairline; padding: 4px; }
QCheckBox, QRadioButton { spacing: 8px; background: transparent; }
QCheckBox:disabled, QRadioButton:disabled { color: @third; }
QCheckBox::indicator { width: 14px; height: 14px; border: 1px solid @third; border-radius: 4px; background: @surface; }
QCheckBox::indicator:checked { background: @accent; border-color: @accent; image: url(:/vitrine/theme/icons/check-@mode.svg); }
QCheckBox::indicator:indeterminate { background: @third; border-color: @third; }
QCheckBox::indicator:hover, QCheckBox::indicator:focus { border-color: @accent; }
QRadioButton::indicator { width: 14px; height: 14px; border: 1px solid @third; border-radius: 8px; background: @surface; }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 5px solid @accent; border-radius: 8px; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: @hairline; background: @raised; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus { border-color: @accent; }
QLineEdit:disabled, QPlainTextEdit:disabled, QTextEdit:disabled, QAbstractSpinBox:disabled { color: @third; background: @raised; }
QTextBrowser { border: none; padding: 0; background: transparent; }

QAbstractItemView { background: @surface; color: @text; border: none; outline: none;
  selection-background-color: @selection; selection-color: @text; }
QListView::item, QTreeView::item { min-height: 22px; padding: 3px 8px; border-radius: $chippx; }
QListView::item:hover, QTreeView::item:hover { background: @hover; }
QListView::item:selected, QTreeView::item:selected { background: @selection; color: @text; }
QHeaderView::section { background: @surface; color: @second; border: none; border-bottom: 1px solid @hairline; padding: 4px 8px; }

QMenu { background: @raised; color: @text; border: 1px solid @hairline; border-radius: $chippx; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: @selection; }
QMenu::item:disabled { color: @third; }
QMenu::separator { height: 1px; background: @hairline; margin: 4px 8px; }
QMenuBar { background: @surface; color: @text; border-bottom: 1px solid @hairline; }
QMenuBar::item { padding: 4px 10px; background: transparent; border-radius: 4px; }
QMenuBar::item:selected { background: @hover; }
QToolTip { background: @raised; color: @text; border: 1px solid @hairline; padding: 5px 7px; }

QToolBar { background: @surface; border: none; border-bottom: 1px solid @hairline; spacing: 8px; padding: 6px 12px; }
QStatusBar { background: @surface; color: @second; border-top: 1px solid @hairline; }
QStatusBar::item { border: none; }
QStatusBar QLabel { font-size: $captionpt; }

QDockWidget { color: @second; font-size: $captionpt; }
QDockWidget::title { background: @window; text-align: left; padding: 4px 12px; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @scroll; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: @third; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QScrollArea { border: none; background: transparent; }

QProgressBar { background: @grid; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; text-align: center; color: transparent; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }
QSlider::groove:horizontal { height: 4px; background: @grid; border-radius: 2px; }
QSlider::sub-page:horizontal { background: @accent; border-radius: 2px; }
QSlider::handle:horizontal { width: 14px; margin: -6px 0; border-radius: 8px; background: @surface; border: 1px solid @third; }
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { border-color: @accent; }

QTabWidget::pane { border: none; border-top: 1px solid @hairline; }
QTabBar::tab { background: transparent; color: @second; padding: 6px 12px; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: @text; border-bottom-color: @accent; }
QTabBar::tab:hover { color: @text; }
QGroupBox { border: none; margin-top: 22px; font-weight: 600; }
QGroupBox::title { subcontrol-origin: margin; left: 0; padding: 2px 0; }
)";

QString points(const QFont& font) { return QString::number(font.pointSizeF(), 'f', 3) + "pt"; }

}  // namespace

QString make_style_sheet(const Theme& t) {
    const QHash<QString, QString> values = {
        {"@window", t.window.name()},
        {"@surface", t.surface.name()},
        {"@raised", t.raised.name()},
        {"@hairline", t.hairline.name()},
        {"@edge", mix(t.hairline, t.text, 0.25).name()},
        {"@grid", t.plot_grid.name()},
        {"@text", t.text.name()},
        {"@second", t.text_second.name()},
        {"@third", t.text_third.name()},
        {"@accent", t.accent.name()},
        {"@accent_text", t.accent_text.name()},
        {"@accent_on_selection", ink(t.accent, t.selection).name()},
        {"@accent_hover", mix(t.accent, ink_on(t.accent_text), 0.12).name()},
        {"@selection", t.selection.name()},
        {"@hover", mix(t.raised, t.text, 0.05).name()},
        {"@pressed", mix(t.raised, t.text, 0.10).name()},
        {"@scroll", mix(t.surface, t.text_third, 0.55).name()},
        {"@good", t.good.name()},
        {"@bad", t.bad.name()},
        {"@caution", t.caution.name()},
        {"@mode", t.is_dark ? "dark" : "light"},
        {"$cardpx", QString::number(t.metrics.radius_card) + "px"},
        {"$chippx", QString::number(t.metrics.radius_chip) + "px"},
        {"$captionpt", points(t.fonts.caption)},
    };
    const QString text = QString::fromLatin1(sheet);
    QString out;
    out.reserve(text.size() + 1024);
    for (qsizetype i = 0; i < text.size();) {
        const QChar c = text[i];
        if (c != '@' && c != '$') {
            out += c;
            ++i;
            continue;
        }
        qsizetype end = i + 1;
        while (end < text.size() && (text[end].isLetter() || text[end] == '_')) ++end;
        out += values.value(text.mid(i, end - i));
        i = end;
    }
    return out;
}

}  // namespace vitrine::ui
