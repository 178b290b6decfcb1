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
    if (inspector_key(event)) return;
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
        case Action::None: break;
        case Action::Copy: copy_message(id); break;
        case Action::Regenerate: emit regenerate_requested(id); break;
        case Action::Continue: emit continue_requested(id); break;
        case Action::Stop: emit stop_requested(id); break;
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
    const double top = text_top(row);
    if (paragraphs.empty())
        return nearest ? std::optional(TextPlace{static_cast<int>(r), 0, 0}) : std::nullopt;
    if (!nearest && (y < top || y > top + row.text.height())) return std::nullopt;
    const std::size_t i = row.text.at(y - top);
    const Paragraph& p = paragraphs[i];
    TextPlace place{static_cast<int>(r), static_cast<int>(i), 0};
    if (p.boxes.empty() || p.hidden) return nearest ? std::optional(place) : std::nullopt;
    const double width = row.user() ? row.text.natural_width() : row.text.width();
    const double shift = row.user() && p.rtl ? row.text.natural_width() - row.text.width() : 0;
    const double x = viewport_position.x() - text_left(row) - shift;
    if (!nearest && (x < -6 || x > width + 6)) return std::nullopt;
    const double inside = y - top - p.y - p.space;
    // The cell under the mouse, or the one to its left.
    const TextBox* box = &p.boxes.front();
    for (const TextBox& one : p.boxes)
        if (x >= one.x - 8) box = &one;
    QTextLine line;
    for (int l = 0; l < box->layout->lineCount(); ++l) {
        line = box->layout->lineAt(l);
        if (inside - box->y < line.y() + line.height()) break;
    }
    if (line.isValid()) place.offset = box->begin + line.xToCursor(x - box->x);
    if (nearest && inside > p.height) place.offset = static_cast<int>(p.text.size());
    return place;
}

// The character under the mouse itself, not the nearest gap between two.
std::optional<TextPlace> ChatView::character_at(const QPoint& viewport_position) const {
    auto place = place_at(viewport_position, false);
    if (!place) return std::nullopt;
    const Row& row = *rows_[static_cast<std::size_t>(place->row)];
    const auto paragraph = static_cast<std::size_t>(place->paragraph);
    const QPointF at = QPointF(viewport_position) + QPointF(0, offset());
    const int length = static_cast<int>(row.text.paragraphs()[paragraph].text.size());
    for (const int offset : {place->offset, place->offset - 1}) {
        if (offset < 0 || offset >= length) continue;
        for (const QRectF& rect : range_rects(row, paragraph, offset, offset + 1))
            if (rect.adjusted(-0.5, -2, 0.5, 2).contains(at))
                return TextPlace{place->row, place->paragraph, offset};
    }
    return std::nullopt;
}

QString ChatView::link_at(const TextPlace& place) const {
    const Paragraph& p = rows_[static_cast<std::size_t>(place.row)]
                             ->text.paragraphs()[static_cast<std::size_t>(place.paragraph)];
    for (const Span& span : p.spans)
        if (span.style == Span::Link && span.target >= 0 && place.offset >= span.begin &&
            place.offset < span.begin + span.length)
            return p.targets.value(span.target);
    return {};
}

std::pair<int, int> ChatView::head_at(const QPoint& viewport_position) const {
    const QPointF at = QPointF(viewport_position) + QPointF(0, offset());
    if (rows_.empty()) return {-1, -1};
    const std::size_t r = row_at(at.y());
    const Row& row = *rows_[r];
    if (row.text.paragraphs().empty() || at.x() < text_left(row) ||
        at.x() > text_left(row) + row.text.width())
        return {-1, -1};
    const std::size_t i = row.text.at(at.y() - text_top(row));
    const Paragraph& p = row.text.paragraphs()[i];
    const double inside = at.y() - text_top(row) - p.y - p.space;
    const bool head =
        p.kind == LineKind::ThoughtHead || (p.kind == LineKind::CodeHead && copy_button(row, i).contains(at));
    if (!head || inside < 0 || inside > p.height - p.space) return {-1, -1};
    return {static_cast<int>(r), static_cast<int>(i)};
}

QRectF ChatView::copy_button(const Row& row, std::size_t paragraph) const {
    const Paragraph& p = row.text.paragraphs()[paragraph];
    const QFontMetricsF metrics(current_theme().fonts.caption);
    const double width =
        std::max(metrics.horizontalAdvance(tr("Copy")), metrics.horizontalAdvance(tr("Copied"))) + 20;
    return {text_left(row) + row.text.width() - width, text_top(row) + p.y + p.space, width,
            p.height - p.space};
}

void ChatView::set_hover(int row) {
    if (row == hover_) return;
    hover_ = row;
    viewport()->update();
}

void ChatView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    if (action_at(event->position()) != nullptr || head_at(event->pos()).first >= 0) return;
    const auto place = place_at(event->pos(), true);
    if (!place) return;
    had_selection_ = has_selection();
    pressed_at_ = event->pos();
    if (!(event->modifiers() & Qt::ShiftModifier) || selection_from_.row < 0) selection_from_ = *place;
    selection_to_ = *place;
    selecting_ = true;
    viewport()->update();
}

