// The chats, newest first, pinned ones before all others; deleted ones are not shown.
#pragma once

#include <map>
#include <vector>

#include <QAbstractListModel>
#include <QDate>
#include <QHash>
#include <QSortFilterProxyModel>

#include "ui/models/chat_store.h"

namespace vitrine::ui {

class ChatListModel : public QAbstractListModel {
    Q_OBJECT

  public:
    enum DataRole {
        IdRole = Qt::UserRole + 1,
        GroupRole,  // "Today", "Yesterday", …: the heading above the first row of a group
        LiveRole,   // bool: the engine holds blocks for it
        BusyRole,   // bool: an answer is being written
        PinnedRole,
        UpdatedRole,
    };

    using QAbstractListModel::QAbstractListModel;

    void set_chats(std::vector<Chat> chats);
    // Inserts it or takes over what changed; the row moves to where it belongs.
    void put(const Chat& chat);
    void remove(qint64 id);
    const Chat* find(qint64 id) const;
    int row_of(qint64 id) const;  // −1: not there
    // Colours of the squares are the view's business; these only say which chats have one.
    void set_live(const std::vector<qint64>& ids);
    void set_busy(qint64 id, bool busy);
    // What "today" means; the window moves it on at midnight.
    void set_today(QDate today);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QHash<int, QByteArray> roleNames() const override;

    static QString shown_title(const Chat& chat);

  private:
    static bool before(const Chat& a, const Chat& b);
    QString group_of(const Chat& chat) const;

    std::vector<Chat> chats_;  // sorted by before()
    std::vector<qint64> live_;
    std::vector<qint64> busy_;
    QDate today_ = QDate::currentDate();
};

// Chats that hold every word of the search text, in the title or in a message.
class ChatFilter : public QSortFilterProxyModel {
    Q_OBJECT

  public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    enum DataRole { ExcerptRole = ChatListModel::UpdatedRole + 1 };  // where a message holds a word

    void set_text(const QString& text);
    const QStringList& words() const { return words_; }
    // What the store found; ignored where it answers another search than the present one.
    void set_hits(const QStringList& words, const std::vector<ContentHit>& hits);
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

  protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

  private:
    QStringList words_;
    QHash<qint64, ContentHit> hits_;
};

}  // namespace vitrine::ui
