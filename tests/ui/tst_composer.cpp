// Composer, settings card, notices: keys, input methods, large pastes, dropped files.
#include <QClipboard>
#include <QInputMethodEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "ui/chat/chat_settings_card.h"
#include "ui/chat/composer.h"
#include "ui/chat/composer_edit.h"
#include "ui/chat/context_gauge.h"
#include "ui/chat/notice_bar.h"

using namespace vitrine::ui;

class TestComposer : public QObject {
    Q_OBJECT

  private slots:
    void enter_sends_and_shift_enter_breaks() {
        Composer composer;
        QSignalSpy sent(&composer, &Composer::send_requested);
        QTest::keyClicks(composer.edit(), QStringLiteral("one"));
        QTest::keyClick(composer.edit(), Qt::Key_Return, Qt::ShiftModifier);
        QTest::keyClicks(composer.edit(), QStringLiteral("two"));
        QCOMPARE(sent.size(), 0);
        QTest::keyClick(composer.edit(), Qt::Key_Return);
        QCOMPARE(sent.size(), 1);
        QCOMPARE(sent[0][0].toString(), QStringLiteral("one\ntwo"));
        composer.clear();
        QTest::keyClick(composer.edit(), Qt::Key_Return);
        QTest::keyClicks(composer.edit(), QStringLiteral("   "));
        QTest::keyClick(composer.edit(), Qt::Key_Enter);
        QCOMPARE(sent.size(), 1);  // nothing but spaces is no message
    }

    // GUI-22: Enter that confirms what the input method shows does not send.
    void gui_22_input_method() {
        Composer composer;
        QSignalSpy sent(&composer, &Composer::send_requested);
        QInputMethodEvent preedit(QString::fromUtf8("にほん"), {});
        QCoreApplication::sendEvent(composer.edit(), &preedit);
        QTest::keyClick(composer.edit(), Qt::Key_Return);
        QCOMPARE(sent.size(), 0);
        QCOMPARE(composer.text(), QString::fromUtf8("にほん"));
        QTest::keyClick(composer.edit(), Qt::Key_Return);
        QCOMPARE(sent.size(), 1);
        QCOMPARE(sent[0][0].toString(), QString::fromUtf8("にほん"));
        // An input method that takes the Enter itself and commits.
        composer.clear();
        QCoreApplication::sendEvent(composer.edit(), &preedit);
        QInputMethodEvent commit;
        commit.setCommitString(QString::fromUtf8("日本"));
        QCoreApplication::sendEvent(composer.edit(), &commit);
        QCOMPARE(composer.text(), QString::fromUtf8("日本"));
        QTest::keyClick(composer.edit(), Qt::Key_Return);
        QCOMPARE(sent.size(), 2);
    }

    void blocked_and_answering() {
        Composer composer;
        QSignalSpy sent(&composer, &Composer::send_requested);
        QSignalSpy stopped(&composer, &Composer::stop_requested);
        QVERIFY(!composer.button()->isEnabled());
        composer.set_text(QStringLiteral("x"));
        QVERIFY(composer.button()->isEnabled());
        composer.set_blocked(QStringLiteral("No model"));
        QVERIFY(!composer.button()->isEnabled());
        QCOMPARE(composer.button()->toolTip(), QStringLiteral("No model"));
        QTest::keyClick(composer.edit(), Qt::Key_Return);
        QCOMPARE(sent.size(), 0);
        composer.set_answering(true);
        QCOMPARE(composer.button()->text(), QStringLiteral("Stop"));
        QVERIFY(composer.button()->isEnabled());
        composer.button()->click();
        QCOMPARE(stopped.size(), 1);
        QTest::keyClick(composer.edit(), Qt::Key_Return);
        QCOMPARE(sent.size(), 0);
        QCOMPARE(composer.text(), QStringLiteral("x"));
    }

