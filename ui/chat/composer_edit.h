// The text field of the composer: grows with its text, Enter sends, Shift+Enter begins a line.
#pragma once

#include <QPlainTextEdit>

namespace vitrine::ui {

class ComposerEdit : public QPlainTextEdit {
    Q_OBJECT

  public:
    // Longer texts are not put into the field, which would lay out every line of them: see pasted_large().
    static constexpr qsizetype large = 16'000;

    explicit ComposerEdit(QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }
    // The text is one from the history that nobody has changed.
    void set_recalling(bool recalling) { recalling_ = recalling; }

  signals:
    void send_requested();
    void pasted_large(const QString& text);
    void file_dropped(const QString& path);
    // Up (−1) in an empty field or at its beginning, and both arrows at the edges of a recalled text.
    void recall_requested(int by);

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void inputMethodEvent(QInputMethodEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void fit();
    bool at_edge(int by) const;
    QString preedit_;  // what the input method has not committed yet
    int lines_ = 1;
    bool recalling_ = false;
};

}  // namespace vitrine::ui
