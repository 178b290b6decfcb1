// The conversation: messages of a ChatModel, painted directly.
//
// A tick of streaming costs the last paragraph and the pixels that change, however long the reply is. The
// view follows the end only while the reader is at the end; heights above that turn out different from the
// estimate never move what is being read. Texts are drawn as texts: nothing in them is HTML, and no link is
// ever opened.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include <QAbstractScrollArea>
#include <QPersistentModelIndex>
#include <QPointer>
#include <QTimer>

#include "ui/chat/message_text.h"
#include "ui/models/chat_model.h"

class QToolButton;

namespace vitrine::ui {

// A place in the text of the conversation.
struct TextPlace {
    int row = -1;
    int paragraph = 0;
    int offset = 0;
    bool operator==(const TextPlace&) const = default;
    bool operator<(const TextPlace& other) const {
        return std::tie(row, paragraph, offset) < std::tie(other.row, other.paragraph, other.offset);
    }
};

class ChatView : public QAbstractScrollArea {
    Q_OBJECT

  public:
    explicit ChatView(QWidget* parent = nullptr);
    ~ChatView() override;

    void set_model(ChatModel* model);
    ChatModel* model() const { return model_; }
    // Shown while there is no message: one heading, a few sentences.
    void set_empty_text(const QString& heading, const QString& text);

    // At the end, and staying there while the reply grows.
    bool following() const { return following_; }
    void scroll_to_end();

    // The column of text, in pixels of this widget.
    double column_left() const;
    double column_width() const;

    QString selected_text() const;
    bool has_selection() const;
    void select_all();
    void copy_selection();

    // For tests: the text under this row as it is shown, and where a row lies in the viewport.
    QString shown_text(int row) const;
    QRect row_rect(int row) const;
    int laid_out_paragraphs() const { return measured_; }

  public slots:
    void copy_message(qint64 id);

  signals:
    void regenerate_requested(qint64 answer);
    void continue_requested(qint64 answer);
    void edit_requested(qint64 user);
    void sibling_requested(qint64 message, int by);
    void following_changed(bool following);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool event(QEvent* event) override;

  private:
    struct Row;
    struct Action;  // a word in a footer that can be clicked
    struct Anchor;  // what has to stay where it is

    void reload();
    std::unique_ptr<Row> make_row(const Message& message) const;
    void update_row(int row);
    void place_rows(std::size_t from);
    void set_widths();
    double total_height() const;
    double offset() const;

    Anchor anchor() const;
    void restore(const Anchor& anchor);
    void update_range();
    void settle();       // measures what is visible
    void settle_idle();  // measures a little more
    void set_following(bool following);

    std::size_t row_at(double y) const;
    void paint_row(QPainter& painter, const Row& row, int index, const QRectF& clip);
    void paint_paragraphs(QPainter& painter, const Row& row, int index, const QRectF& clip);
    void paint_footer(QPainter& painter, const Row& row);
    void paint_empty(QPainter& painter);
    void paint_unseen(QPainter& painter, const QRectF& clip);
    void lay_actions(Row& row, int index);
    const Action* action_at(const QPointF& position) const;
    void run_action(const Action& action);
    std::optional<TextPlace> place_at(const QPoint& viewport_position, bool nearest) const;
    std::pair<TextPlace, TextPlace> selection() const;
    void set_hover(int row);

    QPointer<ChatModel> model_;
    std::vector<std::unique_ptr<Row>> rows_;
    QString empty_heading_, empty_text_;
    bool following_ = true;
    bool adjusting_ = false;  // the scroll bar is moved by us, not by the reader
    TextPlace selection_from_, selection_to_;
    bool selecting_ = false;
    int hover_ = -1;
    int measured_ = 0;
    QTimer idle_;
    QToolButton* to_end_ = nullptr;
};

}  // namespace vitrine::ui
