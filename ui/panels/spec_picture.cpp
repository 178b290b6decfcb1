#include "ui/panels/spec_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/panels/card.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double pitch = 16;  // of the columns
constexpr double gap = 2;
constexpr double tallest_cell = 13;
constexpr double positions_width = 112;
constexpr double split_width = 84;
constexpr double between = 18;

double caption_height() { return std::ceil(QFontMetricsF(current_theme().fonts.caption).height()); }

// ".57": three of them fit over narrow bars.
QString share_text(double share) {
    if (!std::isfinite(share)) return no_value();
    const auto hundredths = static_cast<int>(std::lround(100 * share));
    return hundredths >= 100 ? QStringLiteral("1")
                             : QStringLiteral(".%1").arg(hundredths, 2, 10, QLatin1Char('0'));
}

}  // namespace

SpecPicture::SpecPicture(const SpecModel* model, const RequestBook* book, QWidget* parent)
    : QWidget(parent), model_(model), book_(book) {
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("Verification steps"));
    connect(theme_signal(), &ThemeSignal::changed, this, qOverload<>(&QWidget::update));
}

void SpecPicture::model_changed(const SpecFigures& figures) {
    figures_ = figures;
    measure();
    QStringList text;
    const std::vector<double> shares = model_->by_position();
    for (std::size_t i = 0; i < shares.size(); ++i)
        text << tr("position %1: %2 accepted").arg(i + 1).arg(share_text(shares[i]));
    setAccessibleDescription(text.join(QStringLiteral(", ")));
    update();
}

QRectF SpecPicture::steps_area() const {
    double right = width();
    if (!split_area().isEmpty()) right = split_area().left() - between;
    if (!positions_area().isEmpty()) right = positions_area().left() - between;
    return {0, 0, std::max(0.0, right), std::max(0.0, height() - caption_height() - 2)};
}

QRectF SpecPicture::positions_area() const {
    if (width() < 320) return {};
    const double right = split_area().isEmpty() ? width() : split_area().left() - between;
    return {right - positions_width, 0, positions_width, static_cast<double>(height())};
}

QRectF SpecPicture::split_area() const {
    if (width() < 420) return {};
    return {width() - split_width, 0, split_width, static_cast<double>(height())};
}

int SpecPicture::columns() const {
    return static_cast<int>(std::max(0.0, (steps_area().width() + gap) / pitch));
}

void SpecPicture::measure() {
    tallest_ = 5;
    const auto shown = std::min<std::size_t>(static_cast<std::size_t>(columns()), model_->steps().size());
    for (std::size_t i = 0; i < shown; ++i)
        tallest_ = std::max(tallest_, model_->steps()[model_->steps().size() - 1 - i].proposed + 1);
}

QRectF SpecPicture::cell(int back, int row) const {
    const QRectF area = steps_area();
    const double height = std::min(tallest_cell, (area.height() + gap) / tallest_ - gap);
    const auto shown =
        static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(columns()), model_->steps().size()));
    return {area.left() + (shown - 1 - back) * pitch, area.bottom() - (row + 1) * (height + gap) + gap,
            pitch - gap, std::max(1.0, height)};
}

int SpecPicture::step_at(const QPointF& place) const {
    const QRectF area = steps_area();
    if (!area.contains(place)) return -1;
    const auto shown =
        static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(columns()), model_->steps().size()));
    const int column = static_cast<int>((place.x() - area.left()) / pitch);
    return column < shown ? shown - 1 - column : -1;
}

void SpecPicture::paint_steps(QPainter& painter) {
    const Theme& theme = current_theme();
    const auto& steps = model_->steps();
    const auto shown = std::min<std::size_t>(static_cast<std::size_t>(columns()), steps.size());
    const auto fill = [&](const QRectF& box, const QColor& with) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(with);
        painter.drawRoundedRect(box, 2, 2);
        ++primitives_;
    };
    const auto stroke = [&](const QRectF& box, const QColor& with, double width) {
        painter.setPen(QPen(with, width));
        painter.setBrush(Qt::NoBrush);
        const double d = width / 2;
        painter.drawRoundedRect(box.adjusted(d, d, -d, -d), 2, 2);
        ++primitives_;
    };
    for (std::size_t i = 0; i < shown; ++i) {
        const SpecStep& step = steps[steps.size() - 1 - i];
        const int back = static_cast<int>(i);
        int row = 0;
        for (; row < step.accepted; ++row) fill(cell(back, row), theme.good);
        if (step.end == DraftEnd::Corrected) {
            fill(cell(back, row), theme.bad);
            stroke(cell(back, row), theme.accent, 2);
            ++row;
        } else if (step.end == DraftEnd::Bonus) {
            fill(cell(back, row), mix(theme.surface, theme.accent, 0.18));
            stroke(cell(back, row), theme.accent, 2);
            ++row;
        }
        const int last = step.proposed + (step.end == DraftEnd::Bonus ? 1 : 0);
        for (; row < last; ++row) stroke(cell(back, row), theme.hairline, 1);
    }
    if (std::isfinite(figures_.cost) && shown > 0 && figures_.cost < tallest_ + 1) {
        const QRectF one = cell(0, 0);
        const double y = std::floor(one.bottom() - figures_.cost * (one.height() + gap) + gap) + 0.5;
        painter.setPen(QPen(theme.text, 1, Qt::DashLine, Qt::FlatCap));
        painter.drawLine(QPointF(steps_area().left(), y), QPointF(one.right(), y));
        ++primitives_;
    }
    painter.setPen(theme.text_second);
    painter.setFont(theme.fonts.caption);
    const QFontMetricsF metrics(theme.fonts.caption);
    painter.drawText(
        QPointF(0, height() - metrics.descent() - 1),
        metrics.elidedText(tr("a column a step; dashed: break-even"), Qt::ElideRight, steps_area().width()));
    ++primitives_;
}

