// The shown path of one chat as an item model, and every change that a chat can go through.
//
// Streaming costs what the new text costs: append() emits one dataChanged for the last row and nobody copies
// the whole text (see message()).
#pragma once

#include <QAbstractListModel>

#include "ui/models/conversation.h"

namespace vitrine::ui {

class ChatModel : public QAbstractListModel {
    Q_OBJECT

  public:
    enum DataRole {
        TextRole = Qt::UserRole + 1,
        RoleRole,   // "user", "assistant"
        StateRole,  // int(MessageState)
        IdRole,
        ErrorRole,
        StatsRole,   // one line for people
        BranchRole,  // "2 / 3", empty without siblings
        UnseenRole,  // bool: the newest answer on the path was written without it (see LeftOut)
    };

    explicit ChatModel(Chat chat, QObject* parent = nullptr);

    const Chat& chat() const { return chat_; }
    void set_settings(const ChatSettings& settings);
    void set_draft(const QString& draft);
    void set_title(const QString& title);  // named by the user
    void set_pinned(bool pinned);

    // The stored messages have arrived.
    void set_messages(std::vector<Message> messages);
    bool loaded() const { return loaded_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QHash<int, QByteArray> roleNames() const override;

    // Not copied: valid until the next change.
    const Message& message(int row) const;
    int row_of(qint64 id) const { return conversation_.row_of(id); }
    const Conversation& conversation() const { return conversation_; }
    // How many of the first messages the newest answer on the path has not seen.
    int unseen_rows() const { return unseen_; }
    bool streaming() const { return streaming_ > 0; }

    struct Begun {
        qint64 user = 0;  // 0: an answer alone
        qint64 answer = 0;
        bool resumed = false;
        MessageState state = MessageState::Complete;  // of a resumed answer, before
        MessageStats stats = {};
        QString error = {};
    };
    Begun add_turn(const QString& text, const QString& model);
    // A further answer beside this one. 0 where `answer` is none.
    Begun regenerate(qint64 answer, const QString& model);
    // The same answer goes on where it ended. 0 where can_continue() is false.
    Begun resume(qint64 answer);
    // A further answer beside this one that begins with this text. 0 where `answer` is none.
    Begun branch(qint64 answer, const QString& beginning, const QString& model);
    // The last answer on the path, with a text, that did not come to an end by itself.
    bool can_continue(qint64 answer) const;
    // A further version of this message of the user, with an answer of its own.
    Begun edit(qint64 user, const QString& text, const QString& model);
    void append(qint64 answer, const QString& text, int tokens);
    // Tokens per second so far, while it is being written.
    void set_speed(qint64 answer, double tok_s);
    void finish(qint64 answer, MessageState state, const MessageStats& stats, const QString& error = {});
    void set_left_out(qint64 answer, const LeftOut& left_out);
    // The engine refused before the first token: as if it had not been sent. An answer that was to go on is
    // as before.
    void withdraw(const Begun& begun);
    // The message `by` places after this one among its siblings is shown; false at the ends.
    bool choose_sibling(qint64 id, int by);

    std::vector<Turn> prompt_for(qint64 answer) const;
    // With `draft` as the user's next message, where it is not empty.
    std::vector<Turn> prompt_with_draft(const QString& draft) const;

  signals:
    // To be stored. Streaming text is not announced here: it is saved by the clock.
    void message_changed(const vitrine::ui::Message& message);
    void message_removed(qint64 id);
    void chat_changed(const vitrine::ui::Chat& chat);

  private:
    void insert(Message message);
    // Runs `change` on the tree and tells views which rows left and came.
    template <class Change>
    void reshape(Change&& change);
    void touch();
    void update_unseen();
    void store_parent_of(qint64 id);

    Chat chat_;
    Conversation conversation_;
    bool loaded_ = false;
    int streaming_ = 0;
    int unseen_ = 0;  // rows from the first one, as the last answer on the path has it
};

// "118 tokens · 104 tok/s · TTFT 41 ms · 31 of 58 prompt tokens from cache · end of turn", parts apart.
QStringList stats_parts(const Message& message);

}  // namespace vitrine::ui
