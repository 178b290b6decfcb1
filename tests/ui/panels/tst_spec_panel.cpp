// The dock "Speculation": figures against numbers worked out by hand, cells, verdicts.
#include <cmath>

#include <QSignalSpy>
#include <QTest>

#include "tests/ui/panels/fake_records.h"
#include "tests/ui/panels/pixels.h"
#include "ui/panels/figure_row.h"
#include "ui/panels/spec_panel.h"
#include "ui/panels/spec_picture.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/theme.h"

using namespace vitrine;
using namespace vitrine::ui;
using namespace vitrine::test;

namespace {

Record verified(std::int64_t sequence, std::int64_t at, int proposed, int accepted, DraftEnd end,
                float plain = 0.010F, std::int32_t index = 1) {
    Record r{};
    r.kind = RecordKind::Speculation;
    r.speculation = {};
    r.speculation.sequence = sequence;
    r.speculation.iteration = at;
    r.speculation.draft = 0.003F;
    r.speculation.verify = 0.012F;
    r.speculation.plain = plain;
    r.speculation.index = index;
    r.speculation.proposed = static_cast<std::uint8_t>(proposed);
    r.speculation.accepted = static_cast<std::uint8_t>(accepted);
    r.speculation.drafter = DrafterKind::Model;
    r.speculation.end = end;
    return r;
}

// `steps` iterations of 16 ms of one sequence, four proposed; of every four steps one gives 5 tokens, the
// others 3, 2 and 1.
std::vector<Record> stream(int steps, float plain = 0.010F) {
    std::vector<Record> out;
    for (int i = 1; i <= steps; ++i) {
        static constexpr int accepted[] = {4, 2, 1, 0};
        const int a = accepted[i % 4];
        out.push_back(verified(5, i, 4, a, a == 4 ? DraftEnd::Bonus : DraftEnd::Corrected, plain, 3 * i));
        out.push_back(iteration(i, 0.016 * i, 0.016F, 1, 5));
    }
    return out;
}

struct Shown {
    SpecPanel panel;
    explicit Shown(const QSize& size = {476, 220}) {
        panel.set_names({{1, "Tides"}});
        panel.set_request_session(5, 1);
        panel.resize(size);
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
    QString figure(std::size_t i) { return panel.figure_row()->figures()[i].value; }
};

}  // namespace

class TestSpecPanel : public QObject {
    Q_OBJECT

  private slots:
    void cleanup() { set_current_theme(Theme::light()); }

    void figures_by_hand() {
        SpecModel model;
        for (const Record& r : stream(64)) model.append(r);
        const SpecFigures f = model.figures();
        QCOMPARE(f.steps, std::size_t(64));
        // Of four steps 4 + 2 + 1 + 0 accepted, and 4 + 3 + 2 + 1 read.
        QVERIFY(std::abs(f.acceptance - 0.7) < 1e-9);
        QVERIFY(std::abs(f.tokens_a_step - 11.0 / 4) < 1e-9);
        QVERIFY(std::abs(f.cost - 1.6) < 1e-6);
        QVERIFY(std::abs(f.speed_up - 11.0 / 4 / 1.6) < 1e-6);
        QVERIFY(std::abs(f.times.draft / f.times.all() - 3.0 / 16) < 1e-6);
        QVERIFY(std::abs(f.times.other / f.times.all() - 1.0 / 16) < 1e-6);
        const auto at = model.by_position();
        QCOMPARE(at.size(), std::size_t(4));
        const double expected[] = {3.0 / 4, 2.0 / 3, 1.0 / 2, 1};
        for (std::size_t i = 0; i < 4; ++i) QVERIFY(std::abs(at[i] - expected[i]) < 1e-9);
    }

    void break_even() {
        QCOMPARE(break_even_acceptance(0.9, 4), 0.0);
        QCOMPARE(break_even_acceptance(5, 4), 1.0);
        for (const double a : {0.1, 0.41, 0.8, 0.99}) {
            const double tokens = (1 - std::pow(a, 5)) / (1 - a);
            QVERIFY(std::abs(break_even_acceptance(tokens, 4) - a) < 1e-6);
        }
        QVERIFY(std::isnan(break_even_acceptance(unknown, 4)));
        QVERIFY(std::isnan(break_even_acceptance(1.5, 0)));
    }

