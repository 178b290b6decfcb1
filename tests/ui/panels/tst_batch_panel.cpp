// The dock "Batch": who got what in which iteration, who waits for what, and what drawing it costs.
#include <QSignalSpy>
#include <QTest>

#include "tests/ui/panels/fake_pool.h"
#include "tests/ui/panels/fake_records.h"
#include "tests/ui/panels/pixels.h"
#include "ui/panels/batch_panel.h"
#include "ui/panels/batch_strip.h"
#include "ui/panels/figure_row.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/theme.h"

using namespace vitrine;
using namespace vitrine::ui;
using namespace vitrine::test;

namespace {

// Sequence 1 has a prompt of 40 in chunks of 16 and writes; 2 comes while 1 runs, is sent back, comes again;
// 3 waits. Iterations 1 to 12.
std::vector<Record> lesson() {
    std::vector<Record> out;
    out.push_back(happened(1, RequestEvent::Submitted, 0, 40));
    std::int32_t at = 0;
    for (std::int64_t i = 1; i <= 12; ++i) {
        if (i == 1) out.push_back(happened(1, RequestEvent::Admitted, 1));
        if (i == 6) out.push_back(happened(2, RequestEvent::Admitted, 6));
        if (i == 9) out.push_back(happened(2, RequestEvent::Preempted, 9));
        if (i == 11) out.push_back(happened(2, RequestEvent::Admitted, 11));
        const std::int32_t chunk = i <= 2 ? 16 : i == 3 ? 8 : 1;
        out.push_back(slice(1, i, at, chunk));
        at += chunk;
        if (i == 6) out.push_back(slice(2, i, 0, 10));
        if (i == 7) out.push_back(slice(2, i, 10, 1));
        if (i == 8) out.push_back(slice(2, i, 11, 5, 5));  // verifies four proposed tokens
        if (i == 11) out.push_back(slice(2, i, 0, 14));    // again from the beginning
        if (i == 12) out.push_back(slice(2, i, 14, 1));
        out.push_back(iteration(i, 0.01 * static_cast<double>(i), 0.01F, i >= 6 ? 2 : 1, i >= 6 ? 2 : chunk,
                                i >= 9 ? 1 : 0));
        if (i == 3) out.push_back(happened(2, RequestEvent::Submitted, 3, 10));
        if (i == 8) out.push_back(happened(3, RequestEvent::Submitted, 8, 5));
    }
    return out;
}

struct Shown {
    SequenceColors colors;
    BatchPanel panel{&colors};
    explicit Shown(const QSize& size = {476, 220}) {
        for (const qint64 session : {1, 2, 3}) colors.index_of(session);
        panel.set_names({{1, "Tides"}, {2, "Ferry"}, {3, "Lentils"}});
        for (const qint64 request : {1, 2, 3}) panel.set_request_session(request, request);
        panel.resize(size);
        panel.show();
        (void)QTest::qWaitForWindowExposed(&panel);
    }
    void add(const std::vector<Record>& records) {
        panel.append(records);
        settle();
    }
    void settle() {
        panel.bring_up_to_date();
        QCoreApplication::processEvents();
    }
    QPointF middle(std::size_t row, std::int64_t iteration) {
        BatchStrip& strip = *panel.strip();
        const QRectF track = strip.places()[row].track;
        return {(strip.x_of(iteration) + strip.x_of(iteration + 1)) / 2, track.center().y()};
    }
};

QString told(const BatchRow& row) {
    static const char* names[] = {"P", "D", "S", "W", "X"};
    QStringList out;
    for (const BatchRun& run : row.runs)
        out << QStringLiteral("%1%2-%3").arg(names[static_cast<int>(run.work)]).arg(run.first).arg(run.last);
    return out.join(u' ');
}

}  // namespace

class TestBatchPanel : public QObject {
    Q_OBJECT

  private slots:
    void cleanup() { set_current_theme(Theme::light()); }

