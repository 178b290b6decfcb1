// From the source of a message to lines that can be shown, one source line at a time.
//
// A reading of Markdown (https://spec.commonmark.org/, tables and task lists as GitHub has them) that is
// linear and whose only memory between lines is a small state, so a streamed reply is never read twice. It
// differs from the specification where an answer of a model is better served: a newline is a line break, a
// list nests from two columns on, a table needs a pipe at the beginning of its lines. Nothing is ever HTML
// or a picture.
#pragma once

#include <vector>

#include <QString>
#include <QStringView>

#include "ui/chat/code_colors.h"
#include "ui/chat/inline_markdown.h"

namespace vitrine::ui {

enum class LineKind {
    Text,
    Heading,
    Code,      // monospaced, unwrapped words break anywhere
    CodeHead,  // above a fenced block; text: the language as it was written
    Rule,
    TableRow,     // cells
    ThoughtHead,  // a thinking block begins
    ThoughtEnd,   // and ends: not shown
    Hidden,       // a mark alone, or one whose meaning is still open: not shown
    Blank,        // empty: a gap before the next line
};

struct TableCell {
    qsizetype begin = 0;  // in the text of its row
    qsizetype end = 0;
};

enum class TableAlign { Left, Center, Right };

// What the line says about the one before, which may have been the head of a table.
enum class TableVerdict { None, Head, NoTable };

struct FormattedLine : InlineText {
    LineKind kind = LineKind::Text;
    QString marker;  // of a list item, drawn in front: "•", "2.", "☐"
    int level = 0;   // Heading: 1 to 6
    int depth = 0;   // lists that it stands in
    int quote = 0;   // quotes that it stands in
    std::vector<TableCell> cells;
    bool table_head = false;
    bool candidate = false;  // becomes the head of a table, or text, by what the next line is
    TableVerdict verdict = TableVerdict::None;
    std::vector<TableAlign> align;  // with TableVerdict::Head
};

class LineFormatter {
  public:
    // plain: what a person typed; shown as it is.
    explicit LineFormatter(bool plain = false) : plain_(plain) {}

    // Appends what the line is shown as: one entry, more where it holds marks of a thinking block. whole: its
    // newline has arrived, so the state moves on.
    void format(QStringView line, bool whole, std::vector<FormattedLine>& out);
    // A further piece of a line that is too long for one.
    FormattedLine format_rest(QStringView line, bool whole);
    // A line that was a candidate, now that it is known what it is.
    FormattedLine candidate_as(QStringView line, TableVerdict verdict);

    bool in_code() const { return state_.in_code; }
    bool in_thought() const { return state_.thought; }

    static constexpr int most_columns = 32;

  private:
    struct State {
        bool in_code = false;
        QString fence;  // what closes it
        int fence_indent = 0;
        int fence_quote = 0;
        const CodeLanguage* language = nullptr;
        int code_state = 0;
        std::vector<int> items;  // indents of the markers of the open list items
        int quote = 0;
        bool after_gap = true;  // the beginning, or behind an empty line
        bool indented_code = false;
        bool candidate = false;
        bool in_table = false;
        bool thought = false;
        bool anything = false;  // something was shown
    };
    void line_of(QStringView line, qsizetype at, bool whole, State& s, std::vector<FormattedLine>& out) const;
    bool code_line(QStringView line, qsizetype at, bool whole, State& s, FormattedLine& out) const;
    void block_line(QStringView body, qsizetype at, int indent, bool whole, State& s,
                    FormattedLine& out) const;
    void table_row(QStringView body, qsizetype at, bool whole, FormattedLine& out) const;
    void color(State& s, FormattedLine& out) const;

    bool plain_;
    State state_;
};

}  // namespace vitrine::ui
