// From the source of a message to lines that can be shown, one source line at a time.
//
// A small, linear reading of Markdown (https://spec.commonmark.org/): fenced code, headings, lists, quotes,
// rules, bold, italic, inline code. Everything else stays as it was written; nothing is ever HTML, a link or
// an image. The only state between lines is "inside a fence", so a streamed reply is never read twice.
#pragma once

#include <vector>

#include <QString>
#include <QStringView>

namespace vitrine::ui {

enum class LineKind {
    Text,
    Heading,
    Item,  // of a list; marker is drawn in front
    Quote,
    Code,  // monospaced, unwrapped words break anywhere
    Rule,
    Fence,  // the line that opens or closes a code block: not shown
    Blank,  // empty: a gap before the next line
};

struct Span {
    enum Style { Bold, Italic, Code };
    qsizetype begin = 0;
    qsizetype length = 0;
    Style style = Bold;
};

struct FormattedLine {
    LineKind kind = LineKind::Text;
    QString text;    // as shown
    QString marker;  // Item: "•" or "2."
    int level = 0;   // Heading: 1 to 6; Item: depth; Quote: depth
    std::vector<Span> spans;
};

class LineFormatter {
  public:
    // plain: what a person typed; shown as it is.
    explicit LineFormatter(bool plain = false) : plain_(plain) {}

    // The line as it is to be shown; whole: its newline has arrived, so a fence counts from now on.
    FormattedLine format(QStringView line, bool whole);
    bool in_code() const { return in_code_; }

  private:
    bool plain_;
    bool in_code_ = false;
    QString fence_;  // what closes it
};

// Bold, italic and code of one line; the marks are taken out of `text`. Linear in the length.
std::vector<Span> read_inline(QString& text);

}  // namespace vitrine::ui
