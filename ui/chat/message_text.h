// The text of one message as paragraphs that are laid out only when they are looked at.
//
// append() costs what the new text costs: only the last, unfinished line is read and laid out again, and a
// line longer than `longest_line` is cut into pieces that are shown one below the other, so that "the last
// line" is bounded as well. Heights of paragraphs that were never looked at are estimated.
#pragma once

#include <memory>
#include <vector>

#include <QTextLayout>

#include "ui/chat/line_formatter.h"

namespace vitrine::ui {

struct Paragraph {
    LineKind kind = LineKind::Text;
    QString text;
    QString marker;
    int level = 0;
    std::vector<Span> spans;
    bool gap = false;        // an empty line stood before it
    bool continues = false;  // a piece of the same line as the one before: joined without a newline
    bool rtl = false;

    // Geometry, in the coordinates of the message.
    double y = 0;
    double height = 0;  // with the space above
    double space = 0;   // above the first line
    double indent = 0;
    double natural = 0;  // widest line
    bool exact = false;  // height is measured, not estimated
    std::unique_ptr<QTextLayout> layout;
};

// Text of a paragraph without what was put in to draw it.
QString without_isolates(const Paragraph& p, qsizetype begin, qsizetype end);

class MessageText {
  public:
    static constexpr qsizetype longest_line = 2000;

    explicit MessageText(bool plain);

    void append(QStringView source);
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

  private:
    void put_line(QStringView line, bool whole);
    void close_line();
    void read_sizes();
    void estimate(Paragraph& p, std::size_t i) const;
    void measure(Paragraph& p);
    void place_from(std::size_t i);
    static double space_above(const Paragraph& p, const Paragraph* before);

    // For estimates: of a character and of a line, pixels.
    struct FontSize {
        double character = 8;
        double line = 18;
    };

    bool plain_;
    LineFormatter formatter_;
    std::vector<Paragraph> paragraphs_;
    QString open_;                // source of the unfinished line
    std::size_t open_shown_ = 0;  // 1 where it has a paragraph already
    bool gap_ = false;            // an empty line since the last paragraph
    bool continues_ = false;      // open_ is a further piece of a long line
    qsizetype source_length_ = 0;
    double width_ = 600;
    FontSize text_size_, code_size_;
    mutable std::size_t exact_up_to_ = 0;
};

}  // namespace vitrine::ui
