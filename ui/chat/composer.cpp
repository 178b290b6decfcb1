#include "ui/chat/composer.h"

#include <algorithm>

#include <QDragEnterEvent>
#include <QFile>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QPainter>
#include <QPushButton>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/chat/composer_edit.h"
#include "ui/chat/context_gauge.h"
#include "ui/models/figures.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {

Composer::Composer(QWidget* parent) : QFrame(parent) {
    setAcceptDrops(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 10, 8, 8);
    column->setSpacing(6);

    auto* editing = new QHBoxLayout;
    editing->setSpacing(8);
    editing_label_ = new QLabel(tr("Editing your message. The old version is kept beside it."), this);
    editing_label_->setProperty("role", "caption");
    editing_cancel_ = new QPushButton(tr("Cancel"), this);
    editing_cancel_->setProperty("role", "flat");
    editing->addWidget(editing_label_, 1);
    editing->addWidget(editing_cancel_);
    column->addLayout(editing);
    editing_label_->hide();
    editing_cancel_->hide();

    attached_row_ = new QWidget(this);
    attached_layout_ = new QHBoxLayout(attached_row_);
    attached_layout_->setContentsMargins(0, 0, 0, 0);
    attached_layout_->setSpacing(6);
    attached_row_->hide();
    column->addWidget(attached_row_);

    edit_ = new ComposerEdit(this);
    edit_->setPlaceholderText(tr("Write a message, or drop a text file"));
    edit_->setAccessibleName(tr("Message"));
    edit_->setToolTip({});
    edit_->setStyleSheet(
        QStringLiteral("QPlainTextEdit { border: none; background: transparent; padding: 0; }"));
    edit_->viewport()->setAutoFillBackground(false);
    edit_->installEventFilter(this);
    column->addWidget(edit_);

    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    gauge_ = new ContextGauge(this);
    settings_ = new QPushButton(this);
    settings_->setProperty("role", "flat");
    settings_->setCheckable(true);
    settings_->setToolTip(tr("System prompt and sampler settings of this chat (Ctrl+,)"));
    settings_->setAccessibleName(tr("Chat settings"));
    button_ = new QPushButton(tr("Send"), this);
    button_->setProperty("role", "primary");
    row->addWidget(gauge_, 1);
    row->addWidget(settings_);
    row->addWidget(button_);
    column->addLayout(row);

    setTabOrder(edit_, settings_);
    setTabOrder(settings_, button_);
    setFocusProxy(edit_);

    connect(edit_, &ComposerEdit::send_requested, this, &Composer::send);
    connect(edit_, &ComposerEdit::recall_requested, this, &Composer::recall);
    connect(edit_, &ComposerEdit::pasted_large, this,
            [this](const QString& text) { attach(tr("Pasted text"), text); });
    connect(edit_, &ComposerEdit::file_dropped, this, &Composer::attach_file);
    connect(edit_, &QPlainTextEdit::textChanged, this, [this] {
        if (!recalling_) {
            history_at_ = -1;
            edit_->set_recalling(false);
        }
        update_button();
        emit changed();
    });
    connect(button_, &QPushButton::clicked, this, [this] {
        if (answering_) {
            emit stop_requested();
        } else {
            send();
        }
    });
    connect(settings_, &QPushButton::clicked, this, &Composer::settings_requested);
    connect(editing_cancel_, &QPushButton::clicked, this, &Composer::editing_cancelled);
    connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
    update_button();
}

QString Composer::text() const {
    QStringList parts;
    if (const QString typed = edit_->toPlainText(); !typed.trimmed().isEmpty()) parts << typed;
    for (const Attached& a : attached_) parts << a.text;
    return parts.join(QStringLiteral("\n\n"));
}

void Composer::set_text(const QString& text) {
    attached_.clear();
    if (text.size() > ComposerEdit::large) {
        edit_->clear();
        attach(tr("Text"), text);
    } else {
        edit_->setPlainText(text);
        edit_->moveCursor(QTextCursor::End);
    }
    show_attached();
}

bool Composer::empty() const { return attached_.empty() && edit_->document()->isEmpty(); }

void Composer::focus() { edit_->setFocus(); }

void Composer::set_answering(bool answering) {
    answering_ = answering;
    update_button();
}

void Composer::set_blocked(const QString& reason) {
    blocked_ = reason;
    update_button();
}

void Composer::set_figures(int total, int draft, int context, int system) {
    gauge_->set_figures(total, draft, context, system);
}

QStringList Composer::pieces() const {
    QStringList texts;
    for (const Attached& a : attached_) texts << a.text;
    return texts;
}

