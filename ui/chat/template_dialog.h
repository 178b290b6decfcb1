// The chat template of a conversation: its source, which can be changed, and beside it this conversation as
// the template renders it. A source that does not parse or raises an error is said, and cannot be used.
#pragma once

#include <QDialog>
#include <QTimer>

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace vitrine::ui {

class TemplateDialog : public QDialog {
    Q_OBJECT

  public:
    // model_source: the model's own template; own_source: the chat's, empty where it has none.
    TemplateDialog(const QString& model_source, const QString& own_source, QWidget* parent = nullptr);

    // The answer to the newest preview_requested(). error: empty where it was rendered.
    void show_preview(const QString& rendered, int tokens, const QString& error);
    // What the chat should use: empty where it is the model's own.
    QString own_source() const;

    QPlainTextEdit* editor() { return editor_; }
    QPlainTextEdit* preview() { return preview_; }
    QPushButton* use_button() { return use_; }
    QString verdict() const;

  signals:
    void preview_requested(const QString& own_source);
    void chosen(const QString& own_source);

  private:
    void ask();

    QString model_source_;
    QString model_text_;
    QPlainTextEdit* editor_;
    QPlainTextEdit* preview_;
    QLabel* verdict_;
    QPushButton* own_;
    QPushButton* use_;
    QTimer delay_;
};

}  // namespace vitrine::ui