    void runs_of_iterations() {
        BatchModel model;
        for (const Record& r : lesson()) model.append(r);
        QCOMPARE(model.rows().size(), std::size_t(3));
        QCOMPARE(told(model.rows()[0]), QStringLiteral("P1-1 P2-2 P3-3 D4-12"));
        QCOMPARE(told(model.rows()[1]), QStringLiteral("W4-5 P6-6 D7-7 S8-8 X9-10 P11-11 D12-12"));
        QCOMPARE(told(model.rows()[2]), QStringLiteral("W9-12"));
        QCOMPARE(model.figures().iteration, std::int64_t(12));
        QCOMPARE(model.figures().tokens, 2);
        QCOMPARE(model.figures().budget, 256);
        model.append(happened(3, RequestEvent::Cancelled, 12));
        QCOMPARE(model.rows()[2].end, std::int64_t(12));
        model.append(happened(1, RequestEvent::Finished, 12));
        model.append(iteration(13, 1, 0.01F, 1, 1));
        QCOMPARE(told(model.rows()[0]), QStringLiteral("P1-1 P2-2 P3-3 D4-12"));  // ended: no more
    }

    void what_is_kept_is_bounded() {
        BatchModel model;
        for (std::int64_t id = 1; id <= 2000; ++id) {
            model.append(happened(id, RequestEvent::Submitted, id, 4));
            model.append(happened(id, RequestEvent::Admitted, id));
            model.append(slice(id, id, 0, 4));
            if (id != 7) model.append(happened(id, RequestEvent::Finished, id));
        }
        QCOMPARE(model.rows().size(), BatchModel::most_rows);
        QCOMPARE(model.rows().front().sequence, std::int64_t(7));  // it still runs
        // Alternating work cannot be joined.
        for (std::int64_t i = 0; i < 5000; ++i) model.append(slice(7, 3000 + i, 100, 1, i % 2 == 0 ? 1 : 3));
        QVERIFY(model.rows().front().runs.size() <= BatchModel::most_runs);
    }

    // Records that a late window missed, or of an engine that is gone.
    void records_out_of_place() {
        BatchModel model;
        model.append(slice(9, 4, 0, 4));
        model.append(happened(9, RequestEvent::Finished, 4));
        QVERIFY(model.empty());
        model.append(happened(9, RequestEvent::Admitted, 5));
        QCOMPARE(model.rows().size(), std::size_t(1));
        model.append(happened(3, RequestEvent::Submitted, 5, 1));
        QCOMPARE(model.rows().size(), std::size_t(1));
    }

    void kinds_of_work_look_different_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void kinds_of_work_look_different() {
        QFETCH(bool, dark);
        set_current_theme(dark ? Theme::dark() : Theme::light());
        Shown shown;
        shown.add(lesson());
        const QImage image = part(shown.panel, *shown.panel.strip());
        const Theme& theme = current_theme();
        const QColor first = sequence_color(0, theme).fill;
        QCOMPARE(at(image, shown.middle(0, 2)), first);
        const QColor decode = at(image, shown.middle(0, 8));
        QVERIFY(decode != first && decode != theme.surface);
        QVERIFY(contrast(decode, theme.surface) > 1.3);
        QCOMPARE(at(image, shown.middle(2, 11)), theme.surface);  // waits: empty
        const QRectF track = shown.panel.strip()->places()[2].track;
        QVERIFY(at(image, {shown.middle(2, 11).x(), track.top() + 0.5}) != theme.surface);  // but outlined
        QVERIFY(count_of(
                    image,
                    QRectF(shown.panel.strip()->x_of(9), shown.panel.strip()->places()[1].track.top(), 10, 4),
                    theme.caution) > 0);
        // A row ends where nothing happened yet.
        QCOMPARE(at(image, {shown.panel.strip()->x_of(13) + 8, shown.middle(0, 8).y()}), theme.surface);
    }

    void figures_and_who_waits() {
        Shown shown;
        shown.add(lesson());
        QCOMPARE(shown.panel.figure_row()->figures()[0].value, QStringLiteral("2"));
        QCOMPARE(shown.panel.figure_row()->figures()[1].value, QStringLiteral("1"));
        QCOMPARE(shown.panel.figure_row()->figures()[2].value, QStringLiteral("2"));
        QVERIFY(shown.panel.figure_row()->figures()[2].name.contains(QStringLiteral("256")));
        QCOMPARE(shown.panel.sentence(), QStringLiteral("Nobody waits."));
        auto pool = empty_pool(40);
        pool->free = 3;
        pool->cached_free = 2;
        SequenceView wants;
        wants.request = 3;
        wants.wait = WaitReason::Blocks;
        wants.wait_blocks = 12;
        SequenceView behind;
        behind.request = 2;
        behind.wait = WaitReason::Behind;
        behind.wait_behind = 3;
        pool->sequences = {wants, behind};
        shown.panel.set_snapshot(pool);
        shown.settle();
        QCOMPARE(
            shown.panel.sentence(),
            QStringLiteral("“Lentils” waits for memory: it needs 12 free blocks at once, 5 are free. “Ferry” "
                           "waits behind “Lentils”."));
        QVERIFY(shown.panel.accessibleDescription().contains(QStringLiteral("waits for memory")));
        shown.panel.set_paused(true);
        shown.settle();
        QVERIFY2(shown.panel.sentence().startsWith(
                     QStringLiteral("Iteration 12 computed one token of “Tides”, one token of “Ferry”.")),
                 qPrintable(shown.panel.sentence()));
    }

