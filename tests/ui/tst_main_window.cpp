// The window as a person uses it, over an engine of the test's own: sending, stopping, refusals, branches,
// deleting, what is left after a restart.
#include <QApplication>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/ui/opened_window.h"
#include "ui/chat/chat_list.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_settings_card.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/composer_edit.h"
#include "ui/chat/notice_bar.h"
#include "ui/panels/kv_panel.h"
#include "ui/window/chip.h"
#include "ui/window/main_window.h"
#include "ui/window/status_strip.h"
#include "ui/window/step_control.h"
#include "ui/window/top_bar.h"

using namespace vitrine;
using namespace vitrine::ui;

namespace {

// A template in the manner of several published ones.
std::optional<Error> alternate(const ChatRequest& request) {
    std::string before;
    for (const ChatMessage& m : request.messages) {
        if (m.role == "system") return Error{ErrorKind::Template, "System role not supported"};
        if (m.role == before)
            return Error{ErrorKind::Template,
                         "Conversation roles must alternate user/assistant/user/assistant/..."};
        before = m.role;
    }
    return std::nullopt;
}

}  // namespace

class TestMainWindow : public QObject {
    Q_OBJECT

  private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        plan_ = std::make_shared<FakePlan>();
    }

    void a_message_is_answered_and_is_there_tomorrow() {
        qint64 id = 0;
        {
            Opened o(folder_->path(), plan_);
            QVERIFY(o.load());
            o.type_and_send(QStringLiteral("Why tides?"));
            QTRY_VERIFY(o.idle());
            QCOMPARE(o.texts(), QStringList({"Why tides?", "one two three"}));
            QVERIFY(o.composer()->empty());
            QCOMPARE(o.window->chats().list()->rowCount(), 1);
            QCOMPARE(o.window->chats().list()->index(0).data().toString(), QStringLiteral("Why tides?"));
            id = o.window->current_chat();
            o.composer()->set_text(QStringLiteral("unsent"));
            o.window->close();
        }
        Opened o(folder_->path(), plan_);
        QTRY_COMPARE(o.window->current_chat(), id);
        QTRY_COMPARE(o.chat()->rowCount(), 2);
        QCOMPARE(o.texts(), QStringList({"Why tides?", "one two three"}));
        QCOMPARE(o.composer()->text(), QStringLiteral("unsent"));
        QVERIFY(o.chat()->message(1).stats.prompt_tokens == 10 &&
                o.chat()->message(1).stats.cached_tokens == 4);
    }

    void stop_keeps_what_was_written() {
        plan_->endless = true;
        plan_->step_us = 2000;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.chat()->rowCount() == 2 && o.chat()->message(1).text.size() > 20);
        QCOMPARE(o.composer()->button()->text(), QStringLiteral("Stop"));
        o.composer()->button()->click();
        QTRY_VERIFY(o.idle());
        QCOMPARE(o.chat()->message(1).state, MessageState::Stopped);
        QVERIFY(o.chat()->message(1).text.startsWith(QStringLiteral("one two three")));
        QCOMPARE(o.composer()->button()->text(), QStringLiteral("Send"));
    }

    // TPL-01: two user turns after a stop; the chat goes on.
    void tpl_01_refusal_is_said_input_kept_and_can_be_joined() {
        plan_->refuse = alternate;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        // An answer stopped before its first token.
        o.window->worker().pause();
        o.type_and_send(QStringLiteral("one"));
        o.window->chats().stop(o.window->current_chat());
        QTRY_VERIFY(o.idle());
        o.window->worker().resume();
        QCOMPARE(o.chat()->message(1).text, QString());
        o.type_and_send(QStringLiteral("two"));
        QTRY_VERIFY(o.idle());
        QCOMPARE(o.chat()->rowCount(), 2);  // as if it had not been sent
        QCOMPARE(o.composer()->text(), QStringLiteral("two"));
        QVERIFY2(o.notices()->text().contains(QStringLiteral("roles must alternate")),
                 qPrintable(o.notices()->text()));
        const auto buttons = o.notices()->action_buttons();
        QCOMPARE(buttons.size(), std::size_t(1));
        buttons[0]->click();
        QTRY_VERIFY(o.idle() && o.chat()->rowCount() == 4);
        QCOMPARE(o.chat()->message(3).text, QStringLiteral("one two three"));
        QCOMPARE(plan_->prompts.back().size(), std::size_t(1));
        QCOMPARE(plan_->prompts.back()[0].content, std::string("one\n\ntwo"));
        QVERIFY(o.composer()->empty());
    }

    // TPL-02.
    void tpl_02_system_role_refused() {
        plan_->refuse = alternate;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        ChatSettings s = o.chat()->chat().settings;
        s.system = QStringLiteral("Be brief.");
        o.chat()->set_settings(s);
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.idle());
        QVERIFY(o.notices()->text().contains(QStringLiteral("System role not supported")));
        QCOMPARE(o.composer()->text(), QStringLiteral("q"));
        QCOMPARE(o.notices()->action_buttons().size(), std::size_t(1));
        o.notices()->action_buttons()[0]->click();
        QTRY_VERIFY(o.idle() && o.chat()->rowCount() == 2);
        QCOMPARE(plan_->prompts.back()[0].content, std::string("Be brief.\n\nq"));
    }

    // CTX-02, GUI-26: said before it is sent, nothing is cut.
    void ctx_02_too_long_is_said_before_sending_data() {
        QTest::addColumn<int>("size");  // the fake counts a token a byte, and four for the turn
        QTest::addColumn<bool>("fits");
        QTest::newRow("one token of room") << 507 << true;
        QTest::newRow("exactly full") << 508 << false;
        QTest::newRow("too long") << 5000 << false;
    }
    void ctx_02_too_long_is_said_before_sending() {
        QFETCH(int, size);
        QFETCH(bool, fits);
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        const QString text(size, u'x');
        o.composer()->set_text(text);
        if (fits) {
            QTest::qWait(250);
            QVERIFY(o.composer()->button()->isEnabled());
            QVERIFY(o.notices()->text().isEmpty());
            return;
        }
        QTRY_VERIFY(!o.composer()->button()->isEnabled());
        QVERIFY(o.notices()->text().contains(QStringLiteral("Nothing is cut")));
        QTest::keyClick(o.composer()->edit(), Qt::Key_Return);
        QCOMPARE(plan_->submitted.load(), 0);
        QCOMPARE(o.composer()->text(), text);
        o.composer()->set_text(QStringLiteral("short"));
        QTRY_VERIFY(o.composer()->button()->isEnabled());
        QVERIFY(o.notices()->text().isEmpty());
    }

    void gui_26_a_refusal_of_the_engine_is_shown_in_the_chat() {
        plan_->refuse = [](const ChatRequest&) {
            return std::optional(
                Error{ErrorKind::TooLarge, "The prompt has 70 tokens, the context holds 64"});
        };
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.idle());
        QVERIFY(o.notices()->text().contains(QStringLiteral("70 tokens")));
        QVERIFY(o.notices()->isVisible());
        QCOMPARE(o.composer()->text(), QStringLiteral("q"));
    }

    void a_broken_engine_keeps_texts_and_can_be_opened_again() {
        plan_->endless = true;
        plan_->step_us = 1000;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.chat()->message(1).text.size() > 10);
        o.composer()->set_text(QStringLiteral("unsent"));
        plan_->throw_in_step = true;
        QTRY_VERIFY(o.notices()->text().contains(QStringLiteral("the device is gone")));
        QCOMPARE(o.chat()->message(1).state, MessageState::Failed);
        QVERIFY(o.chat()->message(1).text.startsWith(QStringLiteral("one two")));
        QCOMPARE(o.composer()->text(), QStringLiteral("unsent"));
        QVERIFY(!o.composer()->button()->isEnabled());
        plan_->throw_in_step = false;
        plan_->endless = false;
        QSignalSpy ready(o.window.get(), &MainWindow::model_ready);
        o.notices()->action_buttons()[0]->click();
        QVERIFY(ready.size() == 1 || ready.wait(10'000));
        QVERIFY(o.composer()->button()->isEnabled());
    }

    void regenerate_edit_and_walk_the_branches() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.idle());
        plan_->answer = "four five";
        emit o.window->page()->view()->regenerate_requested(o.chat()->message(1).id);
        QTRY_VERIFY(o.idle() && o.chat()->message(1).text == QStringLiteral("four five"));
        emit o.window->page()->view()->sibling_requested(o.chat()->message(1).id, -1);
        QCOMPARE(o.chat()->message(1).text, QStringLiteral("one two three"));
        o.composer()->set_text(QStringLiteral("half a thought"));
        emit o.window->page()->view()->edit_requested(o.chat()->message(0).id);
        QCOMPARE(o.composer()->text(), QStringLiteral("q"));
        o.composer()->set_text(QStringLiteral("q, better"));
        QTest::keyClick(o.composer()->edit(), Qt::Key_Return);
        QTRY_VERIFY(o.idle() && o.chat()->message(0).text == QStringLiteral("q, better"));
        QCOMPARE(o.composer()->text(), QStringLiteral("half a thought"));
        emit o.window->page()->view()->sibling_requested(o.chat()->message(0).id, -1);
        QCOMPARE(o.texts(), QStringList({"q", "one two three"}));
    }

    // GUI-07: deleted while the model loads and while it answers; and undone.
    void gui_07_delete_at_any_time() {
        plan_->load_ms = 400;
        Opened o(folder_->path(), plan_);
        o.window->open_first_model();
        o.type_and_send(QStringLiteral("first"));
        const qint64 first = o.window->current_chat();
        emit o.window->chat_list()->remove_requested(first);
        QVERIFY(o.window->current_chat() != first);
        QTRY_VERIFY_WITH_TIMEOUT(o.window->model().valid(), 20'000);
        QTRY_VERIFY(o.idle());
        plan_->endless = true;
        plan_->step_us = 1000;
        o.type_and_send(QStringLiteral("second"));
        const qint64 second = o.window->current_chat();
        QTRY_VERIFY(o.chat()->rowCount() == 2 && o.chat()->message(1).text.size() > 10);
        emit o.window->chat_list()->remove_requested(second);
        QTRY_VERIFY(o.idle());
        QCOMPARE(o.window->chats().list()->rowCount(), 0);
        QTRY_VERIFY(std::count(plan_->released.begin(), plan_->released.end(), second) >= 1);
        o.notices()->action_buttons()[0]->click();  // undo
        QCOMPARE(o.window->chats().list()->rowCount(), 1);
        QCOMPARE(o.window->current_chat(), second);
        QCOMPARE(o.chat()->message(0).text, QStringLiteral("second"));
    }

    // GUI-10: another model, the same chat.
    void gui_10_another_model_keeps_the_chat() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        for (int i = 0; i < 3; ++i) {
            o.type_and_send(QString::number(i));
            QTRY_VERIFY(o.idle());
        }
        QSignalSpy ready(o.window.get(), &MainWindow::model_ready);
        o.window->open_model(QStringLiteral("/other.gguf"));
        QVERIFY(ready.wait(10'000));
        QCOMPARE(o.chat()->rowCount(), 6);
        o.type_and_send(QStringLiteral("next"));
        QTRY_VERIFY(o.idle());
        QCOMPARE(o.chat()->rowCount(), 8);
        QCOMPARE(plan_->prompts.back().size(), std::size_t(7));
        plan_->load_fails = true;
        QSignalSpy refused(o.window.get(), &MainWindow::model_refused);
        o.window->open_model(QStringLiteral("/broken.gguf"));
        QVERIFY(refused.wait(10'000));
        QCOMPARE(o.chat()->rowCount(), 8);
        QVERIFY(o.notices()->text().contains(QStringLiteral("broken.gguf")));
        QVERIFY(o.window->model().valid());  // the one before still answers
    }

    // GUI-11: through the window.
    void gui_11_a_model_that_took_the_program_down() {
        const QString model = folder_->filePath(QStringLiteral("model.gguf"));
        QFile file(model);
        QVERIFY(file.open(QIODevice::WriteOnly));
        {
            AppSettings settings(folder_->path());
            settings.set_last_model(model);
        }
        QFile marker(folder_->filePath(QStringLiteral("loading.json")));
        QVERIFY(marker.open(QIODevice::WriteOnly));
        marker.write("{\"model\":\"" + model.toUtf8() + "\",\"pid\":999999999}");
        marker.close();
        Opened o(folder_->path(), plan_, {});
        o.window->open_first_model();
        QTest::qWait(100);
        QCOMPARE(plan_->loads.load(), 0);
        QVERIFY(o.notices()->text().contains(model));
        QSignalSpy ready(o.window.get(), &MainWindow::model_ready);
        o.notices()->action_buttons()[0]->click();  // anyway
        QVERIFY(ready.wait(10'000));
        QVERIFY(!QFileInfo::exists(marker.fileName()));
    }

    void a_model_without_a_template_says_so() {
        plan_->has_template = false;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        QVERIFY(o.notices()->text().contains(QStringLiteral("no chat template")));
        o.composer()->set_text(QStringLiteral("q"));
        QVERIFY(!o.composer()->button()->isEnabled());
    }

    // GUI-04: the window stays live while tokens pour in; GUI-02 shares the rule: the view is apart from the
    // data.
    void gui_04_the_window_stays_live() {
        plan_->endless = true;
        plan_->tokens_per_step = 8;
        plan_->step_us = 1000;  // 8 000 tokens a second
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        std::vector<double> holds;
        QElapsedTimer all, one;
        all.start();
        while (all.elapsed() < 1500) {
            one.restart();
            QCoreApplication::processEvents();
            holds.push_back(static_cast<double>(one.nsecsElapsed()) / 1e6);
            QThread::usleep(500);
        }
        std::sort(holds.begin(), holds.end());
        qInfo("event loop: p50 %.2f ms, p99 %.2f ms, worst %.2f ms, %lld characters", holds[holds.size() / 2],
              holds[holds.size() * 99 / 100], holds.back(),
              static_cast<long long>(o.chat()->message(1).text.size()));
        o.composer()->button()->click();
        QTRY_VERIFY(o.idle());
        QVERIFY2(holds[holds.size() / 2] < 100, "half of all turns of the event loop were slow");
    }

    void gui_02_hiding_and_showing_while_it_streams() {
        plan_->endless = true;
        plan_->step_us = 1000;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.chat()->rowCount() == 2 && !o.chat()->message(1).text.isEmpty());
        const qint64 chat = o.window->current_chat();
        for (int i = 0; i < 10; ++i) {
            o.window->set_theme(i % 2 ? ThemeChoice::Dark : ThemeChoice::Light);
            o.window->start_chat();
            QTest::qWait(5);
            const auto before = o.window->chats().chat(chat)->message(1).text.size();
            o.window->show_chat(chat);
            QTRY_VERIFY(o.chat()->message(1).text.size() > before);
        }
        const QString shown = o.window->page()->view()->shown_text(1);
        QCOMPARE(shown, o.chat()->message(1).text.trimmed().isEmpty() ? shown : o.chat()->message(1).text);
        o.window->chats().stop(chat);
        QTRY_VERIFY(o.idle());
    }

    void dropping_a_file_opens_it() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QStringLiteral("/tmp/Other Model.gguf"))});
        QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(o.window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QSignalSpy ready(o.window.get(), &MainWindow::model_ready);
        QCoreApplication::sendEvent(o.window.get(), &drop);
        QVERIFY(ready.wait(10'000));
        QCOMPARE(o.window->model().path, QStringLiteral("/tmp/Other Model.gguf"));
    }

    void dropping_a_text_attaches_it() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        QFile file(folder_->filePath(QStringLiteral("notes.txt")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("some notes");
        file.close();
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(file.fileName())});
        QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(o.window.get(), &enter);
        QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(o.window.get(), &drop);
        QVERIFY(!o.window->findChild<Composer*>()->empty());
    }

    void keyboard() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("first"));
        QTRY_VERIFY(o.idle());
        const qint64 first = o.window->current_chat();
        QTest::keyClick(o.window.get(), Qt::Key_N, Qt::ControlModifier);
        QVERIFY(o.window->current_chat() != first);
        QTest::keyClick(o.window.get(), Qt::Key_PageDown, Qt::ControlModifier);
        QCOMPARE(o.window->current_chat(), first);
        QTest::keyClick(o.window.get(), Qt::Key_Comma, Qt::ControlModifier);
        QVERIFY(!o.window->page()->settings()->isHidden());
        QTest::keyClick(o.window.get(), Qt::Key_Escape);
        QVERIFY(o.window->page()->settings()->isHidden());
        QTest::keyClick(o.window.get(), Qt::Key_R, Qt::ControlModifier);
        QTRY_VERIFY(o.idle() &&
                    o.chat()->index(1).data(ChatModel::BranchRole).toString() == QStringLiteral("2 / 2"));
    }

    void everything_has_a_name_for_screen_readers() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.window->page()->show_settings(true);
        QStringList nameless;
        for (const QWidget* w : o.window->findChildren<QWidget*>()) {
            if (w->focusPolicy() == Qt::NoFocus || !w->isVisible() || w->inherits("QScrollBar") ||
                w->objectName().startsWith(QLatin1String("qt_")))
                continue;
            const auto* button = qobject_cast<const QAbstractButton*>(w);
            if (w->accessibleName().isEmpty() && (button == nullptr || button->text().isEmpty()) &&
                !w->inherits("QSplitterHandle"))
                nameless << QString::fromLatin1(w->metaObject()->className()) + u' ' + w->objectName();
        }
        QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(QStringLiteral(", "))));
    }

    // GUI-14: nothing is cut off at other text sizes and narrow windows.
    void gui_14_sizes() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.idle());
        for (const QSize size : {QSize(720, 480), QSize(1000, 700), QSize(1440, 900)}) {
            o.window->resize(size);
            QCoreApplication::processEvents();
            QVERIFY(o.composer()->button()->width() >= o.composer()->button()->minimumSizeHint().width());
            const QRect composer(o.composer()->mapTo(o.window.get(), QPoint(0, 0)), o.composer()->size());
            QVERIFY(o.window->rect().contains(composer));
            QVERIFY(!o.window->grab().isNull());
        }
    }

    // A teacher's lesson: pause, type, step, switch chats, stop, run slowly, run.
    void step_mode_by_keys() {
        plan_->endless = true;
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        MainWindow& w = *o.window;
        StepControl* steps = w.top_bar()->steps();
        QVERIFY(steps->run_button()->isChecked());
        QTest::keyClick(&w, Qt::Key_F6);
        QVERIFY(steps->pause_button()->isChecked() && !steps->run_button()->isChecked());
        o.type_and_send(QStringLiteral("first"));
        const qint64 first = w.current_chat();
        QTest::qWait(60);
        QCOMPARE(plan_->steps.load(), 0);
        QTest::keyClick(&w, Qt::Key_F7);
        QTRY_COMPARE(o.chat()->message(1).text, QStringLiteral("one"));
        QTRY_COMPARE(steps->text(), QStringLiteral("paused at iteration 1"));
        // Typing and another chat, while the engine stands still.
        o.composer()->set_text(QStringLiteral("half a th"));
        QTest::keyClicks(o.composer()->edit(), QStringLiteral("ought"));
        QTest::keyClick(&w, Qt::Key_N, Qt::ControlModifier);
        const qint64 second = w.current_chat();
        QVERIFY(second != first);
        o.type_and_send(QStringLiteral("second"));
        QTest::qWait(60);
        QCOMPARE(plan_->steps.load(), 1);
        QTest::mouseClick(steps->step_button(), Qt::LeftButton);
        QTRY_COMPARE(o.chat()->message(1).text, QStringLiteral("one"));
        w.show_chat(first);
        QTRY_COMPARE(o.chat()->message(1).text, QStringLiteral("one two"));
        QCOMPARE(o.composer()->text(), QStringLiteral("half a thought"));
        // Stopping one of them moves nobody.
        QTest::keyClick(&w, Qt::Key_Escape);
        QTRY_VERIFY(!w.chats().answering(first));
        QVERIFY(w.chats().answering(second));
        QCOMPARE(o.chat()->message(1).text, QStringLiteral("one two"));
        QCOMPARE(plan_->steps.load(), 2);
        QTest::keyClick(&w, Qt::Key_F9);
        QVERIFY(steps->slow_button()->isChecked());
        QTRY_VERIFY(plan_->steps >= 4);
        QTest::keyClick(&w, Qt::Key_F9, Qt::ShiftModifier);
        QCOMPARE(steps->text(), QStringLiteral("5 a second"));
        QTest::keyClick(&w, Qt::Key_F9, Qt::ControlModifier);
        QCOMPARE(w.worker().pace(), 4);
        for (int i = 0; i < 30; ++i) QTest::keyClick(&w, Qt::Key_F9, Qt::ShiftModifier);
        QCOMPARE(w.worker().pace(), EngineWorker::fastest_pace);
        QTest::keyClick(&w, Qt::Key_F8);
        QVERIFY(steps->run_button()->isChecked());
        QTRY_VERIFY(plan_->steps > 50);
        w.chats().stop(second);
        QTRY_VERIFY(o.idle());
    }

    void hidden_panels_are_not_fed() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        for (QDockWidget* dock : o.window->findChildren<QDockWidget*>()) dock->hide();
        QCoreApplication::processEvents();
        plan_->endless = true;
        plan_->step_us = 500;
        const int before = o.window->kv_panel()->refreshes();
        o.type_and_send(QStringLiteral("q"));
        const int snapshots = plan_->snapshots;
        QTest::qWait(1100);
        QVERIFY2(plan_->snapshots - snapshots <= 4,
                 qPrintable(QString::number(plan_->snapshots - snapshots)));
        QCOMPARE(o.window->kv_panel()->refreshes(), before);
        o.window->chats().stop(o.window->current_chat());
        QTRY_VERIFY(o.idle());
    }

  private:
    std::unique_ptr<QTemporaryDir> folder_;
    std::shared_ptr<FakePlan> plan_;
};

QTEST_MAIN(TestMainWindow)
#include "tst_main_window.moc"
