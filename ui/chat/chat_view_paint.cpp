// ChatView: what is drawn.
#include <algorithm>
#include <cmath>

#include <QPaintEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>

#include "ui/chat/chat_rows.h"
#include "ui/chat/chat_view.h"
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
    paint_footer(painter, row);
}

void ChatView::paint_paragraphs(QPainter& painter, const Row& row, int index, const QRectF& clip) {
    const Theme& theme = current_theme();
    const auto& paragraphs = row.text.paragraphs();
    const double top_of_text = row.y + (row.user() ? bubble_y : 0);
    const double room = row.text.width();
    const double left =
        row.user() ? column_left() + column_width() - bubble_width(row.text) + bubble_x : column_left();
    const auto [from, to] = selection();
    const bool selected_row = has_selection() && index >= from.row && index <= to.row;

    for (std::size_t i = paragraphs.empty() ? 0 : row.text.at(clip.top() - top_of_text);
         i < paragraphs.size(); ++i) {
        const Paragraph& p = paragraphs[i];
        const double y = top_of_text + p.y;
        if (y > clip.bottom()) break;
        const double line_y = y + p.space;
        if (p.kind == LineKind::Rule) {
            painter.setPen(theme.hairline);
            painter.drawLine(QPointF(left, std::floor(line_y) + 8.5),
                             QPointF(left + room, std::floor(line_y) + 8.5));
            continue;
        }
        if (p.kind == LineKind::Code) {
            const bool first = i == 0 || paragraphs[i - 1].kind != LineKind::Code;
            const bool last = i + 1 == paragraphs.size() || paragraphs[i + 1].kind != LineKind::Code;
            QRectF box(left, first ? line_y - 8 : y, room,
                       p.height - (first ? p.space - 8 : 0) + (last ? 8 : 0));
            painter.setPen(Qt::NoPen);
            painter.setBrush(mix(theme.surface, theme.text, 0.05));
            QPainterPath path;
            const double r = theme.metrics.radius_chip;
            // Rounded where the block begins and ends, square in between: the pieces join without a seam.
            path.setFillRule(Qt::WindingFill);
            path.addRoundedRect(box, r, r);
            if (!first) path.addRect(QRectF(box.left(), box.top(), box.width(), std::min(r, box.height())));
            if (!last)
                path.addRect(QRectF(box.left(), std::max(box.top(), box.bottom() - r), box.width(),
                                    std::min(r, box.height())));
            painter.drawPath(path.simplified());
        }
        if (p.kind == LineKind::Quote) {
            for (int level = 0; level < p.level; ++level)
                painter.fillRect(
                    QRectF(left + 14 * level, y + (p.gap ? p.space : 0), 3, p.height - (p.gap ? p.space : 0)),
                    theme.hairline);
        }
        if (!p.layout) continue;
        // A bubble is as wide as its text: right-to-left lines end at the right of the bubble, not of the
        // room.
        const double shift =
            row.user() && p.rtl ? -(room - p.indent - (row.text.natural_width() - p.indent)) : 0;
        const QPointF position(left + p.indent + shift, line_y);
        if (p.kind == LineKind::Item) {
            painter.setPen(theme.text_second);
            painter.setFont(theme.fonts.answer);
            const QTextLine line = p.layout->lineAt(0);
            const double base = line_y + line.y() + line.ascent();
            const double width = QFontMetricsF(theme.fonts.answer).horizontalAdvance(p.marker);
            painter.drawText(QPointF(left + p.indent - width - 7, base), p.marker);
        }
        QList<QTextLayout::FormatRange> selected;
        if (selected_row) {
            const auto para = static_cast<int>(i);
            const bool after_start = index > from.row || para >= from.paragraph;
            const bool before_end = index < to.row || para <= to.paragraph;
            if (after_start && before_end) {
                QTextLayout::FormatRange range;
                range.start = index == from.row && para == from.paragraph ? from.offset : 0;
                const int end =
                    index == to.row && para == to.paragraph ? to.offset : static_cast<int>(p.text.size());
                range.length = end - range.start;
                range.format.setBackground(theme.accent);
                range.format.setForeground(theme.accent_text);
                if (range.length > 0) selected.append(range);
            }
        }
        painter.setPen(p.kind == LineKind::Quote ? theme.text_second : theme.text);
        p.layout->draw(&painter, position, selected, QRectF());
    }

    if (row.state == MessageState::Streaming) {
        // Where the next token will appear. It does not blink.
        QPointF at(column_left(), row.y + 3);
        const QFontMetricsF metrics(theme.fonts.answer);
        if (!paragraphs.empty() && paragraphs.back().layout && paragraphs.back().layout->lineCount() > 0) {
            const Paragraph& p = paragraphs.back();
            const QTextLine line = p.layout->lineAt(p.layout->lineCount() - 1);
            at = QPointF(left + p.indent + line.cursorToX(static_cast<int>(p.text.size())) + 2,
                         top_of_text + p.y + p.space + line.y() + (line.height() - metrics.ascent() - 2) / 2);
        }
        painter.fillRect(QRectF(at, QSizeF(7, std::round(metrics.ascent()))), theme.accent);
    }
}

void ChatView::paint_footer(QPainter& painter, const Row& row) {
    const Theme& theme = current_theme();
    const QFont& font = theme.fonts.caption;
    const QFontMetricsF metrics(font);
    painter.setFont(font);
    double right = column_left() + column_width();
    for (const Action& action : row.actions) {
        const bool shown = action.always || hover_ >= 0;
        if (!shown) continue;
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
    }
    if (!row.branch.isEmpty()) {
        add(Action::Earlier, QStringLiteral("‹"), true, !row.branch.startsWith(QLatin1String("1 /")));
        Action place;  // the counter itself does nothing
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
