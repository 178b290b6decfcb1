// Models of chats and messages: Qt's own model tester over every change, the tree, prompts, titles, figures.
#include <QAbstractItemModelTester>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QtTest>

#include "ui/models/chat_list_model.h"
#include "ui/models/chat_model.h"
#include "ui/models/figures.h"

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

QStringList texts(const ChatModel& model) {
    QStringList all;
    for (int row = 0; row < model.rowCount(); ++row) all << model.message(row).text;
    return all;
}

Chat chat(qint64 id, qint64 updated, const QString& title = {}) {
    Chat c;
    c.id = id;
    c.title = title;
    c.updated = updated;
    return c;
}

}  // namespace

class TestChatModels : public QObject {
    Q_OBJECT

  private slots:
    void a_turn_streams_and_ends() {
        ChatModel model(chat(1, 1));
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const auto begun = model.add_turn(QStringLiteral("Hello there"), QStringLiteral("m"));
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.chat().title, QStringLiteral("Hello there"));
        QVERIFY(model.streaming());
        QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
        model.append(begun.answer, QStringLiteral("Good "), 1);
        model.append(begun.answer, QStringLiteral("day"), 1);
        QCOMPARE(changed.size(), 2);  // one a tick, whatever the length
        QCOMPARE(model.message(1).text, QStringLiteral("Good day"));
        MessageStats stats;
        stats.tokens = 2;
        stats.finish = QStringLiteral("stop");
        model.finish(begun.answer, MessageState::Complete, stats);
        QVERIFY(!model.streaming());
        QVERIFY(model.index(1).data(ChatModel::StatsRole).toString().contains(QStringLiteral("2 tokens")));
    }

    void regenerating_and_editing_branch_and_erase_nothing() {
        ChatModel model(chat(1, 1));
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const auto first = model.add_turn(QStringLiteral("q"), {});
        model.append(first.answer, QStringLiteral("a1"), 1);
        model.finish(first.answer, MessageState::Complete, {});
        const auto second = model.regenerate(first.answer, {});
        model.append(second.answer, QStringLiteral("a2"), 1);
        model.finish(second.answer, MessageState::Complete, {});
        QCOMPARE(texts(model), QStringList({"q", "a2"}));
        QCOMPARE(model.index(1).data(ChatModel::BranchRole).toString(), QStringLiteral("2 / 2"));
        QVERIFY(model.choose_sibling(second.answer, -1));
        QCOMPARE(texts(model), QStringList({"q", "a1"}));
        QVERIFY(!model.choose_sibling(first.answer, -1));
        const auto edited = model.edit(first.user, QStringLiteral("q, better"), {});
        QCOMPARE(texts(model), QStringList({"q, better", ""}));
        model.finish(edited.answer, MessageState::Stopped, {});
        QVERIFY(model.choose_sibling(edited.user, -1));
        QCOMPARE(texts(model), QStringList({"q", "a1"}));  // also the branch below was remembered
        QCOMPARE(model.conversation().siblings(first.answer).size(), std::size_t(2));
    }

    void what_was_refused_leaves_no_trace() {
        ChatModel model(chat(1, 1));
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QSignalSpy removed(&model, &ChatModel::message_removed);
        const auto first = model.add_turn(QStringLiteral("q"), {});
        model.finish(first.answer, MessageState::Complete, {});
        const auto refused = model.add_turn(QStringLiteral("r"), {});
        model.withdraw(refused);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(removed.size(), 2);
        QVERIFY(!model.streaming());
        ChatModel fresh(chat(2, 1));
        fresh.withdraw(fresh.add_turn(QStringLiteral("only one"), {}));
        QCOMPARE(fresh.rowCount(), 0);
        QVERIFY(fresh.chat().title.isEmpty());
    }

    // TPL-01: an answer that was stopped before its first token is no turn.
    void tpl_01_empty_answers_do_not_enter_the_history() {
        ChatModel model(chat(1, 1));
        const auto first = model.add_turn(QStringLiteral("one"), {});
        model.finish(first.answer, MessageState::Stopped, {});
        const auto second = model.add_turn(QStringLiteral("two"), {});
        const std::vector<Turn> turns = model.prompt_for(second.answer);
        QCOMPARE(turns.size(), std::size_t(2));
        QVERIFY(has_neighbours_of_one_role(turns));
        ChatSettings settings;
        settings.merge_turns = true;
        model.set_settings(settings);
        const auto merged = model.prompt_for(second.answer);
        QCOMPARE(merged.size(), std::size_t(1));
        QCOMPARE(merged[0].content, QStringLiteral("one\n\ntwo"));
        // One with text does: the user has seen it.
        ChatModel other(chat(2, 1));
        const auto begun = other.add_turn(QStringLiteral("one"), {});
        other.append(begun.answer, QStringLiteral("par"), 1);
        other.finish(begun.answer, MessageState::Stopped, {});
        QCOMPARE(other.prompt_with_draft(QStringLiteral("two")).size(), std::size_t(3));
    }

    void tpl_02_system_prompt() {
        ChatModel model(chat(1, 1));
        ChatSettings settings;
        settings.system = QStringLiteral("Be brief.");
        model.set_settings(settings);
        const auto begun = model.add_turn(QStringLiteral("q"), {});
        QCOMPARE(model.prompt_for(begun.answer).front().role, QStringLiteral("system"));
        settings.system_in_first_turn = true;
        model.set_settings(settings);
        const auto turns = model.prompt_for(begun.answer);
        QCOMPARE(turns.size(), std::size_t(1));
        QCOMPARE(turns[0].content, QStringLiteral("Be brief.\n\nq"));  // never dropped
        QCOMPARE(model.prompt_with_draft({}).size(), std::size_t(1));
    }

    void damaged_trees_are_survived() {
        std::vector<Message> stored = {
            message(5, 4, Role::User, "orphan"), message(6, 7, Role::User, "cycle"),
            message(7, 6, Role::User, "cycle"),  message(8, 8, Role::User, "self"),
            message(1, 0, Role::User, "q"),      message(2, 1, Role::Assistant, "a")};
        ChatModel model(chat(1, 1));
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.set_messages(stored);
        QCOMPARE(texts(model), QStringList({"q", "a"}));
        model.append(99, QStringLiteral("x"), 1);
        model.finish(99, MessageState::Complete, {});
        QVERIFY(!model.choose_sibling(99, 1));
    }

    void a_thousand_random_changes() {
        ChatModel model(chat(1, 1));
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QRandomGenerator random(7);
        for (int i = 0; i < 1000; ++i) {
            const int rows = model.rowCount();
            const qint64 any = rows > 0 ? model.message(static_cast<int>(random.bounded(rows))).id : 0;
            ChatModel::Begun begun;
            switch (random.bounded(6)) {
                case 0:
                    begun = rows < 12 ? model.add_turn(QString::number(i), {}) : ChatModel::Begun{};
                    break;
                case 1: begun = model.regenerate(any, {}); break;
                case 2: begun = model.edit(any, QString::number(i), {}); break;
                case 3: model.choose_sibling(any, random.bounded(2) ? 1 : -1); break;
                case 4: model.append(any, QStringLiteral("x"), 1); break;
                case 5: {
                    begun = model.add_turn(QStringLiteral("gone"), {});
                    model.withdraw(begun);
                    begun = {};
                    break;
                }
            }
            if (begun.answer != 0) model.finish(begun.answer, MessageState::Complete, {});
            // Roles alternate along the path, and each row's parent is the row before.
            for (int row = 1; row < model.rowCount(); ++row)
                QCOMPARE(model.message(row).parent, model.message(row - 1).id);
        }
    }

    void titles_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("title");
        QTest::newRow("first line") << "\n\n  Why tides?  \nmore"
                                    << "Why tides?";
        QTest::newRow("nothing") << " \n\t"
                                 << "";
        QTest::newRow("control characters") << QString::fromUtf8("a\u202Eb\u0007c") << "abc";
        QTest::newRow("cut between words")
            << "The quick brown fox jumps over the lazy dog and then over another one again"
            << QString::fromUtf8("The quick brown fox jumps over the lazy dog and then over…");
        QTest::newRow("no words") << QString(500, u'x') << QString(60, u'x') + QChar(0x2026);
    }
    void titles() {
        QFETCH(QString, text);
        QFETCH(QString, title);
        QCOMPARE(title_from(text), title);
        QVERIFY(title_from(QString(1'000'000, u'm')).size() <= 61);
    }

    void settings_survive_any_json_data() {
        QTest::addColumn<QByteArray>("json");
        for (const char* text :
             {"", "{", "[]", "null", "{\"temperature\":\"abc\"}", "{\"temperature\":1e999}", "{\"top_k\":-4}",
              "{\"top_p\":7}", "{\"seed\":\"99999999999999999999999\"}", "{\"max_tokens\":0}", "\xFF\xFE"})
            QTest::newRow(text) << QByteArray(text);
    }
    void settings_survive_any_json() {
        QFETCH(QByteArray, json);
        QCOMPARE(ChatSettings::from_json(json), ChatSettings{});
    }
    void settings_round_trip() {
        ChatSettings s;
        s.system = QStringLiteral("日本 \"x\"\n");
        s.seed = ~quint64(0);
        s.temperature = 0.3;
        s.max_tokens = -1;
        s.merge_turns = true;
        QCOMPARE(ChatSettings::from_json(s.to_json()), s);
    }

    void list_is_sorted_grouped_and_filtered() {
        ChatListModel list;
        QAbstractItemModelTester tester(&list, QAbstractItemModelTester::FailureReportingMode::QtTest);
        ChatFilter filter;
        filter.setSourceModel(&list);
        QAbstractItemModelTester filter_tester(&filter,
                                               QAbstractItemModelTester::FailureReportingMode::QtTest);
        const QDate today(2026, 6, 15);
        list.set_today(today);
        const auto at = [&](int days_ago) {
            return today.addDays(-days_ago).startOfDay().addSecs(3600 * 12).toMSecsSinceEpoch();
        };
        list.set_chats({chat(1, at(0), "Tides"), chat(2, at(1), "Soup for four"), chat(3, at(3), "Letter"),
                        chat(4, at(90), "Old soup")});
        QStringList groups;
        for (int row = 0; row < list.rowCount(); ++row)
            groups << list.index(row).data(ChatListModel::GroupRole).toString();
        QCOMPARE(groups, QStringList({"Today", "Yesterday", "Last seven days", "Earlier"}));
        filter.set_text(QStringLiteral("soup"));
        QCOMPARE(filter.rowCount(), 2);
        filter.set_text(QStringLiteral("SOUP four"));
        QCOMPARE(filter.rowCount(), 1);
        filter.set_text({});
        Chat moved = *list.find(4);
        moved.updated = at(0) + 1;
        list.put(moved);
        QCOMPARE(list.row_of(4), 0);
        Chat pinned = *list.find(3);
        pinned.pinned = true;
        list.put(pinned);
        QCOMPARE(list.row_of(3), 0);
        Chat gone = *list.find(1);
        gone.deleted = 5;
        list.put(gone);
        QCOMPARE(list.row_of(1), -1);
        // A clock that jumped: the future is today.
        list.put(chat(9, at(-400), "Future"));
        QCOMPARE(list.index(list.row_of(9)).data(ChatListModel::GroupRole).toString(),
                 QStringLiteral("Today"));
    }

    void list_under_random_changes() {
        ChatListModel list;
        QAbstractItemModelTester tester(&list, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QRandomGenerator random(3);
        for (int i = 0; i < 1500; ++i) {
            const qint64 id = random.bounded(12) + 1;
            switch (random.bounded(4)) {
                case 0:
                case 1: {
                    Chat c = chat(id, random.bounded(1000), QString::number(id));
                    c.pinned = random.bounded(5) == 0;
                    list.put(c);
                    break;
                }
                case 2: list.remove(id); break;
                case 3: list.set_busy(id, random.bounded(2)); break;
            }
            for (int row = 1; row < list.rowCount(); ++row) {
                const bool p0 = list.index(row - 1).data(ChatListModel::PinnedRole).toBool(),
                           p1 = list.index(row).data(ChatListModel::PinnedRole).toBool();
                QVERIFY(p0 || !p1);
                if (p0 == p1)
                    QVERIFY(list.index(row - 1).data(ChatListModel::UpdatedRole).toLongLong() >=
                            list.index(row).data(ChatListModel::UpdatedRole).toLongLong());
            }
        }
    }

    void figures_data() {
        QTest::addColumn<QString>("shown");
        QTest::addColumn<QString>("wanted");
        QTest::newRow("three digits") << figure_text(171.34) << "171";
        QTest::newRow("two places") << figure_text(5.806) << "5.81";
        QTest::newRow("carry") << figure_text(99.96) << "100";
        QTest::newRow("small") << figure_text(0.0412) << "0.0412";
        QTest::newRow("nan") << figure_text(std::nan("")) << QString::fromUtf8("–");
        QTest::newRow("bytes") << bytes_text(96'468'992).replace(QChar(0xA0), ' ') << "92.0 MiB";
        QTest::newRow("below the next unit")
            << bytes_text(1023 * 1024).replace(QChar(0xA0), ' ') << "0.999 MiB";
        QTest::newRow("count") << count_text(1234567).replace(QChar(0x202F), ' ') << "1 234 567";
        QTest::newRow("duration") << duration_text(0.041).replace(QChar(0xA0), ' ') << "41.0 ms";
    }
    void figures() {
        QFETCH(QString, shown);
        QFETCH(QString, wanted);
        QCOMPARE(shown, wanted);
    }
};

QTEST_GUILESS_MAIN(TestChatModels)
#include "tst_chat_models.moc"
