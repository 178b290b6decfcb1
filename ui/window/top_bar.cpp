#include "ui/window/top_bar.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QToolButton>

#include "ui/models/figures.h"
#include "ui/settings/theme.h"
#include "ui/window/chip.h"
#include "ui/window/step_control.h"

namespace vitrine::ui {
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
