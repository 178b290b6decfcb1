// The bar over everything: what answers, in which format, with which cache, and whether it runs.
#pragma once

#include <QWidget>

#include "ui/bridge/model_info.h"

class QMenu;
class QToolButton;

namespace vitrine::ui {

class Chip;
class StepControl;

class TopBar : public QWidget {
    Q_OBJECT

  public:
    explicit TopBar(QWidget* parent = nullptr);
    Chip* model() { return model_; }
    Chip* format() { return format_; }
    Chip* cache() { return cache_; }
    StepControl* steps() { return steps_; }
    QToolButton* menu_button() { return menu_; }

    // An empty info: no model.
    void show_model(const ModelInfo& info);
    void show_loading(const QString& name, double share);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    Chip* model_;
    Chip* format_;
    Chip* cache_;
    StepControl* steps_;
    QToolButton* menu_;
};

}  // namespace vitrine::ui
