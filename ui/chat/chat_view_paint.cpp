// ChatView: what is drawn.
#include <algorithm>
#include <cmath>

#include <QPaintEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>

#include "ui/chat/chat_rows.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/code_palette.h"
#include "ui/models/figures.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {

using namespace chat_measures;

void ChatView::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(event->rect(), current_theme().surface);
    if (rows_.empty()) return paint_empty(painter);
    settle();  // nothing is painted that was not laid out
    painter.translate(0, -offset());
    const QRectF clip = QRectF(event->rect()).translated(0, offset());
    for (std::size_t i = row_at(clip.top()); i < rows_.size() && rows_[i]->y < clip.bottom(); ++i)
        paint_row(painter, *rows_[i], static_cast<int>(i), clip);
    paint_unseen(painter, clip);
}

// Between the messages that the newest answer has not seen and those that it has.
void ChatView::paint_unseen(QPainter& painter, const QRectF& clip) {
    const auto unseen = static_cast<std::size_t>(model_ ? model_->unseen_rows() : 0);
    if (unseen == 0 || unseen >= rows_.size()) return;
    const Theme& theme = current_theme();
    const QRectF gap(column_left(), rows_[unseen]->y - between, column_width(), between);
    if (!gap.intersects(clip)) return;
    const QString text = tr("not seen by the model: everything above this line");
    const double width = QFontMetricsF(theme.fonts.caption).horizontalAdvance(text);
    const double y = std::floor(gap.center().y()) + 0.5;
    const double side = (gap.width() - width) / 2 - 12;
    painter.setPen(theme.hairline);
    if (side > 8) {
        painter.drawLine(QPointF(gap.left(), y), QPointF(gap.left() + side, y));
        painter.drawLine(QPointF(gap.right() - side, y), QPointF(gap.right(), y));
    }
    painter.setFont(theme.fonts.caption);
    painter.setPen(theme.caution);
    painter.drawText(gap.adjusted(0, -2, 0, 2), Qt::AlignCenter,
                     QFontMetricsF(theme.fonts.caption).elidedText(text, Qt::ElideRight, gap.width()));
}

void ChatView::paint_empty(QPainter& painter) {
    const Theme& theme = current_theme();
    const double width = std::min(column_width(), 460.0);
    const double left = (viewport()->width() - width) / 2;
    QFont heading = theme.fonts.figure;
    const QFontMetricsF head(heading);
    const QFontMetricsF body(theme.fonts.text);
    const int flags = Qt::AlignHCenter | Qt::TextWordWrap;
    const QRectF head_need = head.boundingRect(QRectF(0, 0, width, 1000), flags, empty_heading_);
    const QRectF body_need = body.boundingRect(QRectF(0, 0, width, 1000), flags, empty_text_);
    double y = std::max(24.0, (viewport()->height() - head_need.height() - body_need.height() - 12) * 0.42);
    painter.setPen(theme.text);
    painter.setFont(heading);
    painter.drawText(QRectF(left, y, width, head_need.height()), flags, empty_heading_);
    y += head_need.height() + 12;
    painter.setPen(theme.text_second);
    painter.setFont(theme.fonts.text);
    painter.drawText(QRectF(left, y, width, body_need.height() + 4), flags, empty_text_);
}

namespace {

double bubble_width(const MessageText& text) { return text.natural_width() + 2 * bubble_x; }

bool starts_code(const std::vector<Paragraph>& paragraphs, std::size_t i) {
    if (paragraphs[i].kind == LineKind::CodeHead) return true;
    return i == 0 ||
           (paragraphs[i - 1].kind != LineKind::Code && paragraphs[i - 1].kind != LineKind::CodeHead);
}

bool ends_code(const std::vector<Paragraph>& paragraphs, std::size_t i) {
    return i + 1 == paragraphs.size() || paragraphs[i + 1].kind != LineKind::Code;
}

}  // namespace

