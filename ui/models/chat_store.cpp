#include "ui/models/chat_store.h"

#include <algorithm>
#include <atomic>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLockFile>
#include <QSqlDatabase>
#include <QSqlError>
#include <QSqlQuery>
#include <QSqlRecord>
#include <QVariant>

namespace vitrine::ui {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(ChatStore)
};

// 2: messages.extra
constexpr int schema_version = 2;
constexpr auto driver = "QSQLITE";

QString next_connection() {
    static std::atomic<int> number{0};
    return QStringLiteral("vitrine-chats-%1").arg(++number);
}

// SQLite's codes for a file whose content cannot be trusted: CORRUPT and NOTADB.
bool means_damage(const QSqlError& error) {
    const int code = error.nativeErrorCode().toInt() & 0xFF;
    return code == 11 || code == 26;
}

QString state_name(MessageState state) {
    switch (state) {
        case MessageState::Complete: return QStringLiteral("complete");
        case MessageState::Streaming: return QStringLiteral("streaming");
        case MessageState::Stopped: return QStringLiteral("stopped");
        case MessageState::Interrupted: return QStringLiteral("interrupted");
        case MessageState::Failed: return QStringLiteral("failed");
    }
    return {};
}

MessageState state_from(const QString& name) {
    for (const MessageState s :
         {MessageState::Streaming, MessageState::Stopped, MessageState::Interrupted, MessageState::Failed})
        if (state_name(s) == name) return s;
    return MessageState::Complete;
}

// Rare figures, in JSON: they need no column each.
QString extra_of(const Message& m) {
    QJsonObject o;
    if (m.left_out.any())
        o.insert(QLatin1String("left_out"), QJsonObject{{"turns", m.left_out.turns},
                                                        {"messages", m.left_out.messages},
                                                        {"tokens", m.left_out.tokens}});
    return QString::fromUtf8(QJsonDocument(o).toJson(QJsonDocument::Compact));
}

LeftOut left_out_from(const QString& extra) {
    const QJsonObject o = QJsonDocument::fromJson(extra.toUtf8()).object().value("left_out").toObject();
    return {std::max(0, o.value("turns").toInt()), std::max(0, o.value("messages").toInt()),
            std::max(0, o.value("tokens").toInt())};
}

}  // namespace

ChatStore::ChatStore(QString folder) : folder_(std::move(folder)), connection_(next_connection()) {}

ChatStore::~ChatStore() { close(); }

QString ChatStore::path() const { return QDir(folder_).filePath(QStringLiteral("chats.sqlite")); }

QSqlDatabase ChatStore::database() const { return QSqlDatabase::database(connection_, false); }

void ChatStore::close() {
    if (!QSqlDatabase::contains(connection_)) return;
    database().close();
    QSqlDatabase::removeDatabase(connection_);
}

bool ChatStore::run(const QString& sql) {
    QSqlQuery query(database());
    if (query.exec(sql)) return true;
    last_error_ = query.lastError().text();
    damaged_ = damaged_ || means_damage(query.lastError());
    return false;
}

bool ChatStore::open_file(bool read_only) {
    close();
    damaged_ = false;
    QSqlDatabase db = QSqlDatabase::addDatabase(driver, connection_);
    db.setDatabaseName(path());
    QString options = QStringLiteral("QSQLITE_BUSY_TIMEOUT=4000");
    if (read_only) options += QStringLiteral(";QSQLITE_OPEN_READONLY");
    db.setConnectOptions(options);
    if (!db.open()) {
        last_error_ = db.lastError().text();
        damaged_ = means_damage(db.lastError());
        return false;
    }
    if (read_only) return run(QStringLiteral("SELECT count(*) FROM chats"));
    // quick_check reads the whole file once; damage found now is better than a chat lost later.
    QSqlQuery check(db);
    if (!check.exec(QStringLiteral("PRAGMA quick_check(1)")) || !check.next()) {
        last_error_ = check.lastError().text();
        damaged_ = means_damage(check.lastError());
        return false;
    }
    if (const QString verdict = check.value(0).toString(); verdict != QLatin1String("ok")) {
        last_error_ = verdict;
        damaged_ = true;
        return false;
    }
    check.finish();
    return run(QStringLiteral("PRAGMA journal_mode=WAL")) &&
           run(QStringLiteral("PRAGMA synchronous=NORMAL")) && prepare_schema();
}

