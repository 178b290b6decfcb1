#include "ui/window/step_control.h"

#include <algorithm>
#include <array>

#include <QAbstractButton>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QMenu>
#include <QPainter>
#include <QWheelEvent>

#include "ui/bridge/engine_worker.h"
#include "ui/models/figures.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

enum class Glyph { Pause, Step, Slow, Run };
constexpr int button_width = 32;
constexpr int buttons = 4;

}  // namespace

class StepControl::Button : public QAbstractButton {
  public:
    Button(Glyph glyph, QWidget* parent) : QAbstractButton(parent), glyph_(glyph) {
        setCheckable(true);
        setFocusPolicy(Qt::TabFocus);
        setFixedSize(button_width, 26);
        setAttribute(Qt::WA_Hover);
    }

  protected:
    void nextCheckState() override {}
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = current_theme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const QRectF box = QRectF(rect()).adjusted(1, 1, -1, -1);
        painter.setPen(hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
        painter.setBrush(isChecked()                   ? QBrush(theme.selection)
                         : underMouse() && isEnabled() ? QBrush(mix(theme.raised, theme.text, 0.05))
                                                       : QBrush(Qt::NoBrush));
        painter.drawRoundedRect(box, 5, 5);
        const QColor ink = !isEnabled() ? theme.text_third : isChecked() ? theme.accent : theme.text;
        painter.setPen(Qt::NoPen);
        painter.setBrush(ink);
        const QPointF c = QRectF(rect()).center();
        const QPolygonF triangle{
            {c.x() - 3.5, c.y() - 5.5}, {c.x() + 5.5, c.y()}, {c.x() - 3.5, c.y() + 5.5}};
        switch (glyph_) {
            case Glyph::Pause:
                painter.drawRect(QRectF(c.x() - 4.5, c.y() - 5, 3, 10));
                painter.drawRect(QRectF(c.x() + 1.5, c.y() - 5, 3, 10));
                break;
            case Glyph::Step:
                painter.drawRect(QRectF(c.x() - 5.5, c.y() - 5, 2.5, 10));
                painter.drawPolygon(
                    QPolygonF{{c.x() - 1, c.y() - 5}, {c.x() + 6.5, c.y()}, {c.x() - 1, c.y() + 5}});
                break;
            case Glyph::Slow:  // the outline of "run"
                painter.setBrush(Qt::NoBrush);
                painter.setPen(QPen(ink, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
                painter.drawPolygon(
                    QPolygonF{{c.x() - 3.5, c.y() - 4.5}, {c.x() + 4.5, c.y()}, {c.x() - 3.5, c.y() + 4.5}});
                break;
            case Glyph::Run: painter.drawPolygon(triangle); break;
        }
    }

  private:
    Glyph glyph_;
};

StepControl::StepControl(QWidget* parent) : QWidget(parent) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(2, 1, 10, 1);
    row->setSpacing(0);
    pause_ = new Button(Glyph::Pause, this);
    step_ = new Button(Glyph::Step, this);
    slow_ = new Button(Glyph::Slow, this);
    run_ = new Button(Glyph::Run, this);
    pause_->setToolTip(tr("Pause the engine after this iteration (F6)"));
    step_->setToolTip(tr("One iteration (F7)"));
    run_->setToolTip(tr("Run as fast as it can (F8)"));
    pause_->setAccessibleName(tr("Pause the engine"));
    step_->setAccessibleName(tr("One iteration"));
    slow_->setAccessibleName(tr("Run slowly"));
    run_->setAccessibleName(tr("Run"));
    for (Button* b : {pause_, step_, slow_, run_}) row->addWidget(b);
    row->addStretch(1);
    setFixedHeight(28);
    setAccessibleName(tr("Engine"));
    connect(pause_, &QAbstractButton::clicked, this, &StepControl::pause_requested);
    connect(step_, &QAbstractButton::clicked, this, &StepControl::step_requested);
    connect(run_, &QAbstractButton::clicked, this, &StepControl::run_requested);
    connect(slow_, &QAbstractButton::clicked, this, [this] { emit slow_requested(slow_pace_); });
    connect(theme_signal(), &ThemeSignal::changed, this, &StepControl::fit);
    set_slow_pace(slow_pace_);
    show_state({});
}

QAbstractButton* StepControl::pause_button() const { return pause_; }
QAbstractButton* StepControl::step_button() const { return step_; }
QAbstractButton* StepControl::slow_button() const { return slow_; }
QAbstractButton* StepControl::run_button() const { return run_; }

void StepControl::set_slow_pace(int per_second) {
    slow_pace_ = std::clamp(per_second, 1, EngineWorker::fastest_pace);
    slow_->setToolTip(tr("Run slowly: %1 a second (F9). The wheel or a right click changes it, "
                         "Shift+F9 and Ctrl+F9 as well.")
                          .arg(slow_pace_));
}

void StepControl::show_state(const State& state) {
    state_ = state;
    pause_->setChecked(state.available && state.paused);
    slow_->setChecked(state.available && !state.paused && state.pace > 0);
    run_->setChecked(state.available && !state.paused && state.pace == 0);
    for (Button* b : {pause_, step_, slow_, run_}) b->setEnabled(state.available);
    const QString text = !state.available ? tr("no model")
                         : state.paused   ? tr("paused at iteration %1").arg(count_text(state.iteration))
                         : state.pace > 0 ? tr("%1 a second").arg(state.pace)
                                          : tr("run");
    if (text == text_) return;
    text_ = text;
    setAccessibleDescription(text);
    fit();
}

void StepControl::fit() {
    setFixedWidth(buttons * button_width + 22 +
                  static_cast<int>(QFontMetricsF(current_theme().fonts.text).horizontalAdvance(text_)) + 4);
    update();
}

void StepControl::choose_pace(int per_second) {
    set_slow_pace(per_second);
    emit slow_requested(slow_pace_);
}

void StepControl::wheelEvent(QWheelEvent* event) {
    event->accept();
    if (!state_.available || state_.paused || state_.pace == 0) return;
    wheel_ += event->angleDelta().y();
    const int notches = wheel_ / 120;
    if (notches == 0) return;
    wheel_ -= notches * 120;
    choose_pace(slow_pace_ + notches);
}

void StepControl::contextMenuEvent(QContextMenuEvent* event) {
    if (!state_.available) return;
    QMenu menu(this);
    for (const int pace : {1, 2, 3, 5, 10, 15, 20}) {
        QAction* action =
            menu.addAction(tr("Slowly: %1 a second").arg(pace), this, [this, pace] { choose_pace(pace); });
        action->setCheckable(true);
        action->setChecked(state_.pace == pace && !state_.paused);
    }
    menu.exec(event->globalPos());
}

void StepControl::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme.hairline);
    painter.setBrush(theme.raised);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.metrics.radius_chip,
                            theme.metrics.radius_chip);
    painter.setPen(theme.text_second);
    painter.setFont(theme.fonts.text);
    painter.drawText(QRectF(buttons * button_width + 10, 0, width(), height()),
                     Qt::AlignVCenter | Qt::AlignLeft, text_);
}

}  // namespace vitrine::ui
