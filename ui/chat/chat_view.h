// The conversation: messages of a ChatModel, painted directly.
//
// A tick of streaming costs the last paragraph and the pixels that change, however long the reply is. The
// view follows the end only while the reader is at the end; heights above that turn out different from the
// estimate never move what is being read. Texts are drawn as texts: nothing in them is HTML, no picture is
// ever fetched, and a link is only told of (link_activated) when somebody clicks on it.
//
// chat_view.cpp: rows, heights, scrolling. chat_view_paint.cpp: drawing. chat_view_input.cpp: mouse and keys.
// chat_view_copy.cpp: selection and what is copied. chat_view_find.cpp: search. chat_view_tokens.cpp: colours
// of tokens, marks, the inspector.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include <QAbstractScrollArea>
#include <QPointer>
#include <QTimer>
#include <QUrl>

#include "ui/chat/message_text.h"
#include "ui/chat/token_coloring.h"
#include "ui/models/chat_model.h"
#include "ui/models/sequence_texts.h"
#include "ui/models/token_traces.h"

class QToolButton;

namespace vitrine::ui {

class TokenInspector;

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
    // What is known of tokens; lives longer than the view, or null.
    void set_traces(TokenTraces* traces);
    TokenTraces* traces() const { return traces_; }
    // Shown while there is no message: one heading, a few sentences.
    void set_empty_text(const QString& heading, const QString& text);

    // At the end, and staying there while the reply grows.
    bool following() const { return following_; }
    void scroll_to_end();

    // The column of text, in pixels of this widget.
    double column_left() const;
    double column_width() const;

    QString selected_text() const;
    // The same as it stands in the source.
    QString selected_markdown() const;
    bool has_selection() const;
    void select_all();
    void copy_selection();

    // Search: every place of `text`, in any case, at most `most_matches`; empty ends it.
    void find(const QString& text);
    void find_step(int by);
    int match_count() const { return static_cast<int>(matches_.size()); }
    int current_match() const { return current_match_; }  // −1: none
    static constexpr int most_matches = 9999;

    void set_coloring(Coloring coloring);
    Coloring coloring() const { return coloring_; }
    // Pieces of messages that are marked, for example the tokens of a KV block. The first is brought into
    // view.
    void set_marks(std::vector<MessageRange> marks, bool bring_into_view = true);
    const std::vector<MessageRange>& marks() const { return marks_; }

    // Opens the inspector at this token; false where nothing is known of it.
    bool inspect(qint64 message, int token);
    // At the last token of the last answer that is shown.
    bool inspect_last();
    void close_inspector();
    bool inspector_open() const { return inspected_token_ >= 0; }
    TokenInspector* inspector() { return inspector_; }
    // For the inspector: where the token lies in the KV cache, for people; empty where it does not.
    void set_block_of(std::function<QString(qint64 message, qint32 offset)> block_of) {
        block_of_ = std::move(block_of);
    }
    // Whether branching at a token may be offered.
    void set_branching(bool branching);

    // For tests: the text under this row as it is shown, where a row lies in the viewport, where a piece of a
    // message is drawn.
    QString shown_text(int row) const;
    QRect row_rect(int row) const;
    QRect range_rect(qint64 message, qint32 begin, qint32 end) const;
    int laid_out_paragraphs() const { return measured_; }
    const MessageText* text_of(int row) const;

  public slots:
    void copy_message(qint64 id);       // as Markdown, as it was written
    void copy_message_text(qint64 id);  // as it is shown

  signals:
    void regenerate_requested(qint64 answer);
    void continue_requested(qint64 answer);
    void stop_requested(qint64 answer);
    void edit_requested(qint64 user);
    void sibling_requested(qint64 message, int by);
    void following_changed(bool following);
    void link_activated(const QUrl& url);
    void matches_changed();
    void emptied(bool empty);
    // token −1: the inspector was closed. offset: of its text in the message.
    void token_inspected(qint64 message, int token, qint32 offset);
    // The answer is to go on from before this token with another one.
    void branch_requested(qint64 message, int token, qint32 id, const QByteArray& bytes);

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
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    struct Row;
    struct Action;  // a word in a footer that can be clicked
    struct Anchor;  // what has to stay where it is
    struct Match {
        int row = 0;
        int paragraph = 0;
        int begin = 0;
        int end = 0;
    };
    struct TokenSpot {
        std::size_t paragraph = 0;
        int begin = 0;  // in its text; equal to end: nothing of it is shown
        int end = 0;
    };
    struct Highlight {
        int begin = 0;
        int end = 0;
        QColor background;
        QColor foreground;  // invalid: as it is
    };

