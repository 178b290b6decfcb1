// One bar for all memory: a part for each thing that takes some, in shades of one colour, because the colours
// of sequences mean sequences. Of the KV pool the used share is darker.
#pragma once

#include <vector>

#include <QWidget>

namespace vitrine::ui {

struct MemoryPart {
    QString name;
    std::uint64_t bytes = 0;
    double shade = 1;    // of the accent on the surface; 0: the ground (free)
    double filled = -1;  // share that is in use, drawn darker; negative: all alike
    bool operator==(const MemoryPart&) const = default;
};

class MemoryBar : public QWidget {
    Q_OBJECT

  public:
    explicit MemoryBar(QWidget* parent = nullptr);
    void set_parts(const std::vector<MemoryPart>& parts);
    const std::vector<MemoryPart>& parts() const { return parts_; }
    // Where a part is; empty where it has no bytes.
    QRectF rect_of(std::size_t part) const;
    static QColor color_of(const MemoryPart& part);

    QSize sizeHint() const override { return {400, 16}; }
    QSize minimumSizeHint() const override { return {120, 16}; }

  protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

  private:
    std::vector<MemoryPart> parts_;
};

}  // namespace vitrine::ui