    // GUI-01: a large paste is attached; the field is never given what it would lay out for seconds.
    void gui_01_large_pastes_are_attached_data() {
        QTest::addColumn<QString>("pasted");
        QTest::newRow("1 MB in one line") << QString(1'000'000, u'x');
        QTest::newRow("200 KB of JSON") << QStringLiteral("{\"key\": [1, 2, 3]},\n").repeated(10'000);
        QTest::newRow("just above") << QString(ComposerEdit::large + 1, u'y');
    }
    void gui_01_large_pastes_are_attached() {
        QFETCH(QString, pasted);
        Composer composer;
        QSignalSpy sent(&composer, &Composer::send_requested);
        QTest::keyClicks(composer.edit(), QStringLiteral("Summarise:"));
        QApplication::clipboard()->setText(pasted);
        composer.edit()->paste();
        QCOMPARE(composer.edit()->toPlainText(), QStringLiteral("Summarise:"));
        QCOMPARE(composer.text(), QStringLiteral("Summarise:\n\n") + pasted);
        composer.button()->click();
        QCOMPARE(sent.size(), 1);
        QCOMPARE(sent[0][0].toString(), composer.text());
        // And put back after a refusal it is attached again.
        composer.set_text(pasted);
        QVERIFY(composer.edit()->toPlainText().isEmpty());
        QCOMPARE(composer.text(), pasted);
    }

    void small_pastes_go_into_the_field_as_plain_text() {
        Composer composer;
        auto* data = new QMimeData;
        data->setHtml(QStringLiteral("<b>bold</b>"));
        data->setText(QStringLiteral("bold"));
        QApplication::clipboard()->setMimeData(data);
        composer.edit()->paste();
        QCOMPARE(composer.edit()->toPlainText(), QStringLiteral("bold"));
    }

    void dropped_files() {
        QTemporaryDir folder;
        const auto write = [&](const QString& name, const QByteArray& bytes) {
            QFile file(folder.filePath(name));
            if (!file.open(QIODevice::WriteOnly)) return QString();
            file.write(bytes);
            return file.fileName();
        };
        const QString text = write(QString::fromUtf8("モデル %41 #.txt"), "inside");
        const QString binary = write(QStringLiteral("x.bin"), QByteArray("a\0b", 3));
        const QString model = write(QStringLiteral("x.GGUF"), "GGUF");
        Composer composer;
        QSignalSpy refused(&composer, &Composer::refused);
        QSignalSpy dropped(&composer, &Composer::model_dropped);
        emit composer.edit()->file_dropped(text);
        QCOMPARE(composer.text(), QStringLiteral("inside"));
        emit composer.edit()->file_dropped(binary);
        emit composer.edit()->file_dropped(folder.path());
        emit composer.edit()->file_dropped(folder.filePath(QStringLiteral("not there")));
        QCOMPARE(refused.size(), 3);
        emit composer.edit()->file_dropped(model);
        QCOMPARE(dropped.size(), 1);
    }

    void gauge_says_what_it_knows() {
        ContextGauge gauge;
        QCOMPARE(gauge.text(), QStringLiteral("no model"));
        gauge.set_figures(-1, 0, 8192);
        QVERIFY(gauge.text().startsWith(QString::fromUtf8("–")));  // never 0 for "not known"
        gauge.set_figures(286, 12, 8192);
        QCOMPARE(gauge.text().replace(QChar(0x202F), u' '), QStringLiteral("286 of 8 192 tokens"));
        QVERIFY(!gauge.overfull());
        gauge.set_figures(8192, 12, 8192);  // CTX-02: 8 192 of 8 192 leaves no room for an answer
        QVERIFY(gauge.overfull());
    }

    void settings_card_gives_back_what_it_got() {
        ChatSettingsCard card;
        QSignalSpy changed(&card, &ChatSettingsCard::changed);
        ChatSettings s;
        s.system = QStringLiteral("Be brief.");
        s.temperature = 0;
        s.top_k = 0;
        s.top_p = 0.5;
        s.min_p = 0;
        s.repetition_penalty = 1.25;
        s.max_tokens = -1;
        s.random_seed = false;
        s.seed = 1234567890123456789ULL;
        s.merge_turns = true;
        card.set_settings(s);
        QCOMPARE(changed.size(), 0);
        QCOMPARE(card.settings(), s);
        QVERIFY(ChatSettingsCard::summary(s).contains(QStringLiteral("Greedy")));
    }

    void notices_wait_in_line_and_are_plain_text() {
        NoticeBar bar;
        bar.show_notice({Notice::Info, QStringLiteral("first"), {}, QStringLiteral("a"), 0});
        bar.show_notice({Notice::Info, QStringLiteral("second"), {}, QStringLiteral("b"), 0});
        QCOMPARE(bar.text(), QStringLiteral("first"));
        bar.show_notice({Notice::Bad, QStringLiteral("<b>bad</b>"), {}, QStringLiteral("c"), 0});
        QCOMPARE(bar.text(), QStringLiteral("<b>bad</b>"));
        for (const QLabel* label : bar.findChildren<QLabel*>()) QCOMPARE(label->textFormat(), Qt::PlainText);
        bar.dismiss_current();
        QCOMPARE(bar.text(), QStringLiteral("first"));
        bar.show_notice({Notice::Info, QStringLiteral("first, newer"), {}, QStringLiteral("a"), 0});
        QCOMPARE(bar.text(), QStringLiteral("first, newer"));
        bar.dismiss(QStringLiteral("b"));
        bar.dismiss_current();
        QVERIFY(bar.text().isEmpty());
        QVERIFY(bar.isHidden());
        int runs = 0;
        bar.show_notice(
            {Notice::Info, QStringLiteral("act"), {{QStringLiteral("Do"), [&] { ++runs; }}}, {}, 0});
        bar.action_buttons().front()->click();
        QCOMPARE(runs, 1);
        QVERIFY(bar.text().isEmpty());
        bar.show_notice({Notice::Info, QStringLiteral("short"), {}, {}, 20});
        QTRY_VERIFY(bar.text().isEmpty());
    }
};

QTEST_MAIN(TestComposer)
#include "tst_composer.moc"
