// How much of the context is taken: the conversation so far, and the draft on top of it.
#pragma once

#include <QWidget>

namespace vitrine::ui {

class ContextGauge : public QWidget {
    Q_OBJECT

  public:
    explicit ContextGauge(QWidget* parent = nullptr);
    // system and draft are parts of total, the rest is history. context 0: not known; total −1: not known.
    void set_figures(int total, int draft, int context, int system = 0);
    void clear();
    bool overfull() const { return context_ > 0 && total_ >= context_; }
    QString text() const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {90, sizeHint().height()}; }

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    static QString explanation();
    void paint_bar(QPainter& painter, const QRectF& bar) const;
    int total_ = -1;
    int draft_ = 0;
    int system_ = 0;
    int context_ = 0;
};

}  // namespace vitrine::ui
