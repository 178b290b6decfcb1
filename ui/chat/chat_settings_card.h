// System prompt and sampler settings of one chat, as a card that opens above the composer.
#pragma once

#include <utility>
#include <vector>

#include <QFrame>

#include "ui/models/presets.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QGridLayout;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace vitrine::ui {

class ChatSettingsCard : public QFrame {
    Q_OBJECT

  public:
    explicit ChatSettingsCard(QWidget* parent = nullptr);
    void set_settings(const ChatSettings& settings);
    ChatSettings settings() const;
    void focus();
    // The user's own; those that come with the program are there anyway.
    void set_presets(const std::vector<SamplerPreset>& own);
    // What the template of the loaded model can be asked ("enable_thinking"), and whether there is a model.
    void set_template(const QStringList& switches, bool has_template);
    QComboBox* presets() { return presets_; }
    QPushButton* template_button() { return template_; }
    std::vector<QCheckBox*> switches() const { return switch_boxes_; }
    // "Temperature 0.7 · top-p 0.95"
    static QString summary(const ChatSettings& settings);

  signals:
    void changed(const vitrine::ui::ChatSettings& settings);
    void make_default_requested(const vitrine::ui::ChatSettings& settings);
    void save_preset_requested(const vitrine::ui::ChatSettings& settings);
    void remove_preset_requested(const QString& name);
    void template_requested();
    void close_requested();

  protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void announce();
    void choose_preset(int index);
    void show_preset();
    void show_switches();
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
    QSpinBox* context_;
    QCheckBox* cut_oldest_;
    QComboBox* presets_;
    QPushButton* save_preset_;
    QPushButton* remove_preset_;
    QPushButton* template_;
    QHBoxLayout* switch_row_;
    std::vector<QCheckBox*> switch_boxes_;
    std::vector<SamplerPreset> all_presets_;
    QLineEdit* seed_;
    QCheckBox* random_seed_;
    ChatSettings shown_;  // members without a field here are kept
    bool filling_ = false;
};

}  // namespace vitrine::ui
