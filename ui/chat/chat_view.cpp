#include "ui/chat/chat_view.h"

#include <algorithm>
#include <cmath>

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QResizeEvent>
#include <QScrollBar>
#include <QToolButton>

#include "ui/chat/chat_rows.h"
#include "ui/chat/token_inspector.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {

using namespace chat_measures;

// The paragraph at the top of the viewport and where it is; or the end, while following.
struct ChatView::Anchor {
    bool end = true;
    qint64 id = 0;
    std::size_t paragraph = 0;
    double inside = 0;  // viewport top minus top of the paragraph
};

ChatView::ChatView(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Conversation"));
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    verticalScrollBar()->setSingleStep(24);

    to_end_ = new QToolButton(this);
    to_end_->setText(tr("↓ To the end"));
    to_end_->setToolTip(tr("Go to the end of the conversation and follow it (End)"));
    to_end_->setProperty("role", "chip");
    to_end_->setFocusPolicy(Qt::NoFocus);
    to_end_->hide();
    connect(to_end_, &QToolButton::clicked, this, &ChatView::scroll_to_end);

    idle_.setSingleShot(true);
    connect(&idle_, &QTimer::timeout, this, &ChatView::settle_idle);
    copied_end_.setSingleShot(true);
    copied_end_.setInterval(1500);
    connect(&copied_end_, &QTimer::timeout, this, [this] {
        copied_paragraph_ = -1;
        viewport()->update();
    });
    inspector_ = new TokenInspector(viewport());
    inspector_->hide();
    inspector_->installEventFilter(this);
    connect(inspector_, &TokenInspector::close_requested, this, &ChatView::close_inspector);
    connect(inspector_, &TokenInspector::branch_requested, this, [this](qint32 id, const QByteArray& bytes) {
        emit branch_requested(inspected_message_, inspected_token_, id, bytes);
    });
    connect(theme_signal(), &ThemeSignal::changed, this, [this] {
        for (auto& row : rows_) row->text.forget_layouts();
        set_widths();
    });
}

ChatView::~ChatView() = default;

void ChatView::set_model(ChatModel* model) {
    if (model_ == model) return;
    if (model_) model_->disconnect(this);
    model_ = model;
    if (model_) {
        connect(model_, &QAbstractItemModel::modelReset, this, &ChatView::reload);
        connect(model_, &QAbstractItemModel::rowsInserted, this,
                [this](const QModelIndex&, int first, int last) {
                    for (int i = first; i <= last; ++i)
                        rows_.insert(rows_.begin() + i, make_row(model_->message(i)));
                    // What was just sent is what its sender wants to see; another branch leaves the reader in
                    // place.
                    if (model_->message(last).state == MessageState::Streaming) set_following(true);
                    set_widths();
                    if (!needle_.isEmpty()) search_all();
                    emit emptied(false);
                });
        connect(model_, &QAbstractItemModel::rowsRemoved, this,
                [this](const QModelIndex&, int first, int last) {
                    rows_.erase(rows_.begin() + first, rows_.begin() + last + 1);
                    selection_from_ = selection_to_ = {};
                    hover_ = -1;
                    if (row_of(inspected_message_) < 0) close_inspector();
                    set_widths();
                    if (!needle_.isEmpty()) search_all();
                    emit emptied(rows_.empty());
                });
        connect(model_, &QAbstractItemModel::dataChanged, this,
                [this](const QModelIndex& from, const QModelIndex& to, const QList<int>& roles) {
                    // Only a line between two messages: nothing is laid out anew.
                    if (roles == QList<int>{ChatModel::UnseenRole}) return viewport()->update();
                    for (int i = from.row(); i <= to.row(); ++i) update_row(i);
                });
        connect(model_, &QObject::destroyed, this, &ChatView::reload);
    }
    reload();
}

void ChatView::set_empty_text(const QString& heading, const QString& text) {
    if (empty_heading_ == heading && empty_text_ == text) return;
    empty_heading_ = heading;
    empty_text_ = text;
    if (rows_.empty()) viewport()->update();
}

void ChatView::reload() {
    rows_.clear();
    selection_from_ = selection_to_ = {};
    selecting_ = false;
    hover_ = -1;
    close_inspector();
    marks_.clear();
    if (model_)
        for (int i = 0; i < model_->rowCount(); ++i) rows_.push_back(make_row(model_->message(i)));
    set_following(true);
    set_widths();
    if (!needle_.isEmpty()) search_all();
    emit emptied(rows_.empty());
}

std::unique_ptr<ChatView::Row> ChatView::make_row(const Message& message) const {
    auto row = std::make_unique<Row>(message.role == Role::User);
    row->id = message.id;
    row->role = message.role;
    row->text.append(message.text);
    show_state(*row, message);
    return row;
}

