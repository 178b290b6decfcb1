// System prompt and sampler settings of one chat, as a card that opens above the composer.
#pragma once

#include <utility>
#include <vector>

#include <QFrame>

#include "ui/models/message.h"

class QCheckBox;
class QDoubleSpinBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QSpinBox;

namespace vitrine::ui {

class ChatSettingsCard : public QFrame {
    Q_OBJECT

  public:
    explicit ChatSettingsCard(QWidget* parent = nullptr);
    void set_settings(const ChatSettings& settings);
    ChatSettings settings() const;
    void focus();
    // "Temperature 0.7 · top-p 0.95"
    static QString summary(const ChatSettings& settings);

  signals:
    void changed(const vitrine::ui::ChatSettings& settings);
    void make_default_requested(const vitrine::ui::ChatSettings& settings);
    void close_requested();

  protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void announce();
    void lay_out(int columns);
    QLabel* title_;
    QGridLayout* grid_;
    std::vector<std::pair<QLabel*, QWidget*>> cells_;
    int columns_ = 0;
    QPlainTextEdit* system_;
    QDoubleSpinBox* temperature_;
    QSpinBox* top_k_;
    QDoubleSpinBox* top_p_;
    QDoubleSpinBox* min_p_;
    QDoubleSpinBox* penalty_;
    QSpinBox* max_tokens_;
    QLineEdit* seed_;
    QCheckBox* random_seed_;
    ChatSettings shown_;  // members without a field here are kept
    bool filling_ = false;
};

}  // namespace vitrine::ui
