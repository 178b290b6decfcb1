// Chats as files and back, and the search through messages.
#include <QAbstractItemModelTester>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSqlDatabase>
#include <QSqlQuery>
#include <QTemporaryDir>
#include <QtTest>

#include "ui/models/chat_export.h"
#include "ui/models/chat_list_model.h"
#include "ui/models/chat_store.h"
#include "ui/models/conversation.h"

using namespace vitrine::ui;

namespace {

Message message(qint64 id, qint64 parent, Role role, const QString& text) {
    Message m;
    m.id = id;
    m.parent = parent;
    m.role = role;
    m.text = text;
    return m;
}

// Two versions of the first message; the first one has two answers.
ExportedChat tree() {
    ExportedChat exported;
    exported.chat.id = 7;
    exported.chat.title = QStringLiteral("Gezeiten & „Mond“");
    exported.chat.pinned = true;
    exported.chat.active_root = 1;
    exported.chat.draft = QStringLiteral("unsent");
    exported.chat.settings.system = QStringLiteral("Be brief.");
    exported.chat.settings.seed = 18446744073709551615ULL;
    exported.chat.settings.switches.insert(QStringLiteral("enable_thinking"), false);
    exported.messages = {message(1, 0, Role::User, QStringLiteral("Why 😀 tides?\n```\n# no heading\n```")),
                         message(2, 1, Role::Assistant, QStringLiteral("first")),
                         message(3, 1, Role::Assistant, QStringLiteral("second")),
                         message(4, 0, Role::User, QStringLiteral("Why?"))};
    exported.messages[0].active_child = 2;
    exported.messages[1].model = QStringLiteral("M");
    exported.messages[1].stats = {58, 31, 118, 104.5, 0.041, QStringLiteral("stop")};
    exported.messages[2].left_out = {2, 4, 900};
    exported.messages[2].state = MessageState::Stopped;
    return exported;
}

QStringList texts(const std::vector<Message>& messages) {
    QStringList all;
    for (const Message& m : messages) all << m.text;
    return all;
}

}  // namespace

class TestChatExport : public QObject {
    Q_OBJECT

  private slots:
    void json_brings_back_all_branches_with_ids_of_their_own() {
        const ExportedChat before = tree();
        const ImportedChats read = chats_from_json(chats_to_json({before}));
        QCOMPARE(read.problem, QString());
        QCOMPARE(read.chats.size(), std::size_t(1));
        const ExportedChat& after = read.chats[0];
        QCOMPARE(after.chat.title, before.chat.title);
        QVERIFY(after.chat.pinned);
        QCOMPARE(after.chat.draft, before.chat.draft);
        QVERIFY(after.chat.settings == before.chat.settings);
        QVERIFY(after.chat.id != before.chat.id && after.chat.id != 0);
        QCOMPARE(texts(after.messages), texts(before.messages));
        for (const Message& m : after.messages) {
            QVERIFY(m.id > 4);
            QCOMPARE(m.chat, after.chat.id);
        }
        const Conversation conversation(after.messages, after.chat.active_root);
        QCOMPARE(conversation.path().size(), std::size_t(2));
        QCOMPARE(conversation.at(conversation.path()[1]).text, QStringLiteral("first"));
        QCOMPARE(conversation.siblings(conversation.path()[0]).size(), std::size_t(2));
        QVERIFY(after.messages[1].stats == before.messages[1].stats);
        QVERIFY(after.messages[2].left_out == before.messages[2].left_out);
        QCOMPARE(after.messages[2].state, MessageState::Stopped);
        // Twice imported is twice there.
        QVERIFY(chats_from_json(chats_to_json({before})).chats[0].chat.id != after.chat.id);
    }

    void lists_of_turns_of_other_programs_are_read_data() {
        QTest::addColumn<QByteArray>("json");
        const QByteArray turns = R"([{"role":"system","content":"S"},{"role":"user","content":"u"},)"
                                 R"({"role":"assistant","content":"a"}])";
        QTest::newRow("alone") << turns;
        QTest::newRow("under messages") << R"({"model":"x","messages":)" + turns + "}";
        QTest::newRow("a list of them") << R"([{"title":"t","messages":)" + turns + "}]";
    }
    void lists_of_turns_of_other_programs_are_read() {
        QFETCH(QByteArray, json);
        const ImportedChats read = chats_from_json(json);
        QCOMPARE(read.problem, QString());
        QCOMPARE(read.chats.size(), std::size_t(1));
        QCOMPARE(read.chats[0].chat.settings.system, QStringLiteral("S"));
        QCOMPARE(texts(read.chats[0].messages), QStringList({"u", "a"}));
        QCOMPARE(read.chats[0].messages[1].parent, read.chats[0].messages[0].id);
        QVERIFY(!read.chats[0].chat.title.isEmpty());
    }

