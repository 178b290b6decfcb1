// A row of figures, each with its name small under it. Wraps where it is too wide. A column may grow but not
// shrink, so that a changing figure does not push the others about.
#pragma once

#include <vector>

#include <QColor>
#include <QWidget>

namespace vitrine::ui {

struct Figure {
    QString value;  // formatted, see ui/plot/figure_format.h
    QString name;
    QString hint;  // tooltip: how it is computed and from what
    QColor color;  // invalid: ordinary text
    bool operator==(const Figure&) const = default;
};

class FigureRow : public QWidget {
    Q_OBJECT

  public:
    explicit FigureRow(QWidget* parent = nullptr);

    // Repaints only where something differs.
    void set_figures(const std::vector<Figure>& figures);
    const std::vector<Figure>& figures() const { return figures_; }
    // "43 used blocks, 9 cached, free": for screen readers.
    QString as_text() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

  private:
    std::vector<QRectF> places(double width) const;
    void measure();
    // Height follows width by a fixed height, not by height-for-width: docks take only a minimum size
    // seriously.
    void fit_height();

    std::vector<Figure> figures_;
    std::vector<double> widths_;
};

}  // namespace vitrine::ui
