// The dock "Memory": the bar, the calculator against the live model, what would fit next.
#include <QComboBox>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>

#include "tests/ui/panels/fake_pool.h"
#include "tests/ui/panels/pixels.h"
#include "ui/panels/figure_row.h"
#include "ui/panels/kv_calculator.h"
#include "ui/panels/memory_bar.h"
#include "ui/panels/memory_panel.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/theme.h"

using namespace vitrine;
using namespace vitrine::ui;
using namespace vitrine::test;

namespace {

MemoryFacts smol() {
    MemoryFacts f;
    f.weights = 92ULL << 20;
    f.kv = 248ULL * 16 * 23040;
    f.workspace = 18ULL << 20;
    f.free = 21ULL << 30;
    f.format = QStringLiteral("Q4_1");
    f.kv_dtype = QStringLiteral("F16");
    f.layers = 30;
    f.kv_heads = 3;
    f.head_dim = 64;
    f.context = 8192;
    f.block_size = 16;
    f.blocks = 248;
    return f;
}

struct Shown {
    MemoryPanel panel;
    explicit Shown(const QSize& size = {476, 320}) {
        panel.resize(size);
        panel.show();
        (void)QTest::qWaitForWindowExposed(&panel);
    }
    void settle() {
        panel.bring_up_to_date();
        QCoreApplication::processEvents();
    }
};

}  // namespace

class TestMemoryPanel : public QObject {
    Q_OBJECT

  private slots:
    void cleanup() { set_current_theme(Theme::light()); }

    void arithmetic_data() {
        QTest::addColumn<qint64>("layers");
        QTest::addColumn<qint64>("heads");
        QTest::addColumn<qint64>("size");
        QTest::addColumn<qint64>("length");
        QTest::addColumn<qint64>("batch");
        QTest::addColumn<qint64>("bytes");
        QTest::addColumn<quint64>("total");
        // OPT-13B in half precision: 800 KB a token, 1.6 GB for 2048 tokens (PagedAttention paper, section
        // 1).
        QTest::newRow("OPT-13B") << 40LL << 40LL << 128LL << 2048LL << 1LL << 2LL << 1677721600ULL;
        QTest::newRow("one") << 1LL << 1LL << 1LL << 1LL << 1LL << 1LL << 2ULL;
        QTest::newRow("nothing") << 40LL << 0LL << 128LL << 2048LL << 1LL << 2LL << 0ULL;
        QTest::newRow("negative") << 40LL << -4LL << 128LL << 2048LL << 1LL << 2LL << 0ULL;
        QTest::newRow("too much to count")
            << (1LL << 30) << (1LL << 30) << (1LL << 30) << 8LL << 1LL << 4LL << 9223372036854775807ULL;
    }
    void arithmetic() {
        QFETCH(qint64, layers);
        QFETCH(qint64, heads);
        QFETCH(qint64, size);
        QFETCH(qint64, length);
        QFETCH(qint64, batch);
        QFETCH(qint64, bytes);
        QFETCH(quint64, total);
        const KvShapeQuestion q{layers, heads, size, length, batch, bytes};
        QCOMPARE(static_cast<quint64>(q.total()), total);
    }

    void calculator_follows_the_model_until_somebody_changes_it() {
        Shown shown;
        shown.panel.set_facts(smol());
        shown.settle();
        KvCalculator& c = *shown.panel.calculator();
        QCOMPARE(c.field(0)->value(), 30);
        QCOMPARE(c.question().bytes_per_token(), std::uint64_t(23040));
        QVERIFY2(
            c.formula().contains(format_bytes(23040)) && c.formula().contains(format_bytes(23040ULL * 8192)),
            qPrintable(c.formula()));
        QVERIFY2(c.of_model().contains(format_bytes(smol().kv)), qPrintable(c.of_model()));
        QVERIFY(!c.reset_button()->isEnabled());
        // By keys, as a person does.
        c.field(4)->setFocus();
        c.field(4)->selectAll();
        QTest::keyClicks(c.field(4), QStringLiteral("100"));
        QTest::keyClick(c.field(4), Qt::Key_Tab);
        QCOMPARE(c.question().batch, std::int64_t(100));
        QTest::keyClick(c.dtype(), Qt::Key_Up);
        QCOMPARE(c.question().bytes, std::int64_t(4));
        QVERIFY(c.reset_button()->isEnabled());
        MemoryFacts other = smol();
        other.layers = 12;
        shown.panel.set_facts(other);
        shown.settle();
        QCOMPARE(c.field(0)->value(), 30);  // what was typed stays
        QTest::mouseClick(c.reset_button(), Qt::LeftButton);
        QCOMPARE(c.question(), question_of(other));
        QVERIFY(!c.reset_button()->isEnabled());
    }