bool ChatStore::prepare_schema() {
    int version = 0;
    {
        QSqlQuery query(database());
        if (query.exec(QStringLiteral("PRAGMA user_version")) && query.next())
            version = query.value(0).toInt();
    }
    if (version > schema_version) {
        last_error_ =
            QStringLiteral("it was written by a newer version of Vitrine (schema %1, this one knows %2)")
                .arg(version)
                .arg(schema_version);
        return false;
    }
    if (version > 0) {
        // Also finds files in which somebody else has put tables of these names.
        const bool ours = run(QStringLiteral("SELECT id, title, settings, draft FROM chats LIMIT 1")) &&
                          run(QStringLiteral("SELECT id, parent, content, state FROM messages LIMIT 1"));
        damaged_ = damaged_ || !ours;
        if (!ours || version == schema_version) return ours;
        // A file of an earlier version gets what is new in this one; nothing in it is touched.
        return run(QStringLiteral("ALTER TABLE messages ADD COLUMN extra TEXT NOT NULL DEFAULT '{}'")) &&
               run(QStringLiteral("PRAGMA user_version=%1").arg(schema_version));
    }
    return run(QStringLiteral(
               "CREATE TABLE IF NOT EXISTS chats(id INTEGER PRIMARY KEY, title TEXT NOT NULL DEFAULT '', "
               "own_title INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0, "
               "created INTEGER NOT NULL, updated INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0, "
               "active_root INTEGER NOT NULL DEFAULT 0, draft TEXT NOT NULL DEFAULT '', "
               "settings TEXT NOT NULL DEFAULT '{}')")) &&
           run(QStringLiteral(
               "CREATE TABLE IF NOT EXISTS messages(id INTEGER PRIMARY KEY, chat INTEGER NOT NULL, "
               "parent INTEGER NOT NULL DEFAULT 0, active_child INTEGER NOT NULL DEFAULT 0, "
               "role TEXT NOT NULL, state TEXT NOT NULL, content TEXT NOT NULL DEFAULT '', "
               "error TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '', created INTEGER NOT NULL, "
               "prompt_tokens INTEGER NOT NULL DEFAULT 0, cached_tokens INTEGER NOT NULL DEFAULT 0, "
               "tokens INTEGER NOT NULL DEFAULT 0, tok_s REAL NOT NULL DEFAULT 0, "
               "ttft REAL NOT NULL DEFAULT 0, finish TEXT NOT NULL DEFAULT '', "
               "extra TEXT NOT NULL DEFAULT '{}')")) &&
           run(QStringLiteral("CREATE INDEX IF NOT EXISTS messages_of_chat ON messages(chat)")) &&
           run(QStringLiteral("PRAGMA user_version=%1").arg(schema_version));
}

bool ChatStore::set_aside() {
    close();
    const QString stamp = QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss"));
    QString target;
    for (int n = 0; target.isEmpty() || QFileInfo::exists(target); ++n)
        target = QDir(folder_).filePath(QStringLiteral("chats.damaged-%1%2.sqlite")
                                            .arg(stamp, n == 0 ? QString() : QStringLiteral("-%1").arg(n)));
    if (!QFile::rename(path(), target)) return false;
    for (const char* tail : {"-wal", "-shm"})
        if (QFileInfo::exists(path() + QLatin1String(tail)))
            QFile::rename(path() + QLatin1String(tail), target + QLatin1String(tail));
    notice_ =
        Words::tr("The file with your chats is damaged (%1). It was kept as %2, and a new one was begun.")
            .arg(last_error_, QDir::toNativeSeparators(target));
    return true;
}

void ChatStore::open_memory() {
    close();
    QSqlDatabase db = QSqlDatabase::addDatabase(driver, connection_);
    db.setDatabaseName(QStringLiteral(":memory:"));
    mode_ = Mode::Memory;
    if (!db.open() || !prepare_schema()) last_error_ = db.lastError().text();
}

void ChatStore::open() {
    notice_.clear();
    QDir().mkpath(folder_);
    first_instance_ = std::make_unique<QLockFile>(QDir(folder_).filePath(QStringLiteral("instance.lock")));
    first_instance_->setStaleLockTime(0);  // only a process that is gone leaves a stale one
    if (!first_instance_->tryLock(0)) {
        // Without the lock nothing is marked as interrupted. Where the folder cannot be written it does not
        // matter.
        if (first_instance_->error() == QLockFile::LockFailedError) first_instance_.reset();
    }
    mode_ = Mode::Disk;
    if (open_file(false)) return;
    const QString first_error = last_error_;
    if (damaged_ && set_aside() && open_file(false)) return;
    if (!damaged_ && QFileInfo::exists(path()) && open_file(true)) {
        mode_ = Mode::ReadOnly;
        notice_ = Words::tr(
                      "%1 cannot be written (%2). You can read your chats; what you write now stays in "
                      "memory and is lost when the window closes.")
                      .arg(QDir::toNativeSeparators(path()), first_error);
        return;
    }
    notice_ =
        Words::tr(
            "Chats cannot be saved in %1 (%2). They go on in memory and are lost when the window closes.")
            .arg(QDir::toNativeSeparators(folder_), first_error);
    open_memory();
}

