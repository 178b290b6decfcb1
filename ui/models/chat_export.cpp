#include "ui/models/chat_export.h"

#include <algorithm>

#include <QCoreApplication>
#include <QDateTime>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "ui/models/chat_model.h"
#include "ui/models/conversation.h"

namespace vitrine::ui {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(ChatExport)
};

constexpr auto format_name = "vitrine-chat";
constexpr int format_version = 1;

QString state_name(MessageState state) {
    switch (state) {
        case MessageState::Complete: return QStringLiteral("complete");
        case MessageState::Streaming:  // in a file it goes on no more
        case MessageState::Interrupted: return QStringLiteral("interrupted");
        case MessageState::Stopped: return QStringLiteral("stopped");
        case MessageState::Failed: return QStringLiteral("failed");
    }
    return {};
}

MessageState state_from(const QString& name) {
    for (const MessageState s : {MessageState::Interrupted, MessageState::Stopped, MessageState::Failed})
        if (state_name(s) == name) return s;
    return MessageState::Complete;
}

// 64-bit numbers travel as texts: a JSON number holds 53 bits.
QString id_text(qint64 id) { return QString::number(id); }
qint64 id_from(const QJsonValue& value) {
    return value.isString() ? value.toString().toLongLong() : value.toInteger();
}

QJsonObject to_json(const Message& m) {
    QJsonObject o{{"id", id_text(m.id)},
                  {"parent", id_text(m.parent)},
                  {"role", m.role == Role::User ? "user" : "assistant"},
                  {"state", state_name(m.state)},
                  {"content", m.text},
                  {"created", m.created}};
    if (m.active_child != 0) o.insert("active_child", id_text(m.active_child));
    if (!m.error.isEmpty()) o.insert("error", m.error);
    if (!m.model.isEmpty()) o.insert("model", m.model);
    if (m.role == Role::Assistant)
        o.insert("stats", QJsonObject{{"prompt_tokens", m.stats.prompt_tokens},
                                      {"cached_tokens", m.stats.cached_tokens},
                                      {"tokens", m.stats.tokens},
                                      {"tok_s", m.stats.tok_s},
                                      {"ttft", m.stats.ttft},
                                      {"finish", m.stats.finish}});
    if (m.left_out.any())
        o.insert("left_out", QJsonObject{{"turns", m.left_out.turns},
                                         {"messages", m.left_out.messages},
                                         {"tokens", m.left_out.tokens}});
    return o;
}

int count_from(const QJsonObject& o, const char* key) {
    return std::max(0, o.value(QLatin1String(key)).toInt());
}

double number_from(const QJsonObject& o, const char* key) {
    const double value = o.value(QLatin1String(key)).toDouble();
    return value > 0 && value < 1e12 ? value : 0;
}

Message message_from(const QJsonObject& o) {
    Message m;
    m.id = id_from(o.value("id"));
    m.parent = id_from(o.value("parent"));
    m.active_child = id_from(o.value("active_child"));
    m.role = o.value("role").toString() == QLatin1String("user") ? Role::User : Role::Assistant;
    m.state = state_from(o.value("state").toString());
    m.text = o.value("content").toString();
    m.error = o.value("error").toString();
    m.model = o.value("model").toString();
    m.created = o.value("created").toInteger();
    const QJsonObject stats = o.value("stats").toObject();
    m.stats.prompt_tokens = count_from(stats, "prompt_tokens");
    m.stats.cached_tokens = count_from(stats, "cached_tokens");
    m.stats.tokens = count_from(stats, "tokens");
    m.stats.tok_s = number_from(stats, "tok_s");
    m.stats.ttft = number_from(stats, "ttft");
    m.stats.finish = stats.value("finish").toString();
    const QJsonObject left_out = o.value("left_out").toObject();
    m.left_out = {count_from(left_out, "turns"), count_from(left_out, "messages"),
                  count_from(left_out, "tokens")};
    return m;
}