void ChatView::paint_row(QPainter& painter, const Row& row, int index, const QRectF& clip) {
    const Theme& theme = current_theme();
    if (row.user()) {
        const double width = bubble_width(row.text);
        const QRectF bubble(column_left() + column_width() - width, row.y, width,
                            row.text.height() + 2 * bubble_y);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.selection);
        painter.drawRoundedRect(bubble, theme.metrics.radius_message, theme.metrics.radius_message);
    }
    paint_paragraphs(painter, row, index, clip);
    lay_actions(*rows_[static_cast<std::size_t>(index)], index);
    paint_footer(painter, row, index);
}

// One line's part of the box behind code: rounded where the block begins and ends, square in between, so that
// the pieces join without a seam.
void ChatView::paint_code_box(QPainter& painter, const Row& row, std::size_t i, double y) const {
    const Theme& theme = current_theme();
    const auto& paragraphs = row.text.paragraphs();
    const Paragraph& p = paragraphs[i];
    const bool first = starts_code(paragraphs, i);
    const bool last = ends_code(paragraphs, i);
    const bool head = p.kind == LineKind::CodeHead;
    const double lead = first ? p.space - (head ? 0 : 8) : 0;
    const double left = text_left(row) + p.indent - 12;
    const QRectF box(left, y + lead, text_left(row) + row.text.width() - left,
                     p.height - lead + (last ? 8 : 0));
    painter.setPen(Qt::NoPen);
    painter.setBrush(code_background(theme));
    QPainterPath path;
    const double r = theme.metrics.radius_chip;
    path.setFillRule(Qt::WindingFill);
    path.addRoundedRect(box, r, r);
    if (!first) path.addRect(QRectF(box.left(), box.top(), box.width(), std::min(r, box.height())));
    if (!last)
        path.addRect(QRectF(box.left(), std::max(box.top(), box.bottom() - r), box.width(),
                            std::min(r, box.height())));
    painter.drawPath(path.simplified());
    if (!head) return;
    painter.setPen(theme.hairline);
    const double line = std::floor(box.bottom() - (last ? 8 : 0)) - 0.5;
    painter.drawLine(QPointF(box.left(), line), QPointF(box.right(), line));
    painter.setFont(theme.fonts.caption);
    painter.setPen(ink(theme.text_second, code_background(theme)));
    const QRectF button = copy_button(row, i);
    const QRectF room(text_left(row) + p.indent, y + p.space, button.left() - text_left(row) - p.indent - 8,
                      line - y - p.space);
    const QFontMetricsF metrics(theme.fonts.caption);
    painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(p.text.isEmpty() ? tr("Code") : language_name(p.text), Qt::ElideRight,
                                        room.width()));
    const bool copied = copied_row_ == row.id && copied_paragraph_ == static_cast<int>(i);
    painter.drawText(button, Qt::AlignCenter, copied ? tr("Copied") : tr("Copy"));
}

void ChatView::paint_table_lines(QPainter& painter, const Row& row, std::size_t i, double y) const {
    const Theme& theme = current_theme();
    const Paragraph& p = row.text.paragraphs()[i];
    const double left = text_left(row) + p.indent;
    const double below = std::floor(y + p.height) - 0.5;
    painter.setPen(p.table_head ? mix(theme.hairline, theme.text, 0.25) : theme.hairline);
    painter.drawLine(QPointF(left, below), QPointF(left + p.natural, below));
}

void ChatView::paint_marker(QPainter& painter, const Row& row, const Paragraph& p, double line_y) const {
    const Theme& theme = current_theme();
    painter.setPen(theme.text_second);
    painter.setFont(theme.fonts.answer);
    const QTextLine line = p.boxes.front().layout->lineAt(0);
    const double base = line_y + line.y() + line.ascent();
    const double width = QFontMetricsF(theme.fonts.answer).horizontalAdvance(p.marker);
    const double left = text_left(row);
    painter.drawText(
        QPointF(p.rtl ? left + row.text.width() - p.indent + 7 : left + p.indent - width - 7, base),
        p.marker);
}

