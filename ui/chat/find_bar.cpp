#include "ui/chat/find_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include "ui/chat/chat_view.h"
#include "ui/models/figures.h"

namespace vitrine::ui {

FindBar::FindBar(ChatView* view, QWidget* parent) : QWidget(parent), view_(view) {
    auto* line = new QHBoxLayout(this);
    line->setContentsMargins(0, 0, 0, 0);
    line->setSpacing(6);
    field_ = new QLineEdit(this);
    field_->setPlaceholderText(tr("Find in this chat"));
    field_->setAccessibleName(tr("Find in this chat"));
    field_->setClearButtonEnabled(true);
    field_->installEventFilter(this);
    count_ = new QLabel(this);
    count_->setProperty("role", "caption");
    count_->setAccessibleName(tr("Places found"));
    const auto button = [this](const QString& text, const QString& tip) {
        auto* b = new QToolButton(this);
        b->setText(text);
        b->setToolTip(tip);
        b->setAccessibleName(tip);
        b->setProperty("role", "flat");
        return b;
    };
    before_ = button(QStringLiteral("↑"), tr("The place before (Shift+Enter)"));
    after_ = button(QStringLiteral("↓"), tr("The next place (Enter)"));
    auto* close_button = button(QStringLiteral("×"), tr("End the search (Esc)"));
    line->addWidget(field_, 1);
    line->addWidget(count_);
    line->addWidget(before_);
    line->addWidget(after_);
    line->addWidget(close_button);
    connect(field_, &QLineEdit::textChanged, view_, &ChatView::find);
    connect(before_, &QToolButton::clicked, this, [this] { view_->find_step(-1); });
    connect(after_, &QToolButton::clicked, this, [this] { view_->find_step(1); });
    connect(close_button, &QToolButton::clicked, this, &FindBar::close);
    connect(view_, &ChatView::matches_changed, this, &FindBar::show_count);
    show_count();
}

QString FindBar::count_text() const { return count_->text(); }

void FindBar::open() {
    show();
    if (view_->has_selection())
        if (const QString selected = view_->selected_text();
            !selected.contains(u'\n') && selected.size() <= 200)
            field_->setText(selected);
    field_->setFocus();
    field_->selectAll();
    view_->find(field_->text());
}

void FindBar::close() {
    hide();
    view_->find({});
    view_->setFocus();
}

void FindBar::show_count() {
    const int n = view_->match_count();
    const bool any = n > 0;
    QString text;
    if (!field_->text().isEmpty()) {
        const QString all =
            ui::count_text(n) + (n >= ChatView::most_matches ? QStringLiteral("+") : QString());
        text = !any ? tr("nothing found")
               : view_->current_match() >= 0
                   ? tr("%1 of %2").arg(ui::count_text(view_->current_match() + 1), all)
                   : all;
    }
    count_->setText(text);
    before_->setEnabled(any);
    after_->setEnabled(any);
}

void FindBar::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) return close();
    QWidget::keyPressEvent(event);
}

bool FindBar::eventFilter(QObject* watched, QEvent* event) {
    if (watched == field_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            view_->find_step(key->modifiers() & Qt::ShiftModifier ? -1 : 1);
            return true;
        }
        if (key->key() == Qt::Key_Escape) {
            close();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace vitrine::ui
