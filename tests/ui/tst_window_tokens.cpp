// The window with its engine: every token of an answer can be looked into, now and after a restart, and chat
// and KV panel point at each other.
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "ui/chat/chat_page.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/composer_edit.h"
#include "ui/chat/find_bar.h"
#include "ui/chat/token_inspector.h"
#include "ui/panels/kv_grid_view.h"
#include "ui/panels/kv_panel.h"
#include "ui/window/main_window.h"

using namespace vitrine;
using namespace vitrine::ui;

namespace {

std::unique_ptr<MainWindow> open_window(const QString& folder) {
    Options options;
    options.model = QStringLiteral(VITRINE_EMBEDDED_MODEL);
    options.size = QSize(1300, 860);
    auto window = std::make_unique<MainWindow>(options, folder, make_engine_backend());
    window->show();
    QSignalSpy ready(window.get(), &MainWindow::model_ready);
    window->open_first_model();
    if (ready.isEmpty()) ready.wait(60'000);
    return window;
}

bool ask(MainWindow& window, const QString& text) {
    ChatModel* chat = window.chats().chat(window.current_chat());
    ChatSettings settings = chat->chat().settings;
    settings.max_tokens = 30;
    settings.random_seed = false;
    chat->set_settings(settings);
    window.page()->composer()->set_text(text);
    QTest::keyClick(window.page()->composer()->edit(), Qt::Key_Return);
    return QTest::qWaitFor([&] { return chat->rowCount() > 0 && !window.chats().answering(); }, 60'000);
}

}  // namespace

class TestWindowTokens : public QObject {
    Q_OBJECT

  private slots:
    void tokens_blocks_and_a_restart() {
        QTemporaryDir folder;
        qint64 chat_id = 0, answer = 0;
        QString title;
        {
            auto window = open_window(folder.path());
            QVERIFY(window->model().valid());
            QVERIFY(ask(*window, QStringLiteral("Why do tides come twice a day?")));
            ChatModel* chat = window->chats().chat(window->current_chat());
            ChatView* view = window->page()->view();
            KvPanel* kv = window->kv_panel();
            chat_id = window->current_chat();
            answer = chat->message(1).id;
            QVERIFY(QTest::qWaitFor([&] { return kv->model().sequence_of(chat_id) != nullptr; }, 5000));

            // A token tells where it lies, and the panel shows the block.
            QVERIFY(view->inspect(answer, 5));
            const QString block = view->inspector()->value(QStringLiteral("block"));
            QVERIFY2(block.contains(QStringLiteral("physical")), qPrintable(block));
            const int physical = kv->grid()->highlight();
            QVERIFY(physical >= 0);
            QVERIFY(view->inspector()->list()->entries().size() >= 8);
            title = view->inspector()->title();

            // The block's text has the token's; clicking the block marks its tokens in the chat.
            const SequenceView* sequence = kv->model().sequence_of(chat_id);
            const auto at = std::find(sequence->blocks.begin(), sequence->blocks.end(), physical);
            QVERIFY(at != sequence->blocks.end());
            const int logical = static_cast<int>(at - sequence->blocks.begin()) + sequence->given_back;
            emit kv->block_clicked(physical, chat_id, logical);
            QVERIFY(!view->marks().empty());
            bool holds = false;
            for (const MessageRange& m : view->marks()) holds = holds || m.message == answer;
            QVERIFY(holds);
            emit kv->block_clicked(physical, chat_id, logical);
            QVERIFY(view->marks().empty());
            // The first block holds the question.
            bool question = false;
            for (int b = 0; b < static_cast<int>(sequence->blocks.size()); ++b) {
                emit kv->block_clicked(sequence->blocks[static_cast<std::size_t>(b)], chat_id, b);
                for (const MessageRange& m : view->marks())
                    question = question || m.message == chat->message(0).id;
            }
            QVERIFY(question);

            // Another candidate: an answer beside this one, the same up to there.
            view->inspect(answer, 5);
            CandidateList* list = view->inspector()->list();
            int other = 0;
            while (list->entries()[static_cast<std::size_t>(other)].chosen) ++other;
            list->select(other);
            const QString begins = chat->message(1).text.left(view->traces()->find(answer)->begin(5)) +
                                   list->entries()[static_cast<std::size_t>(other)].text;
            QVERIFY(view->inspector()->branch_button()->isEnabled());
            QTest::mouseClick(view->inspector()->branch_button(), Qt::LeftButton);
            QVERIFY(QTest::qWaitFor([&] { return !window->chats().answering(); }, 60'000));
            const qint64 branch = chat->message(1).id;
            QVERIFY(branch != answer);
            QVERIFY2(chat->message(1).text.startsWith(begins), qPrintable(chat->message(1).text));
            QVERIFY(chat->message(1).text.size() > begins.size());
            const TokenTrace* trace = view->traces()->find(branch);
            QVERIFY(trace != nullptr && trace->size() > 6);
            QCOMPARE(trace->token(trace->size() - 1).end, static_cast<qint32>(chat->message(1).text.size()));
            QCOMPARE(chat->conversation().siblings(branch).size(), std::size_t(2));  // the old one is there
            QVERIFY(chat->choose_sibling(branch, -1));

            // Esc closes what is open over the text before it would stop anything.
            view->setFocus();
            QTest::keyClick(window.get(), Qt::Key_F, Qt::ControlModifier);
            QVERIFY(window->page()->find_bar()->isVisible());
            window->page()->find_bar()->close();
            view->close_inspector();
            QCOMPARE(kv->grid()->highlight(), -1);
            window->close();
        }
        auto window = open_window(folder.path());
        QVERIFY(QTest::qWaitFor([&] { return window->chats().exists(chat_id); }, 5000));
        window->show_chat(chat_id);
        ChatView* view = window->page()->view();
        QVERIFY(QTest::qWaitFor([&] { return view->model()->rowCount() == 2; }, 5000));
        QVERIFY(QTest::qWaitFor([&] { return view->inspect(answer, 5); }, 5000));
        QCOMPARE(view->inspector()->title(), title);
        QCOMPARE(view->inspector()->value(QStringLiteral("block")),
                 QStringLiteral("–"));  // nothing is cached now
        QVERIFY(view->inspector()->list()->entries().size() >= 8);
    }
};

QTEST_MAIN(TestWindowTokens)
#include "tst_window_tokens.moc"