void ChatView::show_state(Row& row, const Message& message) const {
    row.state = message.state;
    row.error = message.error;
    row.stats = stats_parts(message);
    row.branch = model_->index(model_->row_of(message.id)).data(ChatModel::BranchRole).toString();
    row.text.set_finished(message.state != MessageState::Streaming);
}

void ChatView::update_row(int index) {
    if (index < 0 || index >= static_cast<int>(rows_.size())) return;
    Row& row = *rows_[static_cast<std::size_t>(index)];
    const Message& message = model_->message(index);
    const Anchor before = anchor();
    const double old_height = row.height;
    const std::size_t old_count = row.text.paragraphs().size();
    if (row.text.source_length() < message.text.size())
        row.text.append(QStringView(message.text).mid(row.text.source_length()));
    const bool ended = row.state == MessageState::Streaming && message.state != MessageState::Streaming;
    show_state(row, message);
    // A table's head, or all of a thinking block, may have changed as well; the last few tell of both.
    if (!needle_.isEmpty())
        search_row(index, row.text.paragraphs().size() < old_count + 8 && old_count > 3 ? old_count - 3 : 0);
    // The last paragraph is the one that grew; it is measured at once so that the end is where it seems to
    // be.
    if (const auto n = row.text.paragraphs().size(); n > 0) row.text.ensure(n - 1);
    place_rows(static_cast<std::size_t>(index));
    if (row.height != old_height || ended) {
        update_range();
        restore(before);
        settle();
        viewport()->update();
    } else {
        const QRect changed = row_rect(index);
        // The last lines and the footer; what is above has not changed.
        viewport()->update(changed.intersected(QRect(0, changed.bottom() - 400, viewport()->width(), 420)));
    }
    if (inspected_token_ >= 0) place_inspector();
    if (ended) {
        QAccessibleEvent done(this, QAccessible::NameChanged);
        setAccessibleDescription(message.text.left(4000));
        QAccessible::updateAccessibility(&done);
    }
}

// In the middle of the whole widget, scroll bar included: what stands below it has the same column.
double ChatView::column_width() const {
    const double zoom = std::max(1.0, QFontMetricsF(current_theme().fonts.answer).height() / 19.0);
    return std::max(120.0, std::min(current_theme().metrics.text_column * zoom, width() - 2 * side));
}

double ChatView::column_left() const { return std::floor((width() - column_width()) / 2); }

void ChatView::set_widths() {
    const Anchor before = anchor();
    for (auto& row : rows_) {
        const double width = column_width();
        row->text.set_width(row->user() ? std::floor(width * 0.86) - 2 * bubble_x : width);
    }
    place_rows(0);
    update_range();
    restore(before);
    settle();
    viewport()->update();
}

void ChatView::place_rows(std::size_t from) {
    const QFontMetricsF caption(current_theme().fonts.caption);
    for (std::size_t i = from; i < rows_.size(); ++i) {
        Row& row = *rows_[i];
        row.y = i == 0 ? top : rows_[i - 1]->y + rows_[i - 1]->height + between;
        const QRectF room(0, 0, column_width(), 1e6);
        row.error_height =
            row.error.isEmpty()
                ? 0
                : std::ceil(caption.boundingRect(room, Qt::TextWordWrap, row.error.left(2000)).height()) + 10;
        row.height = row.text.height() + (row.user() ? 2 * bubble_y : footer + row.error_height);
        if (!row.user() && row.text.paragraphs().empty())
            row.height += std::ceil(QFontMetricsF(current_theme().fonts.answer).height());
    }
}

double ChatView::total_height() const {
    return rows_.empty() ? 0 : rows_.back()->y + rows_.back()->height + bottom;
}

double ChatView::offset() const { return verticalScrollBar()->value(); }

double ChatView::text_top(const Row& row) const { return row.y + (row.user() ? bubble_y : 0); }

double ChatView::text_left(const Row& row) const {
    if (!row.user()) return column_left();
    return column_left() + column_width() - row.text.natural_width() - bubble_x;
}

int ChatView::row_of(qint64 message) const {
    const auto known =
        std::find_if(rows_.begin(), rows_.end(), [message](const auto& row) { return row->id == message; });
    return known == rows_.end() ? -1 : static_cast<int>(known - rows_.begin());
}

