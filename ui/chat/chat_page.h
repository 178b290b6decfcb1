// The middle of the window: search and colours of tokens, conversation, notices, settings card, composer.
// Layout only; what happens is decided by the window.
#pragma once

#include <QWidget>

namespace vitrine::ui {

class ChatSettingsCard;
class ChatView;
class ColoringBar;
class Composer;
class FindBar;
class NoticeBar;

class ChatPage : public QWidget {
    Q_OBJECT

  public:
    explicit ChatPage(QWidget* parent = nullptr);
    ChatView* view() { return view_; }
    FindBar* find_bar() { return find_; }
    ColoringBar* coloring_bar() { return coloring_; }
    NoticeBar* notices() { return notices_; }
    ChatSettingsCard* settings() { return settings_; }
    Composer* composer() { return composer_; }
    void show_settings(bool shown);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void lay_out();

    QWidget* head_;
    FindBar* find_;
    ColoringBar* coloring_;
    ChatView* view_;
    NoticeBar* notices_;
    ChatSettingsCard* settings_;
    Composer* composer_;
    QWidget* foot_;
};

}  // namespace vitrine::ui
