// The middle of the window: conversation, notices, settings card, composer. Layout only; what happens is
// decided by the window.
#pragma once

#include <QWidget>

namespace vitrine::ui {

class ChatSettingsCard;
class ChatView;
class Composer;
class NoticeBar;

class ChatPage : public QWidget {
    Q_OBJECT

  public:
    explicit ChatPage(QWidget* parent = nullptr);
    ChatView* view() { return view_; }
    NoticeBar* notices() { return notices_; }
    ChatSettingsCard* settings() { return settings_; }
    Composer* composer() { return composer_; }
    void show_settings(bool shown);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    ChatView* view_;
    NoticeBar* notices_;
    ChatSettingsCard* settings_;
    Composer* composer_;
    QWidget* foot_;
};

}  // namespace vitrine::ui
