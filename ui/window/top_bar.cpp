#include "ui/window/top_bar.h"

#include <array>

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <QToolTip>

#include "ui/models/figures.h"
#include "ui/settings/theme.h"
#include "ui/window/chip.h"

namespace vitrine::ui {
namespace {

enum Glyph { PauseGlyph, StepGlyph, RunGlyph };

class GlyphButton : public QAbstractButton {
  public:
    GlyphButton(Glyph glyph, QWidget* parent) : QAbstractButton(parent), glyph_(glyph) {
        setCheckable(true);
        setFocusPolicy(Qt::TabFocus);
        setFixedSize(32, 26);
        setAttribute(Qt::WA_Hover);
    }

  protected:
    void nextCheckState() override {}  // the engine's state decides, not the click
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
        switch (glyph_) {
            case PauseGlyph:
                painter.drawRect(QRectF(c.x() - 4.5, c.y() - 5, 3, 10));
                painter.drawRect(QRectF(c.x() + 1.5, c.y() - 5, 3, 10));
                break;
            case StepGlyph:
                painter.drawRect(QRectF(c.x() - 5.5, c.y() - 5, 2.5, 10));
                painter.drawPolygon(
                    QPolygonF{{c.x() - 1, c.y() - 5}, {c.x() + 6.5, c.y()}, {c.x() - 1, c.y() + 5}});
                break;
            case RunGlyph:
                painter.drawPolygon(
                    QPolygonF{{c.x() - 3.5, c.y() - 5.5}, {c.x() + 5.5, c.y()}, {c.x() - 3.5, c.y() + 5.5}});
                break;
        }
    }

  private:
    Glyph glyph_;
};

}  // namespace

// Pause, one iteration, run; and what state that is, in words.
class TopBar::StepControl : public QWidget {
  public:
    explicit StepControl(TopBar* bar) : QWidget(bar) {
        auto* row = new QHBoxLayout(this);
        row->setContentsMargins(2, 1, 10, 1);
        row->setSpacing(0);
        pause_ = new GlyphButton(PauseGlyph, this);
        step_ = new GlyphButton(StepGlyph, this);
        run_ = new GlyphButton(RunGlyph, this);
        pause_->setToolTip(TopBar::tr("Pause the engine after this iteration (F6)"));
        step_->setToolTip(TopBar::tr("One iteration (F7)"));
        run_->setToolTip(TopBar::tr("Run (F8)"));
        pause_->setAccessibleName(TopBar::tr("Pause the engine"));
        step_->setAccessibleName(TopBar::tr("One iteration"));
        run_->setAccessibleName(TopBar::tr("Run"));
        for (GlyphButton* b : {pause_, step_, run_}) row->addWidget(b);
        row->addSpacing(6);
        row->addStretch(1);
        setFixedHeight(28);
        connect(pause_, &QAbstractButton::clicked, bar, &TopBar::pause_requested);
        connect(step_, &QAbstractButton::clicked, bar, &TopBar::step_requested);
        connect(run_, &QAbstractButton::clicked, bar, &TopBar::run_requested);
        set(false, false, 0);
    }
    void set(bool paused, bool available, qint64 iteration) {
        pause_->setChecked(paused);
        run_->setChecked(!paused && available);
        for (GlyphButton* b : {pause_, step_, run_}) b->setEnabled(available);
        const QString text = !available ? TopBar::tr("no model")
                             : paused   ? TopBar::tr("paused at iteration %1").arg(count_text(iteration))
                                        : TopBar::tr("run");
        if (text == text_) return;
        text_ = text;
        setFixedWidth(3 * 32 + 22 +
                      static_cast<int>(QFontMetricsF(current_theme().fonts.text).horizontalAdvance(text)) +
                      4);
        update();
    }

  protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = current_theme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(theme.hairline);
        painter.setBrush(theme.raised);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.metrics.radius_chip,
                                theme.metrics.radius_chip);
        painter.setPen(theme.text_second);
        painter.setFont(theme.fonts.text);
        painter.drawText(QRectF(3 * 32 + 10, 0, width(), height()), Qt::AlignVCenter | Qt::AlignLeft, text_);
    }

  private:
    GlyphButton *pause_, *step_, *run_;
    QString text_;
};

TopBar::TopBar(QWidget* parent) : QWidget(parent) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 7, 12, 8);
    row->setSpacing(8);
    model_ = new Chip(this);
    format_ = new Chip(this);
    cache_ = new Chip(this);
    steps_ = new StepControl(this);
    menu_ = new QToolButton(this);
    menu_->setText(tr("Menu"));
    menu_->setToolTip(tr("View, theme, data, help (F10)"));
    menu_->setPopupMode(QToolButton::InstantPopup);
    menu_->setFixedHeight(28);
    row->addWidget(model_);
    row->addWidget(format_);
    row->addWidget(cache_);
    row->addStretch(1);
    row->addWidget(steps_);
    row->addWidget(menu_);
    model_->setToolTip(tr("The model that answers. Click to open another one (Ctrl+O)."));
    connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
    show_model({});
}

void TopBar::show_model(const ModelInfo& info) {
    model_->set_progress(-1);
    if (!info.valid()) {
        model_->set_parts({}, tr("No model"));
        format_->set_parts(tr("Format"), QStringLiteral("–"));
        cache_->set_parts(tr("KV"), QStringLiteral("–"));
        format_->setEnabled(false);
        cache_->setEnabled(false);
        format_->setToolTip(tr("Open a model first."));
        cache_->setToolTip(tr("Open a model first."));
        return;
    }
    model_->set_parts({}, info.name);
    format_->set_parts(tr("Format"), info.format, bytes_text(info.weights_bytes));
    format_->setEnabled(true);
    format_->setToolTip(
        tr("Precision of the weights as the file stores them, and the memory they take: %1 parameters, "
           "architecture %2, %3 layers.")
            .arg(count_text(static_cast<qint64>(info.parameters)), info.architecture)
            .arg(info.layers));
    cache_->set_parts(tr("KV"), info.kv_dtype, tr("%1-token blocks").arg(info.block_size));
    cache_->setEnabled(true);
    cache_->setToolTip(
        tr("Precision of the KV cache and size of its blocks: %1 blocks, %2. A change opens the model again; "
           "the chats stay.")
            .arg(count_text(info.blocks), bytes_text(info.kv_bytes)));
}

void TopBar::show_loading(const QString& name, double share) {
    model_->set_parts(tr("Loading"), name,
                      share > 0 ? tr("%1 %").arg(static_cast<int>(share * 100)) : QString());
    model_->set_progress(share);
}

void TopBar::show_paused(bool paused, bool available, qint64 iteration) {
    steps_->set(paused, available, iteration);
}

void TopBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    // What is least needed makes room first.
    cache_->setVisible(width() >= 820);
    format_->setVisible(width() >= 640);
}

void TopBar::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.surface);
    painter.fillRect(QRect(0, height() - 1, width(), 1), theme.hairline);
}

}  // namespace vitrine::ui
