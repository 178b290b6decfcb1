// The dock "Latency": figures, points, marks, cost.
#include <cmath>

#include <QSignalSpy>
#include <QTest>

#include "tests/ui/panels/fake_records.h"
#include "tests/ui/panels/pixels.h"
#include "ui/panels/figure_row.h"
#include "ui/panels/latency_panel.h"
#include "ui/panels/latency_plot.h"
#include "ui/panels/phase_strip.h"
#include "ui/settings/theme.h"

using namespace vitrine;
using namespace vitrine::ui;
using namespace vitrine::test;

namespace {

// One answer: submitted, one prefill chunk, `tokens` tokens of `interval` seconds. Returns the time after it.
double answer(std::vector<Record>& out, std::int64_t id, double start, int tokens, double interval) {
    out.push_back(request(id, RequestEvent::Submitted, start));
    out.push_back(request(id, RequestEvent::PrefillChunk, start + 0.04, 0.038F, 58));
    out.push_back(token(id, 0, start + 0.041, 0.041F, 1));
    for (int i = 1; i < tokens; ++i) {
        out.push_back(token(id, i, start + 0.041 + i * interval, static_cast<float>(interval), 1 + i));
    }
    return start + 0.041 + tokens * interval;
}

struct Shown {
    SequenceColors colors;
    LatencyPanel panel{&colors};
    Shown() {
        colors.index_of(1);
        colors.index_of(2);
        panel.set_names({{1, "Tides"}, {2, "Ferry"}});
        panel.resize(476, 220);
        panel.show();
        (void)QTest::qWaitForWindowExposed(&panel);
    }
    void settle() {
        panel.bring_up_to_date();
        QCoreApplication::processEvents();
    }
    void add(const std::vector<Record>& records) {
        panel.append(records);
        settle();
    }
    QImage plot_picture() { return part(panel, *panel.plot()); }
    QString figure(std::size_t i) { return panel.figure_row()->figures()[i].value; }
};

}  // namespace

class TestLatencyPanel : public QObject {
    Q_OBJECT

  private slots:
    void cleanup() { set_current_theme(Theme::light()); }

    void empty_state_teaches() {
        Shown shown;
        QVERIFY(shown.panel.empty_text().contains("Write a message"));
        QVERIFY(!shown.panel.plot()->isVisible());
        for (std::size_t i = 0; i < 5; ++i) QCOMPARE(shown.figure(i), QStringLiteral("–"));
        QVERIFY(shown.panel.accessibleDescription().contains("No token yet"));
    }

    void figures() {
        Shown shown;
        shown.panel.set_selected(1);
        shown.panel.set_request_session(5, 1);
        std::vector<Record> records;
        answer(records, 5, 1, 100, 0.0058);
        shown.add(records);
        QCOMPARE(shown.figure(0), QStringLiteral("5.80\u00A0ms"));
        QCOMPARE(shown.figure(1), QStringLiteral("5.80\u00A0ms"));
        QCOMPARE(shown.figure(3), QStringLiteral("172"));
        QCOMPARE(shown.figure(4), QStringLiteral("172"));  // of all: nobody else writes
        QCOMPARE(shown.figure(5), QStringLiteral("–"));
        shown.panel.set_bandwidth(16.2, 25.3);
        shown.settle();
        QCOMPARE(shown.figure(5), QStringLiteral("16.2\u00A0GB/s"));
        QCOMPARE(shown.panel.figure_row()->figures()[5].name, QStringLiteral("64.0\u00A0% of bandwidth"));
        shown.panel.set_selected(2);  // has written nothing
        shown.settle();
        QCOMPARE(shown.figure(3), QStringLiteral("–"));
        QVERIFY(shown.panel.accessibleDescription().contains(QStringLiteral("5.80\u00A0ms p50")));
        QVERIFY(shown.panel.subtitle().contains("per token, ms"));
    }

