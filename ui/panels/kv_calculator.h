// What keys and values take: sizes that can be changed, the product written out, and beside it what the
// loaded model takes.
#pragma once

#include <QWidget>

#include "ui/panels/memory_model.h"

class QComboBox;
class QLabel;
class QPushButton;
class QSpinBox;

namespace vitrine::ui {

class KvCalculator : public QWidget {
    Q_OBJECT

  public:
    explicit KvCalculator(QWidget* parent = nullptr);
    // Sizes that nobody has changed follow the model.
    void set_facts(const MemoryFacts& facts);
    KvShapeQuestion question() const;
    QString formula() const;   // "2 × 30 layers × … = 180 MiB"
    QString of_model() const;  // the live model's figures
    QSpinBox* field(int i) { return fields_[i]; }
    QComboBox* dtype() { return dtype_; }
    QPushButton* reset_button() { return reset_; }

  signals:
    void changed();

  private:
    void put(const KvShapeQuestion& question, const QString& dtype);
    void recompute();

    static constexpr int fields = 5;  // layers, KV heads, head size, length, batch
    QSpinBox* fields_[fields] = {};
    QComboBox* dtype_;
    QLabel* formula_;
    QLabel* model_;
    QPushButton* reset_;
    MemoryFacts facts_;
    bool touched_ = false;
};

}  // namespace vitrine::ui
