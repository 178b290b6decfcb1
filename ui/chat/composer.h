// Where messages are written: text field, attached texts, context gauge, Send or Stop.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <QFrame>
#include <QStringList>

class QHBoxLayout;
class QPushButton;
class QLabel;

namespace vitrine::ui {

class ComposerEdit;
class ContextGauge;

class Composer : public QFrame {
    Q_OBJECT

  public:
    explicit Composer(QWidget* parent = nullptr);

    // All of it: the field and what is attached.
    QString text() const;
    // Replaces everything; a text that is too long for the field is attached.
    void set_text(const QString& text);
    void clear() { set_text({}); }
    bool empty() const;
    void focus();

    void set_answering(bool answering);
    // Why nothing can be sent now; empty: it can.
    void set_blocked(const QString& reason);
    void set_figures(int total, int draft, int context, int system = 0);
    // What is attached, each by itself, and how many tokens each of them is.
    QStringList pieces() const;
    void set_piece_tokens(const std::vector<int>& tokens);
    // Earlier messages, the newest first, that the arrow keys walk through; asked for when somebody begins
    // to.
    void set_history(std::function<QStringList()> history) { history_source_ = std::move(history); }
    void set_settings_summary(const QString& summary);
    // The message being edited, instead of a new one.
    void set_editing(bool editing);
    bool editing() const { return editing_; }

    ComposerEdit* edit() { return edit_; }
    QPushButton* button() { return button_; }
    QPushButton* settings_button() { return settings_; }
    ContextGauge* gauge() { return gauge_; }

    static constexpr qint64 largest_file = 4 << 20;

    // A text file joins the message; a model is offered for opening; what cannot be read is refused with a
    // reason.
    void attach_file(const QString& path);

  signals:
    void send_requested(const QString& text);
    void stop_requested();
    void changed();
    void settings_requested();
    void editing_cancelled();
    void model_dropped(const QString& path);
    void refused(const QString& why);  // a dropped file that cannot be attached

  protected:
    void paintEvent(QPaintEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    bool eventFilter(QObject* object, QEvent* event) override;

  private:
    struct Attached {
        QString name;
        QString text;
        int tokens = -1;  // not counted yet
    };
    void attach(const QString& name, const QString& text);

    void show_attached();
    void update_button();
    void send();
    void recall(int by);

    ComposerEdit* edit_;
    ContextGauge* gauge_;
    QPushButton* settings_;
    QPushButton* button_;
    QLabel* editing_label_;
    QPushButton* editing_cancel_;
    QWidget* attached_row_;
    QHBoxLayout* attached_layout_;
    std::vector<Attached> attached_;
    bool answering_ = false;
    bool editing_ = false;
    QString blocked_;
    std::function<QStringList()> history_source_;
    QStringList history_;
    qsizetype history_at_ = -1;  // −1: nobody walks
    QString present_;            // what was in the field before the walk
    bool recalling_ = false;
};

}  // namespace vitrine::ui
