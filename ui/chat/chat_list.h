// The side list: search field, new chat, the chats in groups with the colour of those that have live blocks.
#pragma once

#include <QStyledItemDelegate>
#include <QTimer>
#include <QWidget>

#include "ui/models/chat_list_model.h"

class QLineEdit;
class QListView;
class QPushButton;

namespace vitrine::ui {

class SequenceColors;

// Paints a row, and above the first row of a group its heading.
class ChatListDelegate : public QStyledItemDelegate {
    Q_OBJECT

  public:
    ChatListDelegate(SequenceColors* colors, QObject* parent)
        : QStyledItemDelegate(parent), colors_(colors) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                              const QModelIndex& index) const override;
    void setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const override;

  signals:
    void renamed(qint64 id, const QString& title) const;

  private:
    static bool heads_group(const QModelIndex& index);
    QRect row_rect(const QStyleOptionViewItem& option, const QModelIndex& index) const;
    SequenceColors* colors_;
};

class ChatList : public QWidget {
    Q_OBJECT

  public:
    ChatList(ChatListModel* model, SequenceColors* colors, QWidget* parent = nullptr);
    // 0: none is selected (a new chat).
    void select(qint64 id);
    qint64 selected() const;
    QLineEdit* search() { return search_; }
    QListView* view() { return view_; }
    // What the store found in the messages.
    void show_hits(const QStringList& words, const std::vector<ContentHit>& hits);
    // Of the row under the keyboard, else the chat that is shown.
    qint64 current() const;

  signals:
    void chosen(qint64 id);
    void new_requested();
    void rename_requested(qint64 id, const QString& title);
    void remove_requested(qint64 id);
    void pin_requested(qint64 id, bool pinned);
    void export_requested(qint64 id, bool markdown);
    void import_requested();
    // Somebody looks for these words; answered with show_hits().
    void search_requested(const QStringList& words);

  protected:
    bool eventFilter(QObject* object, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    void show_menu(const QPoint& position);

    ChatListModel* model_;
    ChatFilter* filter_;
    QLineEdit* search_;
    QPushButton* new_;
    QListView* view_;
    qint64 wanted_ = 0;
    bool selecting_ = false;
    QTimer search_delay_;
};

}  // namespace vitrine::ui
