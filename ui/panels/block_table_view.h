// The block table of one sequence: a strip of chips, small the logical index, large the physical block. A
// long table shows its beginning and its end. The height never depends on the table.
#pragma once

#include <memory>

#include <QWidget>

#include "ui/panels/kv_grid_layout.h"
#include "ui/panels/kv_model.h"
#include "ui/settings/sequence_colors.h"

namespace vitrine::ui {

class BlockTableView : public QWidget {
    Q_OBJECT

  public:
    BlockTableView(const KvModel* model, SequenceColors* colors, QWidget* parent = nullptr);

    // The table of this sequence in the model's present snapshot; `title` names it in the caption.
    void show_sequence(SequenceKey key, const QString& title);
    void set_highlight(std::int32_t block);
    void set_hovered(std::int32_t block);

    const BlockTableLayout& layout_of_chips() const { return layout_; }
    QRect chip_rect(int chip) const;
    QString caption() const { return caption_; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  signals:
    void block_clicked(std::int32_t block, std::int32_t logical);
    void block_hovered(std::int32_t block);  // −1: none

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool event(QEvent* event) override;

  private:
    void lay_out();
    int chip_at(const QPoint& point) const;
    std::int32_t block_in(int chip) const;  // −1: none

    const KvModel* model_;
    SequenceColors* colors_;
    SequenceKey key_ = no_sequence;
    QString caption_;
    std::vector<std::int32_t> blocks_;
    std::int32_t written_ = -1;
    BlockTableLayout layout_;
    int chip_width_ = 34;
    std::int32_t highlight_ = -1;
    std::int32_t hovered_ = -1;
};

}  // namespace vitrine::ui
