// MessageText: fonts, measures, layouts.
#include <algorithm>
#include <cmath>

#include <QFontMetricsF>

#include "ui/chat/code_palette.h"
#include "ui/chat/message_text.h"
#include "ui/chat/table_columns.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double line_spacing = 1.6;
constexpr double code_spacing = 1.45;
constexpr double item_indent = 22;
constexpr double quote_indent = 14;
constexpr double code_indent = 12;
constexpr double thought_indent = 14;
constexpr double code_head = 30;
constexpr double thought_head = 26;
constexpr double cell_x = 10;
constexpr double cell_y = 6;
constexpr int measured_rows = 200;  // of a table; later rows take the columns as they are

const QFont& font_of(LineKind kind) {
    const Fonts& fonts = current_theme().fonts;
    return kind == LineKind::Code ? fonts.mono : fonts.answer;
}

QFont heading_font(int level) {
    QFont font = current_theme().fonts.answer;
    font.setWeight(QFont::DemiBold);
    const double scale = level <= 1 ? 1.3 : level == 2 ? 1.15 : 1.0;
    if (font.pixelSize() > 0) {
        font.setPixelSize(static_cast<int>(std::lround(font.pixelSize() * scale)));
    } else {
        font.setPointSizeF(font.pointSizeF() * scale);
    }
    return font;
}

QFont paragraph_font(const Paragraph& p) {
    if (p.kind == LineKind::Heading) return heading_font(p.level);
    QFont font = font_of(p.kind);
    if (p.table_head) font.setWeight(QFont::DemiBold);
    return font;
}

bool starts_rtl(QStringView text) {
    for (const QChar c : text.left(400)) {
        switch (c.direction()) {
            case QChar::DirL: return false;
            case QChar::DirR:
            case QChar::DirAL: return true;
            default: break;
        }
    }
    return false;
}

QTextCharFormat format_of(const Span& span, bool in_code) {
    const Theme& theme = current_theme();
    QTextCharFormat format;
    switch (span.style) {
        case Span::Bold: format.setFontWeight(QFont::DemiBold); break;
        case Span::Italic: format.setFontItalic(true); break;
        case Span::Strike: format.setFontStrikeOut(true); break;
        case Span::Code:
            format.setFont(theme.fonts.mono, QTextCharFormat::FontPropertiesSpecifiedOnly);
            format.setBackground(mix(theme.surface, theme.text, 0.07));
            break;
        case Span::Link:
            format.setForeground(ink(theme.accent, theme.surface));
            format.setFontUnderline(true);
            break;
        default:
            if (in_code) format.setForeground(code_color(span.style, theme));
            if (span.style == Span::Keyword) format.setFontWeight(QFont::Medium);
            break;
    }
    return format;
}

}  // namespace

void MessageText::read_sizes() {
    const QFontMetricsF text(font_of(LineKind::Text));
    const QFontMetricsF code(font_of(LineKind::Code));
    text_size_ = {text.averageCharWidth(), text.height()};
    code_size_ = {code.averageCharWidth(), code.height()};
}

void MessageText::set_width(double width) {
    if (std::fabs(width - width_) < 0.5) return;
    width_ = width;
    forget_layouts();
}

void MessageText::forget_layouts() {
    read_sizes();
    for (Table& table : tables_) {
        table.rows = 0;
        table.natural.clear();
        table.widths.clear();
    }
    for (std::size_t i = 0; i < paragraphs_.size(); ++i) {
        paragraphs_[i].boxes.clear();
        paragraphs_[i].exact = false;
        if (paragraphs_[i].table >= 0) widen_table(i);
        estimate(paragraphs_[i], i);
    }
    // The line that is being written was measured with the other fonts.
    if (!open_.isEmpty() && start_.table && !tables_.empty()) {
        start_.table->natural = tables_.back().natural;
        start_.table->rows = tables_.back().rows;
    }
    exact_up_to_ = 0;
    place_from(0);
}

double MessageText::height() const {
    return paragraphs_.empty() ? 0 : paragraphs_.back().y + paragraphs_.back().shown_height();
}

double MessageText::natural_width() const {
    // Looking at all of a long text would cost more than a narrower bubble is worth.
    if (paragraphs_.size() > 40) return width_;
    double widest = 0;
    for (const Paragraph& p : paragraphs_) widest = std::max(widest, p.natural + p.indent);
    return std::min(width_, std::ceil(widest));
}

