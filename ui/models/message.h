// One chat and its messages as values: what the store keeps and the models show.
#pragma once

#include <vector>

#include <QMap>
#include <QMetaType>
#include <QString>

namespace vitrine::ui {

// Unique without asking anybody, ascending in time: milliseconds since 1970, then 20 bits of chance.
qint64 new_id();
qint64 now_ms();

enum class Role { User, Assistant };

enum class MessageState {
    Complete,
    Streaming,    // being written; in the store of a program that is gone: Interrupted
    Stopped,      // by the user
    Interrupted,  // the program ended in the middle
    Failed,       // see error
};

struct MessageStats {
    int prompt_tokens = 0;
    int cached_tokens = 0;  // of them, found in the prefix cache
    int tokens = 0;         // of the answer
    double tok_s = 0;       // after the first token; 0: unknown
    double ttft = 0;        // seconds; 0: unknown
    QString finish;         // "stop", "length", "context", "cancelled", "error"
    bool operator==(const MessageStats&) const = default;
};

// What of the conversation an answer has not seen, because the context was too small for all of it.
struct LeftOut {
    int turns = 0;     // a message of the user and its answer count as one
    int messages = 0;  // the oldest so many of the path
    int tokens = 0;
    bool any() const { return messages > 0; }
    bool operator==(const LeftOut&) const = default;
};

// A node of the tree of a chat. Regenerating or editing makes a sibling, nothing is erased by it.
struct Message {
    qint64 id = 0;
    qint64 chat = 0;
    qint64 parent = 0;        // 0: the first message of the chat
    qint64 active_child = 0;  // which of the children is shown; 0: the newest
    Role role = Role::User;
    MessageState state = MessageState::Complete;
    QString text;
    QString error;
    QString model;       // answers: who wrote it
    qint64 created = 0;  // milliseconds since 1970
    MessageStats stats;
    LeftOut left_out;  // answers
};

// What a chat sends along with its messages.
struct ChatSettings {
    QString system;
    double temperature = 0.7;
    int top_k = 40;
    double top_p = 0.95;
    double min_p = 0.05;
    double repetition_penalty = 1.1;
    bool random_seed = true;
    quint64 seed = 1;
    int max_tokens = 1024;              // −1: until the context is full
    int context = 0;                    // most tokens of this conversation; 0: as many as the engine holds
    bool cut_oldest = false;            // where it does not fit: leave out the oldest turns, or refuse
    QString own_template;               // replaces the model's; empty: the model's
    QMap<QString, bool> switches;       // variables of the template that somebody set: "enable_thinking"
    bool merge_turns = false;           // neighbours of one role are sent as one message
    bool system_in_first_turn = false;  // for templates that refuse the role "system"

    bool operator==(const ChatSettings&) const = default;
    QByteArray to_json() const;
    // A key that is missing or makes no sense keeps its default.
    static ChatSettings from_json(const QByteArray& json);
};

struct Chat {
    qint64 id = 0;
    QString title;           // empty: "New chat"
    bool own_title = false;  // the user named it
    bool pinned = false;
    qint64 created = 0;
    qint64 updated = 0;
    qint64 deleted = 0;      // when; 0: not
    qint64 active_root = 0;  // which first message is shown; 0: the newest
    QString draft;           // unsent text
    ChatSettings settings;
};

// One turn as the template gets it.
struct Turn {
    QString role;
    QString content;
    bool operator==(const Turn&) const = default;
};

// The first line of a message, at most 60 characters, cut between words.
QString title_from(const QString& text);

}  // namespace vitrine::ui

Q_DECLARE_METATYPE(vitrine::ui::Message)
Q_DECLARE_METATYPE(vitrine::ui::Chat)
