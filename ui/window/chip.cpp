#include "ui/window/chip.h"

#include <cmath>

#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QPainterPath>

#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double pad = 10;
constexpr double gap = 7;
constexpr double arrow = 7;

}  // namespace

Chip::Chip(QWidget* parent) : QAbstractButton(parent) {
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setAttribute(Qt::WA_Hover);
    connect(theme_signal(), &ThemeSignal::changed, this, [this] {
        updateGeometry();
        update();
    });
    connect(this, &QAbstractButton::clicked, this, &Chip::open_menu);
}

void Chip::set_parts(const QString& name, const QString& value, const QString& detail) {
    if (name == name_ && value == value_ && detail == detail_) return;
    name_ = name;
    value_ = value;
    detail_ = detail;
    setAccessibleName(as_text());
    updateGeometry();
    update();
}

QString Chip::as_text() const {
    QStringList parts{name_, value_, detail_};
    parts.removeAll(QString());
    return parts.join(u' ');
}

void Chip::set_menu(QMenu* menu) {
    menu_ = menu;
    updateGeometry();
}

void Chip::set_progress(double share) {
    progress_ = share;
    update();
}

void Chip::open_menu() {
    if (menu_ != nullptr && isEnabled()) menu_->popup(mapToGlobal(QPoint(0, height() + 4)));
}

double Chip::content_width() const {
    const Fonts& fonts = current_theme().fonts;
    double width = 0;
    const auto add = [&](const QString& text, const QFont& font) {
        if (!text.isEmpty()) width += (width > 0 ? gap : 0) + QFontMetricsF(font).horizontalAdvance(text);
    };
    add(name_, fonts.text);
    add(value_, fonts.strong);
    add(detail_, fonts.text);
    if (menu_ != nullptr) width += gap + 2 + arrow;
    return width;
}

QSize Chip::sizeHint() const { return {static_cast<int>(std::ceil(content_width() + 2 * pad)), 28}; }

QSize Chip::minimumSizeHint() const {
    const QFontMetricsF strong(current_theme().fonts.strong);
    return {
        static_cast<int>(std::min(content_width(), strong.averageCharWidth() * 9 + arrow + gap) + 2 * pad),
        28};
}

void Chip::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    const bool live = menu_ != nullptr && isEnabled();
    const bool hover = underMouse() && live;
    painter.setPen(hasFocus() ? theme.accent : theme.hairline);
    painter.setBrush(hover ? mix(theme.raised, theme.text, 0.05) : theme.raised);
    painter.drawRoundedRect(box, theme.metrics.radius_chip, theme.metrics.radius_chip);
    if (progress_ >= 0) {
        QPainterPath round;
        round.addRoundedRect(box, theme.metrics.radius_chip, theme.metrics.radius_chip);
        painter.save();
        painter.setClipPath(round);
        painter.fillRect(QRectF(box.left(), box.bottom() - 2.5, box.width() * std::min(1.0, progress_), 3),
                         theme.accent);
        painter.restore();
    }
    double x = pad;
    const double right = width() - pad - (menu_ != nullptr ? arrow + gap : 0);
    const auto put = [&](const QString& text, const QFont& font, const QColor& color) {
        if (text.isEmpty() || x >= right) return;
        const QFontMetricsF metrics(font);
        const QString shown = metrics.elidedText(text, Qt::ElideRight, right - x);
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(QRectF(x, 0, right - x + 2, height()), Qt::AlignVCenter | Qt::AlignLeft, shown);
        x += metrics.horizontalAdvance(shown) + gap;
    };
    put(name_, theme.fonts.text, theme.text_second);
    put(value_, theme.fonts.strong, isEnabled() ? theme.text : theme.text_second);
    put(detail_, theme.fonts.text, theme.text_second);
    if (menu_ != nullptr) {
        const double cx = width() - pad - arrow / 2;
        const double cy = height() / 2.0;
        painter.setPen(QPen(isEnabled() ? theme.text_second : theme.text_third, 1.3, Qt::SolidLine,
                            Qt::RoundCap, Qt::RoundJoin));
        painter.setBrush(Qt::NoBrush);
        painter.drawPolyline(QPolygonF{{cx - 3.2, cy - 1.4}, {cx, cy + 1.8}, {cx + 3.2, cy - 1.4}});
    }
}

void Chip::enterEvent(QEnterEvent* event) {
    QAbstractButton::enterEvent(event);
    update();
}

void Chip::leaveEvent(QEvent* event) {
    QAbstractButton::leaveEvent(event);
    update();
}

void Chip::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Down || event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        open_menu();
        return;
    }
    QAbstractButton::keyPressEvent(event);
}

}  // namespace vitrine::ui