void ChatView::paint_thought_head(QPainter& painter, const Row& row, const Paragraph& p,
                                  double line_y) const {
    const Theme& theme = current_theme();
    const auto& thought = row.text.thoughts()[static_cast<std::size_t>(p.thought)];
    const QFont& font = theme.fonts.caption;
    const QFontMetricsF metrics(font);
    const double left = text_left(row);
    const double height = p.y + p.height + text_top(row) - line_y;
    // A triangle that points at what it opens.
    const double middle = line_y + height / 2;
    QPolygonF triangle;
    if (thought.folded) {
        triangle << QPointF(left + 2, middle - 4) << QPointF(left + 8, middle)
                 << QPointF(left + 2, middle + 4);
    } else {
        triangle << QPointF(left + 1, middle - 3) << QPointF(left + 9, middle - 3)
                 << QPointF(left + 5, middle + 3);
    }
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.text_second);
    painter.drawPolygon(triangle);
    const bool going = thought.open && row.state == MessageState::Streaming;
    const QString text =
        (going          ? tr("Thinking")
         : thought.open ? tr("Thinking, not finished")
                        : tr("Thought")) +
        QStringLiteral(" · ") +
        (thought.words == 1 ? tr("1 word") : tr("%1 words").arg(count_text(std::max(0, thought.words))));
    painter.setFont(font);
    painter.setPen(going ? ink(theme.accent, theme.surface) : theme.text_second);
    painter.drawText(QRectF(left + 16, line_y, row.text.width() - 16, height),
                     Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(text, Qt::ElideRight, row.text.width() - 16));
}

// Where the next token will appear. It does not blink.
void ChatView::paint_cursor(QPainter& painter, const Row& row) const {
    const Theme& theme = current_theme();
    const QFontMetricsF metrics(theme.fonts.answer);
    const auto& paragraphs = row.text.paragraphs();
    QPointF at(column_left(), row.y + 3);
    double height = std::round(metrics.ascent());
    std::size_t i = paragraphs.size();
    while (i > 0 && paragraphs[i - 1].hidden) --i;
    if (i > 0) {
        const Paragraph& p = paragraphs[i - 1];
        const double line_y = text_top(row) + p.y + p.space;
        const TextBox* box = p.boxes.empty() ? nullptr : &p.boxes.back();
        if (p.kind == LineKind::ThoughtHead) {
            return;  // its words are counted there
        }
        if (box != nullptr && box->layout->lineCount() > 0) {
            const QTextLine line = box->layout->lineAt(box->layout->lineCount() - 1);
            at = QPointF(text_left(row) + box->x + line.cursorToX(box->end - box->begin) + (p.rtl ? -9 : 2),
                         line_y + box->y + line.y() + (line.height() - metrics.ascent() - 2) / 2);
        } else {
            at = QPointF(text_left(row) + p.indent, text_top(row) + p.y + p.height);
        }
    }
    painter.fillRect(QRectF(at, QSizeF(7, height)), theme.accent);
}

// What is drawn over a paragraph's text, in its own places: matches of the search, then the selection.
std::vector<ChatView::Highlight> ChatView::highlights(const Row& row, int index,
                                                      std::size_t paragraph) const {
    const Theme& theme = current_theme();
    std::vector<Highlight> out;
    // While colours speak of tokens, those of code, links and quotes rest: they would be too faint on some.
    if (coloring_ != Coloring::None && !row.user())
        out.push_back({0, static_cast<int>(row.text.paragraphs()[paragraph].text.size()), {}, theme.text});
    const auto first =
        std::lower_bound(matches_.begin(), matches_.end(), std::pair(index, static_cast<int>(paragraph)),
                         [](const Match& m, const std::pair<int, int>& place) {
                             return std::pair(m.row, m.paragraph) < place;
                         });
    for (auto m = first;
         m != matches_.end() && m->row == index && m->paragraph == static_cast<int>(paragraph); ++m) {
        const bool current = m - matches_.begin() == current_match_;
        QColor back = current ? theme.caution : mix(theme.surface, theme.caution, 0.28);
        const QColor fore = current ? ink_on(back) : ink(theme.text, back);
        out.push_back({m->begin, m->end, back, fore});
    }
    if (has_selection()) {
        const auto [from, to] = selection();
        const auto para = static_cast<int>(paragraph);
        const bool after_start = index > from.row || (index == from.row && para >= from.paragraph);
        const bool before_end = index < to.row || (index == to.row && para <= to.paragraph);
        if (after_start && before_end) {
            const int begin = index == from.row && para == from.paragraph ? from.offset : 0;
            const int end =
                index == to.row && para == to.paragraph
                    ? to.offset
                    : static_cast<int>(
                          rows_[static_cast<std::size_t>(index)]->text.paragraphs()[paragraph].text.size());
            if (end > begin) out.push_back({begin, end, theme.accent, theme.accent_text});
        }
    }
    return out;
}