    // Several sequences in an iteration, one of them without drafts; and chunks of prompts, which do not
    // count.
    void speed_up_of_mixed_iterations() {
        SpecModel model;
        for (int i = 1; i <= 20; ++i) {
            model.append(verified(5, i, 4, 4, DraftEnd::Bonus));
            model.append(verified(6, i, 2, 0, DraftEnd::Corrected));
            model.append(iteration(i, 0.02 * i, 0.020F, 3, 5 + 3 + 1));
        }
        // 5 + 1 + 1 tokens in 20 ms; plain: 3 in 10 ms.
        QVERIFY(std::abs(model.figures().speed_up - (7 / 0.020) / (3 / 0.010)) < 1e-6);
        const double before = model.figures().speed_up;
        model.append(verified(5, 21, 4, 0, DraftEnd::Corrected));
        model.append(iteration(21, 1, 0.5F, 2, 200));
        QCOMPARE(model.figures().speed_up, before);
        QCOMPARE(model.steps().size(), std::size_t(41));
    }

    // Where the engine has no baseline of its own, iterations without drafts are it, as seen.
    void the_baseline_is_measured() {
        SpecModel model;
        for (int i = 1; i <= 40; ++i)  // two thirds took 8 ms; those of two sequences do not count
            model.append(iteration(i, 0.01 * i, i % 3 == 0 ? 0.02F : 0.008F, 1, 1));
        for (int i = 41; i <= 60; ++i) model.append(iteration(i, 0.01 * i, 0.5F, 2, 2));
        model.append(iteration(61, 1, 0.9F, 1, 64));  // a prompt
        for (int i = 100; i < 120; ++i) {
            model.append(verified(5, i, 4, 1, DraftEnd::Corrected, 0));
            model.append(iteration(i, 0.02 * i, 0.016F, 1, 5));
        }
        QVERIFY2(std::abs(model.figures().cost - 2) < 1e-6,
                 qPrintable(QString::number(model.figures().cost)));
        QVERIFY(std::abs(model.figures().speed_up - 1) < 1e-6);
    }

    void impossible_records_are_left_out() {
        SpecModel model;
        model.append(verified(5, 1, 2, 4, DraftEnd::Bonus));
        model.append(verified(5, 2, 2, 1, DraftEnd::Failed));
        QVERIFY(model.empty());
        Record r = verified(5, 3, 2, 1, DraftEnd::Corrected, std::nanf(""));
        model.append(r);
        model.append(iteration(3, 1, std::nanf(""), 1, 3));
        QVERIFY(std::isnan(model.figures().speed_up));
        QCOMPARE(model.figures().tokens_a_step, 2.0);
    }

    void figures_and_verdicts_data() {
        QTest::addColumn<float>("plain");
        QTest::addColumn<int>("steps");
        QTest::addColumn<QString>("speed");
        QTest::addColumn<QString>("says");
        QTest::newRow("it pays") << 0.010F << 64 << QStringLiteral("1.72×")
                                 << QStringLiteral(
                                        "A step gives 2.75 tokens and takes as long as 1.60 plain ones.");
        QTest::newRow("it does not") << 0.004F << 64 << QStringLiteral("0.688×")
                                     << QStringLiteral("costs more than it gives: 0.688×");
        QTest::newRow("the same") << 0.0058182F << 64 << QStringLiteral("1.00×")
                                  << QStringLiteral("It makes no difference");
        QTest::newRow("no baseline") << 0.0F << 64 << no_value() << QStringLiteral("was not measured yet");
        QTest::newRow("too few") << 0.010F << 8 << no_value() << QStringLiteral("After 16 steps");
    }
    void figures_and_verdicts() {
        QFETCH(float, plain);
        QFETCH(int, steps);
        QFETCH(QString, speed);
        QFETCH(QString, says);
        Shown shown;
        QVERIFY(shown.panel.empty_text().contains(QStringLiteral("Speculation is off")));
        shown.add(stream(steps, plain));
        QVERIFY(shown.panel.empty_text().isEmpty());
        QCOMPARE(shown.figure(0), QStringLiteral("0.70"));
        QCOMPARE(shown.figure(2), speed);
        QVERIFY2(shown.panel.sentence().contains(says), qPrintable(shown.panel.sentence()));
        QVERIFY(shown.panel.accessibleDescription().contains(says));
    }