    void points_have_the_colour_of_their_sequence_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void points_have_the_colour_of_their_sequence() {
        QFETCH(bool, dark);
        set_current_theme(dark ? Theme::dark() : Theme::light());
        Shown shown;
        shown.panel.set_request_session(5, 1);
        shown.panel.set_request_session(6, 2);
        std::vector<Record> records;
        const double next = answer(records, 5, 1, 60, 0.010);
        answer(records, 6, next, 60, 0.006);
        shown.add(records);
        LatencyPlot& plot = *shown.panel.plot();
        const QImage image = shown.plot_picture();
        const auto& points = shown.panel.model().points();
        for (const std::size_t i : {10U, 40U, 80U, 110U}) {
            const int index = points[i].request == 5 ? 0 : 1;
            const QColor ink = sequence_color(index, current_theme()).outline;
            QVERIFY(count_of(image, QRectF(plot.place_of(points[i]) - QPointF(2, 2), QSizeF(4, 4)), ink) > 0);
        }
        // 6 ms lies below 10 ms.
        QVERIFY(plot.place_of(points[110]).y() > plot.place_of(points[10]).y());
        QVERIFY(plot.axis().high >= 10);
    }

    void a_colour_that_comes_later_is_used() {
        Shown shown;
        std::vector<Record> records;
        answer(records, 5, 1, 60, 0.010);
        shown.add(records);
        const QColor ink = sequence_color(0, current_theme()).outline;
        QCOMPARE(count_of(shown.plot_picture(), shown.panel.plot()->rect(), ink), 0);
        shown.panel.set_request_session(5,
                                        1);  // the answer to "who is request 5" came after its first records
        shown.settle();
        QVERIFY(count_of(shown.plot_picture(), shown.panel.plot()->rect(), ink) > 20);
    }

    void first_tokens_and_events_are_marked() {
        Shown shown;
        std::vector<Record> records;
        const double next = answer(records, 5, 1, 60, 0.010);
        shown.add(records);
        shown.panel.plot()->repaint();
        const int without = shown.panel.plot()->primitives();
        shown.add({request(5, RequestEvent::Cancelled, next)});
        shown.panel.plot()->repaint();
        QVERIFY(shown.panel.plot()->primitives() > without);
        const QImage image = shown.plot_picture();
        QVERIFY(count_of(image, shown.panel.plot()->rect(), current_theme().bad) > 5);
        QCOMPARE(shown.panel.model().marks().size(), std::size_t(2));
    }

    void outliers_do_not_flatten_the_rest() {
        Shown shown;
        std::vector<Record> records;
        double t = answer(records, 5, 1, 100, 0.010);
        records.push_back(token(5, 100, t + 3, 3));
        for (int i = 1; i < 30; ++i) records.push_back(token(5, 100 + i, t + 3 + i * 0.01, 0.01F));
        shown.add(records);
        QVERIFY(shown.panel.plot()->axis().high <= 50);
        // It is drawn at the upper end all the same.
        const auto& points = shown.panel.model().points();
        QCOMPARE(shown.panel.plot()->place_of(points[99]).y(), shown.panel.plot()->plot_area().top());
    }

    void window_follows_the_speed() {
        for (const double interval : {0.0005, 0.0058, 0.1, 1.5}) {
            Shown shown;
            std::vector<Record> records;
            answer(records, 5, 1, 400, interval);
            shown.add(records);
            const double seconds = shown.panel.plot()->window_seconds();
            QVERIFY2(seconds >= 50 * interval && seconds <= std::max(1.0, 1000 * interval),
                     qPrintable(QString::number(seconds)));
        }
    }

