// Chats on disk: what is there after a kill, a damaged file, a full disk, a folder that cannot be written, a
// second instance.
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <QDir>
#include <QElapsedTimer>
#include <QProcess>
#include <QSqlDatabase>
#include <QSqlQuery>
#include <QTemporaryDir>
#include <QtTest>

#include "ui/models/chat_store.h"
#include "ui/models/store_thread.h"

using namespace vitrine::ui;

namespace {

Chat chat(qint64 id, const QString& title) {
    Chat c;
    c.id = id;
    c.title = title;
    c.created = c.updated = now_ms();
    c.settings.system = QStringLiteral("S");
    return c;
}

Message message(qint64 id, qint64 chat_id, qint64 parent, Role role, const QString& text,
                MessageState state = MessageState::Complete) {
    Message m;
    m.id = id;
    m.chat = chat_id;
    m.parent = parent;
    m.role = role;
    m.text = text;
    m.state = state;
    m.created = now_ms();
    return m;
}

// What the killed program does: a word every 10 ms into the model's text, saved twice a second as the window
// does.
int stream_until_killed(const QString& folder) {
    StoreThread store(folder);
    store.open();
    store.save(chat(1, QStringLiteral("Tides")));
    store.save(message(2, 1, 0, Role::User, QStringLiteral("Why tides?")));
    Message answer = message(3, 1, 2, Role::Assistant, {}, MessageState::Streaming);
    store.save(answer);
    std::puts("begun");
    std::fflush(stdout);
    QElapsedTimer since;
    since.start();
    for (int i = 0; i < 100'000; ++i) {
        QThread::msleep(10);
        answer.text += QStringLiteral("word%1 ").arg(i);
        std::printf("%d\n", i);
        std::fflush(stdout);
        if (since.elapsed() >= 500) {
            since.restart();
            store.save(answer);
        }
    }
    return 0;
}

// Hears a store on the test's own thread.
struct Ear : QObject {
    int opened = 0;
    QStringList notices;
    std::vector<std::vector<Message>> loaded;
    explicit Ear(StoreThread& store) {
        connect(&store, &StoreThread::opened, this, [this] { ++opened; });
        connect(&store, &StoreThread::notice, this, [this](const QString& text) { notices << text; });
        connect(&store, &StoreThread::messages_loaded, this,
                [this](qint64, const std::vector<Message>& messages) { loaded.push_back(messages); });
    }
};

}  // namespace

class TestChatStore : public QObject {
    Q_OBJECT

