// The picture of a BatchModel: a row a sequence over iterations, the newest at the right edge. What is drawn
// is bounded by the widget's pixels. How each kind of work looks:
//   prefill      the sequence's colour, chunks apart
//   decode       the same, paler
//   speculative  paler, with strokes
//   waiting      an empty outline
//   preempted    an empty outline with strokes in the colour of caution
#pragma once

#include <functional>
#include <vector>

#include <QWidget>

#include "ui/panels/batch_model.h"
#include "ui/panels/request_book.h"
#include "ui/settings/sequence_colors.h"

namespace vitrine::ui {

class BatchStrip : public QWidget {
    Q_OBJECT

  public:
    // All live longer than the strip.
    BatchStrip(const BatchModel* model, const RequestBook* book, SequenceColors* colors,
               QWidget* parent = nullptr);

    void model_changed();
    // Iterations that the width shows, and the first of them.
    std::int64_t window() const { return window_; }
    std::int64_t left() const;
    // Places of rows on screen, by index into the model's rows; and of iterations.
    struct Place {
        std::size_t row;
        QRectF track;
    };
    const std::vector<Place>& places() const { return places_; }
    std::size_t left_out() const { return left_out_; }  // rows that there was no room for
    double x_of(std::int64_t iteration) const;
    int primitives() const { return primitives_; }
    QString describe(const QPointF& place) const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  signals:
    void row_clicked(qint64 request);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

  private:
    void lay_out();
    void zoom(int notches);
    void paint_run(QPainter& painter, const QRectF& box, BatchWork work, const SequenceColor& color,
                   bool edged);
    void paint_legend(QPainter& painter);

    const BatchModel* model_;
    const RequestBook* book_;
    SequenceColors* colors_;
    std::vector<Place> places_;
    std::size_t left_out_ = 0;
    std::int64_t window_ = 40;
    int zoom_ = 0;  // halvings of the window
    int wheel_ = 0;
    double label_width_ = 96;
    int primitives_ = 0;
};

}  // namespace vitrine::ui