    void bar_shows_shares_and_what_of_the_pool_is_used() {
        Shown shown;
        shown.panel.set_facts(smol());
        auto pool = empty_pool(248);
        pool->used = 124;
        shown.panel.set_snapshot(pool);
        shown.settle();
        MemoryBar& bar = *shown.panel.bar();
        const QImage image = part(shown.panel, bar);
        const auto color = [&](std::size_t i) { return MemoryBar::color_of(bar.parts()[i]); };
        QVERIFY(bar.parts().size() == 4);  // no draft: no part for it
        const QRectF kv = bar.rect_of(1);
        const QRectF free = bar.rect_of(3);
        QVERIFY(free.width() > bar.width() * 0.9);
        QVERIFY(bar.rect_of(2).width() >= 2);
        QCOMPARE(at(image, free.center()), color(3));
        QVERIFY(at(image, {kv.left() + 0.5, kv.center().y()}) != color(1));
        QCOMPARE(bar.parts()[1].filled, 0.5);
        MemoryFacts drafted = smol();
        drafted.draft = 17ULL << 20;
        drafted.free = 100ULL << 20;
        shown.panel.set_facts(drafted);
        shown.settle();
        QCOMPARE(bar.parts().size(), std::size_t(5));
        const QImage again = part(shown.panel, bar);
        QCOMPARE(at(again, bar.rect_of(0).center()), color(0));
        QCOMPARE(at(again, bar.rect_of(3).center()), color(3));
        double sum = 0;
        for (std::size_t i = 0; i < bar.parts().size(); ++i) sum += bar.rect_of(i).width();
        QVERIFY(sum <= bar.width() && sum > bar.width() - 6);
    }

    void figures_sentences_and_what_is_not_known() {
        Shown shown;
        QVERIFY(shown.panel.empty_text().contains(QStringLiteral("No model")));
        shown.panel.set_facts(smol());
        shown.settle();
        const auto& figures = shown.panel.figure_row()->figures();
        QCOMPARE(figures[0].name, QStringLiteral("weights Q4_1"));
        QCOMPARE(figures[0].value, format_bytes(92ULL << 20));
        QCOMPARE(figures[3].value, no_value());
        QCOMPARE(shown.panel.sentence(),
                 QStringLiteral("Free memory holds 119 more caches of this size, %1 each.")
                     .arg(format_bytes(23040ULL * 8192)));
        shown.panel.set_free(10ULL << 20);
        shown.settle();
        QVERIFY2(shown.panel.sentence().contains(QStringLiteral("does not fit")) &&
                     shown.panel.sentence().contains(QStringLiteral("455 tokens")),
                 qPrintable(shown.panel.sentence()));
        shown.panel.set_free(0);  // not asked yet: the last answer stays
        shown.settle();
        QCOMPARE(shown.panel.figure_row()->figures()[4].value, format_bytes(10ULL << 20));
        QVERIFY(shown.panel.csv().contains(QStringLiteral("workspace,18874368\n")));
        QVERIFY(shown.panel.accessibleDescription().contains(QStringLiteral("KV pool")));
        shown.panel.set_snapshot(nullptr);
        shown.settle();
        QVERIFY(!shown.panel.empty_text().isEmpty());
    }

    void while_stepping_it_says_what_an_iteration_took() {
        Shown shown;
        shown.panel.set_facts(smol());
        shown.panel.set_paused(true);
        for (const int used : {3, 5, 5, 1}) {
            auto pool = empty_pool(248);
            pool->used = used;
            pool->iteration = ++iteration_;
            shown.panel.set_snapshot(pool);
            shown.settle();
            said_ << shown.panel.sentence();
        }
        QVERIFY2(said_[1].contains(QStringLiteral("put %1 of the pool to use").arg(format_bytes(2 * 368640))),
                 qPrintable(said_[1]));
        QVERIFY(said_[2].contains(QStringLiteral("took no memory")));
        QVERIFY(said_[3].contains(QStringLiteral("gave %1 of the pool back").arg(format_bytes(4 * 368640))));
    }

    void narrow_and_large_text_are_not_cut_off() {
        for (const double zoom : {1.0, 2.0}) {
            set_current_theme(Theme::light(zoom));
            Shown shown({360, 420});
            shown.panel.set_facts(smol());
            shown.settle();
            KvCalculator& c = *shown.panel.calculator();
            for (int i = 0; i < 5; ++i) {
                QVERIFY(c.field(i)->width() >= c.field(i)->minimumSizeHint().width() ||
                        c.field(i)->width() >= 48);
                QVERIFY(c.rect().contains(c.field(i)->geometry()));
            }
        }
    }

  private:
    int iteration_ = 0;
    QStringList said_;
};

QTEST_MAIN(TestMemoryPanel)
#include "tst_memory_panel.moc"