// New ids in the old order, so that siblings stay in theirs.
void renumber(ExportedChat& imported) {
    Chat& chat = imported.chat;
    chat.id = new_id();
    std::stable_sort(imported.messages.begin(), imported.messages.end(),
                     [](const Message& a, const Message& b) { return a.id < b.id; });
    QHash<qint64, qint64> ids{{0, 0}};
    std::erase_if(imported.messages, [&](Message& m) {
        if (m.id == 0 || ids.contains(m.id)) return true;
        const qint64 id = new_id();
        ids.insert(m.id, id);
        m.id = id;
        m.chat = chat.id;
        return false;
    });
    std::erase_if(imported.messages, [&](const Message& m) { return !ids.contains(m.parent); });
    for (Message& m : imported.messages) {
        m.parent = ids.value(m.parent);
        m.active_child = ids.value(m.active_child);
    }
    chat.active_root = ids.value(chat.active_root);
    // Whatever cannot be reached from the root (a message that is its own ancestor) stays outside.
    imported.messages = Conversation(std::move(imported.messages), chat.active_root).all();
}

ExportedChat chat_from(const QJsonObject& o) {
    ExportedChat imported;
    Chat& chat = imported.chat;
    chat.title = o.value("title").toString().simplified().left(200);
    chat.own_title = !chat.title.isEmpty();
    chat.pinned = o.value("pinned").toBool();
    chat.created = o.value("created").toInteger();
    chat.updated = o.value("updated").toInteger();
    chat.active_root = id_from(o.value("active_root"));
    chat.draft = o.value("draft").toString();
    chat.settings =
        ChatSettings::from_json(QJsonDocument(o.value("settings").toObject()).toJson(QJsonDocument::Compact));
    for (const QJsonValueConstRef message : o.value("messages").toArray())
        imported.messages.push_back(message_from(message.toObject()));
    return imported;
}

// A list of {"role", "content"}: one branch.
ExportedChat chat_from_turns(const QJsonArray& turns, const QString& title) {
    ExportedChat imported;
    imported.chat.title = title.simplified().left(200);
    imported.chat.own_title = !imported.chat.title.isEmpty();
    qint64 last = 0;
    for (const QJsonValueConstRef value : turns) {
        const QJsonObject turn = value.toObject();
        const QString role = turn.value("role").toString();
        const QString content = turn.value("content").toString();
        if (role == QLatin1String("system") && last == 0) {
            imported.chat.settings.system = content;
            continue;
        }
        if (content.isEmpty() || (role != QLatin1String("user") && role != QLatin1String("assistant")))
            continue;
        Message m;
        m.id = last + 1;
        m.parent = last;
        m.role = role == QLatin1String("user") ? Role::User : Role::Assistant;
        m.text = content;
        last = m.id;
        imported.messages.push_back(std::move(m));
    }
    return imported;
}

bool is_turn(const QJsonValue& value) {
    const QJsonObject o = value.toObject();
    return o.value("role").isString() && o.contains("content") && !o.contains("id");
}

void complete(ExportedChat& imported) {
    renumber(imported);
    Chat& chat = imported.chat;
    const qint64 now = now_ms();
    const auto sane = [now](qint64 time) { return time > 0 && time <= now ? time : now; };
    chat.created = sane(chat.created);
    chat.updated = sane(chat.updated);
    for (Message& m : imported.messages) m.created = sane(m.created);
    if (!chat.title.isEmpty()) return;
    for (const Message& m : imported.messages)
        if (m.role == Role::User) {
            chat.title = title_from(m.text);
            break;
        }
}

}  // namespace