void ChatView::paint_paragraphs(QPainter& painter, const Row& row, int index, const QRectF& clip) {
    const Theme& theme = current_theme();
    const auto& paragraphs = row.text.paragraphs();
    const double top = text_top(row);
    const double room = row.text.width();
    const double left = text_left(row);

    std::size_t i = paragraphs.empty() ? 0 : row.text.at(clip.top() - top);
    if (i > 0) --i;  // the box of a code block reaches below its last line
    for (; i < paragraphs.size(); ++i) {
        const Paragraph& p = paragraphs[i];
        if (p.hidden) continue;
        const double y = top + p.y;
        if (y > clip.bottom()) break;
        const double line_y = y + p.space;
        const bool inside_thought = p.thought >= 0 && p.kind != LineKind::ThoughtHead;
        if (inside_thought) {
            const bool joined = i > 0 && paragraphs[i - 1].thought == p.thought &&
                                paragraphs[i - 1].kind != LineKind::ThoughtHead;
            painter.fillRect(QRectF(left + 4, joined ? y : line_y, 2, p.height - (joined ? 0 : p.space)),
                             theme.hairline);
        }
        for (int level = 0; level < p.quote; ++level) {
            const bool joined = i > 0 && paragraphs[i - 1].quote > level;
            painter.fillRect(QRectF(left + 14 * level + (inside_thought ? 14 : 0), joined ? y : line_y, 3,
                                    p.height - (joined ? 0 : p.space)),
                             mix(theme.hairline, theme.text, 0.12));
        }
        switch (p.kind) {
            case LineKind::Rule:
                painter.setPen(theme.hairline);
                painter.drawLine(QPointF(left, std::floor(line_y) + 8.5),
                                 QPointF(left + room, std::floor(line_y) + 8.5));
                continue;
            case LineKind::ThoughtHead: paint_thought_head(painter, row, p, line_y); continue;
            case LineKind::CodeHead: paint_code_box(painter, row, i, y); continue;
            case LineKind::Code: paint_code_box(painter, row, i, y); break;
            case LineKind::TableRow: paint_table_lines(painter, row, i, y); break;
            default: break;
        }
        if (p.boxes.empty()) continue;
        paint_tokens(painter, row, i);
        // A bubble is as wide as its text: right-to-left lines end at the right of the bubble, not of the
        // room.
        const double shift = row.user() && p.rtl ? row.text.natural_width() - room : 0;
        if (!p.marker.isEmpty()) paint_marker(painter, row, p, line_y);
        const auto marked = highlights(row, index, i);
        const bool quiet = p.quote > 0 || p.thought >= 0;
        painter.setPen(p.kind == LineKind::Code ? ink(theme.text, code_background(theme))
                       : quiet                  ? theme.text_second
                                                : theme.text);
        for (const TextBox& box : p.boxes) {
            QList<QTextLayout::FormatRange> ranges;
            for (const Highlight& h : marked) {
                QTextLayout::FormatRange range;
                range.start = std::max(h.begin, box.begin) - box.begin;
                range.length = std::min(h.end, box.end) - box.begin - range.start;
                if (h.background.isValid()) range.format.setBackground(h.background);
                if (h.foreground.isValid()) range.format.setForeground(h.foreground);
                if (range.length > 0) ranges.append(range);
            }
            box.layout->draw(&painter, QPointF(left + box.x + shift, line_y + box.y), ranges, QRectF());
        }
    }
    if (row.state == MessageState::Streaming) paint_cursor(painter, row);
}