  private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        StoreThread::retry_ms = 100;
    }

    void round_trip() {
        Chat c = chat(1, QString::fromUtf8("日本 'quoted' \"x\""));
        c.draft = QStringLiteral("unsent");
        c.pinned = true;
        Message m =
            message(3, 1, 2, Role::Assistant, QString::fromUtf8("a\nb\u0000c 😀", 9), MessageState::Failed);
        m.error = QStringLiteral("because");
        m.stats.tokens = 7;
        m.stats.tok_s = 104.25;
        m.stats.finish = QStringLiteral("error");
        {
            ChatStore store(folder_->path());
            store.open();
            QCOMPARE(store.mode(), ChatStore::Mode::Disk);
            QVERIFY(store.notice().isEmpty());
            QVERIFY(store.save(c));
            QVERIFY(store.save(message(2, 1, 0, Role::User, QStringLiteral("q"))));
            QVERIFY(store.save(m));
            QVERIFY(store.save(m));  // again: no second one
        }
        ChatStore store(folder_->path());
        store.open();
        const auto chats = store.chats();
        QCOMPARE(chats.size(), std::size_t(1));
        QCOMPARE(chats[0].title, c.title);
        QCOMPARE(chats[0].draft, c.draft);
        QCOMPARE(chats[0].pinned, true);
        QCOMPARE(chats[0].settings, c.settings);
        const auto messages = store.messages(1);
        QCOMPARE(messages.size(), std::size_t(2));
        const Message& read = messages[1];
        QCOMPARE(read.text, m.text);
        QCOMPARE(read.state, MessageState::Failed);
        QCOMPARE(read.error, m.error);
        QCOMPARE(read.stats.tok_s, 104.25);
    }

    // GUI-08: kill -9 in the middle of an answer.
    void gui_08_a_kill_loses_at_most_the_last_second() {
        QProcess program;
        program.start(QCoreApplication::applicationFilePath(), {QStringLiteral("--stream"), folder_->path()});
        QVERIFY(program.waitForStarted());
        int written = -1;
        QElapsedTimer clock;
        clock.start();
        while (written < 170 && clock.elapsed() < 60'000 && program.waitForReadyRead(20'000)) {
            while (program.canReadLine()) {
                bool ok = false;
                const int n = program.readLine().trimmed().toInt(&ok);
                if (ok) written = n;
            }
        }
        QVERIFY(written >= 170);
        ::kill(static_cast<pid_t>(program.processId()), SIGKILL);
        program.waitForFinished();
        ChatStore store(folder_->path());
        store.open();
        QCOMPARE(store.mode(), ChatStore::Mode::Disk);
        QVERIFY2(store.notice().isEmpty(), qPrintable(store.notice()));
        QCOMPARE(store.chats().size(), std::size_t(1));
        const auto messages = store.messages(1);
        QCOMPARE(messages.size(), std::size_t(2));
        QCOMPARE(messages[0].text, QStringLiteral("Why tides?"));
        QCOMPARE(messages[1].state, MessageState::Interrupted);
        const auto words = static_cast<int>(messages[1].text.split(u' ', Qt::SkipEmptyParts).size());
        QVERIFY2(words >= written - 110, qPrintable(QStringLiteral("%1 of %2").arg(words).arg(written)));
        QVERIFY(messages[1].text.startsWith(QLatin1String("word0 word1 ")));
    }

    void gui_08_killed_again_and_again() {
        for (int round = 0; round < 4; ++round) {
            QProcess program;
            program.start(QCoreApplication::applicationFilePath(),
                          {QStringLiteral("--stream"), folder_->path()});
            QVERIFY(program.waitForReadyRead(20'000));
            QThread::msleep(30UL + 60UL * static_cast<unsigned long>(round));
            ::kill(static_cast<pid_t>(program.processId()), SIGKILL);
            program.waitForFinished();
            ChatStore store(folder_->path());
            store.open();
            QCOMPARE(store.mode(), ChatStore::Mode::Disk);
            QVERIFY2(store.notice().isEmpty(), qPrintable(store.notice()));
        }
    }

    void gui_28_damage_is_set_aside_data() {
        QTest::addColumn<int>("kind");
        QTest::newRow("text instead of a database") << 0;
        QTest::newRow("header overwritten") << 1;
        QTest::newRow("page in the middle overwritten") << 2;
        QTest::newRow("cut in half") << 3;
        QTest::newRow("tables of somebody else") << 4;
    }
    void gui_28_damage_is_set_aside() {
        QFETCH(int, kind);
        {
            ChatStore store(folder_->path());
            store.open();
            for (int i = 1; i < 200; ++i) store.save(message(i, 1, i - 1, Role::User, QString(400, u'x')));
            store.save(chat(1, QStringLiteral("Tides")));
        }
        const QString path = QDir(folder_->path()).filePath(QStringLiteral("chats.sqlite"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        if (kind == 0) {
            file.resize(0);
            file.write(
                "this is no database at all, and long enough to be one, perhaps a hundred bytes or a little "
                "more than that");
        } else if (kind == 1) {
            file.write(QByteArray(100, '\xAA'));
        } else if (kind == 2) {
            for (qint64 at = 4096; at + 4096 < file.size(); at += 4096) {
                file.seek(at);
                file.write(QByteArray(200, '\xAA'));
            }
        } else if (kind == 3) {
            file.resize(file.size() / 2 + 13);
        }
        file.close();
        if (kind == 4) {
            QFile::remove(path);
            {
                QSqlDatabase other =
                    QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), QStringLiteral("other"));
                other.setDatabaseName(path);
                QVERIFY(other.open());
                QSqlQuery query(other);
                QVERIFY(query.exec(QStringLiteral("CREATE TABLE chats(name TEXT)")));
                QVERIFY(query.exec(QStringLiteral("PRAGMA user_version=1")));
            }
            QSqlDatabase::removeDatabase(QStringLiteral("other"));
        }
        ChatStore store(folder_->path());
        store.open();
        QCOMPARE(store.mode(), ChatStore::Mode::Disk);
        QVERIFY2(store.notice().contains(QLatin1String("damaged")), qPrintable(store.notice()));
        QVERIFY(store.chats().empty());
        QVERIFY(store.save(chat(5, QStringLiteral("New"))));
        QCOMPARE(QDir(folder_->path()).entryList({QStringLiteral("chats.damaged-*.sqlite")}).size(), 1);
    }

    void an_empty_file_is_a_new_store() {
        QFile file(QDir(folder_->path()).filePath(QStringLiteral("chats.sqlite")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.close();
        ChatStore store(folder_->path());
        store.open();
        QCOMPARE(store.mode(), ChatStore::Mode::Disk);
        QVERIFY(store.save(chat(1, QStringLiteral("x"))));
    }

    void gui_19_a_folder_that_cannot_be_made() {
        QFile file(folder_->filePath(QStringLiteral("file")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        const QString folder = folder_->filePath(QStringLiteral("file/below"));
        ChatStore store(folder);
        store.open();
        QCOMPARE(store.mode(), ChatStore::Mode::Memory);
        QVERIFY2(store.notice().contains(QDir::toNativeSeparators(folder)), qPrintable(store.notice()));
        QVERIFY(store.save(chat(1, QStringLiteral("x"))));
        QCOMPARE(store.chats().size(), std::size_t(1));
    }

    // As an ordinary user: root may write everywhere.
    void gui_19_a_folder_that_cannot_be_written() {
        {
            ChatStore store(folder_->path());
            store.open();
            store.save(chat(1, QStringLiteral("Kept")));
        }
        const QString path = QDir(folder_->path()).filePath(QStringLiteral("chats.sqlite"));
        QFile::setPermissions(path, QFile::ReadOwner | QFile::ReadGroup | QFile::ReadOther);
        QFile::remove(path + QStringLiteral("-wal"));
        QFile::remove(path + QStringLiteral("-shm"));
        QFile::setPermissions(folder_->path(), QFile::ReadOwner | QFile::ExeOwner | QFile::ReadGroup |
                                                   QFile::ExeGroup | QFile::ReadOther | QFile::ExeOther);
        QProcess program;
        program.start(QCoreApplication::applicationFilePath(),
                      {QStringLiteral("--read-only"), folder_->path()});
        QVERIFY(program.waitForFinished(60'000));
        const QByteArray said = program.readAllStandardOutput();
        QFile::setPermissions(folder_->path(), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        QVERIFY2(program.exitCode() == 0, said.constData());
    }

    void gui_08_a_full_disk_is_said_and_caught_up() {
        StoreThread store(folder_->path());
        Ear ear(store);
        store.open();
        QTRY_COMPARE(ear.opened, 1);
        store.save(chat(1, QStringLiteral("Tides")));
        store.limit_pages(1);  // SQLite keeps what is there and refuses more
        for (int i = 1; i <= 40; ++i) store.save(message(i, 1, i - 1, Role::User, QString(5000, u'x')));
        store.flush();
        QTRY_COMPARE(ear.notices.size(), 1);  // once, not forty times
        QVERIFY(ear.notices[0].contains(QLatin1String("cannot be saved")));
        store.limit_pages(0);
        QTRY_COMPARE(ear.notices.size(), 2);
        QVERIFY(ear.notices[1].contains(QLatin1String("nothing was lost")));
        store.load_messages(1);
        QTRY_COMPARE(ear.loaded.size(), std::size_t(1));
        QCOMPARE(ear.loaded[0].size(), std::size_t(40));
    }

    void gui_28_two_instances() {
        StoreThread first(folder_->path());
        StoreThread second(folder_->path());
        Ear first_ear(first);
        Ear second_ear(second);
        first.open();
        QTRY_COMPARE(first_ear.opened, 1);
        first.save(chat(1, QStringLiteral("A")));
        first.save(message(2, 1, 0, Role::Assistant, QStringLiteral("half"), MessageState::Streaming));
        first.flush();
        second.open();
        QTRY_COMPARE(second_ear.opened, 1);
        // What the first one is writing is not interrupted.
        second.load_messages(1);
        QTRY_COMPARE(second_ear.loaded.size(), std::size_t(1));
        QCOMPARE(second_ear.loaded[0].at(0).state, MessageState::Streaming);
        for (int i = 0; i < 100; ++i) {
            first.save(message(1000 + i, 1, 0, Role::User, QStringLiteral("f")));
            second.save(message(2000 + i, 3, 0, Role::User, QStringLiteral("s")));
        }
        first.flush();
        second.flush();
        QCOMPARE(second_ear.notices, QStringList());
        ChatStore check(folder_->path());
        check.open();
        QCOMPARE(check.messages(1).size(), std::size_t(101));
        QCOMPARE(check.messages(3).size(), std::size_t(100));
    }

    void deleted_chats_are_kept_for_a_day() {
        ChatStore store(folder_->path());
        store.open();
        Chat gone = chat(1, QStringLiteral("Gone"));
        gone.deleted = now_ms();
        store.save(gone);
        store.save(message(2, 1, 0, Role::User, QStringLiteral("x")));
        QVERIFY(store.purge_deleted_before(now_ms() - 1000));
        QCOMPARE(store.messages(1).size(), std::size_t(1));
        QVERIFY(store.purge_deleted_before(now_ms() + 1000));
        QVERIFY(store.messages(1).empty());
        QVERIFY(store.chats().empty());
    }

    void gui_17_a_folder_with_any_name() {
        const QString folder = folder_->filePath(QString::fromUtf8("Загрузки/模型 ü 😀\u3000space %41 #&?"));
        {
            ChatStore store(folder);
            store.open();
            QCOMPARE(store.mode(), ChatStore::Mode::Disk);
            QVERIFY(store.save(chat(1, QStringLiteral("x"))));
        }
        QVERIFY(QFileInfo(QDir(folder).filePath(QStringLiteral("chats.sqlite"))).size() > 0);
        ChatStore again(folder);
        again.open();
        QCOMPARE(again.chats().size(), std::size_t(1));
    }

  private:
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

int read_only_child(const QString& folder) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 3;
    StoreThread::retry_ms = 100;
    ChatStore store(folder);
    store.open();
    if (store.mode() == ChatStore::Mode::Disk) return std::puts("opened for writing"), 1;
    if (store.notice().isEmpty()) return std::puts("not said"), 1;
    if (store.mode() == ChatStore::Mode::ReadOnly && store.chats().size() != 1)
        return std::puts("chats were not read"), 1;
    if (!store.save(chat(2, QStringLiteral("memory")))) return std::puts("save failed"), 1;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    QCoreApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.value(1) == QLatin1String("--stream")) return stream_until_killed(arguments.value(2));
    if (arguments.value(1) == QLatin1String("--read-only")) return read_only_child(arguments.value(2));
    TestChatStore test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_chat_store.moc"
