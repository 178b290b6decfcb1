// Pause, one iteration, slowly, run; and in words which of them it is. The engine's state decides what is
// shown, not the click.
#pragma once

#include <QWidget>

class QAbstractButton;

namespace vitrine::ui {

class StepControl : public QWidget {
    Q_OBJECT

  public:
    explicit StepControl(QWidget* parent = nullptr);

    struct State {
        bool available = false;  // a model is loaded
        bool paused = false;
        int pace = 0;  // iterations a second; 0: as fast as it can
        qint64 iteration = 0;
        bool operator==(const State&) const = default;
    };
    void show_state(const State& state);
    // The pace that "slowly" means.
    void set_slow_pace(int per_second);
    int slow_pace() const { return slow_pace_; }
    QString text() const { return text_; }

    QAbstractButton* pause_button() const;
    QAbstractButton* step_button() const;
    QAbstractButton* slow_button() const;
    QAbstractButton* run_button() const;

  signals:
    void pause_requested();
    void step_requested();
    void run_requested();
    void slow_requested(int per_second);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

  private:
    class Button;
    void fit();
    void choose_pace(int per_second);
    Button *pause_, *step_, *slow_, *run_;
    State state_;
    int slow_pace_ = 4;
    int wheel_ = 0;
    QString text_;
};

}  // namespace vitrine::ui