QString chat_to_markdown(const ExportedChat& exported) {
    const Conversation conversation(exported.messages, exported.chat.active_root);
    QString out;
    out += QStringLiteral("# ") +
           (exported.chat.title.isEmpty() ? Words::tr("New chat") : exported.chat.title.simplified()) +
           QStringLiteral("\n");
    if (const QString system = exported.chat.settings.system.trimmed(); !system.isEmpty())
        out += QStringLiteral("\n## ") + Words::tr("System prompt") + QStringLiteral("\n\n") + system +
               QStringLiteral("\n");
    for (const qint64 id : conversation.path()) {
        const Message& m = conversation.at(id);
        QString heading = m.role == Role::User ? Words::tr("You")
                          : m.model.isEmpty()  ? Words::tr("Answer")
                                               : Words::tr("Answer of %1").arg(m.model.simplified());
        out += QStringLiteral("\n## ") + heading + QStringLiteral("\n\n") + m.text.trimmed() +
               QStringLiteral("\n");
        if (const QStringList figures = stats_parts(m); !figures.isEmpty())
            out += QStringLiteral("\n*") + figures.join(QStringLiteral(" · ")) + QStringLiteral("*\n");
        if (!m.error.isEmpty()) out += QStringLiteral("\n*") + m.error.simplified() + QStringLiteral("*\n");
    }
    return out;
}

QByteArray chats_to_json(const std::vector<ExportedChat>& chats) {
    QJsonArray list;
    for (const ExportedChat& exported : chats) {
        const Chat& chat = exported.chat;
        QJsonArray messages;
        for (const Message& m : exported.messages) messages.append(to_json(m));
        list.append(QJsonObject{{"title", chat.title},
                                {"pinned", chat.pinned},
                                {"created", chat.created},
                                {"updated", chat.updated},
                                {"active_root", id_text(chat.active_root)},
                                {"draft", chat.draft},
                                {"settings", QJsonDocument::fromJson(chat.settings.to_json()).object()},
                                {"messages", messages}});
    }
    return QJsonDocument(QJsonObject{{"format", format_name}, {"version", format_version}, {"chats", list}})
        .toJson();
}

ImportedChats chats_from_json(const QByteArray& json) {
    ImportedChats imported;
    QJsonParseError error;
    const QJsonDocument document = QJsonDocument::fromJson(json, &error);
    if (document.isNull()) {
        imported.problem =
            Words::tr("This is no JSON file: %1 at byte %2.").arg(error.errorString()).arg(error.offset);
        return imported;
    }
    const QJsonObject o = document.object();
    if (o.value("format").toString() == QLatin1String(format_name)) {
        if (o.value("version").toInt() > format_version) {
            imported.problem = Words::tr("This file was written by a newer version of Vitrine.");
            return imported;
        }
        for (const QJsonValueConstRef chat : o.value("chats").toArray())
            imported.chats.push_back(chat_from(chat.toObject()));
    } else {
        const QJsonArray list = document.isArray() ? document.array() : o.value("messages").toArray();
        if (!list.isEmpty() &&
            std::all_of(list.begin(), list.end(), [](const QJsonValue& v) { return is_turn(v); })) {
            imported.chats.push_back(chat_from_turns(list, o.value("title").toString()));
        } else {
            // A list of such conversations.
            for (const QJsonValueConstRef value : list) {
                const QJsonObject one = value.toObject();
                const QJsonArray turns = one.value("messages").toArray();
                if (!turns.isEmpty() && is_turn(turns.first()))
                    imported.chats.push_back(chat_from_turns(turns, one.value("title").toString()));
            }
        }
    }
    for (ExportedChat& chat : imported.chats) complete(chat);
    std::erase_if(imported.chats, [](const ExportedChat& chat) { return chat.messages.empty(); });
    if (imported.chats.empty())
        imported.problem = Words::tr(
            "There is no conversation in this file. Vitrine reads what it exported itself, and lists of "
            "messages with \"role\" and \"content\".");
    return imported;
}

QString file_name_of(const QString& title) {
    QString name;
    for (const QChar c : title.simplified()) {
        const bool bad = c.category() == QChar::Other_Control || QStringLiteral("/\\:*?\"<>|").contains(c);
        name += bad ? QChar(u'-') : c;
    }
    while (name.startsWith(u'.')) name.remove(0, 1);
    // Names of files are bounded in bytes: 80 characters stay below in any script.
    name = name.left(80);
    if (!name.isEmpty() && name.back().isHighSurrogate()) name.chop(1);
    name = name.trimmed();
    return name.isEmpty() ? QStringLiteral("chat") : name;
}

}  // namespace vitrine::ui
