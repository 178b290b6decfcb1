// All models of this computer in a list, each with what it is and whether it fits; what decides the fit
// (context, KV precision) stands beside it and can be changed.
#pragma once

#include <atomic>
#include <memory>

#include <QDialog>

#include "ui/bridge/model_look.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;
class QTreeView;

namespace vitrine::ui {

class ModelTable;
class ModelTableFilter;

class ModelPicker : public QDialog {
    Q_OBJECT

  public:
    struct Conditions {
        EngineOptions options;
        std::string device = "auto";
        // What the model that is open takes: it makes room.
        std::uint64_t given_back = 0;
        QString open_path;
    };
    ModelPicker(std::vector<ModelPlace> places, const Conditions& conditions, QWidget* parent = nullptr);
    ~ModelPicker() override;  // a search that runs ends

    // As they were chosen here.
    const EngineOptions& options() const { return conditions_.options; }

    ModelTable* table() { return table_; }
    QTreeView* view() { return view_; }
    QPushButton* open_button() { return open_; }
    QLineEdit* search() { return search_; }
    QComboBox* kv_dtype() { return dtype_; }
    QSpinBox* context() { return context_; }
    QString detail() const;

  signals:
    void chosen(const QString& path);
    void file_wanted();
    void folder_wanted();
    void searched();

  private:
    void begin_search();
    void show_detail();
    void apply_conditions();
    void open_current();

    std::vector<ModelPlace> places_;
    Conditions conditions_;
    std::uint64_t free_ = 0;
    std::shared_ptr<std::atomic<bool>> cancel_;
    ModelTable* table_;
    ModelTableFilter* filter_;
    QLineEdit* search_;
    QTreeView* view_;
    QLabel* detail_;
    QLabel* state_;
    QSpinBox* context_;
    QComboBox* dtype_;
    QPushButton* open_;
};

}  // namespace vitrine::ui
