// What each iteration spent its time on: a stacked column an iteration, under the plot of tokens and on its
// time axis. Iterations that would share a pixel are one column, that of the longest.
#pragma once

#include <array>

#include <QWidget>

#include "ui/panels/latency_model.h"

namespace vitrine::ui {

class LatencyPlot;

class PhaseStrip : public QWidget {
    Q_OBJECT

  public:
    // Both live longer.
    PhaseStrip(const LatencyModel* model, const LatencyPlot* plot, QWidget* parent = nullptr);

    static QString name_of(Phase phase);
    static QColor color_of(Phase phase);
    // Shares of the time in view, by phase; all 0 where nothing is in view.
    std::array<double, phase_count> shares() const;
    void model_changed() { update(); }
    int primitives() const { return primitives_; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

  protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

  private:
    const LatencyModel* model_;
    const LatencyPlot* plot_;
    int primitives_ = 0;
};

}  // namespace vitrine::ui