std::vector<Chat> ChatStore::chats() {
    const bool alone = first_instance_ && first_instance_->isLocked();
    if (mode_ == Mode::Disk && alone)
        run(QStringLiteral("UPDATE messages SET state='interrupted' WHERE state='streaming'"));
    std::vector<Chat> all;
    QSqlQuery query(database());
    query.setForwardOnly(true);
    if (!query.exec(QStringLiteral(
            "SELECT id, title, own_title, pinned, created, updated, deleted, active_root, draft, "
            "settings FROM chats"))) {
        last_error_ = query.lastError().text();
        return all;
    }
    while (query.next()) {
        Chat c;
        c.id = query.value(0).toLongLong();
        c.title = query.value(1).toString();
        c.own_title = query.value(2).toBool();
        c.pinned = query.value(3).toBool();
        c.created = query.value(4).toLongLong();
        c.updated = query.value(5).toLongLong();
        c.deleted = query.value(6).toLongLong();
        c.active_root = query.value(7).toLongLong();
        c.draft = query.value(8).toString();
        c.settings = ChatSettings::from_json(query.value(9).toString().toUtf8());
        all.push_back(std::move(c));
    }
    return all;
}

std::vector<Message> ChatStore::messages(qint64 chat) {
    std::vector<Message> all;
    QSqlQuery query(database());
    query.setForwardOnly(true);
    // A file that can only be read may be of an earlier version.
    const QString extra = database().record(QStringLiteral("messages")).contains(QStringLiteral("extra"))
                              ? QStringLiteral("extra")
                              : QStringLiteral("'{}'");
    query.prepare(QStringLiteral("SELECT id, parent, active_child, role, state, content, error, model, "
                                 "created, prompt_tokens, cached_tokens, tokens, tok_s, ttft, finish, %1 "
                                 "FROM messages WHERE chat=?")
                      .arg(extra));
    query.addBindValue(chat);
    if (!query.exec()) {
        last_error_ = query.lastError().text();
        return all;
    }
    while (query.next()) {
        Message m;
        m.chat = chat;
        m.id = query.value(0).toLongLong();
        m.parent = query.value(1).toLongLong();
        m.active_child = query.value(2).toLongLong();
        m.role = query.value(3).toString() == QLatin1String("user") ? Role::User : Role::Assistant;
        m.state = state_from(query.value(4).toString());
        m.text = query.value(5).toString();
        m.error = query.value(6).toString();
        m.model = query.value(7).toString();
        m.created = query.value(8).toLongLong();
        m.stats.prompt_tokens = query.value(9).toInt();
        m.stats.cached_tokens = query.value(10).toInt();
        m.stats.tokens = query.value(11).toInt();
        m.stats.tok_s = query.value(12).toDouble();
        m.stats.ttft = query.value(13).toDouble();
        m.stats.finish = query.value(14).toString();
        m.left_out = left_out_from(query.value(15).toString());
        all.push_back(std::move(m));
    }
    return all;
}

namespace {

// An empty QString is NULL for Qt's driver; the columns want a text.
QString text(const QString& s) { return s.isNull() ? QStringLiteral("") : s; }

bool exec(QSqlQuery& query, QString& error) {
    if (query.exec()) return true;
    error = query.lastError().text();
    return false;
}

}  // namespace

bool ChatStore::save(const Chat& c) {
    if (mode_ == Mode::ReadOnly) return true;  // said at open()
    QSqlQuery query(database());
    query.prepare(QStringLiteral(
        "INSERT INTO chats(id, title, own_title, pinned, created, updated, deleted, active_root, "
        "draft, settings) VALUES(?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET "
        "title=excluded.title, own_title=excluded.own_title, pinned=excluded.pinned, "
        "updated=excluded.updated, deleted=excluded.deleted, active_root=excluded.active_root, "
        "draft=excluded.draft, settings=excluded.settings"));
    for (const QVariant& value :
         {QVariant(c.id), QVariant(text(c.title)), QVariant(int(c.own_title)), QVariant(int(c.pinned)),
          QVariant(c.created), QVariant(c.updated), QVariant(c.deleted), QVariant(c.active_root),
          QVariant(text(c.draft)), QVariant(QString::fromUtf8(c.settings.to_json()))})
        query.addBindValue(value);
    return exec(query, last_error_);
}

