#include "ui/chat/message_text.h"

#include <algorithm>
#include <cmath>

#include <QFontMetricsF>
#include <QTextBoundaryFinder>

#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double line_spacing = 1.6;
constexpr double code_spacing = 1.45;
constexpr double item_indent = 20;
constexpr QChar left_to_right_isolate(0x2066);
constexpr QChar pop_isolate(0x2069);

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

// First character with a direction of its own decides (UAX #9, rules P2 and P3).
bool starts_rtl(const QString& text) {
    const qsizetype most = std::min<qsizetype>(text.size(), 400);
    for (qsizetype i = 0; i < most; ++i) {
        switch (text[i].direction()) {
            case QChar::DirL: return false;
            case QChar::DirR:
            case QChar::DirAL: return true;
            default: break;
        }
    }
    return false;
}

void insert(Paragraph& p, qsizetype at, QChar c) {
    p.text.insert(at, c);
    for (Span& span : p.spans) {
        if (span.begin >= at) {
            ++span.begin;
        } else if (span.begin + span.length > at) {
            ++span.length;
        }
    }
}

// Code inside right-to-left text keeps its own order: each piece stands between LRI and PDI (UAX #9).
void isolate_code(Paragraph& p) {
    for (std::size_t i = 0; i < p.spans.size(); ++i) {
        if (p.spans[i].style != Span::Code) continue;
        insert(p, p.spans[i].begin, left_to_right_isolate);
        insert(p, p.spans[i].begin + p.spans[i].length, pop_isolate);
    }
}

}  // namespace

QString without_isolates(const Paragraph& p, qsizetype begin, qsizetype end) {
    QString text = p.text.mid(begin, end - begin);
    if (p.rtl && !p.spans.empty())
        text.removeIf([](QChar c) { return c == left_to_right_isolate || c == pop_isolate; });
    return text;
}

MessageText::MessageText(bool plain) : plain_(plain), formatter_(plain) { read_sizes(); }

void MessageText::read_sizes() {
    const QFontMetricsF text(font_of(LineKind::Text));
    const QFontMetricsF code(font_of(LineKind::Code));
    text_size_ = {text.averageCharWidth(), text.height()};
    code_size_ = {code.averageCharWidth(), code.height()};
}

void MessageText::append(QStringView source) {
    source_length_ += source.size();
    while (!source.isEmpty()) {
        const qsizetype newline = source.indexOf(u'\n');
        qsizetype take = newline < 0 ? source.size() : newline;
        const bool too_long = open_.size() + take > longest_line;
        if (too_long) take = std::max<qsizetype>(0, longest_line - open_.size());
        open_ += source.left(take);
        source = source.mid(take);
        if (too_long) {
            // Cut between two words where there are any, never inside a character.
            qsizetype cut = open_.lastIndexOf(u' ');
            if (cut < longest_line / 2) {
                // A character that is longer than this window is cut at its end, but never inside a surrogate
                // pair.
                constexpr qsizetype window = 64;
                const QString tail = open_.right(window);
                QTextBoundaryFinder characters(QTextBoundaryFinder::Grapheme, tail);
                characters.setPosition(tail.size());
                const qsizetype back = characters.toPreviousBoundary();
                cut = back > 0 ? open_.size() - tail.size() + back : open_.size();
                if (open_[cut - 1].isHighSurrogate() && cut > 1) --cut;
            } else {
                ++cut;
            }
            const QString rest = open_.mid(cut);
            put_line(QStringView(open_).left(cut), false);
            open_shown_ = 0;
            open_ = rest;
            continues_ = true;
        } else if (newline >= 0) {
            put_line(open_, true);
            close_line();
            source = source.mid(1);
        }
    }
    if (!open_.isEmpty()) put_line(open_, false);
}

void MessageText::close_line() {
    open_.clear();
    open_shown_ = 0;
    continues_ = false;
}