void ChatView::mouseMoveEvent(QMouseEvent* event) {
    if (selecting_ && (event->buttons() & Qt::LeftButton)) {
        // A hand that trembles while it clicks selects nothing.
        if (!has_selection() &&
            (event->pos() - pressed_at_).manhattanLength() < QApplication::startDragDistance() / 2)
            return;
        if (const auto place = place_at(event->pos(), true); place && *place != selection_to_) {
            selection_to_ = *place;
            set_following(false);  // the text must hold still under the mouse
            close_inspector();
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
    bool hand = action_at(event->position()) != nullptr || head_at(event->pos()).first >= 0;
    if (!hand)
        if (const auto character = character_at(event->pos())) hand = !link_at(*character).isEmpty();
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
        return;
    }
    click(event->pos());
}

void ChatView::click(const QPoint& position) {
    if (const auto [row, paragraph] = head_at(position); row >= 0) {
        const Row& r = *rows_[static_cast<std::size_t>(row)];
        const auto i = static_cast<std::size_t>(paragraph);
        if (r.text.paragraphs()[i].kind == LineKind::ThoughtHead)
            return toggle_thought(row, r.text.paragraphs()[i].thought);
        QApplication::clipboard()->setText(r.text.code_block(i));
        copied_row_ = r.id;
        copied_paragraph_ = paragraph;
        copied_end_.start();
        viewport()->update();
        return;
    }
    if (std::exchange(had_selection_, false)) return;  // that click ended the selection
    const auto character = character_at(position);
    if (character) {
        if (const QString target = link_at(*character); !target.isEmpty()) {
            emit link_activated(QUrl(target, QUrl::TolerantMode));
            return;
        }
        if (inspect_at(*character)) return;
    }
    close_inspector();
}

void ChatView::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto place = place_at(event->pos(), false);
    if (!place) return;
    const auto& paragraphs = rows_[static_cast<std::size_t>(place->row)]->text.paragraphs();
    if (paragraphs.empty()) return;
    close_inspector();  // the first of the two clicks has opened it
    had_selection_ = true;
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
    QAction* markdown = menu.addAction(tr("Copy selection as Markdown"), this,
                                       [this] { QApplication::clipboard()->setText(selected_markdown()); });
    markdown->setEnabled(has_selection());
    menu.addAction(user ? tr("Copy message") : tr("Copy answer as Markdown"), this,
                   [this, id] { copy_message(id); });
    if (!user) menu.addAction(tr("Copy answer as text"), this, [this, id] { copy_message_text(id); });
    if (const auto place = character_at(event->pos()); place && !link_at(*place).isEmpty())
        menu.addAction(tr("Copy link"), this,
                       [link = link_at(*place)] { QApplication::clipboard()->setText(link); });
    menu.addAction(tr("Select all"), this, &ChatView::select_all);
    menu.addSeparator();
    if (user) {
        menu.addAction(tr("Edit…"), this, [this, id] { emit edit_requested(id); });
    } else {
        if (idle) {
            if (model_->can_continue(id))
                menu.addAction(tr("Continue"), this, [this, id] { emit continue_requested(id); });
            menu.addAction(tr("Regenerate"), this, [this, id] { emit regenerate_requested(id); });
        } else {
            menu.addAction(tr("Stop"), this, [this, id] { emit stop_requested(id); });
        }
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
                case Action::None: break;
                case Action::Copy: text = tr("Copy this message as Markdown"); break;
                case Action::Stop: text = tr("Stop this answer; what it has written stays (Esc)"); break;
                case Action::Regenerate:
                    text = tr("Write another answer; this one is kept beside it (Ctrl+R)");
                    break;
                case Action::Continue: text = tr("Let this answer go on where it ended (Ctrl+G)"); break;
                case Action::Edit: text = tr("Change this message; the old version is kept beside it"); break;
                case Action::Earlier: text = tr("The version before"); break;
                case Action::Later: text = tr("The version after"); break;
            }
        }
        const QPoint at = viewport()->mapFrom(this, help->pos());
        if (action == nullptr) {
            if (const auto [row, paragraph] = head_at(at); row >= 0) {
                const Row& r = *rows_[static_cast<std::size_t>(row)];
                text = r.text.paragraphs()[static_cast<std::size_t>(paragraph)].kind == LineKind::ThoughtHead
                           ? tr("What the model wrote for itself before it answered; click to show or hide")
                           : tr("Copy this code");
            } else if (const auto character = character_at(at)) {
                text = link_at(*character);
                const auto& p = rows_[static_cast<std::size_t>(character->row)]
                                    ->text.paragraphs()[static_cast<std::size_t>(character->paragraph)];
                if (p.images.contains(text)) text = tr("A picture; it is not loaded. %1").arg(text);
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