    void cells_show_their_fate_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void cells_show_their_fate() {
        QFETCH(bool, dark);
        set_current_theme(dark ? Theme::dark() : Theme::light());
        Shown shown;
        shown.add({verified(5, 1, 4, 4, DraftEnd::Bonus), verified(5, 2, 4, 1, DraftEnd::Corrected)});
        SpecPicture& picture = *shown.panel.picture();
        const QImage image = part(shown.panel, picture);
        const Theme& theme = current_theme();
        const auto color = [&](int back, int row) { return at(image, picture.cell(back, row).center()); };
        for (int row = 0; row < 4; ++row) QCOMPARE(color(1, row), theme.good);
        QVERIFY(color(1, 4) != theme.good && color(1, 4) != theme.surface);
        const QRectF bonus = picture.cell(1, 4);
        QCOMPARE(at(image, {bonus.left() + 1, bonus.center().y()}), theme.accent);
        QCOMPARE(color(0, 0), theme.good);
        QCOMPARE(color(0, 1), theme.bad);
        const QRectF refused = picture.cell(0, 1);
        QCOMPARE(at(image, {refused.left() + 1, refused.center().y()}), theme.accent);
        QCOMPARE(color(0, 2), theme.surface);  // not read
        QVERIFY(at(image, {picture.cell(0, 2).left() + 0.5, picture.cell(0, 2).center().y()}) !=
                theme.surface);
    }

    void paused_explains_the_last_step() {
        Shown shown;
        shown.panel.set_paused(true);  // nothing yet: nothing to explain
        shown.settle();
        shown.add({verified(5, 411, 4, 4, DraftEnd::Bonus)});
        QCOMPARE(
            shown.panel.sentence(),
            QStringLiteral("Iteration 411: 4 tokens were proposed for “Tides”, all accepted; the model's own "
                           "token follows as a bonus. Tokens in one pass: 5."));
        shown.add({verified(5, 412, 4, 2, DraftEnd::Corrected)});
        QCOMPARE(
            shown.panel.sentence(),
            QStringLiteral("Iteration 412: 4 tokens were proposed for “Tides”, 2 accepted; number 3 was "
                           "refused, and the model's own token stands in its place. Tokens in one pass: 3."));
    }

    void hover_click_csv_and_bounds() {
        Shown shown;
        shown.add(stream(2000));
        SpecPicture& picture = *shown.panel.picture();
        QVERIFY(shown.panel.model().steps().size() <= 512);
        QVERIFY2(picture.primitives() <= picture.columns() * 12 + 100,
                 qPrintable(QString::number(picture.primitives())));
        const QPointF newest = picture.cell(0, 0).center();
        QVERIFY2(picture.describe(newest).contains(QStringLiteral("“Tides”, iteration 2\u202F000")),
                 qPrintable(picture.describe(newest)));
        QVERIFY(picture.describe({-5, 4}).isEmpty());
        QSignalSpy clicked(&shown.panel, &SpecPanel::token_clicked);
        QTest::mouseClick(&picture, Qt::LeftButton, {}, newest.toPoint());
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][1].toLongLong(), 1);
        QCOMPARE(clicked[0][2].toInt(), 6000);
        QVERIFY(shown.panel.csv().endsWith(QStringLiteral("5,1,2000,6000,model,4,4,bonus\n")));
        shown.panel.clear();
        shown.settle();
        QVERIFY(!shown.panel.empty_text().isEmpty());
    }

    void hidden_costs_nothing_and_tiny_sizes_paint() {
        Shown shown;
        shown.panel.hide();
        const int before = shown.panel.refreshes();
        shown.panel.append(stream(100));
        QTest::qWait(300);
        QCOMPARE(shown.panel.refreshes(), before);
        QVERIFY(!shown.panel.timers_running());
        shown.panel.show();
        QCOMPARE(shown.figure(0), QStringLiteral("0.70"));
        for (const QSize size : {QSize(240, 100), QSize(360, 200), QSize(1600, 900)}) {
            shown.panel.resize(size);
            QVERIFY(!picture(shown.panel).isNull());
        }
    }
};

QTEST_MAIN(TestSpecPanel)
#include "tst_spec_panel.moc"
