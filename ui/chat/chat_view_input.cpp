// ChatView: mouse, keys, selection.
#include <algorithm>

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMenu>
#include <QScrollBar>
#include <QTextBoundaryFinder>
#include <QToolTip>

#include "ui/chat/chat_rows.h"
#include "ui/chat/chat_view.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {

using namespace chat_measures;

// Up is always the reader's wish, even where there is only a line to go.
void ChatView::wheelEvent(QWheelEvent* event) {
    if (event->modifiers() & Qt::ControlModifier) {
        event->ignore();  // text zoom belongs to the window
        return;
    }
    QAbstractScrollArea::wheelEvent(event);
}

void ChatView::keyPressEvent(QKeyEvent* event) {
    QScrollBar* bar = verticalScrollBar();
    if (event->matches(QKeySequence::Copy)) return copy_selection();
    if (event->matches(QKeySequence::SelectAll)) return select_all();
    switch (event->key()) {
        case Qt::Key_Home: bar->triggerAction(QAbstractSlider::SliderToMinimum); return;
        case Qt::Key_End: scroll_to_end(); return;
        case Qt::Key_PageUp: bar->triggerAction(QAbstractSlider::SliderPageStepSub); return;
        case Qt::Key_PageDown:
        case Qt::Key_Space: bar->triggerAction(QAbstractSlider::SliderPageStepAdd); return;
        case Qt::Key_Up: bar->triggerAction(QAbstractSlider::SliderSingleStepSub); return;
        case Qt::Key_Down: bar->triggerAction(QAbstractSlider::SliderSingleStepAdd); return;
        default: QAbstractScrollArea::keyPressEvent(event);
    }
}

const ChatView::Action* ChatView::action_at(const QPointF& position) const {
    const QPointF content = position + QPointF(0, offset());
    for (const auto& row : rows_)
        for (const Action& action : row->actions)
            if (action.message != 0 && action.enabled && action.rect.contains(content)) return &action;
    return nullptr;
}

void ChatView::run_action(const Action& action) {
    const qint64 id = action.message;
    switch (action.what) {
        case Action::Copy: copy_message(id); break;
        case Action::Regenerate: emit regenerate_requested(id); break;
        case Action::Continue: emit continue_requested(id); break;
        case Action::Edit: emit edit_requested(id); break;
        case Action::Earlier: emit sibling_requested(id, -1); break;
        case Action::Later: emit sibling_requested(id, 1); break;
    }
}

std::optional<TextPlace> ChatView::place_at(const QPoint& viewport_position, bool nearest) const {
    if (rows_.empty()) return std::nullopt;
    const double y = viewport_position.y() + offset();
    const std::size_t r = row_at(y);
    const Row& row = *rows_[r];
    const auto& paragraphs = row.text.paragraphs();
    const double top_of_text = row.y + (row.user() ? bubble_y : 0);
    if (paragraphs.empty())
        return nearest ? std::optional(TextPlace{static_cast<int>(r), 0, 0}) : std::nullopt;
    if (!nearest && (y < top_of_text || y > top_of_text + row.text.height())) return std::nullopt;
    const std::size_t i = row.text.at(y - top_of_text);
    const Paragraph& p = paragraphs[i];
    TextPlace place{static_cast<int>(r), static_cast<int>(i), 0};
    if (!p.layout) return place;
    const double width = row.user() ? row.text.natural_width() : row.text.width();
    const double left = row.user() ? column_left() + column_width() - width - bubble_x : column_left();
    const double shift = row.user() && p.rtl ? -(row.text.width() - row.text.natural_width()) : 0;
    const double x = viewport_position.x() - left - p.indent - shift;
    if (!nearest && (x < -6 || x > width + 6)) return std::nullopt;
    const double inside = y - top_of_text - p.y - p.space;
    QTextLine line;
    for (int l = 0; l < p.layout->lineCount(); ++l) {
        line = p.layout->lineAt(l);
        if (inside < line.y() + line.height()) break;
    }
    if (line.isValid()) place.offset = line.xToCursor(x);
    if (nearest && inside > p.height) place.offset = static_cast<int>(p.text.size());
    return place;
}

std::pair<TextPlace, TextPlace> ChatView::selection() const {
    return std::minmax(selection_from_, selection_to_);
}

bool ChatView::has_selection() const { return selection_from_.row >= 0 && selection_from_ != selection_to_; }

QString ChatView::selected_text() const {
    QString out;
    if (!has_selection()) return out;
    const auto [from, to] = selection();
    bool first = true;
    for (int r = from.row; r <= to.row && r < static_cast<int>(rows_.size()); ++r) {
        const auto& paragraphs = rows_[static_cast<std::size_t>(r)]->text.paragraphs();
        for (int i = r == from.row ? from.paragraph : 0; i < static_cast<int>(paragraphs.size()); ++i) {
            if (r == to.row && i > to.paragraph) break;
            const Paragraph& p = paragraphs[static_cast<std::size_t>(i)];
            const int begin = r == from.row && i == from.paragraph ? from.offset : 0;
            const int end = r == to.row && i == to.paragraph ? to.offset : static_cast<int>(p.text.size());
            if (!first && !p.continues)
                out += i == 0 || p.gap ? QStringLiteral("\n\n") : QStringLiteral("\n");
            if (begin == 0 && !p.marker.isEmpty()) out += p.marker + u' ';
            out += without_isolates(p, begin, end);
            first = false;
        }
    }
    return out;
}

