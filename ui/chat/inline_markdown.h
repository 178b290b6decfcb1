// Emphasis, code, links of one line of Markdown (https://spec.commonmark.org/, with GitHub's strikethrough
// and bare addresses). The delimiter algorithm of the specification's appendix, without recursion.
//
// A line that is still being written is read as if what it has opened closed at its end, and a mark whose
// meaning the next character decides is not shown yet: so nothing that was shown changes its look when the
// rest arrives.
#pragma once

#include <vector>

#include <QString>
#include <QStringList>
#include <QStringView>

namespace vitrine::ui {

struct Span {
    enum Style {
        Bold,
        Italic,
        Strike,
        Code,
        Link,  // target: index into targets
        // Colours of code.
        Keyword,
        Type,
        Literal,  // strings
        Number,
        Comment,
        Name,  // of a function, a tag, a key
        Added,
        Removed,
    };
    qsizetype begin = 0;
    qsizetype length = 0;
    Style style = Bold;
    int target = -1;
};

// A run of shown text that stands in the source as it is shown.
struct Piece {
    qsizetype shown = 0;
    qsizetype source = 0;
    qsizetype length = 0;
};

struct InlineText {
    QString text;  // as shown
    std::vector<Span> spans;
    std::vector<Piece> pieces;  // by rising place, in both
    QStringList targets;        // addresses of links, checked by is_safe_target()
    QStringList images;         // of them, those that were images

    void append(QStringView source, qsizetype source_at);
};

// Reads `source` and appends it. source_at: where it stands in the line. open: more may follow.
// in_cell: <br> is a line break.
void read_inline(QStringView source, qsizetype source_at, bool open, bool in_cell, InlineText& out);

// An address that may be opened, when a person clicks on it: http, https or mailto, without control
// characters or spaces.
bool is_safe_target(QStringView target);

// Control characters would be drawn as nothing or as boxes of other widths: tabs stay, others become visible.
QString printable(QStringView text);

}  // namespace vitrine::ui
