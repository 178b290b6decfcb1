// Search in the conversation: a field, how many places, one before and one after.
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QToolButton;

namespace vitrine::ui {

class ChatView;

class FindBar : public QWidget {
    Q_OBJECT

  public:
    explicit FindBar(ChatView* view, QWidget* parent = nullptr);

    void open();   // with what is selected, or with what was looked for before
    void close();  // the view has the keyboard then
    QLineEdit* field() { return field_; }
    QString count_text() const;

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void show_count();

    ChatView* view_;
    QLineEdit* field_;
    QLabel* count_;
    QToolButton* before_;
    QToolButton* after_;
};

}  // namespace vitrine::ui
