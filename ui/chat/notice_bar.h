// One sentence between conversation and composer, with what can be done about it. Notices wait in line; the
// text is shown as it is, never as rich text.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include <QFrame>
#include <QTimer>

class QLabel;
class QHBoxLayout;
class QPushButton;

namespace vitrine::ui {

struct Notice {
    enum Kind { Info, Caution, Bad };
    struct Action {
        QString text;
        std::function<void()> run;
        QString hint = {};  // tooltip
    };
    Kind kind = Info;
    QString text;
    std::vector<Action> actions;
    QString key;         // a later notice with the same key replaces this one
    int timeout_ms = 0;  // 0: until it is closed
};

class NoticeBar : public QFrame {
    Q_OBJECT

  public:
    explicit NoticeBar(QWidget* parent = nullptr);
    void show_notice(Notice notice);
    void dismiss(const QString& key);
    void dismiss_current();
    // The notice that is shown, empty: none.
    QString text() const;
    QString key() const;
    std::vector<QPushButton*> action_buttons() const { return buttons_; }

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    void present();
    std::deque<Notice> waiting_;  // the first one is shown
    QLabel* label_;
    QHBoxLayout* actions_;
    std::vector<QPushButton*> buttons_;
    QTimer timeout_;
};

}  // namespace vitrine::ui
