#include "ui/panels/card.h"

#include <cmath>
#include <utility>

#include <QContextMenuEvent>
#include <QFileDialog>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QPainterPath>
#include <QSaveFile>
#include <QTextDocument>
#include <QTextLayout>
#include <QVBoxLayout>

#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {

// Title left, detail right; the detail is elided first.
class CardHeader : public QWidget {
  public:
    CardHeader(QString title, QWidget* parent) : QWidget(parent), title_(std::move(title)) {
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    }
    void set_detail(const QString& text) {
        if (text == detail_) return;
        detail_ = text;
        update();
    }
    QString detail() const { return detail_; }
    QSize sizeHint() const override {
        return {120, static_cast<int>(std::ceil(QFontMetricsF(current_theme().fonts.strong).height())) + 4};
    }
    QSize minimumSizeHint() const override { return sizeHint(); }

  protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = current_theme();
        QPainter painter(this);
        const QFontMetricsF strong(theme.fonts.strong);
        const QFontMetricsF caption(theme.fonts.caption);
        const double base = (height() + strong.ascent() - strong.descent()) / 2;
        painter.setPen(theme.text);
        painter.setFont(theme.fonts.strong);
        painter.drawText(QPointF(0, base), title_);
        const double room = width() - strong.horizontalAdvance(title_) - 16;
        QString detail = detail_;
        if (tabular_width(detail, theme.fonts.caption) > room) {
            detail = caption.elidedText(detail_, Qt::ElideRight, room);
        }
        painter.setPen(theme.text_second);
        draw_tabular(painter, QPointF(width() - tabular_width(detail, theme.fonts.caption), base), detail,
                     theme.fonts.caption);
    }

  private:
    QString title_;
    QString detail_;
};

// Two lines on a slightly raised ground, whatever the length of the text: the card keeps its height.
class CardSentence : public QWidget {
  public:
    explicit CardSentence(QWidget* parent) : QWidget(parent) {
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    }
    void set_text(const QString& text) {
        if (text == text_) return;
        text_ = text;
        setToolTip(text);  // a sentence of more than two lines is readable there
        update();
    }
    QString text() const { return text_; }
    QSize sizeHint() const override {
        return {
            120,
            static_cast<int>(std::ceil(2 * QFontMetricsF(current_theme().fonts.caption).lineSpacing())) + 15};
    }
    QSize minimumSizeHint() const override { return sizeHint(); }

  protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = current_theme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const double radius = theme.metrics.radius_card;
        QPainterPath ground;  // round below, straight above
        ground.addRoundedRect(QRectF(rect()).adjusted(1, -radius, -1, -1), radius - 1, radius - 1);
        painter.setClipRect(rect());
        painter.fillPath(ground, theme.raised);
        painter.fillRect(QRectF(0, 0, width(), 1), theme.hairline);

        painter.setPen(theme.text_second);
        const QFontMetricsF metrics(theme.fonts.caption);
        QTextLayout layout(text_, theme.fonts.caption, this);
        layout.beginLayout();
        double y = 8;
        for (int line = 0; line < 2; ++line) {
            QTextLine text_line = layout.createLine();
            if (!text_line.isValid()) break;
            text_line.setLineWidth(width() - 24);
            const int start = text_line.textStart();
            const bool last = line == 1;
            const QString piece = last ? metrics.elidedText(text_.mid(start), Qt::ElideRight, width() - 24)
                                       : text_.mid(start, text_line.textLength());
            draw_tabular(painter, QPointF(12, y + metrics.ascent()), piece, theme.fonts.caption);
            y += metrics.lineSpacing();
        }
        layout.endLayout();
    }

  private:
    QString text_;
};

