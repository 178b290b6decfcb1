#include "ui/models/chat_list_model.h"

#include <algorithm>

#include <QDateTime>

namespace vitrine::ui {

bool ChatListModel::before(const Chat& a, const Chat& b) {
    if (a.pinned != b.pinned) return a.pinned;
    if (a.updated != b.updated) return a.updated > b.updated;
    return a.id > b.id;
}

QString ChatListModel::shown_title(const Chat& chat) {
    return chat.title.isEmpty() ? tr("New chat") : chat.title;
}

void ChatListModel::set_chats(std::vector<Chat> chats) {
    beginResetModel();
    chats_ = std::move(chats);
    std::erase_if(chats_, [](const Chat& c) { return c.deleted != 0; });
    std::sort(chats_.begin(), chats_.end(), before);
    endResetModel();
}

int ChatListModel::row_of(qint64 id) const {
    const auto at = std::find_if(chats_.begin(), chats_.end(), [id](const Chat& c) { return c.id == id; });
    return at == chats_.end() ? -1 : static_cast<int>(at - chats_.begin());
}

const Chat* ChatListModel::find(qint64 id) const {
    const int row = row_of(id);
    return row < 0 ? nullptr : &chats_[static_cast<std::size_t>(row)];
}

void ChatListModel::put(const Chat& chat) {
    if (chat.deleted != 0) return remove(chat.id);
    const int from = row_of(chat.id);
    if (from < 0) {
        const auto place = std::lower_bound(chats_.begin(), chats_.end(), chat, before);
        const auto row = static_cast<int>(place - chats_.begin());
        beginInsertRows({}, row, row);
        chats_.insert(place, chat);
        endInsertRows();
        return;
    }
    // Where it belongs among the others.
    int to = 0;
    for (const Chat& other : chats_)
        if (other.id != chat.id && before(other, chat)) ++to;
    if (to != from) {
        beginMoveRows({}, from, from, {}, to > from ? to + 1 : to);
        const auto a = chats_.begin() + from;
        if (to > from) {
            std::rotate(a, a + 1, chats_.begin() + to + 1);
        } else {
            std::rotate(chats_.begin() + to, a, a + 1);
        }
        chats_[static_cast<std::size_t>(to)] = chat;
        endMoveRows();
    } else {
        chats_[static_cast<std::size_t>(to)] = chat;
    }
    emit dataChanged(index(to), index(to));
}

void ChatListModel::remove(qint64 id) {
    const int row = row_of(id);
    if (row < 0) return;
    beginRemoveRows({}, row, row);
    chats_.erase(chats_.begin() + row);
    endRemoveRows();
}

void ChatListModel::set_live(const std::vector<qint64>& ids) {
    if (ids == live_) return;
    const std::vector<qint64> before_ids = std::exchange(live_, ids);
    for (const std::vector<qint64>* list : {&before_ids, static_cast<const std::vector<qint64>*>(&live_)})
        for (const qint64 id : *list)
            if (const int row = row_of(id); row >= 0) emit dataChanged(index(row), index(row), {LiveRole});
}

void ChatListModel::set_busy(qint64 id, bool busy) {
    std::erase(busy_, id);
    if (busy) busy_.push_back(id);
    if (const int row = row_of(id); row >= 0) emit dataChanged(index(row), index(row), {BusyRole});
}

void ChatListModel::set_today(QDate today) {
    if (today == today_) return;
    today_ = today;
    if (!chats_.empty()) emit dataChanged(index(0), index(rowCount() - 1), {GroupRole});
}

QString ChatListModel::group_of(const Chat& chat) const {
    if (chat.pinned) return tr("Pinned");
    const QDate day = QDateTime::fromMSecsSinceEpoch(chat.updated).date();
    const qint64 days = day.daysTo(today_);
    if (days <= 0) return tr("Today");  // a clock that jumped back shows the future as today
    if (days == 1) return tr("Yesterday");
    if (days < 7) return tr("Last seven days");
    if (days < 31) return tr("Last month");
    return tr("Earlier");
}

int ChatListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(chats_.size());
}

QVariant ChatListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const Chat& chat = chats_[static_cast<std::size_t>(index.row())];
    switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole: return shown_title(chat);
        case Qt::ToolTipRole: return shown_title(chat).toHtmlEscaped();
        case IdRole: return chat.id;
        case GroupRole: return group_of(chat);
        case LiveRole: return std::find(live_.begin(), live_.end(), chat.id) != live_.end();
        case BusyRole: return std::find(busy_.begin(), busy_.end(), chat.id) != busy_.end();
        case PinnedRole: return chat.pinned;
        case UpdatedRole: return chat.updated;
        default: return {};
    }
}

QHash<int, QByteArray> ChatListModel::roleNames() const {
    return {{Qt::DisplayRole, "display"}, {IdRole, "id"},         {GroupRole, "group"},    {LiveRole, "live"},
            {BusyRole, "busy"},           {PinnedRole, "pinned"}, {UpdatedRole, "updated"}};
}

void ChatFilter::set_text(const QString& text) {
    const QStringList words = text.split(u' ', Qt::SkipEmptyParts);
    if (words == words_) return;
    words_ = words;
    hits_.clear();
    invalidateFilter();
}

void ChatFilter::set_hits(const QStringList& words, const std::vector<ContentHit>& hits) {
    if (words != words_) return;
    hits_.clear();
    for (const ContentHit& hit : hits) hits_.insert(hit.chat, hit);
    invalidateFilter();
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, 0), {ExcerptRole});
}

QVariant ChatFilter::data(const QModelIndex& index, int role) const {
    if (role != ExcerptRole) return QSortFilterProxyModel::data(index, role);
    const auto hit = hits_.constFind(index.data(ChatListModel::IdRole).toLongLong());
    return hit == hits_.constEnd() ? QString() : hit->excerpt;
}

bool ChatFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
    const QModelIndex index = sourceModel()->index(row, 0, parent);
    const QString title = index.data().toString();
    const auto hit = hits_.constFind(index.data(ChatListModel::IdRole).toLongLong());
    const quint64 in_messages = hit == hits_.constEnd() ? 0 : hit->words;
    for (qsizetype w = 0; w < words_.size(); ++w) {
        const bool found = w < ChatStore::most_search_words && (in_messages >> w & 1) != 0;
        if (!found && !title.contains(words_[w], Qt::CaseInsensitive)) return false;
    }
    return true;
}

}  // namespace vitrine::ui
