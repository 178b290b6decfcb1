#include "ui/chat/coloring_bar.h"

#include <cmath>

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QPainter>
#include <QToolButton>

#include "ui/settings/theme.h"

namespace vitrine::ui {

// Each colour behind the words that say what it stands for; entries that have no room are left out whole.
class ColoringBar::Legend : public QWidget {
  public:
    explicit Legend(QWidget* parent) : QWidget(parent) {
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
        connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
    }
    void set_coloring(Coloring coloring) {
        coloring_ = coloring;
        QStringList words;
        for (const LegendEntry& entry : legend_of(coloring, current_theme())) words << entry.text;
        setAccessibleName(words.join(QStringLiteral(", ")));
        setToolTip(
            coloring == Coloring::Probability ? ColoringBar::tr("The model's own probability of each token")
            : coloring == Coloring::Origin
                ? ColoringBar::tr("Where each token comes from: the sampler, or a draft that was verified")
            : coloring == Coloring::Latency
                ? ColoringBar::tr("The time of each token, as a multiple of the median of its answer")
                : QString());
        update();
    }
    QSize sizeHint() const override { return {0, 22}; }

  protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = current_theme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setFont(theme.fonts.caption);
        const QFontMetricsF metrics(theme.fonts.caption);
        const auto entries = legend_of(coloring_, theme);
        double total = 0;
        for (const LegendEntry& e : entries) total += metrics.horizontalAdvance(e.text) + 18;
        // Close to the buttons that it explains.
        double x = std::max(0.0, width() - total);
        for (const LegendEntry& e : entries) {
            const double wide = metrics.horizontalAdvance(e.text) + 10;
            if (x + wide > width()) break;
            const QRectF box(std::round(x) + 0.5, std::round((height() - metrics.height() - 4) / 2) + 0.5,
                             wide, std::ceil(metrics.height()) + 3);
            painter.setPen(e.look.frame.isValid() ? QPen(e.look.frame, 1.3) : QPen(Qt::NoPen));
            painter.setBrush(e.look.fill.isValid() ? QBrush(e.look.fill) : QBrush(Qt::NoBrush));
            painter.drawRoundedRect(box, 3, 3);
            if (e.look.underline.isValid())
                painter.fillRect(QRectF(box.left() + 5, box.bottom() - 2, wide - 10, 2), e.look.underline);
            painter.setPen(e.look.fill.isValid() ? theme.text : theme.text_second);
            painter.drawText(box, Qt::AlignCenter, e.text);
            x += wide + 8;
        }
    }

  private:
    Coloring coloring_ = Coloring::None;
};

ColoringBar::ColoringBar(QWidget* parent) : QWidget(parent) {
    auto* line = new QHBoxLayout(this);
    line->setContentsMargins(0, 0, 0, 0);
    line->setSpacing(2);
    legend_ = new Legend(this);
    line->addWidget(legend_, 1);
    line->addSpacing(10);
    group_ = new QButtonGroup(this);
    group_->setExclusive(true);
    const struct {
        Coloring coloring;
        QString text, tip;
    } choices[] = {{Coloring::None, tr("plain"), tr("Tokens are not coloured")},
                   {Coloring::Probability, tr("probability"), tr("Colour tokens by how probable they were")},
                   {Coloring::Origin, tr("origin"), tr("Colour tokens by where they come from")},
                   {Coloring::Latency, tr("latency"), tr("Colour tokens by how long they took")}};
    for (const auto& choice : choices) {
        auto* b = new QToolButton(this);
        b->setText(choice.text);
        b->setToolTip(choice.tip);
        b->setAccessibleName(tr("Tokens: %1").arg(choice.text));
        b->setCheckable(true);
        b->setChecked(choice.coloring == Coloring::None);
        b->setProperty("role", "flat");
        group_->addButton(b, static_cast<int>(choice.coloring));
        line->addWidget(b);
    }
    connect(group_, &QButtonGroup::idClicked, this,
            [this](int id) { set_coloring(static_cast<Coloring>(id)); });
}

QToolButton* ColoringBar::button(Coloring coloring) {
    return static_cast<QToolButton*>(group_->button(static_cast<int>(coloring)));
}

QString ColoringBar::legend_text() const { return legend_->accessibleName(); }

void ColoringBar::set_coloring(Coloring coloring) {
    button(coloring)->setChecked(true);
    if (coloring_ == coloring) return;
    coloring_ = coloring;
    legend_->set_coloring(coloring);
    emit coloring_changed(coloring);
}

void ColoringBar::step() { set_coloring(static_cast<Coloring>((static_cast<int>(coloring_) + 1) % 4)); }

}  // namespace vitrine::ui