    void what_is_no_conversation_is_refused_with_a_sentence_data() {
        QTest::addColumn<QByteArray>("json");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("half") << chats_to_json({tree()}).left(200);
        QTest::newRow("binary") << QByteArray("\0\1\2\3GGUF", 8);
        QTest::newRow("a number") << QByteArray("[1,2,3]");
        QTest::newRow("other object") << QByteArray(R"({"a":1})");
        QTest::newRow("newer") << QByteArray(R"({"format":"vitrine-chat","version":99,"chats":[]})");
        QTest::newRow("no message") << QByteArray(R"({"format":"vitrine-chat","version":1,"chats":[{}]})");
        QTest::newRow("deep") << QByteArray(200'000, '[');
    }
    void what_is_no_conversation_is_refused_with_a_sentence() {
        QFETCH(QByteArray, json);
        const ImportedChats read = chats_from_json(json);
        QVERIFY(read.chats.empty());
        QVERIFY(read.problem.endsWith(u'.'));
    }

    // Orphans, cycles, equal ids, texts where numbers belong: what holds together is kept.
    void a_damaged_tree_keeps_what_holds_together() {
        const ImportedChats read = chats_from_json(
            R"({"format":"vitrine-chat","version":1,"chats":[{"title":5,"settings":"no","active_root":"x",
               "messages":[{"id":"1","parent":"0","role":"user","content":"root"},
                           {"id":"1","parent":"0","role":"user","content":"same id"},
                           {"id":"2","parent":"9","role":"user","content":"orphan"},
                           {"id":"3","parent":"4","role":"user","content":"cycle"},
                           {"id":"4","parent":"3","role":"user","content":"cycle"},
                           {"id":"5","parent":"5","role":"user","content":"self"},
                           {"parent":"1","role":"user","content":"no id"}, 17,
                           {"id":"6","parent":"1","role":"assistant","content":"answer",
                            "stats":{"tokens":-4,"tok_s":"fast"},"left_out":[]}]}]})");
        QCOMPARE(read.problem, QString());
        QCOMPARE(texts(read.chats[0].messages), QStringList({"root", "answer"}));
        QCOMPARE(read.chats[0].messages[1].stats.tokens, 0);
    }

    void markdown_has_the_shown_path() {
        const QString text = chat_to_markdown(tree());
        QVERIFY(text.startsWith(QStringLiteral("# Gezeiten & „Mond“\n")));
        QVERIFY(text.contains(QStringLiteral("Be brief.")));
        QVERIFY(text.contains(QStringLiteral("Why 😀 tides?")));
        QVERIFY(text.contains(QStringLiteral("first")) && !text.contains(QStringLiteral("second")));
        QVERIFY(text.contains(QStringLiteral("118 tokens")));
    }

    void names_of_files() {
        QCOMPARE(file_name_of(QStringLiteral("a/b\\c:d*?\"<>|\n..")), QStringLiteral("a-b-c-d------ .."));
        QCOMPARE(file_name_of(QStringLiteral("../../etc")), QStringLiteral("-..-etc"));
        QCOMPARE(file_name_of(QString()), QStringLiteral("chat"));
        QCOMPARE(file_name_of(QStringLiteral("...")), QStringLiteral("chat"));
        QVERIFY(file_name_of(QString(500, QChar(0x65E5))).toUtf8().size() < 250);
    }

    void the_store_finds_words_in_messages_whatever_their_case() {
        QTemporaryDir folder;
        ChatStore store(folder.path());
        store.open();
        for (const qint64 chat : {1, 2, 3}) {
            Chat c;
            c.id = chat;
            QVERIFY(store.save(c));
        }
        const auto put = [&](qint64 id, qint64 chat, const QString& text) {
            Message m = message(id, 0, Role::User, text);
            m.chat = chat;
            QVERIFY(store.save(m));
        };
        put(10, 1, QStringLiteral("Die ÄPFEL im Korb, %_ und 'so'"));
        put(11, 2, QString(3000, u'x') + QStringLiteral(" äpfel ") + QString(3000, u'y'));
        put(12, 2, QStringLiteral("Birnen"));
        put(13, 3, QStringLiteral("nothing"));
        const auto hits = store.search({QStringLiteral("äpfel"), QStringLiteral("birnen")});
        QCOMPARE(hits.size(), std::size_t(2));
        QCOMPARE(hits[0].chat, 1);
        QCOMPARE(hits[0].words, quint64(1));
        QCOMPARE(hits[1].chat, 2);
        QCOMPARE(hits[1].words, quint64(3));  // one word in one message, the other in another
        QVERIFY(hits[1].excerpt.contains(QStringLiteral("äpfel")) && hits[1].excerpt.size() < 150);
        QCOMPARE(store.search({QStringLiteral("%_")}).size(), std::size_t(1));  // no pattern, a text
        QVERIFY(store.search({QStringLiteral("nowhere")}).empty());
        QVERIFY(store.search({QStringLiteral("äpfel")}, [] { return true; }).empty());
    }

    void the_list_shows_chats_whose_title_and_messages_hold_all_words() {
        ChatListModel list;
        std::vector<Chat> chats(3);
        for (std::size_t i = 0; i < 3; ++i) chats[i].id = static_cast<qint64>(i) + 1;
        chats[0].title = QStringLiteral("Moon and tides");
        chats[1].title = QStringLiteral("Soup");
        chats[2].title = QStringLiteral("Moon landing");
        list.set_chats(chats);
        ChatFilter filter;
        filter.setSourceModel(&list);
        QAbstractItemModelTester tester(&filter);
        filter.set_text(QStringLiteral("moon salt"));
        QCOMPARE(filter.rowCount(), 0);
        const QStringList words = filter.words();
        filter.set_hits(words, {{2, 3, QStringLiteral("salt on the moon")}, {3, 2, QStringLiteral("salt")}});
        QCOMPARE(filter.rowCount(), 2);  // Soup has both words in messages, Moon landing one in each
        for (int row = 0; row < 2; ++row)
            QVERIFY(filter.index(row, 0).data(ChatFilter::ExcerptRole).toString().contains(u's'));
        // An answer to an earlier search changes nothing.
        filter.set_text(QStringLiteral("soup"));
        filter.set_hits(words, {{1, 3, QString()}});
        QCOMPARE(filter.rowCount(), 1);
        filter.set_text(QString());
        QCOMPARE(filter.rowCount(), 3);
    }

    // A file of the schema before: opened, brought up to date, nothing lost; and as it is where it can only
    // be read.
    void a_store_of_the_schema_before_is_opened() {
        QTemporaryDir folder;
        {
            ChatStore store(folder.path());
            store.open();
            Chat chat;
            chat.id = 1;
            QVERIFY(store.save(chat));
            Message m = message(2, 0, Role::Assistant, QStringLiteral("kept"));
            m.chat = 1;
            QVERIFY(store.save(m));
        }
        {
            QSqlDatabase db = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), QStringLiteral("old"));
            db.setDatabaseName(folder.filePath(QStringLiteral("chats.sqlite")));
            QVERIFY(db.open());
            QSqlQuery query(db);
            QVERIFY(query.exec(QStringLiteral("ALTER TABLE messages DROP COLUMN extra")));
            QVERIFY(query.exec(QStringLiteral("PRAGMA user_version=1")));
        }
        QSqlDatabase::removeDatabase(QStringLiteral("old"));
        ChatStore store(folder.path());
        store.open();
        QCOMPARE(store.mode(), ChatStore::Mode::Disk);
        QCOMPARE(store.notice(), QString());
        std::vector<Message> messages = store.messages(1);
        QCOMPARE(texts(messages), QStringList({"kept"}));
        messages[0].left_out = {1, 2, 30};
        QVERIFY(store.save(messages[0]));
        QVERIFY(store.messages(1)[0].left_out == messages[0].left_out);
    }
};

QTEST_GUILESS_MAIN(TestChatExport)
#include "tst_chat_export.moc"
