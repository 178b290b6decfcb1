// A button of the top bar that shows what it changes: a name, the present value, a detail.
#pragma once

#include <QAbstractButton>

class QMenu;

namespace vitrine::ui {

class Chip : public QAbstractButton {
    Q_OBJECT

  public:
    explicit Chip(QWidget* parent = nullptr);
    // "Format | Q4_1 | 92 MiB"; name and detail may be empty.
    void set_parts(const QString& name, const QString& value, const QString& detail = {});
    // With a menu there is a small arrow, and a click opens it.
    void set_menu(QMenu* menu);
    QMenu* menu() const { return menu_; }
    // 0 to 1: a line of progress at the lower edge; negative: none.
    void set_progress(double share);
    QString value() const { return value_; }
    QString as_text() const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  protected:
    void paintEvent(QPaintEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

  private:
    void open_menu();
    double content_width() const;
    QString name_, value_, detail_;
    QMenu* menu_ = nullptr;
    double progress_ = -1;
};

}  // namespace vitrine::ui