    void reload();
    std::unique_ptr<Row> make_row(const Message& message) const;
    void show_state(Row& row, const Message& message) const;
    void update_row(int row);
    void place_rows(std::size_t from);
    void set_widths();
    double total_height() const;
    double offset() const;
    double text_top(const Row& row) const;
    double text_left(const Row& row) const;

    Anchor anchor() const;
    void restore(const Anchor& anchor);
    void update_range();
    void settle();       // measures what is visible
    void settle_idle();  // measures a little more
    void set_following(bool following);
    void bring_into_view(const Row& row, std::size_t paragraph, int begin, int end);

    std::size_t row_at(double y) const;
    int row_of(qint64 message) const;
    // Rectangles of a piece of a paragraph, in the coordinates of the content; only where it is laid out.
    std::vector<QRectF> range_rects(const Row& row, std::size_t paragraph, int begin, int end) const;
    void paint_row(QPainter& painter, const Row& row, int index, const QRectF& clip);
    void paint_paragraphs(QPainter& painter, const Row& row, int index, const QRectF& clip);
    void paint_code_box(QPainter& painter, const Row& row, std::size_t i, double y) const;
    void paint_table_lines(QPainter& painter, const Row& row, std::size_t i, double y) const;
    void paint_marker(QPainter& painter, const Row& row, const Paragraph& p, double line_y) const;
    void paint_thought_head(QPainter& painter, const Row& row, const Paragraph& p, double line_y) const;
    void paint_tokens(QPainter& painter, const Row& row, std::size_t i) const;
    void paint_cursor(QPainter& painter, const Row& row) const;
    void paint_footer(QPainter& painter, const Row& row, int index);
    void paint_empty(QPainter& painter);
    void paint_unseen(QPainter& painter, const QRectF& clip);
    std::vector<Highlight> highlights(const Row& row, int index, std::size_t paragraph) const;
    void lay_actions(Row& row, int index);
    const Action* action_at(const QPointF& position) const;
    void run_action(const Action& action);
    std::optional<TextPlace> place_at(const QPoint& viewport_position, bool nearest) const;
    std::optional<TextPlace> character_at(const QPoint& viewport_position) const;
    // The code block, or thinking block, whose head is here; −1: none. Second: its paragraph.
    std::pair<int, int> head_at(const QPoint& viewport_position) const;
    QRectF copy_button(const Row& row, std::size_t paragraph) const;
    QString link_at(const TextPlace& place) const;
    void toggle_thought(int row, int thought);
    bool inspector_key(QKeyEvent* event);
    void click(const QPoint& position);
    std::pair<TextPlace, TextPlace> selection() const;
    void set_hover(int row);
    void search_row(int row, std::size_t from_paragraph);
    void search_all();
    void show_match();
    TokenSpot spot_of(const Row& row, const TokenTrace& trace, int token) const;
    bool inspect_at(const TextPlace& place);
    void step_token(int by);
    void place_inspector();
    void refresh_inspector();

    QPointer<ChatModel> model_;
    QPointer<TokenTraces> traces_;
    std::vector<std::unique_ptr<Row>> rows_;
    QString empty_heading_, empty_text_;
    bool following_ = true;
    bool adjusting_ = false;  // the scroll bar is moved by us, not by the reader
    TextPlace selection_from_, selection_to_;
    bool selecting_ = false;
    QPoint pressed_at_;
    bool had_selection_ = false;  // at the press: that click only ends it
    int hover_ = -1;
    qint64 copied_row_ = 0;  // whose code block was just copied, and which
    int copied_paragraph_ = -1;
    QTimer copied_end_;
    int measured_ = 0;
    QTimer idle_;
    QToolButton* to_end_ = nullptr;

    QString needle_;
    std::vector<Match> matches_;
    int current_match_ = -1;

    Coloring coloring_ = Coloring::None;
    std::vector<MessageRange> marks_;
    TokenInspector* inspector_ = nullptr;
    qint64 inspected_message_ = 0;
    int inspected_token_ = -1;
    qint64 asked_message_ = 0;  // clicked before its trace was here
    qint32 asked_offset_ = 0;
    std::function<QString(qint64, qint32)> block_of_;
    bool branching_ = false;
};

}  // namespace vitrine::ui