void SpecPicture::paint_positions(QPainter& painter) {
    const QRectF area = positions_area();
    if (area.isEmpty()) return;
    const Theme& theme = current_theme();
    const QFontMetricsF metrics(theme.fonts.caption);
    std::vector<double> shares = model_->by_position();
    if (shares.size() > 16) shares.resize(16);
    painter.setPen(theme.text_second);
    painter.setFont(theme.fonts.caption);
    painter.drawText(QPointF(area.left(), metrics.ascent()), tr("by position"));
    if (shares.empty()) return;
    const double top = 2 * metrics.height() + 2;
    const double bottom = height() - metrics.height() - 2;
    const double step = std::min(28.0, area.width() / static_cast<double>(shares.size()));
    const bool numbers = step >= 20;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double x = area.left() + static_cast<double>(i) * step;
        const double share = std::isfinite(shares[i]) ? shares[i] : 0;
        const double h = std::max(1.0, (bottom - top) * share);
        painter.fillRect(QRectF(x, bottom - h, std::max(2.0, step - 6), h),
                         mix(theme.surface, theme.good, std::isfinite(shares[i]) ? 0.85 : 0.2));
        ++primitives_;
        if (!numbers) continue;
        painter.setPen(theme.text_second);
        draw_tabular(painter, QPointF(x, bottom - h - 3), share_text(shares[i]), theme.fonts.caption);
        draw_tabular(painter, QPointF(x + 5, height() - metrics.descent() - 1), QString::number(i + 1),
                     theme.fonts.caption);
        primitives_ += 2;
    }
}

void SpecPicture::paint_split(QPainter& painter) {
    const QRectF area = split_area();
    const double all = figures_.times.all();
    if (area.isEmpty() || all <= 0) return;
    const Theme& theme = current_theme();
    const QFontMetricsF metrics(theme.fonts.caption);
    const std::array<std::pair<QString, double>, 3> parts = {
        std::pair{tr("draft"), figures_.times.draft / all},
        {tr("verify"), figures_.times.verify / all},
        {tr("other"), figures_.times.other / all}};
    const std::array<QColor, 3> inks = {mix(theme.surface, theme.text, 0.65), theme.accent,
                                        mix(theme.surface, theme.text, 0.2)};
    double x = area.left();
    double y = 14 + metrics.ascent() + 4;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const double w = area.width() * parts[i].second;
        painter.fillRect(QRectF(x, 2, w, 9), inks[i]);
        x += w;
        painter.fillRect(QRectF(area.left(), y - 7, 7, 7), inks[i]);
        painter.setPen(theme.text_second);
        draw_tabular(
            painter, QPointF(area.left() + 11, y),
            parts[i].first + u' ' + format_count(std::lround(100 * parts[i].second)) + QStringLiteral(" %"),
            theme.fonts.caption);
        y += metrics.lineSpacing();
        primitives_ += 3;
    }
}

void SpecPicture::paintEvent(QPaintEvent*) {
    primitives_ = 0;
    measure();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    paint_steps(painter);
    painter.setRenderHint(QPainter::Antialiasing, false);
    paint_positions(painter);
    paint_split(painter);
}

QString SpecPicture::describe(const QPointF& place) const {
    const int back = step_at(place);
    if (back < 0) return {};
    const SpecStep& step = model_->steps()[model_->steps().size() - 1 - static_cast<std::size_t>(back)];
    QStringList lines{tr("%1, iteration %2").arg(book_->quoted(step.sequence), format_count(step.iteration))};
    lines << tr("%1 proposed, %2 accepted").arg(format_count(step.proposed), format_count(step.accepted));
    if (step.end == DraftEnd::Corrected) lines << tr("One refused and replaced by the model's own token");
    if (step.end == DraftEnd::Bonus) lines << tr("All accepted, and a token more");
    if (step.end == DraftEnd::Ended) lines << tr("The answer ended with an accepted token");
    lines << (step.drafter == DrafterKind::Model ? tr("Proposed by the draft model")
                                                 : tr("Found again in the text"));
    return lines.join(u'\n');
}

void SpecPicture::mousePressEvent(QMouseEvent* event) {
    const int back = step_at(event->position());
    if (event->button() != Qt::LeftButton || back < 0) return;
    const SpecStep& step = model_->steps()[model_->steps().size() - 1 - static_cast<std::size_t>(back)];
    emit step_clicked(step.sequence, step.index);
}

bool SpecPicture::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const QString text = describe(help->pos()); !text.isEmpty()) {
            QToolTip::showText(help->globalPos(), plain_tooltip(text), this);
        } else {
            QToolTip::hideText();
            event->ignore();
        }
        return true;
    }
    return QWidget::event(event);
}

}  // namespace vitrine::ui
