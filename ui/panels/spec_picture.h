// Three pictures of a SpecModel: a column a verification step, acceptance by position, and what the time went
// to. In a column from the bottom up:
//   accepted     a filled cell
//   refused      a filled cell with a stroke; the stroke is the model's own token in its place
//   bonus        an outlined cell over the accepted ones
//   not read     an empty outline
// The dashed line is the break-even: columns must reach it on average to be faster than plain decoding.
#pragma once

#include <QWidget>

#include "ui/panels/request_book.h"
#include "ui/panels/spec_model.h"

namespace vitrine::ui {

class SpecPicture : public QWidget {
    Q_OBJECT

  public:
    // Both live longer.
    SpecPicture(const SpecModel* model, const RequestBook* book, QWidget* parent = nullptr);
    void model_changed(const SpecFigures& figures);

    QRectF steps_area() const;
    QRectF positions_area() const;  // empty where the widget is too narrow
    QRectF split_area() const;      // likewise
    int columns() const;            // steps that there is room for
    // Cell `row` from the bottom of the step that is `back` before the newest.
    QRectF cell(int back, int row) const;
    int primitives() const { return primitives_; }
    QString describe(const QPointF& place) const;

    QSize sizeHint() const override { return {450, 96}; }
    QSize minimumSizeHint() const override { return {200, 84}; }

  signals:
    void step_clicked(qint64 request, int index);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

  private:
    int step_at(const QPointF& place) const;  // back from the newest; −1: none
    void paint_steps(QPainter& painter);
    void paint_positions(QPainter& painter);
    void paint_split(QPainter& painter);
    void measure();

    const SpecModel* model_;
    const RequestBook* book_;
    SpecFigures figures_;
    int tallest_ = 5;  // cells of the longest step in view
    int primitives_ = 0;
};

}  // namespace vitrine::ui
