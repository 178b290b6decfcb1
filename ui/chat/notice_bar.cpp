#include "ui/chat/notice_bar.h"

#include <algorithm>

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/settings/theme.h"

namespace vitrine::ui {

NoticeBar::NoticeBar(QWidget* parent) : QFrame(parent) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(18, 6, 6, 8);
    column->setSpacing(4);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    label_ = new QLabel(this);
    label_->setTextFormat(Qt::PlainText);
    label_->setWordWrap(true);
    label_->setMinimumHeight(28);
    label_->setAlignment(Qt::AlignVCenter | Qt::AlignLeft);
    label_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    row->addWidget(label_, 1);
    auto* close = new QPushButton(tr("Close"), this);
    close->setProperty("role", "flat");
    close->setToolTip(tr("Close this notice"));
    row->addWidget(close, 0, Qt::AlignTop);
    column->addLayout(row);
    // Under the text: labels are sentences in some languages.
    actions_ = new QHBoxLayout;
    actions_->setSpacing(6);
    actions_->addStretch(1);
    column->addLayout(actions_);
    connect(close, &QPushButton::clicked, this, &NoticeBar::dismiss_current);
    timeout_.setSingleShot(true);
    connect(&timeout_, &QTimer::timeout, this, &NoticeBar::dismiss_current);
    connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
    hide();
}

QString NoticeBar::text() const { return waiting_.empty() ? QString() : waiting_.front().text; }
QString NoticeBar::key() const { return waiting_.empty() ? QString() : waiting_.front().key; }

void NoticeBar::show_notice(Notice notice) {
    const auto same = std::find_if(waiting_.begin(), waiting_.end(), [&](const Notice& n) {
        return !notice.key.isEmpty() && n.key == notice.key;
    });
    if (same != waiting_.end()) {
        *same = std::move(notice);
        if (same == waiting_.begin()) present();
        return;
    }
    // What asks for an answer goes before what only informs.
    if (!waiting_.empty() && notice.kind != Notice::Info && waiting_.front().kind == Notice::Info) {
        waiting_.push_front(std::move(notice));
    } else {
        waiting_.push_back(std::move(notice));
        if (waiting_.size() > 1) return;
    }
    present();
}

void NoticeBar::dismiss(const QString& key) {
    const bool first = !waiting_.empty() && waiting_.front().key == key;
    std::erase_if(waiting_, [&](const Notice& n) { return n.key == key; });
    if (first) present();
}

void NoticeBar::dismiss_current() {
    if (waiting_.empty()) return;
    waiting_.pop_front();
    present();
}

void NoticeBar::present() {
    timeout_.stop();
    for (QPushButton* button : buttons_) button->deleteLater();
    buttons_.clear();
    setVisible(!waiting_.empty());
    if (waiting_.empty()) return;
    const Notice& notice = waiting_.front();
    label_->setText(notice.text.left(1500));
    setAccessibleName(notice.text.left(1500));
    for (const Notice::Action& action : notice.actions) {
        auto* button = new QPushButton(action.text, this);
        connect(button, &QPushButton::clicked, this, [this, run = action.run] {
            dismiss_current();
            if (run) run();
        });
        button->setToolTip(action.hint);
        actions_->insertWidget(actions_->count() - 1, button);
        buttons_.push_back(button);
    }
    if (notice.timeout_ms > 0) timeout_.start(notice.timeout_ms);
    update();
}

void NoticeBar::paintEvent(QPaintEvent*) {
    if (waiting_.empty()) return;
    const Theme& theme = current_theme();
    const Notice::Kind kind = waiting_.front().kind;
    const QColor color = kind == Notice::Bad       ? theme.bad
                         : kind == Notice::Caution ? theme.caution
                                                   : theme.accent;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    painter.setPen(mix(theme.hairline, color, 0.35));
    painter.setBrush(mix(theme.surface, color, 0.06));
    painter.drawRoundedRect(box, theme.metrics.radius_card, theme.metrics.radius_card);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawRoundedRect(QRectF(6, 8, 3, height() - 16), 1.5, 1.5);
}

}  // namespace vitrine::ui
