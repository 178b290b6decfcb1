// Looking closer at a conversation: search, the token inspector by mouse and keys, colours and marks of
// tokens, links, code and thinking blocks, what is copied.
#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>
#include <QtTest>

#include "ui/chat/chat_page.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/coloring_bar.h"
#include "ui/chat/find_bar.h"
#include "ui/chat/token_inspector.h"
#include "ui/settings/theme.h"

using namespace vitrine;
using namespace vitrine::ui;

namespace {

QString prose(int words) {
    QString text;
    for (int i = 0; i < words; ++i)
        text += QStringLiteral("word%1%2")
                    .arg(i)
                    .arg(i % 13 == 12 ? QStringLiteral(".\n\n") : QStringLiteral(" "));
    return text;
}

// A reply whose tokens are known: each word with the space before it.
struct Shown {
    ChatModel model{[] {
        Chat c;
        c.id = 1;
        return c;
    }()};
    TokenTraces traces;
    ChatPage page;
    ChatView& view = *page.view();
    ChatModel::Begun begun;
    qint64 answer = 0;

    explicit Shown(const QString& reply, bool finished = true) {
        page.resize(800, 700);
        view.set_model(&model);
        view.set_traces(&traces);
        page.show();
        begun = model.add_turn(QStringLiteral("Why?"), {});
        answer = begun.answer;
        traces.begin(answer, {49152, 16, 100, 0});
        say(reply);
        if (finished) {
            MessageStats stats;
            stats.tokens = 3;
            model.finish(answer, MessageState::Complete, stats);
        }
        settle();
    }
    void say(const QString& text) {
        model.append(answer, text, 1);
        std::vector<AnswerToken> tokens;
        qsizetype begin = 0;
        for (qsizetype i = 1; i <= text.size(); ++i) {
            if (i < text.size() && text[i] != u' ' && text[i] != u'\n') continue;
            AnswerToken t;
            t.id = 1000 + static_cast<int>(begin);
            t.piece = text.mid(begin, i - begin).toStdString();
            t.text_units = static_cast<std::int32_t>(i - begin);
            t.rank = 1 + static_cast<int>(tokens.size()) % 3;
            t.log_probability = -0.5F * static_cast<float>(tokens.size() % 9);
            t.probability = 0.25F;
            t.seconds = tokens.size() % 10 == 9 ? 0.09F : 0.01F;
            t.origin = static_cast<TokenOrigin>(tokens.size() % 4);
            t.candidates = {{t.id, t.log_probability, 0.25F, t.piece, false},
                            {7, -1.2F, 0.1F, " other", false},
                            {8, -3.0F, 0.0F, " third", false},
                            {9, -4.0F, 0.0F, "<|end|>", true},
                            {10, -5.0F, 0.0F, "\xE2\x82", false}};
            tokens.push_back(t);
            begin = i;
        }
        traces.edit(answer)->append(tokens);
        traces.announce(answer);
    }
    void settle() {
        for (int i = 0; i < 200; ++i) QCoreApplication::processEvents();
        view.grab();
    }
    const TokenTrace& trace() { return *traces.find(answer); }
    QRect token_rect(int token) {
        return view.range_rect(answer, trace().begin(token), trace().token(token).end);
    }
    // The middle of a token's word, past the space before it.
    void click_token(int token) {
        qint32 from = trace().begin(token);
        const QString& text = model.message(1).text;
        while (text[from].isSpace()) ++from;
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {},
                          view.range_rect(answer, from, from + 1).center());
    }
};

bool over_line(const TokenInspector* inspector, const QRect& token) {
    return inspector->geometry().intersects(QRect(0, token.top(), 4000, token.height()));
}

}  // namespace

class TestChatTokens : public QObject {
    Q_OBJECT