void Composer::set_piece_tokens(const std::vector<int>& tokens) {
    // An answer to a question about other pieces: the next one is under way.
    if (tokens.size() != attached_.size()) return;
    bool changed = false;
    for (std::size_t i = 0; i < tokens.size(); ++i)
        changed = std::exchange(attached_[i].tokens, tokens[i]) != tokens[i] || changed;
    if (changed) show_attached();
}

void Composer::recall(int by) {
    if (history_at_ < 0) {
        // What is attached would be gone when the walk comes back.
        if (by > 0 || !history_source_ || !attached_.empty()) return;
        history_ = history_source_();
        present_ = edit_->toPlainText();
    }
    const qsizetype at = history_at_ - by;
    if (at >= history_.size() || at < -1) return;
    recalling_ = true;
    set_text(at < 0 ? present_ : history_[at]);
    recalling_ = false;
    history_at_ = at;
    edit_->set_recalling(at >= 0);
}

void Composer::set_settings_summary(const QString& summary) { settings_->setText(summary); }

void Composer::set_editing(bool editing) {
    editing_ = editing;
    editing_label_->setVisible(editing);
    editing_cancel_->setVisible(editing);
    update_button();
}

void Composer::update_button() {
    button_->setText(answering_ ? tr("Stop") : editing_ ? tr("Send again") : tr("Send"));
    const bool something = !attached_.empty() || !edit_->document()->isEmpty();
    button_->setEnabled(answering_ || (something && blocked_.isEmpty()));
    button_->setToolTip(answering_           ? tr("Stop the answer; what was written stays (Esc)")
                        : blocked_.isEmpty() ? tr("Send (Enter). Shift+Enter begins a new line.")
                                             : blocked_);
}

void Composer::send() {
    if (answering_ || !blocked_.isEmpty()) return;
    const QString message = text();
    if (message.trimmed().isEmpty()) return;
    emit send_requested(message);
}

void Composer::attach(const QString& name, const QString& text) {
    attached_.push_back({name, text});
    show_attached();
    update_button();
    emit changed();
}

void Composer::attach_file(const QString& path) {
    // A model, in a file or in a folder of Hugging Face's kind, is opened and not read as text.
    if (path.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive) ||
        QFileInfo::exists(path + QStringLiteral("/config.json"))) {
        emit model_dropped(path);
        return;
    }
    const QString name = QFileInfo(path).fileName();
    QFile file(path);
    if (!QFileInfo(path).isFile() || !file.open(QIODevice::ReadOnly)) {
        emit refused(tr("%1 cannot be read.").arg(name));
        return;
    }
    if (file.size() > largest_file) {
        emit refused(
            tr("%1 is %2; texts up to %3 can be attached.")
                .arg(name, bytes_text(static_cast<std::uint64_t>(file.size())), bytes_text(largest_file)));
        return;
    }
    const QByteArray bytes = file.readAll();
    if (bytes.contains('\0')) {
        emit refused(tr("%1 is not a text file.").arg(name));
        return;
    }
    attach(name, QString::fromUtf8(bytes));
}

void Composer::show_attached() {
    while (QLayoutItem* item = attached_layout_->takeAt(0)) {
        if (item->widget()) item->widget()->deleteLater();
        delete item;
    }
    int index = 0;
    for (const Attached& a : attached_) {
        const QString size = bytes_text(static_cast<std::uint64_t>(a.text.size()));
        const QString cost = a.tokens == 1  ? tr("1 token")
                             : a.tokens > 0 ? tr("%1 tokens").arg(count_text(a.tokens))
                                            : size;
        auto* chip = new QPushButton(tr("%1 · %2  ×").arg(a.name.left(40), cost), attached_row_);
        chip->setProperty("role", "chip");
        chip->setAccessibleName(tr("Remove %1, %2").arg(a.name.left(40), cost));
        chip->setToolTip(tr("%1, %2: sent along with the message. Click to remove it.").arg(size, cost));
        connect(chip, &QPushButton::clicked, this, [this, index] {
            attached_.erase(attached_.begin() + index);
            show_attached();
            update_button();
            emit changed();
        });
        attached_layout_->addWidget(chip);
        ++index;
    }
    attached_layout_->addStretch(1);
    attached_row_->setVisible(!attached_.empty());
}

void Composer::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(edit_->hasFocus() ? mix(theme.hairline, theme.accent, 0.7) : theme.hairline, 1));
    painter.setBrush(theme.raised);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.metrics.radius_message,
                            theme.metrics.radius_message);
}

bool Composer::eventFilter(QObject* object, QEvent* event) {
    if (object == edit_ && (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut)) update();
    return QFrame::eventFilter(object, event);
}

void Composer::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void Composer::dropEvent(QDropEvent* event) {
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) attach_file(url.toLocalFile());
    event->acceptProposedAction();
}

}  // namespace vitrine::ui