void MessageText::put_line(QStringView line, bool whole) {
    FormattedLine formatted = formatter_.format(line, whole);
    if (continues_ && formatted.kind != LineKind::Code) {
        // A piece from the middle of a line is no heading and no list, whatever it begins with.
        formatted = FormattedLine{LineKind::Text, LineFormatter(true).format(line, whole).text, {}, 0, {}};
    }
    const bool invisible = formatted.kind == LineKind::Blank || formatted.kind == LineKind::Fence;
    const bool shown = open_shown_ > 0;
    if (invisible) {
        if (shown) {
            paragraphs_.pop_back();
            open_shown_ = 0;
            exact_up_to_ = std::min(exact_up_to_, paragraphs_.size());
        }
        if (whole) gap_ = true;
        return;
    }
    if (!shown) {
        paragraphs_.emplace_back();
        paragraphs_.back().gap = gap_ && paragraphs_.size() > 1;
        paragraphs_.back().continues = continues_;
        open_shown_ = 1;
    }
    Paragraph& p = paragraphs_.back();
    p.kind = formatted.kind;
    p.text = std::move(formatted.text);
    p.marker = std::move(formatted.marker);
    p.level = formatted.level;
    p.spans = std::move(formatted.spans);
    p.rtl = p.kind != LineKind::Code && starts_rtl(p.text);
    if (p.rtl) isolate_code(p);
    p.layout.reset();
    p.exact = false;
    const std::size_t i = paragraphs_.size() - 1;
    exact_up_to_ = std::min(exact_up_to_, i);
    estimate(p, i);
    place_from(i);
    if (whole) gap_ = false;
}

void MessageText::set_width(double width) {
    if (std::fabs(width - width_) < 0.5) return;
    width_ = width;
    forget_layouts();
}

void MessageText::forget_layouts() {
    read_sizes();
    for (std::size_t i = 0; i < paragraphs_.size(); ++i) {
        paragraphs_[i].layout.reset();
        paragraphs_[i].exact = false;
        estimate(paragraphs_[i], i);
    }
    exact_up_to_ = 0;
    place_from(0);
}

double MessageText::height() const {
    return paragraphs_.empty() ? 0 : paragraphs_.back().y + paragraphs_.back().height;
}

double MessageText::natural_width() const {
    // Looking at all of a long text would cost more than a narrower bubble is worth.
    if (paragraphs_.size() > 40) return width_;
    double widest = 0;
    for (const Paragraph& p : paragraphs_) widest = std::max(widest, p.natural + p.indent);
    return std::min(width_, std::ceil(widest));
}

double MessageText::space_above(const Paragraph& p, const Paragraph* before) {
    if (before == nullptr) return p.kind == LineKind::Code ? 8 : 0;
    if (p.continues) return 0;
    const bool code = p.kind == LineKind::Code;
    const bool code_before = before->kind == LineKind::Code;
    if (code && code_before) return p.gap ? 10 : 0;
    if (code != code_before) return 18;
    if (p.kind == LineKind::Heading) return 16;
    if (p.kind == LineKind::Item && before->kind == LineKind::Item) return p.gap ? 6 : 2;
    return p.gap ? 10 : 2;
}

void MessageText::estimate(Paragraph& p, std::size_t i) const {
    p.indent = p.kind == LineKind::Item    ? item_indent * (p.level + 1)
               : p.kind == LineKind::Quote ? 14 * p.level
               : p.kind == LineKind::Code  ? 12
                                           : 0;
    p.space = space_above(p, i == 0 ? nullptr : &paragraphs_[i - 1]);
    const bool code = p.kind == LineKind::Code;
    const FontSize& size = code ? code_size_ : text_size_;
    const double room = std::max(40.0, width_ - p.indent);
    const double lines = std::max(1.0, std::ceil(static_cast<double>(p.text.size()) * size.character / room));
    p.height = p.space + lines * size.line * (code ? code_spacing : line_spacing) * 0.85;
    p.height = std::ceil(p.height);
    if (p.kind == LineKind::Rule) p.height = p.space + 17;
    p.natural = width_ - p.indent;
}

