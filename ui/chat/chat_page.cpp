#include "ui/chat/chat_page.h"

#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/chat/chat_settings_card.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/coloring_bar.h"
#include "ui/chat/composer.h"
#include "ui/chat/find_bar.h"
#include "ui/chat/notice_bar.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {

ChatPage::ChatPage(QWidget* parent) : QWidget(parent) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    view_ = new ChatView(this);
    head_ = new QWidget(this);
    auto* head = new QVBoxLayout(head_);
    head->setSpacing(6);
    find_ = new FindBar(view_, head_);
    find_->hide();
    coloring_ = new ColoringBar(head_);
    coloring_->hide();
    head->addWidget(coloring_);
    head->addWidget(find_);
    column->addWidget(head_);
    column->addWidget(view_, 1);
    connect(coloring_, &ColoringBar::coloring_changed, view_, &ChatView::set_coloring);
    // Nothing to colour in an empty chat.
    connect(view_, &ChatView::emptied, coloring_, &QWidget::setHidden);

    foot_ = new QWidget(this);
    auto* foot = new QVBoxLayout(foot_);
    foot->setSpacing(8);
    notices_ = new NoticeBar(foot_);
    settings_ = new ChatSettingsCard(foot_);
    settings_->hide();
    composer_ = new Composer(foot_);
    foot->addWidget(notices_);
    foot->addWidget(settings_);
    foot->addWidget(composer_);
    column->addWidget(foot_);
    connect(settings_, &ChatSettingsCard::close_requested, this, [this] {
        show_settings(false);
        composer_->focus();
    });
}

void ChatPage::show_settings(bool shown) {
    settings_->setVisible(shown);
    composer_->settings_button()->setChecked(shown);
    if (shown) settings_->focus();
}

void ChatPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    lay_out();
}

void ChatPage::lay_out() {
    // The same column as the conversation's.
    const int side = static_cast<int>(view_->column_left());
    head_->layout()->setContentsMargins(side, 8, side, 4);
    foot_->layout()->setContentsMargins(side, 12, side, 14);
}

void ChatPage::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.surface);
    painter.fillRect(QRect(0, foot_->y(), width(), 1), theme.hairline);
}

}  // namespace vitrine::ui