void ChatView::paint_footer(QPainter& painter, const Row& row, int index) {
    const Theme& theme = current_theme();
    const QFont& font = theme.fonts.caption;
    painter.setFont(font);
    double right = column_left() + column_width();
    for (const Action& action : row.actions) {
        if (!action.always && hover_ != index) continue;
        painter.setPen(!action.enabled ? theme.text_third : theme.text_second);
        painter.drawText(action.rect, Qt::AlignCenter, action.text);
        right = std::min(right, action.rect.left());
    }
    if (row.user()) return;

    double base = row.y + row.height - row.error_height - 8;
    double x = column_left();
    const auto put = [&](const QString& text, const QColor& color) {
        const double width = tabular_width(text, font);
        if (x + width > right - 8) return false;
        painter.setPen(color);
        draw_tabular(painter, QPointF(x, base), text, font);
        x += width + 14;
        return true;
    };
    if (row.state == MessageState::Streaming) put(tr("writing"), theme.accent);
    for (const QString& part : row.stats) {
        const bool attention = row.state == MessageState::Interrupted && part == row.stats.back();
        if (!put(part, attention ? theme.caution : theme.text_second)) break;
    }
    if (!row.error.isEmpty()) {
        painter.setPen(theme.bad);
        painter.setFont(font);
        painter.drawText(QRectF(column_left(), base + 6, column_width(), row.error_height), Qt::TextWordWrap,
                         row.error.left(2000));
    }
}

void ChatView::lay_actions(Row& row, int index) {
    const Theme& theme = current_theme();
    const QFontMetricsF metrics(theme.fonts.caption);
    const bool last = index + 1 == static_cast<int>(rows_.size());
    const bool idle = row.state != MessageState::Streaming;
    const bool hovered = hover_ == index;
    row.actions.clear();
    const auto add = [&](Action::What what, const QString& text, bool always, bool enabled = true) {
        if (!always && !hovered) return;
        Action action;
        action.what = what;
        action.message = row.id;
        action.text = text;
        action.always = always;
        action.enabled = enabled;
        row.actions.push_back(action);
    };
    if (row.user()) {
        add(Action::Edit, tr("Edit"), false);
        add(Action::Copy, tr("Copy"), false);
    } else if (idle) {
        add(Action::Copy, tr("Copy"), last);
        if (last && model_->can_continue(row.id)) add(Action::Continue, tr("Continue"), true);
        add(Action::Regenerate, tr("Regenerate"), last);
    } else {
        add(Action::Stop, tr("Stop"), true);
    }
    if (!row.branch.isEmpty()) {
        add(Action::Earlier, QStringLiteral("‹"), true, !row.branch.startsWith(QLatin1String("1 /")));
        Action place;  // the counter itself does nothing
        place.what = Action::None;
        place.text = row.branch;
        place.always = true;
        place.enabled = true;
        place.message = 0;
        row.actions.push_back(place);
        const QStringList ends = row.branch.split(QStringLiteral(" / "));
        add(Action::Later, QStringLiteral("›"), true, ends.size() == 2 && ends[0] != ends[1]);
    }
    double total = 0;
    std::vector<double> widths;
    for (const Action& action : row.actions) {
        const bool arrow = action.what == Action::Earlier || action.what == Action::Later;
        widths.push_back(arrow ? 20 : metrics.horizontalAdvance(action.text) + 16);
        total += widths.back();
    }
    // Beside the user's bubble, or at the right end of an answer's footer.
    double x = row.user() ? column_left() + column_width() - bubble_width(row.text) - total - 4
                          : column_left() + column_width() - total + 8;
    const double height = 24;
    const double y = row.user() ? row.y + (bubble_y * 2 + std::min(row.text.height(), 24.0) - height) / 2
                                : row.y + row.height - row.error_height - height - 1;
    for (std::size_t i = 0; i < row.actions.size(); ++i) {
        row.actions[i].rect = QRectF(std::round(x), std::round(y), widths[i], height);
        x += widths[i];
    }
}

}  // namespace vitrine::ui
