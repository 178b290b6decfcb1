#include "ui/chat/chat_list.h"

#include <QAction>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/settings/sequence_colors.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr int heading_height = 26;
constexpr int gap_above_heading = 8;
constexpr int square = 9;

class ListView : public QListView {
  public:
    using QListView::QListView;
    using QListView::scheduleDelayedItemsLayout;

  protected:
    void paintEvent(QPaintEvent* event) override {
        QListView::paintEvent(event);
        if (model() == nullptr || model()->rowCount() > 0) return;
        QPainter painter(viewport());
        painter.setFont(current_theme().fonts.caption);
        painter.setPen(current_theme().text_second);
        const QString text =
            property("looking").toBool() ? ChatList::tr("Looking through the messages …")
            : property("searching").toBool()
                ? ChatList::tr("No chat has these words in its title or its messages.")
                : ChatList::tr("Your chats will be listed here. They stay on this computer.");
        painter.drawText(viewport()->rect().adjusted(14, 10, -14, -10), Qt::TextWordWrap, text);
    }
};

}  // namespace

bool ChatListDelegate::heads_group(const QModelIndex& index) {
    if (index.row() == 0) return true;
    return index.data(ChatListModel::GroupRole) !=
           index.siblingAtRow(index.row() - 1).data(ChatListModel::GroupRole);
}

QRect ChatListDelegate::row_rect(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QRect rect = option.rect.adjusted(8, 0, -8, 0);
    if (heads_group(index))
        rect.setTop(rect.top() + heading_height + (index.row() == 0 ? 0 : gap_above_heading));
    return rect;
}

QSize ChatListDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const int row =
        std::max(current_theme().metrics.row, QFontMetrics(current_theme().fonts.text).height() + 12);
    int height = row;
    if (!index.data(ChatFilter::ExcerptRole).toString().isEmpty())
        height += QFontMetrics(current_theme().fonts.caption).height();
    if (heads_group(index)) height += heading_height + (index.row() == 0 ? 0 : gap_above_heading);
    return {option.rect.width(), height};
}

void ChatListDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                             const QModelIndex& index) const {
    const Theme& theme = current_theme();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRect row = row_rect(option, index);
    if (heads_group(index)) {
        QFont font = theme.fonts.caption;
        font.setWeight(QFont::DemiBold);
        painter->setFont(font);
        painter->setPen(theme.text_second);
        painter->drawText(QRect(row.left() + 8, row.top() - heading_height, row.width() - 8, heading_height),
                          Qt::AlignVCenter | Qt::AlignLeft, index.data(ChatListModel::GroupRole).toString());
    }
    const bool selected = option.state & QStyle::State_Selected;
    const bool hovered = option.state & QStyle::State_MouseOver;
    if (selected || hovered) {
        painter->setPen(Qt::NoPen);
        painter->setBrush(selected ? theme.selection : mix(theme.raised, theme.text, 0.05));
        painter->drawRoundedRect(QRectF(row).adjusted(0, 1, 0, -1), theme.metrics.radius_chip,
                                 theme.metrics.radius_chip);
    }
    if (selected && (option.state & QStyle::State_HasFocus) && option.widget &&
        option.widget->property("keyboard").toBool()) {
        painter->setPen(theme.accent);
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(QRectF(row).adjusted(0.5, 1.5, -0.5, -1.5), theme.metrics.radius_chip,
                                 theme.metrics.radius_chip);
    }
    const qint64 id = index.data(ChatListModel::IdRole).toLongLong();
    if (index.data(ChatListModel::LiveRole).toBool() && colors_->peek(id) >= 0) {
        const QRectF box(row.left() + 8, row.center().y() - (square - 1) / 2.0 + 1, square, square);
        paint_sequence(*painter, box, colors_->color_of(id), theme.metrics.radius_block);
    }
    QRect text = row.adjusted(24, 0, -8, 0);
    if (const QString excerpt = index.data(ChatFilter::ExcerptRole).toString(); !excerpt.isEmpty()) {
        const QFontMetrics metrics(theme.fonts.caption);
        const QRect line(text.left(), text.bottom() - metrics.height() - 4, text.width(), metrics.height());
        painter->setFont(theme.fonts.caption);
        painter->setPen(theme.text_second);
        painter->drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                          metrics.elidedText(excerpt, Qt::ElideRight, line.width()));
        text.setBottom(line.top() + 3);
    }
    if (index.data(ChatListModel::BusyRole).toBool()) {
        const QString busy = tr("writing");
        painter->setFont(theme.fonts.caption);
        painter->setPen(theme.accent);
        const int width = painter->fontMetrics().horizontalAdvance(busy);
        painter->drawText(text, Qt::AlignVCenter | Qt::AlignRight, busy);
        text.adjust(0, 0, -width - 8, 0);
    }
    painter->setFont(theme.fonts.text);
    painter->setPen(theme.text);
    const QString title =
        painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, text.width());
    painter->drawText(text, Qt::AlignVCenter | Qt::AlignLeft, title);
    painter->restore();
}

void ChatListDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                            const QModelIndex& index) const {
    editor->setGeometry(row_rect(option, index).adjusted(16, 0, 0, 0));
}

void ChatListDelegate::setModelData(QWidget* editor, QAbstractItemModel*, const QModelIndex& index) const {
    if (const auto* line = qobject_cast<QLineEdit*>(editor))
        emit renamed(index.data(ChatListModel::IdRole).toLongLong(), line->text().simplified());
}

namespace {

// Titles are changed through the controller, which stores them; the model only has to allow the editor.
class EditableFilter : public ChatFilter {
  public:
    using ChatFilter::ChatFilter;
    Qt::ItemFlags flags(const QModelIndex& index) const override {
        return ChatFilter::flags(index) | Qt::ItemIsEditable;
    }
};

}  // namespace

ChatList::ChatList(ChatListModel* model, SequenceColors* colors, QWidget* parent)
    : QWidget(parent), model_(model), filter_(new EditableFilter(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 10, 0, 0);
    column->setSpacing(8);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(8, 0, 8, 0);
    head->setSpacing(6);
    search_ = new QLineEdit(this);
    search_->setPlaceholderText(tr("Search chats"));
    search_->setAccessibleName(tr("Search chats"));
    search_->setToolTip(tr("Words in titles and messages (Ctrl+K)"));
    search_->setClearButtonEnabled(true);
    new_ = new QPushButton(tr("New"), this);
    new_->setToolTip(tr("New chat (Ctrl+N)"));
    new_->setAccessibleName(tr("New chat"));
    head->addWidget(search_, 1);
    head->addWidget(new_);
    column->addLayout(head);

    view_ = new ListView(this);
    view_->setModel(filter_);
    filter_->setSourceModel(model_);
    auto* delegate = new ChatListDelegate(colors, this);
    view_->setItemDelegate(delegate);
    view_->setAccessibleName(tr("Chats"));
    view_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    view_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    view_->setEditTriggers(QAbstractItemView::EditKeyPressed);
    view_->setContextMenuPolicy(Qt::CustomContextMenu);
    view_->setMouseTracking(true);
    view_->setStyleSheet(QStringLiteral("QListView { background: transparent; border: none; }"));
    view_->installEventFilter(this);
    search_->installEventFilter(this);
    column->addWidget(view_, 1);
    setTabOrder(search_, new_);
    setTabOrder(new_, view_);

    connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
        view_->setProperty("searching", !text.trimmed().isEmpty());
        view_->setProperty("looking", !text.trimmed().isEmpty());
        selecting_ = true;
        filter_->set_text(text);
        selecting_ = false;
        select(wanted_);
        search_delay_.start();
    });
    search_delay_.setSingleShot(true);
    search_delay_.setInterval(150);
    connect(&search_delay_, &QTimer::timeout, this, [this] {
        if (!filter_->words().isEmpty()) emit search_requested(filter_->words());
    });
    connect(new_, &QPushButton::clicked, this, &ChatList::new_requested);
    connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this](const QModelIndex& index) {
                if (selecting_ || !index.isValid()) return;
                wanted_ = index.data(ChatListModel::IdRole).toLongLong();
                emit chosen(wanted_);
            });
    connect(view_, &QWidget::customContextMenuRequested, this, &ChatList::show_menu);
    connect(delegate, &ChatListDelegate::renamed, this, &ChatList::rename_requested);
    // Rows move when a chat becomes the newest: headings and heights move with them.
    const auto relayout = [this] { static_cast<ListView*>(view_)->scheduleDelayedItemsLayout(); };
    connect(filter_, &QAbstractItemModel::rowsInserted, this, relayout);
    connect(filter_, &QAbstractItemModel::rowsRemoved, this, relayout);
    connect(filter_, &QAbstractItemModel::rowsMoved, this, relayout);
    connect(filter_, &QAbstractItemModel::layoutChanged, this, relayout);
    connect(filter_, &QAbstractItemModel::dataChanged, this,
            [relayout](const QModelIndex&, const QModelIndex&, const QList<int>& roles) {
                if (roles.contains(ChatFilter::ExcerptRole)) relayout();
            });
    connect(filter_, &QAbstractItemModel::modelReset, this, [this] { select(wanted_); });
    connect(colors, &SequenceColors::assigned, this, [this] { view_->viewport()->update(); });
    connect(colors, &SequenceColors::released, this, [this] { view_->viewport()->update(); });
    connect(theme_signal(), &ThemeSignal::changed, this,
            [this] { static_cast<ListView*>(view_)->scheduleDelayedItemsLayout(); });
}

