// The frame of every panel: a card with a title, a line of detail at the right, room for the content, and at
// the bottom a sentence about what has just happened. While there is nothing to show, one sentence that
// teaches.
#pragma once

#include <QWidget>

class QVBoxLayout;

namespace vitrine::ui {

class CardEmpty;
class CardHeader;
class CardSentence;

// Text for a tooltip that is never taken for markup, whatever a title or a token says.
QString plain_tooltip(const QString& text);

class Card : public QWidget {
    Q_OBJECT

  public:
    explicit Card(const QString& title, QWidget* parent = nullptr);

    QString title() const { return title_; }
    QString subtitle() const;
    void set_subtitle(const QString& text);

    // Content goes here; margins and spacing are set.
    QVBoxLayout* body() { return body_; }
    // Stands at the bottom over the card's whole width, two lines high.
    void set_sentence(const QString& text);
    QString sentence() const;
    // Not empty: shown in place of the content.
    void set_empty_text(const QString& text);
    QString empty_text() const { return empty_text_; }

    // Ask where, and write it; offered by the context menu and by the window's menu.
    void export_picture();
    void export_table();
    bool has_table() const { return empty_text_.isEmpty(); }
    // Offered by the context menu; a panel with figures overrides csv().
    virtual QString csv() const { return {}; }
    // The card as a picture, twice the screen's resolution. False with a sentence in `error`.
    bool save_png(const QString& path, QString* error = nullptr);
    bool save_csv(const QString& path, QString* error = nullptr);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

  private:
    QString title_;
    QString empty_text_;
    CardHeader* header_;
    QWidget* content_;
    QVBoxLayout* body_;
    CardEmpty* empty_;
    CardSentence* sentence_;
};

}  // namespace vitrine::ui