std::vector<QRectF> ChatView::range_rects(const Row& row, std::size_t paragraph, int begin, int end) const {
    std::vector<QRectF> out;
    const Paragraph& p = row.text.paragraphs()[paragraph];
    if (p.hidden) return out;
    const QPointF origin(text_left(row), text_top(row) + p.y + p.space);
    const double shift = row.user() && p.rtl ? row.text.natural_width() - row.text.width() : 0;
    for (const TextBox& box : p.boxes) {
        const int from = std::max(begin, box.begin) - box.begin;
        const int to = std::min(end, box.end) - box.begin;
        if (from >= to) continue;
        for (int l = 0; l < box.layout->lineCount(); ++l) {
            const QTextLine line = box.layout->lineAt(l);
            const int first = std::max(from, line.textStart());
            const int last = std::min(to, line.textStart() + line.textLength());
            if (first >= last) continue;
            const double a = line.cursorToX(first);
            const double b = line.cursorToX(last);
            out.emplace_back(origin.x() + box.x + shift + std::min(a, b), origin.y() + box.y + line.y(),
                             std::fabs(b - a), line.height());
        }
    }
    return out;
}

QRect ChatView::range_rect(qint64 message, qint32 begin, qint32 end) const {
    const int r = row_of(message);
    if (r < 0) return {};
    const Row& row = *rows_[static_cast<std::size_t>(r)];
    for (std::size_t i = row.text.paragraph_at(begin); i < row.text.paragraphs().size(); ++i) {
        if (row.text.paragraphs()[i].source_begin >= end) break;
        const auto [from, to] = row.text.shown_range(i, begin, end);
        const auto rects = range_rects(row, i, from, to);
        if (!rects.empty()) return rects.front().translated(0, -offset()).toAlignedRect();
    }
    return {};
}

const MessageText* ChatView::text_of(int row) const {
    return row < 0 || row >= static_cast<int>(rows_.size()) ? nullptr
                                                            : &rows_[static_cast<std::size_t>(row)]->text;
}

// Scrolls only as far as needed, and a little more, so that what comes next is seen as well.
void ChatView::bring_into_view(const Row& row, std::size_t paragraph, int begin, int end) {
    // What lies between is measured on the way, which moves it; twice is enough, since it is visible then.
    for (int pass = 0; pass < 3; ++pass) {
        const auto rects = range_rects(row, paragraph, begin, std::max(end, begin + 1));
        const Paragraph& p = row.text.paragraphs()[paragraph];
        const double y = rects.empty() ? text_top(row) + p.y + p.space : rects.front().top();
        const double low = rects.empty() ? y + 24 : rects.front().bottom();
        const double room = viewport()->height();
        if (!rects.empty() && y >= offset() + 12 && low <= offset() + room - 12) return;
        set_following(false);
        const bool was = std::exchange(adjusting_, true);
        verticalScrollBar()->setValue(static_cast<int>(y - room / 3));
        adjusting_ = was;
        settle();
    }
}

std::size_t ChatView::row_at(double y) const {
    const auto after =
        std::upper_bound(rows_.begin(), rows_.end(), y,
                         [](double value, const std::unique_ptr<Row>& row) { return value < row->y; });
    return after == rows_.begin() ? 0 : static_cast<std::size_t>(after - rows_.begin()) - 1;
}

ChatView::Anchor ChatView::anchor() const {
    Anchor a;
    if (following_ || rows_.empty()) return a;
    const Row& row = *rows_[row_at(offset())];
    a.end = false;
    a.id = row.id;
    const double inside = offset() - text_top(row);
    a.paragraph = row.text.paragraphs().empty() ? 0 : row.text.at(inside);
    a.inside = inside - (row.text.paragraphs().empty() ? 0 : row.text.paragraphs()[a.paragraph].y);
    return a;
}

void ChatView::restore(const Anchor& a) {
    int value = verticalScrollBar()->maximum();
    if (!a.end) {
        const auto known =
            std::find_if(rows_.begin(), rows_.end(), [&](const auto& row) { return row->id == a.id; });
        if (known == rows_.end()) return;
        const Row& row = **known;
        const auto& paragraphs = row.text.paragraphs();
        const double above = a.paragraph < paragraphs.size() ? paragraphs[a.paragraph].y : 0;
        value = static_cast<int>(std::lround(text_top(row) + above + a.inside));
    }
    const bool was = std::exchange(adjusting_, true);
    verticalScrollBar()->setValue(value);
    adjusting_ = was;
}

void ChatView::update_range() {
    const bool was = std::exchange(adjusting_, true);
    const int page = viewport()->height();
    verticalScrollBar()->setPageStep(std::max(1, page - 40));
    verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(std::ceil(total_height())) - page));
    adjusting_ = was;
}