void ChatList::show_hits(const QStringList& words, const std::vector<ContentHit>& hits) {
    if (words != filter_->words()) return;
    view_->setProperty("looking", false);
    selecting_ = true;
    filter_->set_hits(words, hits);
    selecting_ = false;
    select(wanted_);
    view_->viewport()->update();
}

void ChatList::select(qint64 id) {
    wanted_ = id;
    selecting_ = true;
    const int row = model_->row_of(id);
    const QModelIndex index = row < 0 ? QModelIndex() : filter_->mapFromSource(model_->index(row));
    if (index.isValid()) {
        view_->setCurrentIndex(index);
        view_->scrollTo(index);
    } else {
        view_->clearSelection();
        view_->setCurrentIndex({});
    }
    selecting_ = false;
}

qint64 ChatList::selected() const { return wanted_; }

qint64 ChatList::current() const {
    const QModelIndex index = view_->currentIndex();
    return index.isValid() ? index.data(ChatListModel::IdRole).toLongLong() : 0;
}

void ChatList::show_menu(const QPoint& position) {
    const QModelIndex index = view_->indexAt(position);
    if (!index.isValid()) return;
    const qint64 id = index.data(ChatListModel::IdRole).toLongLong();
    const bool pinned = index.data(ChatListModel::PinnedRole).toBool();
    QMenu menu(this);
    menu.addAction(tr("Rename"), this, [this, index = QPersistentModelIndex(index)] { view_->edit(index); });
    menu.addAction(pinned ? tr("Unpin") : tr("Pin"), this,
                   [this, id, pinned] { emit pin_requested(id, !pinned); });
    menu.addSeparator();
    menu.addAction(tr("Export as Markdown…"), this, [this, id] { emit export_requested(id, true); });
    menu.addAction(tr("Export as JSON…"), this, [this, id] { emit export_requested(id, false); });
    menu.addAction(tr("Import…"), this, [this] { emit import_requested(); });
    menu.addSeparator();
    menu.addAction(tr("Delete"), this, [this, id] { emit remove_requested(id); });
    menu.exec(view_->viewport()->mapToGlobal(position));
}

bool ChatList::eventFilter(QObject* object, QEvent* event) {
    if (object == view_ && event->type() == QEvent::FocusIn) {
        const auto reason = static_cast<QFocusEvent*>(event)->reason();
        view_->setProperty("keyboard", reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason ||
                                           reason == Qt::ShortcutFocusReason);
    }
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (object == view_ && key->key() == Qt::Key_Delete) {
            if (const qint64 id = current(); id != 0) emit remove_requested(id);
            return true;
        }
        if (object == search_ && key->key() == Qt::Key_Escape) {
            search_->clear();
            return true;
        }
        if (object == search_ && key->key() == Qt::Key_Down) {
            view_->setFocus(Qt::ShortcutFocusReason);
            return true;
        }
    }
    return QWidget::eventFilter(object, event);
}

void ChatList::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), current_theme().raised);
}

}  // namespace vitrine::ui