double MessageText::space_above(const Paragraph& p, const Paragraph* before) {
    const bool code = p.kind == LineKind::Code;
    if (before == nullptr) return code ? 8 : 0;
    if (p.continues) return 0;
    if (p.kind == LineKind::ThoughtHead) return 8;
    if (before->thought != p.thought) return 12;
    if (before->kind == LineKind::ThoughtHead) return 4;
    if (p.kind == LineKind::CodeHead)
        return before->kind == LineKind::Code || before->kind == LineKind::CodeHead ? 20 : 12;
    const bool code_before = before->kind == LineKind::Code || before->kind == LineKind::CodeHead;
    if (code && before->kind == LineKind::CodeHead) return 6;
    if (code && code_before) return p.gap ? 10 : 0;
    if (code != code_before) return 20;
    if (p.kind == LineKind::Heading) return 16;
    const bool row = p.kind == LineKind::TableRow;
    if (row && before->kind == LineKind::TableRow && !p.table_head) return 0;
    if (row || before->kind == LineKind::TableRow) return 12;
    if (!p.marker.isEmpty() && (!before->marker.isEmpty() || before->depth > 0)) return p.gap ? 6 : 2;
    return p.gap ? 10 : 2;
}

double MessageText::indent_of(const Paragraph& p) {
    double indent = quote_indent * p.quote + item_indent * p.depth;
    if (p.kind == LineKind::Code || p.kind == LineKind::CodeHead) indent += code_indent;
    if (p.thought >= 0 && p.kind != LineKind::ThoughtHead) indent += thought_indent;
    return indent;
}

void MessageText::estimate(Paragraph& p, std::size_t i) const {
    p.indent = indent_of(p);
    p.space = space_above(p, i == 0 ? nullptr : &paragraphs_[i - 1]);
    p.natural = width_ - p.indent;
    switch (p.kind) {
        case LineKind::Rule: p.height = p.space + 17; return;
        case LineKind::CodeHead:
            p.height = std::ceil(p.space + std::max(code_head, text_size_.line + 10));
            return;
        case LineKind::ThoughtHead:
            p.height = std::ceil(p.space + std::max(thought_head, text_size_.line + 6));
            return;
        default: break;
    }
    const bool code = p.kind == LineKind::Code;
    const FontSize& size = code ? code_size_ : text_size_;
    const double room = std::max(40.0, width_ - p.indent);
    const double lines = std::max(1.0, std::ceil(static_cast<double>(p.text.size()) * size.character / room));
    p.height = p.space + lines * size.line * (code ? code_spacing : line_spacing) * 0.85;
    if (p.kind == LineKind::TableRow) p.height += 2 * cell_y;
    p.height = std::ceil(p.height);
}

std::unique_ptr<QTextLayout> MessageText::make_layout(const Paragraph& p, int begin, int end) const {
    const QFont font = paragraph_font(p);
    const bool whole = begin == 0 && end == p.text.size();
    auto layout = std::make_unique<QTextLayout>(whole ? p.text : p.text.mid(begin, end - begin), font);
    QList<QTextLayout::FormatRange> formats;
    for (const Span& span : p.spans) {
        const auto from = std::max<qsizetype>(span.begin, begin);
        const auto to = std::min<qsizetype>(span.begin + span.length, end);
        if (from >= to) continue;
        QTextLayout::FormatRange range;
        range.start = static_cast<int>(from) - begin;
        range.length = static_cast<int>(to - from);
        range.format = format_of(span, p.kind == LineKind::Code);
        formats.append(range);
    }
    if (!formats.isEmpty()) layout->setFormats(formats);
    return layout;
}

double MessageText::lay_out(TextBox& box, const Paragraph& p, Qt::Alignment align, double& natural) const {
    const bool rtl = p.kind == LineKind::TableRow
                         ? starts_rtl(QStringView(p.text).mid(box.begin, box.end - box.begin))
                         : p.rtl;
    QTextOption option(rtl ? Qt::AlignRight | Qt::AlignAbsolute : align | Qt::AlignAbsolute);
    option.setWrapMode(p.kind == LineKind::Code ? QTextOption::WrapAnywhere
                                                : QTextOption::WrapAtWordBoundaryOrAnywhere);
    option.setTextDirection(rtl ? Qt::RightToLeft : Qt::LeftToRight);
    const QFontMetricsF metrics(box.layout->font());
    option.setTabStopDistance(metrics.horizontalAdvance(u' ') * 4);
    box.layout->setTextOption(option);
    const double advance =
        std::round(metrics.height() * (p.kind == LineKind::Code ? code_spacing : line_spacing) * 0.85);
    double y = 0;
    natural = 0;
    box.layout->beginLayout();
    for (QTextLine line = box.layout->createLine(); line.isValid(); line = box.layout->createLine()) {
        line.setLineWidth(box.width);
        line.setPosition({0, y + (advance - line.height()) / 2});
        y += std::max(advance, line.height());
        natural = std::max(natural, line.naturalTextWidth());
    }
    box.layout->endLayout();
    box.height = y;
    return y;
}