  private slots:
    void a_click_opens_the_inspector_below_the_line() {
        Shown shown(QStringLiteral("The Moon pulls the water of the sea."));
        QSignalSpy inspected(&shown.view, &ChatView::token_inspected);
        shown.view.set_block_of(
            [](qint64, qint32 offset) { return QStringLiteral("logical %1").arg(offset); });
        for (const int token : {0, 2, 5, 7}) {
            shown.click_token(token);
            QVERIFY(shown.view.inspector_open());
            TokenInspector* inspector = shown.view.inspector();
            QVERIFY(inspector->isVisible());
            QCOMPARE(inspected.last().at(1).toInt(), token);
            QCOMPARE(
                inspector->title(),
                QStringLiteral("“%1”").arg(shown_token(shown.trace().bytes(shown.trace().token(token).id))));
            QCOMPARE(inspector->value(QStringLiteral("block")),
                     QStringLiteral("logical %1").arg(shown.trace().begin(token)));
            QVERIFY(!over_line(inspector, shown.token_rect(token)));
            QVERIFY(shown.view.viewport()->rect().contains(inspector->geometry()));
        }
        QVERIFY(shown.view.inspector()->value(QStringLiteral("rank")).contains(QStringLiteral("of 49")));
        QVERIFY(shown.view.inspector()->accessibleDescription().contains(QStringLiteral("rank")));
        QCOMPARE(shown.view.inspector()->list()->entries().size(), std::size_t(5));
        // A click beside the text closes it.
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, QPoint(20, 650));
        QVERIFY(!shown.view.inspector_open());
        QCOMPARE(inspected.last().at(1).toInt(), -1);
    }

    void near_the_lower_edge_it_stands_above() {
        Shown shown(prose(900));
        shown.view.scroll_to_end();
        shown.settle();
        int last = shown.trace().size() - 1;
        while (shown.token_rect(last).bottom() > shown.view.viewport()->height() - 40) --last;
        QVERIFY(shown.view.inspect(shown.answer, last));
        const QRect token = shown.token_rect(last);
        QVERIFY(!over_line(shown.view.inspector(), token));
        QVERIFY(shown.view.inspector()->geometry().bottom() < token.top());
        // However small the window: beside the line, never over it.
        for (const int height : {420, 300, 220}) {
            shown.page.resize(600, height);
            shown.settle();
            shown.view.inspect(shown.answer, last);
            QVERIFY(!over_line(shown.view.inspector(), shown.token_rect(last)));
        }
    }

    void arrows_walk_and_escape_closes() {
        Shown shown(prose(400));
        QVERIFY(shown.view.inspect(shown.answer, 0));
        shown.view.setFocus();
        QSignalSpy inspected(&shown.view, &ChatView::token_inspected);
        QTest::keyClick(&shown.view, Qt::Key_Left);
        QCOMPARE(inspected.size(), 0);  // there is none before the first
        for (int i = 1; i <= 120; ++i) {
            QTest::keyClick(&shown.view, Qt::Key_Right);
            QCOMPARE(inspected.last().at(1).toInt(), i);
            // Wherever it walks, its token is on screen and free.
            const QRect token = shown.token_rect(i);
            if (token.isNull()) continue;  // a line end
            QVERIFY(shown.view.viewport()->rect().intersects(token));
            QVERIFY(!over_line(shown.view.inspector(), token));
        }
        QTest::keyClick(&shown.view, Qt::Key_Left);
        QCOMPARE(inspected.last().at(1).toInt(), 119);
        QTest::keyClick(&shown.view, Qt::Key_Escape);
        QVERIFY(!shown.view.inspector_open());
        QVERIFY(!shown.view.inspector()->isVisible());
        QTest::keyClick(&shown.view, Qt::Key_Right);  // goes nowhere now
        QVERIFY(!shown.view.inspector_open());
    }

    void a_branch_is_asked_for_with_another_candidate() {
        Shown shown(QStringLiteral("The Moon pulls."));
        QSignalSpy branch(&shown.view, &ChatView::branch_requested);
        QVERIFY(shown.view.inspect(shown.answer, 1));
        TokenInspector* inspector = shown.view.inspector();
        QVERIFY(!inspector->branch_button()->isVisible());  // nobody could do it
        shown.view.set_branching(true);
        QVERIFY(inspector->branch_button()->isVisible());
        QVERIFY(!inspector->branch_button()->isEnabled());  // the chosen one is selected
        QTest::keyClick(&shown.view, Qt::Key_Return);
        QCOMPARE(branch.size(), 0);
        QTest::keyClick(&shown.view, Qt::Key_Down);
        QVERIFY(inspector->branch_button()->isEnabled());
        QVERIFY(inspector->branch_button()->text().contains(QStringLiteral("other")));
        QTest::mouseClick(inspector->branch_button(), Qt::LeftButton);
        QCOMPARE(branch.size(), 1);
        QCOMPARE(branch[0][0].toLongLong(), shown.answer);
        QCOMPARE(branch[0][1].toInt(), 1);
        QCOMPARE(branch[0][2].toInt(), 7);
        QCOMPARE(branch[0][3].toByteArray(), QByteArray(" other"));
        QTest::mouseClick(inspector->list(), Qt::LeftButton, {}, inspector->list()->row_rect(2).center());
        QTest::keyClick(&shown.view, Qt::Key_Return);
        QCOMPARE(branch.size(), 2);
        QCOMPARE(branch[1][2].toInt(), 8);
        // The end of the answer and half a character: there is no text to go on from.
        for (int i = 0; i < 2; ++i) {
            QTest::keyClick(&shown.view, Qt::Key_Down);
            QVERIFY(!inspector->branch_button()->isEnabled());
            QTest::keyClick(&shown.view, Qt::Key_Return);
        }
        QCOMPARE(branch.size(), 2);
        // While the answer is written there is nothing to branch from yet.
        Shown writing(QStringLiteral("The Moon pulls."), false);
        writing.view.set_branching(true);
        writing.view.inspect(writing.answer, 1);
        QVERIFY(!writing.view.inspector()->branch_button()->isVisible());
    }

    void the_inspector_stays_while_the_reply_grows() {
        Shown shown(prose(40), false);
        QVERIFY(shown.view.inspect(shown.answer, 3));
        const QRect before = shown.token_rect(3);
        for (int i = 0; i < 20; ++i) {
            shown.say(prose(40));
            QCoreApplication::processEvents();
            QCOMPARE(shown.token_rect(3), before);
            QVERIFY(!over_line(shown.view.inspector(), before));
        }
        QVERIFY(shown.view.inspector_open());
    }

    void a_reply_from_the_store_opens_when_its_tokens_have_come() {
        Shown shown(QStringLiteral("The Moon pulls."));
        const QByteArray blob = shown.trace().to_blob();
        shown.traces.forget(shown.answer);
        QSignalSpy wanted(&shown.traces, &TokenTraces::wanted);
        const QRect word = shown.view.range_rect(shown.answer, 5, 6);
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, word.center());
        QCOMPARE(wanted.size(), 1);
        QVERIFY(!shown.view.inspector_open());
        shown.traces.loaded(shown.answer, blob);
        QVERIFY(shown.view.inspector_open());
        QCOMPARE(shown.view.inspector()->title(), QStringLiteral("“ Moon”"));
    }

    void selecting_and_double_clicking_open_nothing() {
        Shown shown(QStringLiteral("The Moon pulls the water."));
        QWidget* port = shown.view.viewport();
        const QPoint from = shown.view.range_rect(shown.answer, 0, 1).center();
        const QPoint to = shown.view.range_rect(shown.answer, 12, 13).center();
        QTest::mousePress(port, Qt::LeftButton, {}, from);
        QMouseEvent move(QEvent::MouseMove, QPointF(to), port->mapToGlobal(QPointF(to)), Qt::NoButton,
                         Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(port, &move);
        QTest::mouseRelease(port, Qt::LeftButton, {}, to);
        QVERIFY(shown.view.has_selection());
        QVERIFY(!shown.view.inspector_open());
        QTest::mouseClick(port, Qt::LeftButton, {}, from);  // ends the selection
        QVERIFY(!shown.view.has_selection());
        QVERIFY(!shown.view.inspector_open());
        QTest::mouseClick(port, Qt::LeftButton, {}, to);
        QVERIFY(shown.view.inspector_open());
        QTest::mouseDClick(port, Qt::LeftButton, {}, to);
        QVERIFY(!shown.view.inspector_open());
        QCOMPARE(shown.view.selected_text(), QStringLiteral("pulls"));
    }

    void tokens_of_marks_and_folded_thinking() {
        const QString reply = QStringLiteral("<think>\nhm hm hm\n</think>\n\n## A **bold** end");
        Shown shown(reply);
        // A token inside the folded block: walking onto it unfolds it.
        QVERIFY(shown.view.inspect(shown.answer, 2));
        QVERIFY(!shown.view.text_of(1)->thoughts()[0].folded);
        for (int t = 0; t < shown.trace().size(); ++t) {
            QVERIFY(shown.view.inspect(shown.answer, t));
            QVERIFY(shown.view.viewport()->rect().contains(shown.view.inspector()->geometry().center()));
        }
    }

    // Each colouring changes pixels of tokens, and the legend says what they mean.
    void colours_and_their_legend() {
        for (const bool dark : {false, true}) {
            set_current_theme(dark ? Theme::dark() : Theme::light());
            Shown shown(prose(60));
            ColoringBar* bar = shown.page.coloring_bar();
            QVERIFY(bar->isVisible());
            const QImage plain = shown.view.grab().toImage();
            QSet<QString> legends;
            for (const Coloring c : {Coloring::Probability, Coloring::Origin, Coloring::Latency}) {
                QTest::mouseClick(bar->button(c), Qt::LeftButton);
                QCOMPARE(shown.view.coloring(), c);
                QVERIFY(!bar->legend_text().isEmpty());
                legends.insert(bar->legend_text());
                QVERIFY(shown.view.grab().toImage() != plain);
            }
            QCOMPARE(legends.size(), 3);
            bar->step();
            QCOMPARE(shown.view.coloring(), Coloring::None);
            QVERIFY(shown.view.grab().toImage() == plain);
        }
        set_current_theme(Theme::light());
    }

    void marks_are_brought_into_view_and_taken_away() {
        Shown shown(prose(3000));
        shown.view.scroll_to_end();
        shown.settle();
        const QImage before = shown.view.grab().toImage();
        shown.view.set_marks({{shown.answer, 300, 340}});
        QVERIFY(shown.view.viewport()->rect().intersects(shown.view.range_rect(shown.answer, 300, 340)));
        QVERIFY(!shown.view.following());
        shown.view.set_marks({});
        shown.view.scroll_to_end();
        shown.settle();
        QCOMPARE(shown.view.grab().toImage(), before);
    }

    void find_counts_and_walks() {
        Shown shown(
            prose(2000) +
            QStringLiteral("\n\n| a | NEEDLE |\n|---|---|\n| needle | x |\n\n```\nneedle()\n```\n\nNeedle."));
        FindBar* bar = shown.page.find_bar();
        bar->open();
        QVERIFY(bar->isVisible());
        QTest::keyClicks(bar->field(), QStringLiteral("needle"));
        QCOMPARE(shown.view.match_count(), 4);
        QCOMPARE(bar->count_text(), QStringLiteral("1 of 4"));
        QSet<int> values;
        for (int i = 0; i < 4; ++i) {
            QCOMPARE(shown.view.current_match(), i);
            QTest::keyClick(bar->field(), Qt::Key_Return);
        }
        QCOMPARE(shown.view.current_match(), 0);  // round
        QTest::keyClick(bar->field(), Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(shown.view.current_match(), 3);
        const qsizetype at = shown.model.message(1).text.lastIndexOf(QStringLiteral("Needle"));
        QVERIFY(shown.view.viewport()->rect().contains(
            shown.view.range_rect(shown.answer, static_cast<qint32>(at), static_cast<qint32>(at + 6))));
        bar->field()->setText(QStringLiteral("word17 "));
        QCOMPARE(shown.view.match_count(), 1);
        bar->field()->setText(QStringLiteral("not there"));
        QCOMPARE(shown.view.match_count(), 0);
        QCOMPARE(bar->count_text(), QStringLiteral("nothing found"));
        QTest::keyClick(bar->field(), Qt::Key_Escape);
        QVERIFY(!bar->isVisible());
        QCOMPARE(shown.view.match_count(), 0);
    }

    // A reply that grows is searched where it grows; the place that was found stays the same.
    void find_while_it_is_written() {
        Shown shown(QStringLiteral("needle one\n\n"), false);
        shown.view.find(QStringLiteral("needle"));
        QCOMPARE(shown.view.match_count(), 1);
        const QString more =
            QStringLiteral("a needle, **nee") + QStringLiteral("dle** and\n\n- needle\n- x\n\n");
        for (int round = 0; round < 5; ++round)
            for (const QChar c : more) shown.model.append(shown.answer, c, 0);
        QCOMPARE(shown.view.match_count(), 1 + 5 * 3);
        QCOMPARE(shown.view.current_match(), 0);
        shown.view.find({});
        shown.view.find(QStringLiteral("needle"));
        QCOMPARE(shown.view.match_count(), 1 + 5 * 3);  // as from the beginning
    }

    void find_opens_what_is_folded() {
        Shown shown(QStringLiteral("<think>\nsecret needle\n</think>\n\nAnswer"));
        QVERIFY(shown.view.text_of(1)->thoughts()[0].folded);
        shown.view.find(QStringLiteral("needle"));
        QCOMPARE(shown.view.match_count(), 1);
        QVERIFY(!shown.view.text_of(1)->thoughts()[0].folded);
    }

    void find_a_letter_in_a_very_long_chat() {
        Shown shown(QStringLiteral("e ").repeated(20'000));
        shown.view.find(QStringLiteral("e"));
        QCOMPARE(shown.view.match_count(), ChatView::most_matches);
        shown.view.find_step(-1);
        QCOMPARE(shown.view.current_match(), ChatView::most_matches - 1);
    }

    void links_open_only_on_a_click_and_only_safe_ones() {
        Shown shown(
            QStringLiteral("See [the page](https://example.org/x) or [bad](file:///etc/passwd) now."));
        QSignalSpy links(&shown.view, &ChatView::link_activated);
        shown.settle();
        const auto click = [&](qint32 at) {
            QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {},
                              shown.view.range_rect(shown.answer, at, at + 1).center());
        };
        const QString& text = shown.model.message(1).text;
        click(static_cast<qint32>(text.indexOf(QStringLiteral("page"))));
        QCOMPARE(links.size(), 1);
        QCOMPARE(links[0][0].toUrl(), QUrl(QStringLiteral("https://example.org/x")));
        QVERIFY(!shown.view.inspector_open());
        click(static_cast<qint32>(text.indexOf(QStringLiteral("etc"))));
        click(0);
        QCOMPARE(links.size(), 1);
    }

    void code_is_copied_with_its_button() {
        Shown shown(QStringLiteral("Text\n\n```python\nx = 1\n\n  y\n```\n\nmore"));
        QApplication::clipboard()->setText(QStringLiteral("before"));
        // The head of the block, at its right end.
        const QRect code = shown.view.range_rect(shown.answer, 16, 17);
        const int right = static_cast<int>(shown.view.column_left() + shown.view.column_width()) - 20;
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, QPoint(right, code.top() - 18));
        QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("x = 1\n\n  y"));
    }

    void thinking_is_folded_until_somebody_clicks() {
        Shown shown(QStringLiteral("<think>\n") + prose(120) + QStringLiteral("\n</think>\n\nThe answer."),
                    false);
        QVERIFY(!shown.view.shown_text(1).contains(QStringLiteral("word5")));
        QVERIFY(shown.view.shown_text(1).contains(QStringLiteral("The answer.")));
        const int before = shown.view.row_rect(1).height();
        const QPoint head(static_cast<int>(shown.view.column_left()) + 30, shown.view.row_rect(1).top() + 12);
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, head);
        QVERIFY(shown.view.shown_text(1).contains(QStringLiteral("word5")));
        QVERIFY(shown.view.row_rect(1).height() > before + 100);
        shown.say(QStringLiteral(" And more."));  // what grows does not fold it again
        QVERIFY(shown.view.shown_text(1).contains(QStringLiteral("word5")));
        const QPoint again(head.x(), shown.view.row_rect(1).top() + 12);
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, again);
        QVERIFY(!shown.view.shown_text(1).contains(QStringLiteral("word5")));
    }

    void copies_as_markdown_and_as_text() {
        const QString reply = QStringLiteral(
            "## Head\n\nA **bold** [link](http://a.b).\n\n- one\n  - two\n\n| a | b |\n|---|---|\n| 1 | 2 "
            "|\n\n"
            "```c\nint x;\n```");
        Shown shown(reply);
        shown.view.copy_message(shown.answer);
        QCOMPARE(QApplication::clipboard()->text(), reply);
        shown.view.copy_message_text(shown.answer);
        QCOMPARE(QApplication::clipboard()->text(),
                 QStringLiteral("Head\n\nA bold link.\n\n• one\n  • two\n\na\tb\n1\t2\n\nint x;"));
        shown.view.select_all();
        QCOMPARE(shown.view.selected_markdown(), QStringLiteral("Why?\n\n") + reply);
        QCOMPARE(shown.view.selected_text(),
                 QStringLiteral("Why?\n\nHead\n\nA bold link.\n\n• one\n  • two\n\na\tb\n1\t2\n\nint x;"));
        // From inside one message into the next.
        QWidget* port = shown.view.viewport();
        const auto at = [&](const QString& word) {
            const auto from = static_cast<qint32>(reply.indexOf(word));
            return shown.view.range_rect(shown.answer, from, from + 1);
        };
        const QPoint from(at(QStringLiteral("bold")).left() + 1, at(QStringLiteral("bold")).center().y());
        const QPoint to(at(QStringLiteral("two")).left() + 1, at(QStringLiteral("two")).center().y());
        QTest::mousePress(port, Qt::LeftButton, {}, from);
        QMouseEvent move(QEvent::MouseMove, QPointF(to), port->mapToGlobal(QPointF(to)), Qt::NoButton,
                         Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(port, &move);
        QTest::mouseRelease(port, Qt::LeftButton, {}, to);
        QCOMPARE(shown.view.selected_text(), QStringLiteral("bold link.\n\n• one\n  • "));
        QCOMPARE(shown.view.selected_markdown(), QStringLiteral("bold** [link](http://a.b).\n\n- one\n  - "));
    }

    void continue_and_stop_are_offered_where_they_help() {
        Shown shown(prose(10), false);
        shown.view.set_branching(true);
        QSignalSpy stop(&shown.view, &ChatView::stop_requested);
        QSignalSpy resume(&shown.view, &ChatView::continue_requested);
        const auto click_footer = [&] {
            // The words at the right end of the footer, one after the other.
            shown.view.grab();
            const QRect row = shown.view.row_rect(1);
            const int right = static_cast<int>(shown.view.column_left() + shown.view.column_width());
            for (int x = right - 4; x > right - 260; x -= 6)
                QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, QPoint(x, row.bottom() - 12));
        };
        click_footer();
        QVERIFY(stop.size() >= 1);
        QCOMPARE(resume.size(), 0);
        MessageStats stats;
        stats.finish = QStringLiteral("cancelled");
        shown.model.finish(shown.answer, MessageState::Stopped, stats);
        stop.clear();
        click_footer();
        QVERIFY(resume.size() >= 1);
        QCOMPARE(resume[0][0].toLongLong(), shown.answer);
        QCOMPARE(stop.size(), 0);
        resume.clear();
        stats.finish = QStringLiteral("stop");
        shown.model.finish(shown.answer, MessageState::Complete, stats);
        click_footer();
        QCOMPARE(resume.size(), 0);  // it has said what it had to say
    }
};

QTEST_MAIN(TestChatTokens)
#include "tst_chat_tokens.moc"