// Measures every paragraph in the viewport. A measured height can bring others into view, so this repeats
// until nothing changes; each round measures at least one paragraph for good.
void ChatView::settle() {
    for (bool again = true; again && !rows_.empty();) {
        again = false;
        const Anchor before = anchor();
        const double from = offset();
        const double to = from + viewport()->height();
        bool moved = false;
        for (std::size_t r = row_at(from); r < rows_.size() && rows_[r]->y < to; ++r) {
            Row& row = *rows_[r];
            const auto& paragraphs = row.text.paragraphs();
            if (paragraphs.empty()) continue;
            const double top = text_top(row);
            for (std::size_t i = row.text.at(from - top); i < paragraphs.size() && top + paragraphs[i].y < to;
                 ++i) {
                if (!paragraphs[i].exact && !paragraphs[i].hidden) ++measured_;
                if (row.text.ensure(i) != 0) moved = true;
            }
        }
        if (moved) {
            place_rows(0);
            update_range();
            restore(before);
            again = true;
        }
    }
    const bool unfinished =
        std::any_of(rows_.begin(), rows_.end(), [](const auto& row) { return !row->text.all_exact(); });
    if (unfinished && !idle_.isActive()) idle_.start(0);
    const bool away = !rows_.empty() && verticalScrollBar()->maximum() - verticalScrollBar()->value() > 40;
    to_end_->setVisible(away);
    if (away) {
        to_end_->adjustSize();
        to_end_->move((width() - to_end_->width()) / 2, height() - to_end_->height() - 12);
    }
}

void ChatView::settle_idle() {
    // A few milliseconds at a time: the window stays live while a very long text is measured.
    QElapsedTimer clock;
    clock.start();
    const Anchor before = anchor();
    bool moved = false;
    for (std::size_t r = rows_.size(); r-- > 0 && clock.elapsed() < 4;) {
        MessageText& text = rows_[r]->text;
        while (!text.all_exact() && clock.elapsed() < 4) {
            const std::size_t i = text.first_estimated();
            ++measured_;
            if (text.ensure(i) != 0) moved = true;
        }
        if (text.paragraphs().size() > 200) {
            const double from = offset() - rows_[r]->y - viewport()->height();
            const std::size_t first = text.at(from);
            text.keep_layouts(first, text.at(from + 3.0 * viewport()->height()) + 2);
        }
    }
    if (moved) {
        place_rows(0);
        update_range();
        restore(before);
        viewport()->update();
    }
    if (std::any_of(rows_.begin(), rows_.end(), [](const auto& row) { return !row->text.all_exact(); }))
        idle_.start(1);
}

void ChatView::set_following(bool following) {
    if (following_ == following) return;
    following_ = following;
    emit following_changed(following);
}

void ChatView::scroll_to_end() {
    set_following(true);
    restore({});
    settle();
    viewport()->update();
}

void ChatView::toggle_thought(int row, int thought) {
    Row& r = *rows_[static_cast<std::size_t>(row)];
    if (thought < 0 || static_cast<std::size_t>(thought) >= r.text.thoughts().size()) return;
    // The head stays where it is, whatever opens below it.
    set_following(false);
    const Anchor before = anchor();
    r.text.fold(thought, !r.text.thoughts()[static_cast<std::size_t>(thought)].folded);
    place_rows(static_cast<std::size_t>(row));
    update_range();
    restore(before);
    settle();
    if (verticalScrollBar()->value() >= verticalScrollBar()->maximum() - 2) set_following(true);
    viewport()->update();
}

void ChatView::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    set_widths();
    if (inspected_token_ >= 0) place_inspector();
}

void ChatView::scrollContentsBy(int, int) {
    // Before anything is measured: what follows has to know what to hold still.
    if (!adjusting_) set_following(verticalScrollBar()->value() >= verticalScrollBar()->maximum() - 2);
    settle();
    if (inspected_token_ >= 0) place_inspector();
    viewport()->update();
}

QRect ChatView::row_rect(int row) const {
    if (row < 0 || row >= static_cast<int>(rows_.size())) return {};
    const Row& r = *rows_[static_cast<std::size_t>(row)];
    return QRectF(0, r.y - offset(), viewport()->width(), r.height).toAlignedRect();
}

QString ChatView::shown_text(int row) const {
    QString out;
    if (row < 0 || row >= static_cast<int>(rows_.size())) return out;
    for (const Paragraph& p : rows_[static_cast<std::size_t>(row)]->text.paragraphs()) {
        if (p.hidden || !p.has_text()) continue;
        if (!out.isEmpty() && !p.continues) out += p.gap ? QStringLiteral("\n\n") : QStringLiteral("\n");
        out += without_isolates(p, 0, p.text.size());
    }
    return out;
}

}  // namespace vitrine::ui
