// The text of one message as paragraphs that are laid out only when they are looked at.
//
// append() costs what the new text costs: only the last, unfinished line is read and laid out again (and the
// table that it stands in, where a column becomes wider), and a line longer than `longest_line` is cut into
// pieces that are shown one below the other, so that "the last line" is bounded as well. Heights of
// paragraphs that were never looked at are estimated. However a text is cut into pieces, the result is the
// same.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QTextLayout>

#include "ui/chat/line_formatter.h"

namespace vitrine::ui {

// A part of a paragraph that is laid out by itself: all of it, or a cell of a table.
struct TextBox {
    int begin = 0;  // in the text of the paragraph
    int end = 0;
    double x = 0;  // in the coordinates of the message
    double y = 0;  // below the top of the paragraph's first line
    double width = 0;
    double height = 0;
    std::unique_ptr<QTextLayout> layout;
};

struct Paragraph {
    LineKind kind = LineKind::Text;
    QString text;
    QString marker;
    int level = 0;
    int depth = 0;
    int quote = 0;
    std::vector<Span> spans;
    std::vector<Piece> pieces;  // source: from source_begin on
    QStringList targets;
    QStringList images;
    std::vector<TableCell> cells;
    bool table_head = false;
    int table = -1;
    int thought = -1;        // the thinking block that it belongs to; of a ThoughtHead: that it heads
    bool hidden = false;     // its thinking block is folded
    bool gap = false;        // an empty line stood before it
    bool continues = false;  // a piece of the same line as the one before: joined without a newline
    bool rtl = false;
    qsizetype source_begin = 0;  // its line in the source, marks included, without the newline
    qsizetype source_end = 0;

    // Geometry, in the coordinates of the message.
    double y = 0;
    double height = 0;  // with the space above
    double space = 0;   // above the first line
    double indent = 0;
    double natural = 0;  // widest line
    bool exact = false;  // height is measured, not estimated
    std::vector<TextBox> boxes;

    bool has_text() const {
        return kind == LineKind::Text || kind == LineKind::Heading || kind == LineKind::Code ||
               kind == LineKind::TableRow;
    }
    double shown_height() const { return hidden ? 0 : height; }
    // The box that holds this place; null before it is laid out.
    const TextBox* box_at(int offset) const;
};

// Text of a paragraph without what was put in to draw it.
QString without_isolates(const Paragraph& p, qsizetype begin, qsizetype end);

class MessageText {
  public:
    static constexpr qsizetype longest_line = 2000;

    explicit MessageText(bool plain);

    void append(QStringView source);
    // Nothing more is to come (it may come after all): what was kept back or guessed is decided.
    void set_finished(bool finished);
    qsizetype source_length() const { return source_length_; }

    // Everything is estimated anew where the width has changed.
    void set_width(double width);
    // Fonts or colours have changed.
    void forget_layouts();
    double width() const { return width_; }
    double height() const;
    // The widest line, at most the width.
    double natural_width() const;

    const std::vector<Paragraph>& paragraphs() const { return paragraphs_; }
    // Measures the paragraph; returns by how much everything below it moves. Its layout is there afterwards.
    double ensure(std::size_t i);
    bool all_exact() const { return first_estimated() == paragraphs_.size(); }
    std::size_t first_estimated() const;
    // Paragraph at this height; the last one for more.
    std::size_t at(double y) const;
    // Gives back the layouts outside [from, to), heights stay.
    void keep_layouts(std::size_t from, std::size_t to);

    // Thinking blocks, in their order.
    struct Thought {
        int words = 0;
        bool open = true;  // its end has not come yet
        bool folded = true;
        qsizetype source_begin = 0;
        qsizetype source_end = 0;
    };
    const std::vector<Thought>& thoughts() const { return thoughts_; }
    void fold(int thought, bool folded);

    // Between places of the source and of what is shown.
    qsizetype source_of(std::size_t paragraph, qsizetype shown) const;
    // What a range of the source is shown as in this paragraph; empty where it is not. First: begin, end.
    std::pair<int, int> shown_range(std::size_t paragraph, qsizetype source_begin,
                                    qsizetype source_end) const;
    // The paragraph whose line holds this place of the source, or the last one before it.
    std::size_t paragraph_at(qsizetype source) const;
    // The code block that this paragraph (a CodeHead or a line of code) belongs to, as it is in the source.
    QString code_block(std::size_t paragraph) const;

  private:
    struct Table {
        std::size_t first = 0;
        int rows = 0;
        std::vector<double> natural;  // of the widest cell of each column
        std::vector<double> widths;   // padding included
        std::vector<TableAlign> align;
        double indent = 0;
    };
    struct Candidate {
        std::size_t paragraph = 0;
        QString source;
        int table = -1;  // where it is shown as a row already
        bool decided = false;
    };
    // What a line has changed, to be taken back before it is read again.
    struct LineStart {
        bool gap = false;
        int thought = -1;
        std::size_t thoughts = 0;
        Thought current;
        std::size_t tables = 0;
        std::optional<Table> table;
        std::optional<Candidate> candidate;
        std::size_t paragraphs = 0;
    };

    void begin_line();
    void put_line(QStringView line, bool whole);
    void put(FormattedLine&& formatted, QStringView line, bool whole);
    void take_back();
    void close_line();
    void undecide_candidate();
    void decide_candidate(TableVerdict verdict, const std::vector<TableAlign>& align);
    void fill(Paragraph& p, FormattedLine&& formatted);
    void close_thought();
    // message_layout.cpp
    void read_sizes();
    void estimate(Paragraph& p, std::size_t i) const;
    void measure(Paragraph& p);
    std::unique_ptr<QTextLayout> make_layout(const Paragraph& p, int begin, int end) const;
    double lay_out(TextBox& box, const Paragraph& p, Qt::Alignment align, double& natural) const;
    void place_from(std::size_t i);
    static double space_above(const Paragraph& p, const Paragraph* before);
    static double indent_of(const Paragraph& p);
    void widen_table(std::size_t row);
    void set_columns(Table& table);

    // For estimates: of a character and of a line, pixels.
    struct FontSize {
        double character = 8;
        double line = 18;
    };

    bool plain_;
    bool finished_ = false;
    LineFormatter formatter_;
    std::vector<Paragraph> paragraphs_;
    std::vector<Thought> thoughts_;
    std::vector<Table> tables_;
    std::optional<Candidate> candidate_;
    int thought_ = -1;          // that what comes belongs to
    QString open_;              // source of the unfinished line
    qsizetype open_begin_ = 0;  // where it begins
    LineStart start_;           // of the unfinished line
    bool gap_ = false;          // an empty line since the last paragraph
    bool continues_ = false;    // open_ is a further piece of a long line
    qsizetype source_length_ = 0;
    double width_ = 600;
    FontSize text_size_, code_size_;
    mutable std::size_t exact_up_to_ = 0;
};

}  // namespace vitrine::ui
