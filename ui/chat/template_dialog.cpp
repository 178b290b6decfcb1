#include "ui/chat/template_dialog.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include "ui/models/figures.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

// Laid out line by line, but not without an end.
constexpr qsizetype longest_preview = 200'000;

QWidget* titled(const QString& title, QPlainTextEdit* text, QWidget* parent) {
    auto* part = new QWidget(parent);
    auto* column = new QVBoxLayout(part);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    auto* label = new QLabel(title, part);
    label->setProperty("role", "caption");
    label->setBuddy(text);
    column->addWidget(label);
    column->addWidget(text, 1);
    text->setAccessibleName(title);
    text->setFont(current_theme().fonts.mono);
    text->setTabChangesFocus(true);
    return part;
}

}  // namespace

TemplateDialog::TemplateDialog(const QString& model_source, const QString& own_source, QWidget* parent)
    : QDialog(parent), model_source_(model_source) {
    setWindowTitle(tr("Chat template"));
    resize(980, 620);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 14);
    column->setSpacing(10);
    auto* about = new QLabel(
        tr("The template (Jinja) turns the messages into the one text that the model reads. A change holds "
           "for this chat alone; what it makes of this conversation stands on the right."),
        this);
    about->setWordWrap(true);
    column->addWidget(about);

    editor_ = new QPlainTextEdit(this);
    editor_->setLineWrapMode(QPlainTextEdit::NoWrap);
    preview_ = new QPlainTextEdit(this);
    preview_->setReadOnly(true);
    preview_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    splitter->addWidget(titled(tr("Template"), editor_, splitter));
    splitter->addWidget(titled(tr("This conversation, rendered"), preview_, splitter));
    splitter->setChildrenCollapsible(false);
    column->addWidget(splitter, 1);

    verdict_ = new QLabel(this);
    verdict_->setWordWrap(true);
    verdict_->setTextFormat(Qt::PlainText);
    verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    verdict_->setAccessibleName(tr("Result"));
    column->addWidget(verdict_);

    auto* row = new QHBoxLayout;
    own_ = new QPushButton(tr("The model's own"), this);
    own_->setToolTip(tr("Puts the template of the model file back into the editor"));
    use_ = new QPushButton(tr("Use in this chat"), this);
    use_->setProperty("role", "primary");
    auto* cancel = new QPushButton(tr("Cancel"), this);
    row->addWidget(own_);
    row->addStretch(1);
    row->addWidget(cancel);
    row->addWidget(use_);
    column->addLayout(row);

    delay_.setSingleShot(true);
    delay_.setInterval(200);
    connect(&delay_, &QTimer::timeout, this, &TemplateDialog::ask);
    connect(editor_, &QPlainTextEdit::textChanged, this, [this] {
        use_->setEnabled(false);  // until this source has been tried
        own_->setEnabled(editor_->toPlainText() != model_text_);
        delay_.start();
    });
    connect(own_, &QPushButton::clicked, this, [this] { editor_->setPlainText(model_source_); });
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(use_, &QPushButton::clicked, this, [this] {
        emit chosen(this->own_source());
        accept();
    });
    editor_->setPlainText(model_source);
    model_text_ = editor_->toPlainText();  // as the editor gives it back: line ends may differ
    if (!own_source.isEmpty()) editor_->setPlainText(own_source);
    own_->setEnabled(!own_source.isEmpty());
}

QString TemplateDialog::own_source() const {
    const QString source = editor_->toPlainText();
    return source == model_text_ || source.trimmed().isEmpty() ? QString() : source;
}

void TemplateDialog::ask() { emit preview_requested(own_source()); }

void TemplateDialog::show_preview(const QString& rendered, int tokens, const QString& error) {
    const bool ok = error.isEmpty();
    if (ok) {
        preview_->setPlainText(rendered.left(longest_preview));
        verdict_->setText(
            tr("%1 tokens, with the control tokens that the template writes.").arg(count_text(tokens)));
    } else {
        verdict_->setText(tr("This template cannot be used: %1").arg(error));
    }
    QPalette palette = verdict_->palette();
    palette.setColor(QPalette::WindowText, ok ? current_theme().text_second : current_theme().bad);
    verdict_->setPalette(palette);
    // An answer to an older source says nothing about this one.
    use_->setEnabled(ok && !delay_.isActive());
}

QString TemplateDialog::verdict() const { return verdict_->text(); }

}  // namespace vitrine::ui