void ChatView::select_all() {
    if (rows_.empty()) return;
    selection_from_ = {0, 0, 0};
    const auto last = static_cast<int>(rows_.size()) - 1;
    const auto& paragraphs = rows_.back()->text.paragraphs();
    selection_to_ = paragraphs.empty() ? TextPlace{last, 0, 0}
                                       : TextPlace{last, static_cast<int>(paragraphs.size()) - 1,
                                                   static_cast<int>(paragraphs.back().text.size())};
    viewport()->update();
}

void ChatView::copy_selection() {
    if (has_selection()) QApplication::clipboard()->setText(selected_text());
}

void ChatView::copy_message(qint64 id) {
    if (model_ && model_->conversation().contains(id))
        QApplication::clipboard()->setText(model_->conversation().at(id).text);
}

void ChatView::set_hover(int row) {
    if (row == hover_) return;
    hover_ = row;
    viewport()->update();
}

void ChatView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    if (action_at(event->position()) != nullptr) return;
    const auto place = place_at(event->pos(), true);
    if (!place) return;
    if (!(event->modifiers() & Qt::ShiftModifier) || selection_from_.row < 0) selection_from_ = *place;
    selection_to_ = *place;
    selecting_ = true;
    viewport()->update();
}

void ChatView::mouseMoveEvent(QMouseEvent* event) {
    if (selecting_ && (event->buttons() & Qt::LeftButton)) {
        if (const auto place = place_at(event->pos(), true); place && *place != selection_to_) {
            selection_to_ = *place;
            set_following(false);  // the text must hold still under the mouse
            viewport()->update();
        }
        const int beyond =
            event->pos().y() < 0 ? event->pos().y() : std::max(0, event->pos().y() - viewport()->height());
        if (beyond != 0)
            verticalScrollBar()->setValue(verticalScrollBar()->value() + std::clamp(beyond, -60, 60));
        return;
    }
    const std::size_t r = row_at(event->position().y() + offset());
    set_hover(rows_.empty() ? -1 : static_cast<int>(r));
    const bool hand = action_at(event->position()) != nullptr;
    viewport()->setCursor(hand                            ? Qt::PointingHandCursor
                          : place_at(event->pos(), false) ? Qt::IBeamCursor
                                                          : Qt::ArrowCursor);
}

void ChatView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    const bool was = std::exchange(selecting_, false);
    if (was && has_selection()) {
        if (QClipboard* clipboard = QApplication::clipboard(); clipboard->supportsSelection())
            clipboard->setText(selected_text(), QClipboard::Selection);
        return;
    }
    if (const Action* action = action_at(event->position())) {
        const Action copy = *action;  // running it may rebuild the rows
        run_action(copy);
    }
}

void ChatView::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto place = place_at(event->pos(), false);
    if (!place) return;
    const auto& paragraphs = rows_[static_cast<std::size_t>(place->row)]->text.paragraphs();
    if (paragraphs.empty()) return;
    QTextBoundaryFinder words(QTextBoundaryFinder::Word,
                              paragraphs[static_cast<std::size_t>(place->paragraph)].text);
    words.setPosition(place->offset);
    selection_from_ = selection_to_ = *place;
    if (!words.isAtBoundary()) words.toPreviousBoundary();
    selection_from_.offset = static_cast<int>(std::max<qsizetype>(0, words.position()));
    const qsizetype end = words.toNextBoundary();
    selection_to_.offset = end < 0 ? place->offset : static_cast<int>(end);
    viewport()->update();
}

void ChatView::contextMenuEvent(QContextMenuEvent* event) {
    if (rows_.empty() || !model_) return;
    const std::size_t r = row_at(event->pos().y() + offset());
    const qint64 id = rows_[r]->id;
    const bool user = rows_[r]->user();
    const bool idle = rows_[r]->state != MessageState::Streaming;
    QMenu menu(this);
    QAction* copy = menu.addAction(tr("Copy selection"), this, &ChatView::copy_selection);
    copy->setEnabled(has_selection());
    menu.addAction(user ? tr("Copy message") : tr("Copy answer"), this, [this, id] { copy_message(id); });
    menu.addAction(tr("Select all"), this, &ChatView::select_all);
    menu.addSeparator();
    if (user) {
        menu.addAction(tr("Edit…"), this, [this, id] { emit edit_requested(id); });
    } else {
        menu.addAction(tr("Regenerate"), this, [this, id] { emit regenerate_requested(id); })
            ->setEnabled(idle);
        menu.addAction(tr("Continue"), this, [this, id] { emit continue_requested(id); })
            ->setEnabled(model_->can_continue(id));
    }
    menu.exec(event->globalPos());
}

void ChatView::leaveEvent(QEvent* event) {
    set_hover(-1);
    QAbstractScrollArea::leaveEvent(event);
}

bool ChatView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const Action* action = action_at(viewport()->mapFrom(this, help->pos()));
        QString text;
        if (action != nullptr) {
            switch (action->what) {
                case Action::Copy: text = tr("Copy this message to the clipboard"); break;
                case Action::Regenerate:
                    text = tr("Write another answer; this one is kept beside it (Ctrl+R)");
                    break;
                case Action::Continue: text = tr("Let this answer go on where it ended (Ctrl+G)"); break;
                case Action::Edit: text = tr("Change this message; the old version is kept beside it"); break;
                case Action::Earlier: text = tr("The version before"); break;
                case Action::Later: text = tr("The version after"); break;
            }
        }
        if (text.isEmpty()) {
            QToolTip::hideText();
        } else {
            QToolTip::showText(help->globalPos(), text, this);
        }
        return true;
    }
    return QAbstractScrollArea::event(event);
}

}  // namespace vitrine::ui
