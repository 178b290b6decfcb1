// ChatStore: what is known of the tokens of the answers. A table of its own, made where it is missing: a file
// of an earlier version simply has nothing in it.
#include <QSqlDatabase>
#include <QSqlError>
#include <QSqlQuery>
#include <QVariant>

#include "ui/models/chat_store.h"

namespace vitrine::ui {

bool ChatStore::make_token_table() {
    return run(QStringLiteral(
        "CREATE TABLE IF NOT EXISTS message_tokens(message INTEGER PRIMARY KEY, data BLOB NOT NULL)"));
}

bool ChatStore::save_tokens(qint64 message, const QByteArray& data) {
    if (mode_ == Mode::ReadOnly) return true;
    if (!make_token_table()) return false;
    QSqlQuery query(database());
    query.prepare(
        QStringLiteral("INSERT INTO message_tokens(message, data) VALUES(?,?) ON CONFLICT(message) "
                       "DO UPDATE SET data=excluded.data"));
    query.addBindValue(message);
    query.addBindValue(data);
    if (query.exec()) return true;
    last_error_ = query.lastError().text();
    return false;
}

QByteArray ChatStore::tokens(qint64 message) {
    QSqlQuery query(database());
    query.prepare(QStringLiteral("SELECT data FROM message_tokens WHERE message=?"));
    query.addBindValue(message);
    if (!query.exec() || !query.next()) return {};
    return query.value(0).toByteArray();
}

void ChatStore::remove_tokens(qint64 message) {
    if (mode_ == Mode::ReadOnly || !make_token_table()) return;
    run(QStringLiteral("DELETE FROM message_tokens WHERE message=%1").arg(message));
}

bool ChatStore::purge_orphaned_tokens() {
    return make_token_table() &&
           run(QStringLiteral("DELETE FROM message_tokens WHERE message NOT IN (SELECT id FROM messages)"));
}

}  // namespace vitrine::ui
