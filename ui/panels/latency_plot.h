// The picture of a LatencyModel: a point a token over busy time, prefill chunks as bars, first tokens and
// events as dashed lines, a histogram of the intervals beside it. The newest stands at the right edge. What
// is drawn is bounded by the plot's pixels.
#pragma once

#include <functional>

#include <QWidget>

#include "ui/panels/kv_model.h"
#include "ui/panels/latency_model.h"
#include "ui/plot/axis.h"
#include "ui/settings/sequence_colors.h"

namespace vitrine::ui {

class LatencyPlot : public QWidget {
    Q_OBJECT

  public:
    using KeyOfRequest = std::function<SequenceKey(std::int64_t request)>;

    // Model and colours live longer than the plot.
    LatencyPlot(const LatencyModel* model, SequenceColors* colors, KeyOfRequest key,
                QWidget* parent = nullptr);

    // The model has grown; `typical` is its median interval (NaN: none yet), which chooses the time window.
    void model_changed(double typical);
    double window_seconds() const { return window_; }
    void set_describe(std::function<QString(const LatencyPoint&)> describe) {
        describe_ = std::move(describe);
    }

    int primitives() const { return primitives_; }
    int points_drawn() const { return points_drawn_; }
    QRectF plot_area() const;
    // Where the histogram of the intervals stands, beside the plot on the same axis; empty where the widget
    // is too narrow.
    QRectF histogram_area() const;
    double left_edge() const;  // busy seconds at the left of the plot
    double x_of(double at, const QRectF& area) const;
    const Axis& axis() const { return axis_; }
    // Where a point of the model is on the widget (its height clipped to the axis).
    QPointF place_of(const LatencyPoint& point) const;
    // The point nearest to a place, −1: none within reach.
    std::ptrdiff_t point_near(const QPointF& place) const;

    QSize sizeHint() const override { return {450, 96}; }
    QSize minimumSizeHint() const override { return {160, 72}; }

  signals:
    void point_clicked(qint64 request, int index);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

  private:
    // Index of the first element that is not before the window.
    template <class T, class End>
    std::size_t first_visible(const LastOf<T>& items, End end) const;
    void choose_scale(double typical);
    void paint_marks(QPainter& painter, const QRectF& area);
    void paint_histogram(QPainter& painter);

    const LatencyModel* model_;
    SequenceColors* colors_;
    KeyOfRequest key_;
    std::function<QString(const LatencyPoint&)> describe_;
    Axis axis_;          // milliseconds
    double window_ = 2;  // seconds
    std::ptrdiff_t hovered_ = -1;
    std::ptrdiff_t chosen_ = -1;  // by the keyboard
    int primitives_ = 0;
    int points_drawn_ = 0;
};

}  // namespace vitrine::ui