void MessageText::measure(Paragraph& p) {
    p.exact = true;
    p.boxes.clear();
    if (!p.has_text()) return;
    if (p.kind == LineKind::TableRow && p.table >= 0) {
        const Table& table = tables_[static_cast<std::size_t>(p.table)];
        double x = p.indent, height = 0;
        for (std::size_t c = 0; c < p.cells.size(); ++c) {
            const double width = c < table.widths.size() ? table.widths[c] : 40;
            TextBox& box = p.boxes.emplace_back();
            box.begin = static_cast<int>(p.cells[c].begin);
            box.end = static_cast<int>(p.cells[c].end);
            box.x = x + cell_x;
            box.y = cell_y;
            box.width = std::max(8.0, width - 2 * cell_x);
            box.layout = make_layout(p, box.begin, box.end);
            const TableAlign align = c < table.align.size() ? table.align[c] : TableAlign::Left;
            double natural = 0;
            height = std::max(height, lay_out(box, p,
                                              align == TableAlign::Right    ? Qt::AlignRight
                                              : align == TableAlign::Center ? Qt::AlignHCenter
                                                                            : Qt::AlignLeft,
                                              natural));
            x += width;
        }
        p.natural = x - p.indent;
        p.height = std::ceil(p.space + height + 2 * cell_y);
        return;
    }
    TextBox& box = p.boxes.emplace_back();
    box.end = static_cast<int>(p.text.size());
    box.x = p.rtl ? 0 : p.indent;  // written from the right, indented from the right
    box.width = std::max(40.0, width_ - p.indent - (p.kind == LineKind::Code ? code_indent : 0));
    box.layout = make_layout(p, 0, box.end);
    const double y = lay_out(box, p, Qt::AlignLeft, p.natural);
    p.height = std::ceil(p.space + y);  // whole pixels: moving by them adds up without a rest
}

double MessageText::ensure(std::size_t i) {
    Paragraph& p = paragraphs_[i];
    if (p.hidden || (p.exact && (!p.boxes.empty() || !p.has_text()))) return 0;
    const double before = p.height;
    measure(p);
    const double moved = p.height - before;
    if (moved != 0) place_from(i + 1);
    return moved;
}

void MessageText::place_from(std::size_t i) {
    for (; i < paragraphs_.size(); ++i)
        paragraphs_[i].y = i == 0 ? 0 : paragraphs_[i - 1].y + paragraphs_[i - 1].shown_height();
}

std::size_t MessageText::first_estimated() const {
    while (exact_up_to_ < paragraphs_.size() &&
           (paragraphs_[exact_up_to_].exact || paragraphs_[exact_up_to_].hidden))
        ++exact_up_to_;
    return exact_up_to_;
}

std::size_t MessageText::at(double y) const {
    const auto after = std::upper_bound(paragraphs_.begin(), paragraphs_.end(), y,
                                        [](double value, const Paragraph& p) { return value < p.y; });
    return after == paragraphs_.begin() ? 0 : static_cast<std::size_t>(after - paragraphs_.begin()) - 1;
}

void MessageText::keep_layouts(std::size_t from, std::size_t to) {
    for (std::size_t i = 0; i < paragraphs_.size(); ++i)
        if (i < from || i >= to) paragraphs_[i].boxes.clear();
}

// The row's cells may need wider columns.
void MessageText::widen_table(std::size_t row) {
    Paragraph& p = paragraphs_[row];
    Table& table = tables_[static_cast<std::size_t>(p.table)];
    if (table.rows >= measured_rows) return;
    ++table.rows;
    for (std::size_t c = 0; c < p.cells.size(); ++c) {
        double width = 0;
        if (p.cells[c].end > p.cells[c].begin) {
            TextBox box;
            box.begin = static_cast<int>(p.cells[c].begin);
            box.end = static_cast<int>(p.cells[c].end);
            box.width = 1e5;
            box.layout = make_layout(p, box.begin, box.end);
            lay_out(box, p, Qt::AlignLeft, width);
        }
        if (c >= table.natural.size()) table.natural.push_back(0);
        table.natural[c] = std::max(table.natural[c], width + 2 * cell_x + 1);
    }
    table.indent = indent_of(p);
    set_columns(table);
}

void MessageText::set_columns(Table& table) {
    const double least = 4 * cell_x;
    std::vector<double> widths = column_widths(table.natural, std::max(40.0, width_ - table.indent), least);
    if (widths == table.widths) return;
    table.widths = std::move(widths);
    // The rows above get the new columns; they keep their heights until somebody looks.
    const int index = static_cast<int>(&table - tables_.data());
    for (std::size_t i = table.first; i < paragraphs_.size() && paragraphs_[i].table == index; ++i) {
        paragraphs_[i].boxes.clear();
        paragraphs_[i].exact = false;
        exact_up_to_ = std::min(exact_up_to_, i);
    }
}

}  // namespace vitrine::ui
