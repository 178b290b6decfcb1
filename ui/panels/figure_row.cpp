#include "ui/panels/figure_row.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double widest_gap = 22;
constexpr double narrowest_gap = 12;

double row_height() {
    const Fonts& fonts = current_theme().fonts;
    return std::ceil(QFontMetricsF(fonts.figure).height() + QFontMetricsF(fonts.caption).height());
}

}  // namespace

FigureRow::FigureRow(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    connect(theme_signal(), &ThemeSignal::changed, this, [this] {
        widths_.clear();
        measure();
        update();
    });
}

void FigureRow::measure() {
    const Fonts& fonts = current_theme().fonts;
    if (widths_.size() != figures_.size()) widths_.assign(figures_.size(), 0.0);
    bool grown = false;
    for (std::size_t i = 0; i < figures_.size(); ++i) {
        const double need = std::ceil(std::max(tabular_width(figures_[i].value, fonts.figure),
                                               tabular_width(figures_[i].name, fonts.caption)));
        if (need > widths_[i]) {
            widths_[i] = need;
            grown = true;
        }
    }
    if (!grown) return;
    updateGeometry();
    fit_height();
}

void FigureRow::set_figures(const std::vector<Figure>& figures) {
    if (figures == figures_) return;
    figures_ = figures;
    measure();
    update();
}

QString FigureRow::as_text() const {
    QStringList parts;
    for (const Figure& figure : figures_) parts << figure.value + ' ' + figure.name;
    return parts.join(QStringLiteral("; "));
}

std::vector<QRectF> FigureRow::places(double width) const {
    std::vector<QRectF> out;
    out.reserve(widths_.size());
    const double height = row_height();
    double x = 0;
    double y = 0;
    // Columns move together before one of them goes to the next line.
    double sum = 0;
    for (const double w : widths_) sum += w;
    const double gaps = static_cast<double>(widths_.size()) - 1;
    double gap = gaps > 0 ? std::floor((width - sum) / gaps) : widest_gap;
    gap = gap < narrowest_gap ? widest_gap : std::min(gap, widest_gap);
    for (const double w : widths_) {
        if (x > 0 && x + w > width) {
            x = 0;
            y += height + 6;
        }
        out.emplace_back(x, y, w, height);
        x += w + gap;
    }
    return out;
}

void FigureRow::fit_height() {
    const auto all = places(width());
    const int height = static_cast<int>(std::ceil(all.empty() ? row_height() : all.back().bottom()));
    if (height != minimumHeight() || height != maximumHeight()) setFixedHeight(height);
}

void FigureRow::resizeEvent(QResizeEvent*) { fit_height(); }

QSize FigureRow::sizeHint() const {
    const auto all = places(1e9);
    return {static_cast<int>(std::ceil(all.empty() ? 0 : all.back().right())),
            static_cast<int>(row_height())};
}

QSize FigureRow::minimumSizeHint() const {
    const double widest = widths_.empty() ? 0 : *std::max_element(widths_.begin(), widths_.end());
    return {static_cast<int>(std::ceil(widest)), static_cast<int>(row_height())};
}

void FigureRow::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    const QFontMetricsF values(theme.fonts.figure);
    const QFontMetricsF names(theme.fonts.caption);
    const auto all = places(width());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const QPointF base(all[i].left(), all[i].top() + values.ascent());
        painter.setPen(figures_[i].color.isValid() ? figures_[i].color : theme.text);
        draw_tabular(painter, base, figures_[i].value, theme.fonts.figure);
        painter.setPen(theme.text_second);
        draw_tabular(painter, QPointF(all[i].left(), all[i].top() + values.height() + names.ascent()),
                     figures_[i].name, theme.fonts.caption);
    }
}

bool FigureRow::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto all = places(width());
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].contains(help->pos()) && !figures_[i].hint.isEmpty()) {
                QToolTip::showText(help->globalPos(), figures_[i].hint, this, all[i].toAlignedRect());
                return true;
            }
        }
        QToolTip::hideText();
        event->ignore();
        return true;
    }
    return QWidget::event(event);
}

}  // namespace vitrine::ui
