// Chats in the window: answers that go on, versions, what does not fit, earlier messages, files, search.
#include <QApplication>
#include <QFile>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/ui/opened_window.h"
#include "ui/chat/chat_list.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/context_gauge.h"

using namespace vitrine;
using namespace vitrine::ui;

class TestChatWindow : public QObject {
    Q_OBJECT

  private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        plan_ = std::make_shared<FakePlan>();
    }

    void a_stopped_answer_goes_on() {
        plan_->endless = true;
        plan_->step_us = 2000;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.chat()->rowCount() == 2 && o.chat()->message(1).text.size() > 20);
        QVERIFY(!o.chat()->can_continue(o.chat()->message(1).id));  // while it is written
        QTest::keyClick(o.window.get(), Qt::Key_Escape);
        QTRY_VERIFY(o.idle());
        const Message stopped = o.chat()->message(1);
        QCOMPARE(stopped.state, MessageState::Stopped);
        plan_->endless = false;
        QTest::keyClick(o.window.get(), Qt::Key_G, Qt::ControlModifier);
        QTRY_VERIFY(o.idle());
        const Message whole = o.chat()->message(1);
        QCOMPARE(o.chat()->rowCount(), 2);
        QCOMPARE(whole.id, stopped.id);
        QCOMPARE(whole.text, stopped.text + QStringLiteral("one two three"));
        QCOMPARE(whole.state, MessageState::Complete);
        QCOMPARE(plan_->so_far.back(), stopped.text.toStdString());
        QCOMPARE(plan_->prompts.back().size(), std::size_t(1));  // the question alone: the answer goes on
        QCOMPARE(whole.stats.tokens, stopped.stats.tokens + 3);
        // It has come to its end: there is nothing to go on with.
        QVERIFY(!o.chat()->can_continue(whole.id));
        o.window->close();
        Opened again(folder_->path(), plan_);
        QTRY_COMPARE(again.chat()->rowCount(), 2);
        QCOMPARE(again.chat()->message(1).text, whole.text);
    }

    void an_answer_that_cannot_go_on_is_as_before() {
        plan_->endless = true;
        plan_->step_us = 2000;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.chat()->message(1).text.size() > 10);
        o.window->chats().stop(o.window->current_chat());
        QTRY_VERIFY(o.idle());
        const Message before = o.chat()->message(1);
        plan_->refuse = [](const ChatRequest&) {
            return std::optional(Error{ErrorKind::TooLarge, "The context is full"});
        };
        o.window->chats().resume(o.window->current_chat(), before.id);
        QTRY_VERIFY(o.idle());
        QCOMPARE(o.chat()->rowCount(), 2);
        QCOMPARE(o.chat()->message(1).text, before.text);
        QCOMPARE(o.chat()->message(1).state, MessageState::Stopped);
        QVERIFY(o.chat()->message(1).stats == before.stats);
        QVERIFY(o.notices()->text().contains(QStringLiteral("The context is full")));
    }

    void versions_are_walked_with_keys() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("first"));
        QTRY_VERIFY(o.idle());
        plan_->answer = "other";
        QTest::keyClick(o.window.get(), Qt::Key_R, Qt::ControlModifier);
        QTRY_VERIFY(o.idle() && o.chat()->message(1).text == QStringLiteral("other"));
        QTest::keyClick(o.window.get(), Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(o.chat()->message(1).text, QStringLiteral("one two three"));
        QTest::keyClick(o.window.get(), Qt::Key_Left, Qt::AltModifier);  // at the end: nothing
        QCOMPARE(o.chat()->message(1).text, QStringLiteral("one two three"));
        // The question is edited: both old answers stay under the old question.
        QTest::keyClick(o.window.get(), Qt::Key_E, Qt::ControlModifier);
        QVERIFY(o.composer()->editing());
        QCOMPARE(o.composer()->text(), QStringLiteral("first"));
        o.type_and_send(QStringLiteral("second"));
        QTRY_VERIFY(o.idle());
        QCOMPARE(o.texts(), QStringList({"second", "other"}));
        QTest::keyClick(o.window.get(), Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(o.texts(), QStringList({"first", "one two three"}));
        QTest::keyClick(o.window.get(), Qt::Key_Right, Qt::AltModifier);
        QCOMPARE(o.texts(), QStringList({"first", "other"}));  // the last one with versions is the answer
        QCOMPARE(o.chat()->conversation().all().size(), std::size_t(5));
    }

    // CTX-02: nothing is left out but by choice; what was left out is marked, and stays.
    void what_does_not_fit_is_announced_with_choices() {
        plan_->left_out = {1, 2, 300};
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        for (int i = 0; i < 3; ++i) {
            o.type_and_send(QString(100, u'a'));
            QTRY_VERIFY(o.idle() && o.chat()->rowCount() == 2 * (i + 1));
            plan_->left_out = {};
        }
        o.chat()->set_left_out(o.chat()->message(1).id, {});
        plan_->left_out = {2, 4, 300};
        o.composer()->set_text(QString(300, u'b'));
        QTRY_VERIFY(o.notices()->text().contains(QStringLiteral("Nothing is cut")));
        QVERIFY(!o.composer()->button()->isEnabled());
        const auto buttons = o.notices()->action_buttons();
        QCOMPARE(buttons.size(), std::size_t(1));
        QVERIFY2(buttons[0]->text().contains(QStringLiteral("2 turns")), qPrintable(buttons[0]->text()));
        buttons[0]->click();
        QTRY_VERIFY(o.composer()->button()->isEnabled());
        QTRY_VERIFY(o.notices()->text().contains(QStringLiteral("will not be seen by the model")));
        QTest::keyClick(o.composer()->edit(), Qt::Key_Return);
        QTRY_VERIFY(o.idle() && o.chat()->rowCount() == 8);
        QVERIFY(plan_->wishes.back().cut_oldest);
        QCOMPARE(plan_->prompts.back().size(), std::size_t(7));  // all of it is handed over, the engine cuts
        QCOMPARE(o.chat()->message(7).left_out.messages, 4);
        QCOMPARE(o.chat()->unseen_rows(), 4);
        for (int row = 0; row < 8; ++row)
            QCOMPARE(o.chat()->index(row).data(ChatModel::UnseenRole).toBool(), row < 4);
        QVERIFY(
            o.chat()->index(7).data(ChatModel::StatsRole).toString().contains(QStringLiteral("4 messages")));
        o.window->close();
        Opened again(folder_->path(), plan_);
        QTRY_COMPARE(again.chat()->rowCount(), 8);
        QCOMPARE(again.chat()->unseen_rows(), 4);
    }

    void a_context_of_the_chats_own_counts() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        ChatSettings s = o.chat()->chat().settings;
        s.context = 64;
        o.chat()->set_settings(s);
        o.composer()->set_text(QString(100, u'x'));
        QTRY_VERIFY(!o.composer()->button()->isEnabled());
        QVERIFY(o.composer()->gauge()->text().contains(QStringLiteral("64")));
        o.composer()->set_text(QString(50, u'x'));
        QTRY_VERIFY(o.composer()->button()->isEnabled());
        QTest::keyClick(o.composer()->edit(), Qt::Key_Return);
        QTRY_VERIFY(o.idle());
        QCOMPARE(plan_->wishes.back().context, 64);
    }

    void arrow_keys_walk_through_earlier_messages() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        for (const char* text : {"first", "second\nof two lines", "third"}) {
            o.type_and_send(QString::fromUtf8(text));
            QTRY_VERIFY(o.idle());
        }
        ComposerEdit* edit = o.composer()->edit();
        QTest::keyClick(edit, Qt::Key_Up);
        QCOMPARE(o.composer()->text(), QStringLiteral("third"));
        QTest::keyClick(edit, Qt::Key_Up);
        QCOMPARE(o.composer()->text(), QStringLiteral("second\nof two lines"));
        QTest::keyClick(edit, Qt::Key_Up);  // to its first line
        QCOMPARE(o.composer()->text(), QStringLiteral("second\nof two lines"));
        QTest::keyClick(edit, Qt::Key_Up);
        QCOMPARE(o.composer()->text(), QStringLiteral("first"));
        QTest::keyClick(edit, Qt::Key_Up);  // there is none before
        QCOMPARE(o.composer()->text(), QStringLiteral("first"));
        for (int i = 0; i < 3; ++i) QTest::keyClick(edit, Qt::Key_Down);
        QCOMPARE(o.composer()->text(), QString());
        // A draft is kept while somebody looks, and an edited one is a draft again.
        QTest::keyClicks(edit, QStringLiteral("draft"));
        QTest::keyClick(edit, Qt::Key_Up);
        QCOMPARE(o.composer()->text(), QStringLiteral("draft"));
        QTest::keyClick(edit, Qt::Key_Home);
        QTest::keyClick(edit, Qt::Key_Up);
        QCOMPARE(o.composer()->text(), QStringLiteral("third"));
        QTest::keyClick(edit, Qt::Key_Down);
        QCOMPARE(o.composer()->text(), QStringLiteral("draft"));
    }

    void a_dropped_text_says_what_it_costs_before_it_is_sent() {
        QFile file(folder_->filePath(QStringLiteral("Notiz ü 😀.txt")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray(120, 'x'));
        file.close();
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.composer()->attach_file(file.fileName());
        const auto chip = [&]() -> QString {
            for (QPushButton* b : o.composer()->findChildren<QPushButton*>())
                if (b->text().startsWith(QStringLiteral("Notiz"))) return b->text();
            return {};
        };
        QTRY_VERIFY2(chip().contains(QStringLiteral("120 tokens")), qPrintable(chip()));
        QCOMPARE(plan_->submitted.load(), 0);
    }

    void a_chat_is_exported_and_read_again() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("Why tides?"));
        QTRY_VERIFY(o.idle());
        const qint64 id = o.window->current_chat();
        const QString json = folder_->filePath(QStringLiteral("Gezeiten ü.json"));
        const QString markdown = folder_->filePath(QStringLiteral("a.md"));
        o.window->write_export(id, json, false);
        QTRY_VERIFY(QFile::exists(json));
        o.window->write_export(id, markdown, true);
        QTRY_VERIFY(QFile::exists(markdown));
        o.window->import_file(json);
        QTRY_VERIFY(o.window->current_chat() != id);
        QCOMPARE(o.texts(), QStringList({"Why tides?", "one two three"}));
        QCOMPARE(o.window->chats().list()->rowCount(), 2);
        // It is on disk as well, and the one before is untouched.
        const qint64 imported = o.window->current_chat();
        o.window->close();
        Opened again(folder_->path(), plan_);
        QTRY_VERIFY(again.window->chats().exists(imported) && again.window->chats().exists(id));
        QTRY_COMPARE(again.window->chats().chat(imported)->rowCount(), 2);

        again.window->write_export(imported, QStringLiteral("/nowhere/at/all.md"), true);
        QTRY_VERIFY(again.notices()->text().contains(QStringLiteral("could not be written")));
        again.window->import_file(markdown);
        QTRY_VERIFY(again.notices()->text().contains(QStringLiteral("was not imported")));
    }

    void search_finds_what_messages_say() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        plan_->answer = "a word about Möwen";
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.idle());
        o.window->start_chat();
        plan_->answer = "nothing";
        o.type_and_send(QStringLiteral("other"));
        QTRY_VERIFY(o.idle());
        const qint64 shown = o.window->current_chat();
        QTest::keyClick(o.window.get(), Qt::Key_K, Qt::ControlModifier);
        QTest::keyClicks(o.window->chat_list()->search(), QStringLiteral("MÖWEN"));
        QAbstractItemModel* rows = o.window->chat_list()->view()->model();
        QTRY_COMPARE(rows->rowCount(), 1);
        QCOMPARE(rows->index(0, 0).data().toString(), QStringLiteral("q"));
        QVERIFY(rows->index(0, 0).data(ChatFilter::ExcerptRole).toString().contains(QStringLiteral("Möwen")));
        QCOMPARE(o.window->current_chat(), shown);  // looking is not choosing
        o.window->chat_list()->search()->clear();
        QCOMPARE(rows->rowCount(), 2);
    }

  private:
    std::unique_ptr<QTemporaryDir> folder_;
    std::shared_ptr<FakePlan> plan_;
};

QTEST_MAIN(TestChatWindow)
#include "tst_chat_window.moc"
