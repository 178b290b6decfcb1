// ChatView: colours of tokens, marks, and where the inspector stands.
#include <algorithm>
#include <cmath>

#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>

#include "ui/chat/chat_rows.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/token_inspector.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {

void ChatView::set_traces(TokenTraces* traces) {
    if (traces_ == traces) return;
    if (traces_) traces_->disconnect(this);
    traces_ = traces;
    if (traces_)
        connect(traces_, &TokenTraces::changed, this, [this](qint64 message) {
            if (coloring_ != Coloring::None) viewport()->update();
            if (message == inspected_message_ && inspected_token_ >= 0) refresh_inspector();
            if (message == asked_message_) {
                asked_message_ = 0;
                if (const TokenTrace* trace = traces_->find(message))
                    inspect(message, trace->token_at(asked_offset_));
            }
        });
    viewport()->update();
}

void ChatView::set_coloring(Coloring coloring) {
    if (coloring_ == coloring) return;
    coloring_ = coloring;
    viewport()->update();
}

void ChatView::set_branching(bool branching) {
    branching_ = branching;
    if (inspected_token_ >= 0) refresh_inspector();
    viewport()->update();
}

void ChatView::set_marks(std::vector<MessageRange> marks, bool show) {
    if (marks_ == marks) return;
    marks_ = std::move(marks);
    if (show && !marks_.empty()) {
        // Only where none of them is seen already.
        const bool seen = std::any_of(marks_.begin(), marks_.end(), [this](const MessageRange& m) {
            return range_rect(m.message, m.begin, m.end).intersects(viewport()->rect());
        });
        const int r = row_of(marks_.front().message);
        if (!seen && r >= 0 && !rows_[static_cast<std::size_t>(r)]->text.paragraphs().empty()) {
            Row& row = *rows_[static_cast<std::size_t>(r)];
            for (std::size_t i = row.text.paragraph_at(marks_.front().begin);
                 i < row.text.paragraphs().size() &&
                 row.text.paragraphs()[i].source_begin < marks_.front().end;
                 ++i) {
                if (row.text.paragraphs()[i].hidden) continue;
                const auto [from, to] = row.text.shown_range(i, marks_.front().begin, marks_.front().end);
                if (to <= from) continue;
                bring_into_view(row, i, from, to);
                break;
            }
        }
    }
    viewport()->update();
}

void ChatView::paint_tokens(QPainter& painter, const Row& row, std::size_t i) const {
    const Theme& theme = current_theme();
    const Paragraph& p = row.text.paragraphs()[i];
    const auto chip = [&](int begin, int end, const TokenLook& look) {
        while (begin < end && p.text[begin].isSpace()) ++begin;
        while (end > begin && p.text[end - 1].isSpace()) --end;
        for (const QRectF& rect : range_rects(row, i, begin, end)) {
            const QRectF box = rect.adjusted(0, 1, 0, -1);
            if (look.fill.isValid()) {
                painter.setPen(Qt::NoPen);
                painter.setBrush(look.fill);
                painter.drawRoundedRect(box, 3, 3);
            }
            if (look.frame.isValid()) {
                painter.setPen(QPen(look.frame, 1.3));
                painter.setBrush(Qt::NoBrush);
                painter.drawRoundedRect(box.adjusted(-0.5, 0.5, 0.5, -0.5), 3, 3);
            }
            if (look.underline.isValid()) {
                painter.setPen(Qt::NoPen);
                painter.setBrush(look.underline);
                painter.drawRect(QRectF(box.left(), box.bottom() - 1.5, box.width(), 2));
            }
        }
    };
    const TokenTrace* trace = nullptr;
    if (!row.user() && traces_ && (coloring_ != Coloring::None || row.id == inspected_message_))
        trace = traces_->find(row.id);
    if (trace != nullptr && coloring_ != Coloring::None) {
        const float median = coloring_ == Coloring::Latency ? trace->median_seconds() : 0;
        for (int t = trace->first_ending_after(static_cast<qint32>(p.source_begin));
             t < trace->size() && trace->begin(t) < p.source_end; ++t) {
            const TokenLook look = look_of(coloring_, trace->token(t), t == 0, median, theme);
            if (look.plain()) continue;
            const auto [begin, end] = row.text.shown_range(i, trace->begin(t), trace->token(t).end);
            if (end > begin) chip(begin, end, look);
        }
    }
    TokenLook mark;
    mark.fill = mix(theme.surface, theme.accent, theme.is_dark ? 0.28 : 0.18);
    for (const MessageRange& m : marks_) {
        if (m.message != row.id || m.begin >= p.source_end || m.end <= p.source_begin) continue;
        const auto [begin, end] = row.text.shown_range(i, m.begin, m.end);
        if (end > begin) chip(begin, end, mark);
    }
    if (trace != nullptr && row.id == inspected_message_ && inspected_token_ >= 0 &&
        inspected_token_ < trace->size()) {
        TokenLook look;
        look.frame = theme.accent;
        const auto [begin, end] =
            row.text.shown_range(i, trace->begin(inspected_token_), trace->token(inspected_token_).end);
        if (end > begin) chip(begin, end, look);
    }
}