// What an empty panel says, in the middle of it.
class CardEmpty : public QWidget {
  public:
    using QWidget::QWidget;
    void set_text(const QString& text) {
        text_ = text;
        update();
    }
    QSize minimumSizeHint() const override {
        return {
            120,
            static_cast<int>(std::ceil(3 * QFontMetricsF(current_theme().fonts.text).lineSpacing())) + 16};
    }
    QSize sizeHint() const override { return minimumSizeHint(); }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setPen(current_theme().text_second);
        painter.setFont(current_theme().fonts.text);
        painter.drawText(QRectF(rect()).adjusted(24, 0, -24, -12), Qt::AlignCenter | Qt::TextWordWrap, text_);
    }

  private:
    QString text_;
};

QString plain_tooltip(const QString& text) {
    return Qt::mightBeRichText(text) ? Qt::convertFromPlainText(text) : text;
}

Card::Card(const QString& title, QWidget* parent)
    : QWidget(parent),
      title_(title),
      header_(new CardHeader(title, this)),
      content_(new QWidget(this)),
      body_(new QVBoxLayout(content_)),
      empty_(new CardEmpty(this)),
      sentence_(new CardSentence(this)) {
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->setSpacing(0);
    auto* top = new QVBoxLayout;
    top->setContentsMargins(12, 7, 12, 0);
    top->addWidget(header_);
    outer->addLayout(top);
    body_->setContentsMargins(12, 6, 12, 12);
    body_->setSpacing(8);
    outer->addWidget(content_, 1);
    outer->addWidget(empty_, 1);
    outer->addWidget(sentence_);
    empty_->hide();
    sentence_->hide();
    setAccessibleName(title);
    setMinimumWidth(240);
    connect(theme_signal(), &ThemeSignal::changed, this, [this] {
        header_->updateGeometry();
        sentence_->updateGeometry();
        update();
    });
}

QString Card::subtitle() const { return header_->detail(); }
void Card::set_subtitle(const QString& text) { header_->set_detail(text); }
QString Card::sentence() const { return sentence_->text(); }

void Card::set_sentence(const QString& text) {
    sentence_->set_text(text);
    sentence_->setVisible(!text.isEmpty() && empty_text_.isEmpty());
}

void Card::set_empty_text(const QString& text) {
    if (text == empty_text_) return;
    empty_text_ = text;
    empty_->set_text(text);
    content_->setVisible(text.isEmpty());
    empty_->setVisible(!text.isEmpty());
    sentence_->setVisible(text.isEmpty() && !sentence_->text().isEmpty());
}

void Card::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(theme.surface);
    painter.setPen(QPen(theme.hairline, 1));
    const double radius = theme.metrics.radius_card;
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
}

bool Card::save_png(const QString& path, QString* error) {
    QImage image(size() * 2, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(2);
    image.fill(current_theme().window);
    render(&image, QPoint(), QRegion(), QWidget::DrawChildren);
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && image.save(&file, "PNG") && file.commit()) return true;
    if (error != nullptr)
        *error = tr("The picture could not be written to %1: %2").arg(path, file.errorString());
    return false;
}

bool Card::save_csv(const QString& path, QString* error) {
    const QByteArray bytes = csv().toUtf8();
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return true;
    if (error != nullptr)
        *error = tr("The table could not be written to %1: %2").arg(path, file.errorString());
    return false;
}

void Card::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    menu.addAction(tr("Save as picture…"), this, &Card::export_picture);
    menu.addAction(tr("Save as CSV…"), this, &Card::export_table)->setEnabled(has_table());
    menu.exec(event->globalPos());
}

void Card::export_picture() {
    const QString path = QFileDialog::getSaveFileName(this, tr("Save as picture"), title_ + ".png");
    QString error;
    if (!path.isEmpty() && !save_png(path, &error)) QMessageBox::warning(this, title_, error);
}

void Card::export_table() {
    const QString path = QFileDialog::getSaveFileName(this, tr("Save as CSV"), title_ + ".csv");
    QString error;
    if (!path.isEmpty() && !save_csv(path, &error)) QMessageBox::warning(this, title_, error);
}

}  // namespace vitrine::ui