void MessageText::measure(Paragraph& p) {
    p.exact = true;
    if (p.kind == LineKind::Rule) return;
    const Theme& theme = current_theme();
    const QFont font = p.kind == LineKind::Heading ? heading_font(p.level) : font_of(p.kind);
    p.layout = std::make_unique<QTextLayout>(p.text, font);
    QTextOption option((p.rtl ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignAbsolute);
    option.setWrapMode(p.kind == LineKind::Code ? QTextOption::WrapAnywhere
                                                : QTextOption::WrapAtWordBoundaryOrAnywhere);
    option.setTextDirection(p.rtl ? Qt::RightToLeft : Qt::LeftToRight);
    option.setTabStopDistance(QFontMetricsF(font).horizontalAdvance(u' ') * 4);
    p.layout->setTextOption(option);
    if (!p.spans.empty()) {
        QList<QTextLayout::FormatRange> formats;
        for (const Span& span : p.spans) {
            QTextLayout::FormatRange range;
            range.start = static_cast<int>(span.begin);
            range.length = static_cast<int>(span.length);
            switch (span.style) {
                case Span::Bold: range.format.setFontWeight(QFont::DemiBold); break;
                case Span::Italic: range.format.setFontItalic(true); break;
                case Span::Code:
                    range.format.setFont(theme.fonts.mono, QTextCharFormat::FontPropertiesSpecifiedOnly);
                    range.format.setBackground(mix(theme.surface, theme.text, 0.07));
                    break;
            }
            formats.append(range);
        }
        p.layout->setFormats(formats);
    }
    const double factor = p.kind == LineKind::Code ? code_spacing : line_spacing;
    const double room = std::max(40.0, width_ - p.indent);
    double y = 0;
    p.natural = 0;
    p.layout->beginLayout();
    for (QTextLine line = p.layout->createLine(); line.isValid(); line = p.layout->createLine()) {
        line.setLineWidth(room);
        const double advance = std::round(QFontMetricsF(font).height() * factor * 0.85);
        line.setPosition({0, y + (advance - line.height()) / 2});
        y += std::max(advance, line.height());
        p.natural = std::max(p.natural, line.naturalTextWidth());
    }
    p.layout->endLayout();
    p.height = std::ceil(p.space + y);  // whole pixels: moving by them adds up without a rest
}

double MessageText::ensure(std::size_t i) {
    Paragraph& p = paragraphs_[i];
    if (p.exact && (p.layout || p.kind == LineKind::Rule)) return 0;
    const double before = p.height;
    measure(p);
    const double moved = p.height - before;
    if (moved != 0) place_from(i + 1);
    return moved;
}

void MessageText::place_from(std::size_t i) {
    for (; i < paragraphs_.size(); ++i)
        paragraphs_[i].y = i == 0 ? 0 : paragraphs_[i - 1].y + paragraphs_[i - 1].height;
}

std::size_t MessageText::first_estimated() const {
    while (exact_up_to_ < paragraphs_.size() && paragraphs_[exact_up_to_].exact) ++exact_up_to_;
    return exact_up_to_;
}

std::size_t MessageText::at(double y) const {
    const auto after = std::upper_bound(paragraphs_.begin(), paragraphs_.end(), y,
                                        [](double value, const Paragraph& p) { return value < p.y; });
    return after == paragraphs_.begin() ? 0 : static_cast<std::size_t>(after - paragraphs_.begin()) - 1;
}

void MessageText::keep_layouts(std::size_t from, std::size_t to) {
    for (std::size_t i = 0; i < paragraphs_.size(); ++i)
        if (i < from || i >= to) paragraphs_[i].layout.reset();
}

}  // namespace vitrine::ui