// Where a token is drawn. Nothing of it may be: a mark, a line end, a control token. Then it stands where it
// would be.
ChatView::TokenSpot ChatView::spot_of(const Row& row, const TokenTrace& trace, int token) const {
    const qint32 begin = trace.begin(token);
    const qint32 end = trace.token(token).end;
    TokenSpot spot;
    spot.paragraph = row.text.paragraph_at(begin);
    for (std::size_t i = spot.paragraph;
         i < row.text.paragraphs().size() && row.text.paragraphs()[i].source_begin < std::max(begin + 1, end);
         ++i) {
        const auto [from, to] = row.text.shown_range(i, begin, std::max(begin + 1, end));
        if (to <= from) continue;
        spot = {i, from, to};
        break;
    }
    return spot;
}

bool ChatView::inspect_at(const TextPlace& place) {
    const Row& row = *rows_[static_cast<std::size_t>(place.row)];
    if (row.user() || !traces_) return false;
    const auto source =
        static_cast<qint32>(row.text.source_of(static_cast<std::size_t>(place.paragraph), place.offset));
    asked_message_ = 0;
    const TokenTrace* trace = traces_->find(row.id);
    if (trace == nullptr) {
        // The store may have it; then it opens where it was asked for.
        asked_message_ = row.id;
        asked_offset_ = source;
        return false;
    }
    const int token = trace->token_at(source);
    return token >= 0 && inspect(row.id, token);
}

bool ChatView::inspect(qint64 message, int token) {
    const int r = row_of(message);
    const TokenTrace* trace = traces_ ? traces_->find(message) : nullptr;
    if (r < 0 || trace == nullptr || token < 0 || token >= trace->size()) return false;
    inspected_message_ = message;
    inspected_token_ = token;
    Row& row = *rows_[static_cast<std::size_t>(r)];
    set_following(false);  // the text holds still under the inspector
    const qint32 begin = trace->begin(token);
    if (!row.text.paragraphs().empty()) {
        TokenSpot spot = spot_of(row, *trace, token);
        const Paragraph& p = row.text.paragraphs()[spot.paragraph];
        if (p.hidden) toggle_thought(r, p.thought);
        set_following(false);
        bring_into_view(row, spot.paragraph, spot.begin, spot.end);
    }
    refresh_inspector();
    emit token_inspected(message, token, begin);
    viewport()->update();
    return true;
}

bool ChatView::inspect_last() {
    for (std::size_t r = rows_.size(); r-- > 0;) {
        const Row& row = *rows_[r];
        if (row.user() || !traces_) continue;
        const TokenTrace* trace = traces_->find(row.id);
        if (trace == nullptr || trace->size() == 0) continue;
        // One with a text: the very last is often the mark of the end.
        int token = trace->size() - 1;
        while (token > 0 && trace->token(token).end == trace->begin(token)) --token;
        return inspect(row.id, token);
    }
    return false;
}