bool ChatStore::save(const Message& m) {
    if (mode_ == Mode::ReadOnly) return true;
    QSqlQuery query(database());
    query.prepare(QStringLiteral(
        "INSERT INTO messages(id, chat, parent, active_child, role, state, content, error, model, created, "
        "prompt_tokens, "
        "cached_tokens, tokens, tok_s, ttft, finish, extra) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON "
        "CONFLICT(id) "
        "DO UPDATE SET "
        "active_child=excluded.active_child, state=excluded.state, content=excluded.content, "
        "error=excluded.error, "
        "model=excluded.model, prompt_tokens=excluded.prompt_tokens, cached_tokens=excluded.cached_tokens, "
        "tokens=excluded.tokens, tok_s=excluded.tok_s, ttft=excluded.ttft, finish=excluded.finish, "
        "extra=excluded.extra"));
    for (const QVariant& value :
         {QVariant(m.id), QVariant(m.chat), QVariant(m.parent), QVariant(m.active_child),
          QVariant(m.role == Role::User ? QStringLiteral("user") : QStringLiteral("assistant")),
          QVariant(state_name(m.state)), QVariant(text(m.text)), QVariant(text(m.error)),
          QVariant(text(m.model)), QVariant(m.created), QVariant(m.stats.prompt_tokens),
          QVariant(m.stats.cached_tokens), QVariant(m.stats.tokens), QVariant(m.stats.tok_s),
          QVariant(m.stats.ttft), QVariant(text(m.stats.finish)), QVariant(extra_of(m))})
        query.addBindValue(value);
    return exec(query, last_error_);
}

bool ChatStore::remove_message(qint64 id) {
    if (mode_ == Mode::ReadOnly) return true;
    remove_tokens(id);
    QSqlQuery query(database());
    query.prepare(QStringLiteral("DELETE FROM messages WHERE id=?"));
    query.addBindValue(id);
    return exec(query, last_error_);
}

std::vector<ContentHit> ChatStore::search(const QStringList& words, const std::function<bool()>& stop) {
    std::vector<ContentHit> hits;
    const auto count = std::min<qsizetype>(words.size(), most_search_words);
    if (count == 0) return hits;
    QSqlQuery query(database());
    query.setForwardOnly(true);
    // In Qt and not in SQLite, whose LIKE knows upper and lower case of ASCII alone.
    if (!query.exec(QStringLiteral("SELECT chat, content FROM messages ORDER BY chat, id"))) {
        last_error_ = query.lastError().text();
        return hits;
    }
    while (query.next()) {
        if (stop && stop()) return {};
        const QString content = query.value(1).toString();
        quint64 found = 0;
        qsizetype first = -1;
        for (qsizetype w = 0; w < count; ++w) {
            const qsizetype at = content.indexOf(words[w], 0, Qt::CaseInsensitive);
            if (at < 0) continue;
            found |= quint64{1} << w;
            if (first < 0) first = at;
        }
        if (found == 0) continue;
        const qint64 chat = query.value(0).toLongLong();
        if (hits.empty() || hits.back().chat != chat) hits.push_back({chat, 0, {}});
        ContentHit& hit = hits.back();
        if ((found & ~hit.words) != 0 && hit.excerpt.isEmpty()) {
            const qsizetype begin = std::max<qsizetype>(0, first - 24);
            hit.excerpt =
                (begin > 0 ? QStringLiteral("…") : QString()) + content.mid(begin, 120).simplified();
        }
        hit.words |= found;
    }
    return hits;
}

bool ChatStore::purge_deleted_before(qint64 time) {
    if (mode_ != Mode::Disk) return true;
    return run(QStringLiteral(
                   "DELETE FROM messages WHERE chat IN (SELECT id FROM chats WHERE deleted>0 AND deleted<%1)")
                   .arg(time)) &&
           run(QStringLiteral("DELETE FROM chats WHERE deleted>0 AND deleted<%1").arg(time)) &&
           purge_orphaned_tokens();
}

void ChatStore::limit_pages(int pages) { run(QStringLiteral("PRAGMA max_page_count=%1").arg(pages)); }

}  // namespace vitrine::ui
