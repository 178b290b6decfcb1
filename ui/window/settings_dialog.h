// The settings of the application: window, models, engine, data. What changes the window holds at once; what
// changes the engine when the dialog is closed with Apply, because the model is opened again for it.
#pragma once

#include <QDialog>

class QCheckBox;
class QComboBox;
class QLabel;
class QListWidget;
class QPushButton;
class QSpinBox;
class QVBoxLayout;

namespace vitrine::ui {

class AppSettings;

class SettingsDialog : public QDialog {
    Q_OBJECT

  public:
    // folder: where chats, settings and log lie; models_folder: Vitrine's own.
    SettingsDialog(AppSettings* settings, const QString& folder, const QString& models_folder,
                   QWidget* parent = nullptr);

    QComboBox* theme() { return theme_; }
    QComboBox* language() { return language_; }
    QSpinBox* refresh() { return refresh_; }
    QSpinBox* threads() { return threads_; }
    QSpinBox* context() { return context_; }
    QSpinBox* budget() { return budget_; }
    QComboBox* block_size() { return block_size_; }
    QComboBox* kv_dtype() { return kv_dtype_; }
    QComboBox* device() { return device_; }
    QListWidget* folders() { return folders_; }
    QPushButton* apply_button() { return apply_; }
    void add_folder(const QString& path);

  signals:
    void window_changed();  // theme, panel refresh
    void engine_changed();  // the model has to be opened again
    void open_folder_requested(const QString& path);

  private:
    QVBoxLayout* section(const QString& title);
    void row(QVBoxLayout* part, const QString& name, const QString& hint, QWidget* field);
    void take_over();

    AppSettings* settings_;
    QVBoxLayout* column_;
    QWidget* content_;
    QComboBox* theme_;
    QComboBox* language_;
    QLabel* restart_;
    QSpinBox* refresh_;
    QListWidget* folders_;
    QCheckBox* others_;
    QComboBox* device_;
    QSpinBox* threads_;
    QSpinBox* context_;
    QComboBox* block_size_;
    QComboBox* kv_dtype_;
    QSpinBox* budget_;
    QPushButton* apply_;
};

}  // namespace vitrine::ui