void ChatView::close_inspector() {
    if (inspected_token_ < 0) return;
    const qint64 message = std::exchange(inspected_message_, 0);
    inspected_token_ = -1;
    if (inspector_->isAncestorOf(focusWidget()) || inspector_->hasFocus()) setFocus();
    inspector_->hide();
    emit token_inspected(message, -1, 0);
    viewport()->update();
}

void ChatView::step_token(int by) {
    const TokenTrace* trace = traces_ ? traces_->find(inspected_message_) : nullptr;
    if (trace == nullptr || inspected_token_ < 0) return;
    const int next = std::clamp(inspected_token_ + by, 0, trace->size() - 1);
    if (next != inspected_token_) inspect(inspected_message_, next);
}

void ChatView::refresh_inspector() {
    const TokenTrace* trace = traces_ ? traces_->find(inspected_message_) : nullptr;
    const int r = row_of(inspected_message_);
    if (trace == nullptr || r < 0 || inspected_token_ >= trace->size()) return close_inspector();
    const QString block =
        block_of_ ? block_of_(inspected_message_, trace->begin(inspected_token_)) : QString();
    const bool idle = rows_[static_cast<std::size_t>(r)]->state != MessageState::Streaming;
    inspector_->show_token(*trace, inspected_token_, block, branching_ && idle);
    place_inspector();
    inspector_->show();
    inspector_->raise();
}

// Below the token's line, above it where there is no room below; never over it.
void ChatView::place_inspector() {
    const int r = row_of(inspected_message_);
    const TokenTrace* trace = traces_ ? traces_->find(inspected_message_, false) : nullptr;
    if (r < 0 || trace == nullptr || inspected_token_ < 0) return;
    const Row& row = *rows_[static_cast<std::size_t>(r)];
    QRectF line;
    if (!row.text.paragraphs().empty()) {
        const TokenSpot spot = spot_of(row, *trace, inspected_token_);
        const std::size_t i = spot.paragraph;
        const auto rects = range_rects(row, i, spot.begin, spot.end);
        const Paragraph& p = row.text.paragraphs()[i];
        if (!rects.empty()) {
            line = rects.front();
            // A token that goes on in the next line: below both.
            for (const QRectF& rect : rects)
                line = line.united(QRectF(line.left(), rect.top(), 1, rect.height()));
        } else {
            line = QRectF(text_left(row) + p.indent, text_top(row) + p.y + p.space, 8, p.height - p.space);
        }
    } else {
        line = QRectF(text_left(row), row.y, 8, 20);
    }
    line.translate(0, -offset());
    constexpr int gap = 6;
    const QSize wanted = inspector_->sizeHint();
    const int below = viewport()->height() - static_cast<int>(std::ceil(line.bottom())) - gap - 4;
    const int above = static_cast<int>(std::floor(line.top())) - gap - 4;
    const bool under = below >= wanted.height() || below >= above;
    const int height = std::min(wanted.height(), std::max(80, under ? below : above));
    const int width = std::min(wanted.width(), viewport()->width() - 16);
    const int x = std::clamp(static_cast<int>(line.center().x()) - width / 2, 8,
                             std::max(8, viewport()->width() - width - 8));
    const int y = under ? static_cast<int>(std::ceil(line.bottom())) + gap
                        : static_cast<int>(std::floor(line.top())) - gap - height;
    inspector_->setGeometry(x, y, width, height);
}

bool ChatView::inspector_key(QKeyEvent* event) {
    if (inspected_token_ < 0 || event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)) return false;
    switch (event->key()) {
        case Qt::Key_Left: step_token(-1); return true;
        case Qt::Key_Right: step_token(1); return true;
        case Qt::Key_Up: inspector_->select_step(-1); return true;
        case Qt::Key_Down: inspector_->select_step(1); return true;
        case Qt::Key_Return:
        case Qt::Key_Enter: inspector_->branch(); return true;
        case Qt::Key_Escape: close_inspector(); return true;
        default: return false;
    }
}

bool ChatView::eventFilter(QObject* watched, QEvent* event) {
    if (watched == inspector_ && event->type() == QEvent::KeyPress)
        return inspector_key(static_cast<QKeyEvent*>(event));
    return QAbstractScrollArea::eventFilter(watched, event);
}

}  // namespace vitrine::ui