    void empty_teaches_and_clear_empties() {
        Shown shown;
        QVERIFY(!shown.panel.empty_text().isEmpty());
        shown.add(lesson());
        QVERIFY(shown.panel.empty_text().isEmpty());
        shown.panel.clear();
        shown.settle();
        QVERIFY(!shown.panel.empty_text().isEmpty());
        QCOMPARE(shown.panel.figure_row()->figures()[0].value, no_value());
    }

    void hover_click_zoom_and_csv() {
        Shown shown;
        shown.add(lesson());
        BatchStrip& strip = *shown.panel.strip();
        const QString text = strip.describe(shown.middle(0, 2));
        QVERIFY2(
            text.contains(QStringLiteral("Tides")) && text.contains(QStringLiteral("Iteration 2: prefill")),
            qPrintable(text));
        QVERIFY(strip.describe(shown.middle(0, 7)).contains(QStringLiteral("Iterations 4 to 12: decode")));
        QSignalSpy clicked(&shown.panel, &BatchPanel::chat_clicked);
        QTest::mouseClick(&strip, Qt::LeftButton, {}, shown.middle(1, 8).toPoint());
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][0].toLongLong(), 2);
        const auto before = strip.window();
        QTest::keyClick(&strip, Qt::Key_Plus);
        QVERIFY(strip.window() < before);
        for (int i = 0; i < 20; ++i) QTest::keyClick(&strip, Qt::Key_Plus);
        QTest::keyClick(&strip, Qt::Key_Minus);  // nothing was saved up
        QVERIFY(strip.window() > 10);
        QTest::keyClick(&strip, Qt::Key_0);
        QCOMPARE(strip.window(), before);
        QVERIFY(shown.panel.csv().contains(QStringLiteral("2,2,speculative,8,8,5\n")));
    }

    void cost_is_bounded_by_pixels() {
        Shown shown;
        std::vector<Record> many;
        for (std::int64_t id = 1; id <= 200; ++id)
            many.push_back(happened(id, RequestEvent::Submitted, 0, 1));
        for (std::int64_t id = 1; id <= 200; ++id) many.push_back(happened(id, RequestEvent::Admitted, 1));
        for (std::int64_t i = 1; i <= 3000; ++i) {
            for (std::int64_t id = 1; id <= 200; ++id)
                many.push_back(slice(id, i, 5, i % 2 ? 1 : 3, i % 2 ? 1 : 3));
            many.push_back(iteration(i, 0.01 * static_cast<double>(i), 0.01F, 200, 200));
        }
        shown.add(many);
        (void)part(shown.panel, *shown.panel.strip());
        BatchStrip& strip = *shown.panel.strip();
        QVERIFY(strip.left_out() > 0);
        const auto rows = static_cast<int>(strip.places().size());
        QVERIFY2(strip.primitives() <= rows * (strip.width() + 1) + 20,
                 qPrintable(QString::number(strip.primitives())));
    }

    void hidden_costs_nothing() {
        Shown shown;
        shown.panel.hide();
        const int before = shown.panel.refreshes();
        shown.panel.append(lesson());
        shown.panel.set_snapshot(empty_pool(8));
        QTest::qWait(300);
        QCOMPARE(shown.panel.refreshes(), before);
        QVERIFY(!shown.panel.timers_running());
        shown.panel.show();
        QCOMPARE(shown.panel.figure_row()->figures()[0].value, QStringLiteral("2"));
    }

    void tiny_sizes_paint() {
        for (const QSize size : {QSize(240, 120), QSize(360, 160), QSize(1200, 900)}) {
            Shown shown(size);
            shown.add(lesson());
            QVERIFY(!shown.panel.grab().isNull());
        }
    }
};

QTEST_MAIN(TestBatchPanel)
#include "tst_batch_panel.moc"