    void paint_cost_is_bounded_by_pixels() {
        const auto cost = [](int tokens) {
            Shown shown;
            std::vector<Record> records;
            // Eight requests at once, thousands of tokens a second: far more than pixels.
            for (int i = 1; i < tokens; ++i) {
                const float interval = 0.0002F * static_cast<float>(1 + i * 7919 % 13);
                records.push_back(token(i % 8, i, 1 + i * 0.0001, interval, i));
                if (i % 3 == 0)
                    records.push_back(request(i % 8, RequestEvent::PrefillChunk, 1 + i * 0.0001, 1e-4F, 9));
                if (i % 5 == 0) records.push_back(request(i % 8, RequestEvent::Preempted, 1 + i * 0.0001));
            }
            shown.add(records);
            shown.panel.plot()->repaint();
            return shown.panel.plot()->primitives();
        };
        const int some = cost(4000);
        const int many = cost(200'000);
        QVERIFY(some > 100);
        QVERIFY2(many <= 3 * some, qPrintable(QStringLiteral("%1 then %2").arg(some).arg(many)));
    }

    void hidden_panel_only_keeps_the_records() {
        SequenceColors colors;
        LatencyPanel panel(&colors);
        panel.resize(476, 220);
        const int before = panel.refreshes();
        std::vector<Record> records;
        answer(records, 5, 1, 100, 0.01);
        for (int i = 0; i < 20; ++i) panel.append(records);
        panel.set_selected(1);
        panel.set_bandwidth(1, 2);
        QTest::qWait(300);
        QCOMPARE(panel.refreshes(), before);
        QVERIFY(!panel.timers_running());
        QCOMPARE(panel.plot()->primitives(), 0);
        panel.show();
        QVERIFY(panel.empty_text().isEmpty());
        QCOMPARE(panel.figure_row()->figures()[0].value, QStringLiteral("10.0\u00A0ms"));
        panel.hide();
        const int shown = panel.refreshes();
        panel.append(records);
        QTest::qWait(300);
        QCOMPARE(panel.refreshes(), shown);
        QVERIFY(!panel.timers_running());
    }

    void nothing_runs_while_nothing_happens() {
        Shown shown;
        std::vector<Record> records;
        answer(records, 5, 1, 100, 0.01);
        shown.add(records);
        const int before = shown.panel.refreshes();
        // Iterations without tokens of ours and block events are no reason to paint.
        Record iteration{};
        iteration.kind = RecordKind::Iteration;
        shown.panel.append({iteration});
        QTest::qWait(300);
        QCOMPARE(shown.panel.refreshes(), before);
        QVERIFY(!shown.panel.timers_running());
    }

    void hover_and_click_find_the_token() {
        Shown shown;
        shown.panel.set_request_session(5, 1);
        std::vector<Record> records;
        answer(records, 5, 1, 60, 0.010);
        shown.add(records);
        LatencyPlot& plot = *shown.panel.plot();
        const auto& points = shown.panel.model().points();
        QSignalSpy clicked(&shown.panel, &LatencyPanel::token_clicked);
        const QPointF place = plot.place_of(points[30]);
        QCOMPARE(plot.point_near(place), 30);
        QCOMPARE(plot.point_near(place - QPointF(0, 40)), -1);
        QTest::mouseClick(&plot, Qt::LeftButton, {}, place.toPoint());
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][0].toLongLong(), 5);
        QCOMPARE(clicked[0][1].toLongLong(), 1);
        QVERIFY(std::abs(clicked[0][2].toInt() - points[30].index) <= 1);
        const QImage before = shown.plot_picture();
        QTest::mouseMove(&plot, place.toPoint());
        QTRY_VERIFY(shown.plot_picture() != before);
    }

    void phases_of_iterations() {
        Shown shown;
        std::vector<Record> records{request(5, RequestEvent::Submitted, 1, 0, 9)};
        for (int i = 1; i <= 60; ++i) {
            const double t = 1 + i * 0.01;
            records.push_back(slice(5, i, 9 + i, 1, 1, t));
            records.push_back(token(5, i, t + 0.009, 0.01F, i));
            records.push_back(iteration(i, t, 0.0095F, 1, 1));
        }
        shown.add(records);
        const LatencyModel& model = shown.panel.model();
        QCOMPARE(model.iterations().size(), std::size_t(60));
        QVERIFY(model.iteration(17) != nullptr && model.iteration(17)->index == 17);
        QCOMPARE(model.iteration(61), nullptr);
        const auto shares = shown.panel.phases()->shares();
        const auto of = [&](Phase p) { return shares[static_cast<std::size_t>(p)]; };
        QVERIFY(std::abs(of(Phase::Matrix) - 0.7) < 0.01);
        QVERIFY(std::abs(of(Phase::Other) - 0.1) < 0.01);
        double sum = 0;
        for (const double share : shares) sum += share;
        QVERIFY(std::abs(sum - 1) < 1e-6);
        const QImage image = part(shown.panel, *shown.panel.phases());
        const QColor matrix = PhaseStrip::color_of(Phase::Matrix);
        const int high = count_of(image, shown.panel.phases()->rect(), matrix);
        const int low = count_of(image, shown.panel.phases()->rect(), PhaseStrip::color_of(Phase::Attention));
        QVERIFY2(high > 3 * low && low > 0, qPrintable(QStringLiteral("%1 %2").arg(high).arg(low)));
        // An engine that counts from the beginning again.
        shown.add({iteration(1, 0.01, 0.01F, 1, 1)});
        QCOMPARE(model.iterations().size(), std::size_t(1));
        shown.panel.set_paused(true);
        shown.settle();
        QVERIFY2(shown.panel.sentence().startsWith(
                     QStringLiteral("Iteration 1 computed one token in 10.0\u00A0ms: matrix 70 %")),
                 qPrintable(shown.panel.sentence()));
    }

    void phase_columns_are_bounded_by_pixels() {
        Shown shown;
        std::vector<Record> records;
        for (int i = 1; i <= 20'000; ++i) {
            records.push_back(iteration(i, 1 + i * 1e-4, 1e-4F, 1, 1));
            records.push_back(token(5, i, 1 + i * 1e-4, 1e-4F, i));
        }
        shown.add(records);
        shown.panel.phases()->repaint();
        const int most = static_cast<int>(phase_count) * shown.panel.phases()->width() + 20;
        QVERIFY2(shown.panel.phases()->primitives() <= most,
                 qPrintable(QString::number(shown.panel.phases()->primitives())));
    }

    void the_last_outlier_and_its_cause_data() {
        QTest::addColumn<int>("cause");
        QTest::addColumn<QString>("says");
        QTest::newRow("none") << -1 << QStringLiteral("No token took twice the median");
        QTest::newRow("a prompt") << int(Cause::Prompt)
                                  << QStringLiteral(
                                         "its iteration computed 200 tokens of the prompt of “Ferry”");
        QTest::newRow("preempted") << int(Cause::Preempted) << QStringLiteral("memory ran out");
        QTest::newRow("busy elsewhere")
            << int(Cause::Idle) << QStringLiteral("busy with something else for 40.0");
        QTest::newRow("a phase") << int(Cause::Phase) << QStringLiteral("“matrix” took 42.0\u00A0ms, mostly");
        QTest::newRow("nobody knows") << int(Cause::Unknown) << QStringLiteral("do not tell why");
    }
    void the_last_outlier_and_its_cause() {
        QFETCH(int, cause);
        QFETCH(QString, says);
        Shown shown;
        shown.panel.set_request_session(5, 1);
        shown.panel.set_request_session(6, 2);
        std::vector<Record> records;
        double t = 1;
        for (int i = 1; i <= 60; ++i) {
            const bool odd = i == 50 && cause >= 0;
            const double start = odd && cause == int(Cause::Idle) ? t + 0.04 : t;
            const float duration = odd && cause != int(Cause::Idle) ? 0.05F : 0.01F;
            records.push_back(slice(5, i, 9 + i, 1, 1, start));
            if (odd && cause == int(Cause::Preempted))
                records.push_back(request(5, RequestEvent::Preempted, start));
            if (odd && cause == int(Cause::Prompt)) {
                Record chunk = request(6, RequestEvent::PrefillChunk, start + duration, duration, 200);
                chunk.request.iteration = i;
                records.push_back(chunk);
            }
            const double end = start + duration;
            records.push_back(token(5, i, end, static_cast<float>(end - t), i));
            Record it = iteration(i, start, duration, 1, 1);
            if (odd && cause == int(Cause::Phase)) it.iteration.matrix = 0.042F;
            if (odd && cause == int(Cause::Unknown)) {
                it.iteration.index = 1000;  // its record was lost
            } else if (odd && cause != int(Cause::Phase)) {
                it.iteration.matrix = 0.01F;
                it.iteration.attention = it.iteration.sample = 0.013F;
                it.iteration.schedule = it.iteration.embed = 0.007F;
            }
            if (!(odd && cause == int(Cause::Unknown))) records.push_back(it);
            t = end;
        }
        shown.add(records);
        const auto found = shown.panel.model().last_outlier();
        QCOMPARE(found.has_value(), cause >= 0);
        if (found) {
            QCOMPARE(int(found->cause), cause);
            QCOMPARE(found->point.index, 50);
        }
        QVERIFY2(shown.panel.sentence().contains(says), qPrintable(shown.panel.sentence()));
    }

    // Nobody's latency: somebody reads while the engine stands still.
    void a_pause_is_not_counted() {
        Shown shown;
        std::vector<Record> records;
        for (int i = 1; i <= 30; ++i) {
            records.push_back(slice(5, i, i, 1, 1, 1 + i * 0.01));
            records.push_back(token(5, i, 1.0099 + i * 0.01, 0.01F, i));
            records.push_back(iteration(i, 1 + i * 0.01, 0.0099F, 1, 1));
        }
        shown.add(records);
        shown.panel.set_paused(true);
        shown.add({slice(5, 31, 31, 1, 1, 11.31), token(5, 31, 11.32, 10.01F, 31),
                   iteration(31, 11.31, 0.0099F, 1, 1)});
        shown.panel.set_paused(false);
        shown.add({slice(5, 32, 32, 1, 1, 41.32), token(5, 32, 41.33, 30.01F, 32),
                   iteration(32, 41.32, 0.0099F, 1, 1)});
        const auto& points = shown.panel.model().points();
        QVERIFY(points[30].interval < 0.05F && points[31].interval < 0.05F);
        QVERIFY(shown.panel.model().now() < 1);
        // The next one that is late is late.
        shown.add({slice(5, 33, 33, 1, 1, 42.33), token(5, 33, 42.34, 1.01F, 33),
                   iteration(33, 42.33, 0.0099F, 1, 1)});
        QVERIFY(points[32].interval > 1);
    }

    void histogram_stands_beside_the_plot() {
        LatencyModel model;
        for (int i = 1; i <= 100; ++i) model.append(token(5, i, i * 0.01, i <= 90 ? 0.0105F : 0.0405F, i));
        const auto counts = model.histogram(10, 0.05);
        QCOMPARE(counts[2], 90);
        QCOMPARE(counts[8], 10);
        QCOMPARE(model.histogram(10, 0.02).back(), 10);  // above the axis: in the last one
        Shown shown;
        std::vector<Record> records;
        answer(records, 5, 1, 200, 0.010);
        shown.add(records);
        QVERIFY(!shown.panel.plot()->histogram_area().isEmpty());
        QVERIFY(shown.panel.plot()->histogram_area().left() > shown.panel.plot()->plot_area().right());
        shown.panel.resize(300, 220);
        QCoreApplication::processEvents();
        QVERIFY(shown.panel.plot()->histogram_area().isEmpty());
    }

    void tokens_of_all_and_marks_of_events() {
        Shown shown;
        std::vector<Record> records;
        for (int i = 1; i <= 100; ++i)
            for (const int id : {5, 6}) records.push_back(token(id, i, 1 + i * 0.01, 0.01F, i));
        Record evict{};
        evict.kind = RecordKind::Block;
        evict.block = {};
        evict.block.event = BlockEvent::Evict;
        for (int i = 0; i < 3; ++i) records.push_back(evict);
        records.push_back(iteration(100, 2, 0.01F, 2, 2));
        shown.add(records);
        const double all = shown.panel.model().all_tokens_per_second();
        QVERIFY2(all > 180 && all < 220, qPrintable(QString::number(all)));
        const auto& marks = shown.panel.model().marks();
        QCOMPARE(marks.size(), std::size_t(1));
        QCOMPARE(marks[0].kind, MarkKind::Evicted);
        QCOMPARE(marks[0].count, 3);
        for (int i = 101; i <= 120; ++i) shown.panel.append({token(5, i, 1 + i * 0.01, 0.01F, i)});
        shown.settle();
        shown.panel.plot()->repaint();
        const int before = shown.panel.plot()->primitives();
        shown.panel.note_format(QStringLiteral("Q8_0 → Q4_0"));
        shown.settle();
        shown.panel.plot()->repaint();
        QVERIFY(shown.panel.plot()->primitives() > before);
    }

    void tokens_are_walked_by_keys() {
        Shown shown;
        shown.panel.set_request_session(5, 1);
        std::vector<Record> records;
        answer(records, 5, 1, 60, 0.010);
        shown.add(records);
        LatencyPlot& plot = *shown.panel.plot();
        QSignalSpy clicked(&shown.panel, &LatencyPanel::token_clicked);
        QTest::keyClick(&plot, Qt::Key_Return);
        QCOMPARE(clicked.size(), 0);
        QTest::keyClick(&plot, Qt::Key_Left);
        QTest::keyClick(&plot, Qt::Key_Left);
        QTest::keyClick(&plot, Qt::Key_Return);
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][2].toInt(), 58);
        QVERIFY(plot.accessibleDescription().contains(QStringLiteral("Token 59")));
    }

    void clear_forgets_everything() {
        Shown shown;
        shown.panel.set_request_session(5, 1);
        std::vector<Record> records;
        answer(records, 5, 1, 60, 0.010);
        shown.add(records);
        shown.panel.clear();
        shown.settle();
        QVERIFY(!shown.panel.empty_text().isEmpty());
        QCOMPARE(shown.figure(0), QStringLiteral("–"));
        QCOMPARE(shown.panel.csv().count('\n'), 1);
    }

    void csv_has_a_row_a_token() {
        Shown shown;
        shown.panel.set_request_session(5, 1);
        std::vector<Record> records;
        answer(records, 5, 1, 4, 0.0125);
        shown.add(records);
        const QStringList lines = shown.panel.csv().split('\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 4);  // the first token's time is the TTFT, not an interval
        QVERIFY(lines[1].startsWith("5,1,1,2,"));
        QVERIFY(lines[1].endsWith(",12.5000"));
    }

    void many_requests_are_bounded() {
        Shown shown;
        for (int i = 0; i < 100'000; ++i) shown.panel.set_request_session(i, 1 + i % 2);
        shown.panel.set_selected(2);
        std::vector<Record> records;
        answer(records, 99'999, 1, 60, 0.010);
        shown.add(records);
        QCOMPARE(shown.figure(3), QStringLiteral("100"));  // the newest is known
    }

    void tiny_sizes_paint() {
        Shown shown;
        std::vector<Record> records;
        answer(records, 5, 1, 60, 0.010);
        shown.add(records);
        for (const QSize size : {QSize(240, 60), QSize(360, 180), QSize(1900, 1000)}) {
            shown.panel.resize(size);
            QVERIFY(!picture(shown.panel).isNull());
        }
    }
};

QTEST_MAIN(TestLatencyPanel)
#include "tst_latency_panel.moc"
