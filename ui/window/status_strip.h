// The line under everything: device, speed, bandwidth, memory.
#pragma once

#include <optional>

#include <QElapsedTimer>
#include <QStatusBar>

#include "ui/bridge/model_info.h"

namespace vitrine::ui {

class StatusStrip : public QStatusBar {
    Q_OBJECT

  public:
    explicit StatusStrip(QWidget* parent = nullptr);
    void set_model(const ModelInfo& info);
    // At most four times a second something changes on screen. Bytes in 10⁹ a second.
    void set_speed(std::optional<double> tok_s, std::optional<double> gb_s, double read_gb_s);
    QString text() const;
    QSize sizeHint() const override { return {600, 28}; }
    QSize minimumSizeHint() const override { return {200, 28}; }

  protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

  private:
    struct Piece {
        QString strong;
        QString plain;
    };
    std::vector<Piece> left_pieces() const;
    ModelInfo info_;
    std::optional<double> tok_s_, gb_s_;
    double read_gb_s_ = 0;
    QElapsedTimer since_;
};

}  // namespace vitrine::ui
