// The dock "KV blocks": what it paints for crafted pools, what it costs, what it says.
#include <array>

#include <QHelpEvent>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTextDocument>
#include <QToolTip>
#include <QWheelEvent>

#include "tests/ui/panels/fake_pool.h"
#include "tests/ui/panels/pixels.h"
#include "ui/panels/block_table_view.h"
#include "ui/panels/figure_row.h"
#include "ui/panels/kv_grid_view.h"
#include "ui/panels/kv_panel.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/theme.h"

using namespace vitrine;
using namespace vitrine::ui;
using namespace vitrine::test;

namespace {

void both_themes() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("light") << false;
    QTest::newRow("dark") << true;
}

void use(bool dark) { set_current_theme(dark ? Theme::dark() : Theme::light()); }

// A panel on screen with this pool; colours 0, 1, 2 belong to sessions 1, 2, 3.
struct Shown {
    SequenceColors colors;
    KvPanel panel{&colors};
    explicit Shown(const std::shared_ptr<const KvSnapshot>& pool, const QSize& size = {476, 420}) {
        for (const qint64 session : {1, 2, 3}) colors.index_of(session);
        panel.resize(size);
        panel.set_names({{1, "Why tides come twice a day"}, {2, "Second try"}, {3, "Ferry"}});
        panel.set_snapshot(pool);
        panel.show();
        (void)QTest::qWaitForWindowExposed(&panel);
        settle();
    }
    void settle() {
        panel.bring_up_to_date();
        QCoreApplication::processEvents();
    }
    QImage grid_picture() { return part(panel, *panel.grid()); }
    QImage table_picture() { return part(panel, *panel.table()); }
    QPointF middle(int block) { return QRectF(panel.grid()->tile_rect(block)).center(); }
};

}  // namespace

class TestKvPanel : public QObject {
    Q_OBJECT

  private slots:
    void cleanup() { use(false); }

    void cells_show_owner_level_and_cache_data() { both_themes(); }
    void cells_show_owner_level_and_cache() {
        QFETCH(bool, dark);
        use(dark);
        Shown shown(lesson_pool());
        const Theme& theme = current_theme();
        KvGridView& grid = *shown.panel.grid();
        const QImage image = shown.grid_picture();
        const auto color = [&](int index) { return sequence_color(index, theme); };

        QCOMPARE(at(image, shown.middle(5)), color(0).fill);   // full, first chat
        QCOMPARE(at(image, shown.middle(20)), color(1).fill);  // full, second chat
        QCOMPARE(at(image, shown.middle(27)), color(2).fill);
        QCOMPARE(at(image, shown.middle(12)),
                 color(0).faded);  // cached, free: faded in the last owner's colour
        QCOMPARE(at(image, shown.middle(53)), color(2).faded);
        QCOMPARE(at(image, shown.middle(86)), color(-1).faded);  // nobody known: neutral
        QCOMPARE(at(image, shown.middle(200)), theme.surface);   // free: nothing but an outline
        const QRectF free = grid.tile_rect(200);
        QVERIFY(at(image, {free.left() + 0.5, free.center().y()}) != theme.surface);

        // 5 of 16 tokens: filled from the bottom, faded above.
        const QRectF part = grid.tile_rect(29);
        const double share = 5.0 / 16;
        QCOMPARE(at(image, {part.center().x(), part.bottom() - part.height() * share * 0.5}), color(2).fill);
        QCOMPARE(at(image, {part.center().x(), part.bottom() - part.height() * (share + 0.2)}),
                 color(2).faded);
        QCOMPARE(at(image, {part.center().x(), part.top() + 2}), color(2).faded);
    }

    void fill_level_grows_with_tokens() {
        int before = -1;
        for (const int tokens : {1, 4, 8, 12, 16}) {
            auto pool = empty_pool(32);
            add_sequence(*pool, 1, 1, SequenceState::Held, tokens, {3});
            Shown shown(pool);
            const QImage image = shown.grid_picture();
            const int filled =
                count_of(image, shown.panel.grid()->tile_rect(3), sequence_color(0, current_theme()).fill);
            QVERIFY(filled > before);
            before = filled;
        }
    }

    void shared_blocks_carry_their_count() {
        auto pool = empty_pool(64);
        add_sequence(*pool, 1, 1, SequenceState::Held, 48, {0, 1, 2});
        auto shared = std::make_shared<KvSnapshot>(*pool);
        add_sequence(*shared, 2, 2, SequenceState::Held, 16, {1});
        auto more = std::make_shared<KvSnapshot>(*shared);
        add_sequence(*more, 3, 3, SequenceState::Held, 16, {1});
        const auto cell = [&](const std::shared_ptr<KvSnapshot>& s, int block) {
            Shown shown(s);
            return shown.grid_picture().copy(
                QRect(shown.panel.grid()->tile_rect(block).topLeft() * shown.panel.devicePixelRatio(),
                      shown.panel.grid()->tile_rect(block).size() * shown.panel.devicePixelRatio()));
        };
        const QColor ink = sequence_color(0, current_theme()).text;
        const QImage alone = cell(pool, 1);
        const QImage two = cell(shared, 1);
        const QImage three = cell(more, 1);
        QVERIFY(alone != two);
        QVERIFY(two != three);
        QCOMPARE(cell(shared, 0), cell(shared, 2));
        // The digit is black or white by the block's luminance.
        const auto has = [&](const QImage& image) {
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) {
                    if (contrast(image.pixelColor(x, y), ink) < 1.3) return true;
                }
            }
            return false;
        };
        QVERIFY(has(two));
        QVERIFY(!has(alone.copy(2, 2, alone.width() - 4, alone.height() - 4)));
    }

    void small_cells_mark_shared_blocks_too() {
        auto pool = empty_pool(1400);
        add_sequence(*pool, 1, 1, SequenceState::Held, 32, {0, 1});
        add_sequence(*pool, 2, 2, SequenceState::Held, 16, {1});
        Shown shown(pool);
        KvGridView& grid = *shown.panel.grid();
        QVERIFY(grid.layout_of_tiles().cell() < 10);
        const QImage image = shown.grid_picture();
        const QRectF one = grid.tile_rect(0);
        const QRectF both = grid.tile_rect(1);
        const QColor fill = sequence_color(0, current_theme()).fill;
        QVERIFY(count_of(image, both, fill) < count_of(image, one, fill));
    }

    void the_block_being_written_has_a_dark_edge_data() { both_themes(); }
    void the_block_being_written_has_a_dark_edge() {
        QFETCH(bool, dark);
        use(dark);
        Shown shown(lesson_pool());
        const QImage image = shown.grid_picture();
        const auto edge = [&](int block) {
            return count_of(image, QRectF(shown.panel.grid()->tile_rect(block)).adjusted(-2, -2, 2, 2),
                            current_theme().text);
        };
        QVERIFY(edge(42) > 4);
        QVERIFY(edge(38) > 4);
        QCOMPARE(edge(5), 0);
        QCOMPARE(edge(29), 0);
    }

    void a_change_flashes_once() {
        auto pool = empty_pool(64);
        add_sequence(*pool, 1, 1, SequenceState::Running, 20, {0, 1});
        Shown shown(pool);
        KvGridView& grid = *shown.panel.grid();
        QCOMPARE(grid.flashing(), 0);  // the first sight of a pool is no change
        shown.settle();

        auto filled = std::make_shared<KvSnapshot>(*pool);
        filled->iteration = 1;
        filled->blocks[1].fill = 5;
        shown.panel.set_snapshot(filled);
        shown.settle();
        QCOMPARE(grid.flashing(), 0);  // being filled further is no news

        auto grown = std::make_shared<KvSnapshot>(*filled);
        grown->iteration = 2;
        grown->blocks[2] = {BlockState::Used, 1, 1, 1};
        grown->sequences[0].blocks.push_back(2);
        shown.panel.set_snapshot(grown);
        shown.panel.bring_up_to_date();  // nothing but the flash's own end runs after this
        QCOMPARE(grid.flashing(), 1);
        const QImage during = shown.grid_picture();
        QTRY_COMPARE(grid.flashing(), 0);

        const QImage after = shown.grid_picture();
        const auto pixel = [&](const QImage& image) {
            const QRectF rect = grid.tile_rect(2);
            return at(image, {rect.center().x(), rect.top() + 3});
        };
        QVERIFY(pixel(during) != pixel(after));
    }

    void nothing_runs_while_nothing_changes() {
        Shown shown(lesson_pool());
        shown.settle();
        const int before = shown.panel.refreshes();
        QTest::qWait(400);
        QCOMPARE(shown.panel.refreshes(), before);
        QVERIFY(!shown.panel.timers_running());
        QCOMPARE(shown.panel.grid()->flashing(), 0);
    }

    void only_changed_tiles_are_painted() {
        auto pool = lesson_pool();
        Shown shown(pool);
        shown.settle();
        KvGridView& grid = *shown.panel.grid();
        grid.repaint();
        const int all = grid.primitives();
        QVERIFY(all >= 248);
        auto next = std::make_shared<KvSnapshot>(*pool);
        ++next->blocks[42].fill;
        shown.panel.set_snapshot(next);
        shown.settle();
        QCoreApplication::processEvents();
        QVERIFY2(grid.primitives() < all / 8, qPrintable(QString::number(grid.primitives())));
    }

    void paint_cost_is_bounded_by_pixels() {
        const auto cost = [](int blocks) {
            auto pool = empty_pool(blocks);
            for (int s = 0; s < 8; ++s) {
                std::vector<std::int32_t> table;
                table.reserve(static_cast<std::size_t>(blocks / 16));
                for (int i = 0; i < blocks / 16; ++i) table.push_back(s * (blocks / 8) + i);
                add_sequence(*pool, s + 1, s + 1, SequenceState::Running, blocks - 3, table);
            }
            for (int i = 0; i < blocks; i += 3) {
                if (pool->blocks[static_cast<std::size_t>(i)].state == BlockState::Free)
                    add_cached(*pool, i, 1);
            }
            count(*pool);
            Shown shown(pool);
            shown.panel.grid()->repaint();
            return std::pair(shown.panel.grid()->primitives(), shown.panel.grid()->layout_of_tiles().tiles());
        };
        const auto [small, small_tiles] = cost(10'000);
        const auto [large, large_tiles] = cost(100'000);
        QVERIFY(small > 0);
        // Ten times the blocks, the same pixels: at most twice the work (the step of merging is a factor of
        // two).
        QVERIFY2(large <= 2 * small, qPrintable(QStringLiteral("%1 then %2").arg(small).arg(large)));
        QVERIFY(large <= 5 * large_tiles);
        QVERIFY(large_tiles <= 2 * small_tiles);
    }

    void merged_tiles_say_so() {
        auto pool = empty_pool(100'000);
        add_sequence(*pool, 1, 1, SequenceState::Held, 16 * 3, {0, 1, 2});
        count(*pool);
        Shown shown(pool);
        const int per_tile = shown.panel.grid()->layout_of_tiles().blocks_per_tile();
        QVERIFY(per_tile > 1);
        QVERIFY(shown.panel.subtitle().contains(QString::number(per_tile)));
        // Three used blocks of many are still seen.
        const QImage image = shown.grid_picture();
        QVERIFY(count_of(image, shown.panel.grid()->tile_rect(0), sequence_color(0, current_theme()).fill) >
                0);
        QCOMPARE(count_of(image, shown.panel.grid()->tile_rect(1), sequence_color(0, current_theme()).fill),
                 0);
    }

    void figures_and_texts() {
        Shown shown(lesson_pool());
        const auto& figures = shown.panel.figure_row()->figures();
        QCOMPARE(figures.size(), std::size_t(6));
        QCOMPARE(figures[0].value, "28");
        QCOMPARE(figures[1].value, "207");
        QCOMPARE(figures[2].value, "13");
        QCOMPARE(figures[3].value, "3");
        QCOMPARE(figures[4].value, QStringLiteral("4.02\u00A0%"));
        QCOMPARE(figures[5].value, QStringLiteral("54.9×"));
        // Three full contexts of 512 blocks: what a contiguous reservation would have taken.
        QVERIFY2(figures[5].hint.contains(format_bytes(3ULL * 512 * 368640)), qPrintable(figures[5].hint));
        for (const Figure& figure : figures) QVERIFY(!figure.hint.isEmpty());
        QVERIFY(shown.panel.subtitle().startsWith("248 blocks of 16 tokens"));
        QVERIFY(shown.panel.sentence().contains("physical block 42"));
        const QString spoken = shown.panel.accessibleDescription();
        for (const char* part : {"28 used", "13 cached", "3 shared", "wasted", "physical block 42"}) {
            QVERIFY2(spoken.contains(part), qPrintable(spoken));
        }
        QCOMPARE(shown.panel.accessibleName(), "KV blocks");
    }

    void sentence_names_the_chat() {
        auto pool = lesson_pool();
        pool->last_change = "Iteration 9: sequence 5 took 2 blocks; sequence 77 and consequence 5 did not.";
        Shown shown(pool);
        QCOMPARE(shown.panel.sentence(),
                 QStringLiteral("Iteration 9: “Why tides come twice a day” took 2 blocks; "
                                "sequence 77 and consequence 5 did not."));
    }

    void empty_states_teach() {
        Shown none(nullptr);
        QVERIFY(none.panel.empty_text().contains("No model"));
        QVERIFY(!none.panel.grid()->isVisible());
        QCOMPARE(none.panel.figure_row()->figures()[0].value, QStringLiteral("–"));
        QVERIFY(none.panel.accessibleDescription().contains("No model"));
        // The sentence is painted, the grid's place is not left blank.
        QVERIFY(count_of(picture(none.panel), none.panel.rect(), current_theme().text_second) > 50);

        Shown unused(empty_pool(64));
        QVERIFY(unused.panel.empty_text().isEmpty());
        QVERIFY(unused.panel.sentence().contains("Write a message"));
        QCOMPARE(unused.panel.figure_row()->figures()[0].value, "0");
        QCOMPARE(unused.panel.figure_row()->figures()[4].value,
                 QStringLiteral("–"));  // no used block: no share

        none.panel.set_snapshot(lesson_pool());
        none.settle();
        QVERIFY(none.panel.empty_text().isEmpty());
        QVERIFY(none.panel.grid()->isVisible());
        none.panel.set_snapshot(nullptr);
        none.settle();
        QVERIFY(!none.panel.empty_text().isEmpty());
    }

    void hidden_panel_does_nothing() {
        SequenceColors colors;
        KvPanel panel(&colors);
        panel.resize(476, 420);
        const int before = panel.refreshes();
        for (int i = 0; i < 100; ++i) {
            auto pool = lesson_pool();
            pool->iteration = i;
            panel.set_snapshot(pool);
            panel.set_selected(i % 3);
        }
        QTest::qWait(300);
        QCOMPARE(panel.refreshes(), before);
        QVERIFY(!panel.timers_running());
        QVERIFY(panel.model().snapshot() == nullptr);
        QCOMPARE(panel.grid()->primitives(), 0);

        panel.show();  // now the newest at once, without a flash for what nobody saw
        QCOMPARE(panel.model().snapshot()->iteration, 99);
        QCOMPARE(panel.figure_row()->figures()[0].value, "28");
        QCOMPARE(panel.grid()->flashing(), 0);
        panel.hide();
        const int shown = panel.refreshes();
        panel.set_snapshot(empty_pool(8));
        QTest::qWait(300);
        QCOMPARE(panel.refreshes(), shown);
        QVERIFY(!panel.timers_running());
    }

    void figures_change_at_most_four_times_a_second() {
        auto pool = empty_pool(64);
        Shown shown(pool);
        shown.settle();
        QElapsedTimer time;
        time.start();
        QString last = shown.panel.figure_row()->figures()[0].value;
        int changes = 0;
        int sent = 0;
        while (time.elapsed() < 1000) {
            auto next = std::make_shared<KvSnapshot>(*pool);
            next->used = ++sent;
            shown.panel.set_snapshot(next);
            QTest::qWait(5);
            const QString now = shown.panel.figure_row()->figures()[0].value;
            changes += now != last ? 1 : 0;
            last = now;
        }
        const qint64 passed = time.elapsed();
        QVERIFY(changes >= 1);
        QVERIFY2(changes <= passed / 250 + 1, qPrintable(QString::number(changes)));
        shown.settle();
        QCOMPARE(shown.panel.figure_row()->figures()[0].value,
                 QString::number(sent));  // the last one arrives
    }

    void click_tells_whose_block_it_is() {
        Shown shown(lesson_pool());
        shown.panel.set_selected(2);
        QSignalSpy clicked(&shown.panel, &KvPanel::block_clicked);
        const auto click = [&](int block) {
            QTest::mouseClick(shown.panel.grid(), Qt::LeftButton, {}, shown.middle(block).toPoint());
        };
        click(31);
        QCOMPARE(clicked.takeFirst(), (QVariantList{31, qint64(1), 11}));
        click(8);  // shared: the selected chat first
        QCOMPARE(clicked.takeFirst(), (QVariantList{8, qint64(2), 1}));
        click(200);
        QCOMPARE(clicked.takeFirst(), (QVariantList{200, qint64(0), -1}));
        QTest::mouseClick(shown.panel.grid(), Qt::LeftButton, {}, {1, 0});  // the margin
        QVERIFY(clicked.isEmpty());
        QCOMPARE(shown.panel.grid()->highlight(), 200);

        BlockTableView& table = *shown.panel.table();
        QTest::mouseClick(&table, Qt::LeftButton, {}, table.chip_rect(4).center());
        QCOMPARE(clicked.takeFirst(), (QVariantList{19, qint64(2), 4}));
        QCOMPARE(shown.panel.grid()->highlight(), 19);
    }

    void highlight_is_seen_in_both() {
        Shown shown(lesson_pool());
        shown.panel.set_selected(1);
        const QImage grid = shown.grid_picture();
        const QImage table = shown.table_picture();
        shown.panel.highlight_block(3);
        QVERIFY(shown.grid_picture() != grid);
        QVERIFY(shown.table_picture() != table);
        QVERIFY(count_of(shown.grid_picture(),
                         QRectF(shown.panel.grid()->tile_rect(3)).adjusted(-2, -2, 2, 2),
                         current_theme().accent) > 4);
        shown.panel.highlight_block(-1);
        QCOMPARE(shown.grid_picture(), grid);
        QCOMPARE(shown.table_picture(), table);
    }

    void keyboard_walks_from_block_to_block() {
        Shown shown(lesson_pool());
        KvGridView& grid = *shown.panel.grid();
        QSignalSpy clicked(&shown.panel, &KvPanel::block_clicked);
        QFocusEvent focus(QEvent::FocusIn, Qt::TabFocusReason);
        QCoreApplication::sendEvent(&grid, &focus);
        QCOMPARE(grid.highlight(), 0);
        QTest::keyClick(&grid, Qt::Key_Right);
        QCOMPARE(grid.highlight(), 1);
        QTest::keyClick(&grid, Qt::Key_Down);
        QCOMPARE(grid.highlight(), 1 + grid.layout_of_tiles().columns());
        QTest::keyClick(&grid, Qt::Key_End);
        QCOMPARE(grid.highlight(), 247);
        QTest::keyClick(&grid, Qt::Key_Right);
        QCOMPARE(grid.highlight(), 247);
        QTest::keyClick(&grid, Qt::Key_Home);
        QTest::keyClick(&grid, Qt::Key_Left);
        QTest::keyClick(&grid, Qt::Key_Up);
        QCOMPARE(grid.highlight(), 0);
        QVERIFY(grid.accessibleDescription().contains("Block 0"));
        QVERIFY(clicked.size() >= 5);
    }

    void table_shows_the_selected_chat() {
        Shown shown(lesson_pool());
        QVERIFY(shown.panel.table()->caption().contains("choose a chat"));
        QCOMPARE(shown.panel.table()->layout_of_chips().chips, 0);
        shown.panel.set_selected(1);
        QVERIFY(shown.panel.table()->caption().contains("Why tides come twice a day"));
        QCOMPARE(shown.panel.table()->layout_of_chips().entries, 13);
        shown.panel.set_selected(99);
        QVERIFY(shown.panel.table()->caption().contains("holds no block"));
        QCOMPARE(shown.panel.table()->layout_of_chips().chips, 0);
    }

    void long_tables_keep_the_height() {
        auto pool = empty_pool(600);
        std::vector<std::int32_t> table;
        table.reserve(512);
        for (int i = 0; i < 512; ++i) table.push_back(i);
        add_sequence(*pool, 1, 1, SequenceState::Running, 8192, table);
        Shown shown(lesson_pool());
        shown.panel.set_selected(1);
        const int height = shown.panel.table()->height();
        const QRect place = shown.panel.grid()->geometry();
        shown.panel.set_snapshot(pool);
        shown.settle();
        QCOMPARE(shown.panel.table()->layout_of_chips().entries, 512);
        QVERIFY(shown.panel.table()->layout_of_chips().left_out > 0);
        QCOMPARE(shown.panel.table()->height(), height);
        QCOMPARE(shown.panel.grid()->geometry().top(), place.top());
    }

    void another_pool_size_is_laid_out_anew() {
        Shown shown(lesson_pool());
        shown.panel.highlight_block(240);
        for (const int blocks : {32, 5000, 1, 100'000, 248}) {
            auto pool = empty_pool(blocks);
            shown.panel.set_snapshot(pool);
            shown.settle();
            QCOMPARE(shown.panel.grid()->layout_of_tiles().blocks(), blocks);
            QVERIFY(shown.panel.grid()->highlight() < blocks);
            QVERIFY(!picture(shown.panel).isNull());
        }
    }

    void narrow_and_tiny_panels_do_not_overlap() {
        for (const QSize size : {QSize(360, 420), QSize(300, 300), QSize(240, 10), QSize(1600, 900)}) {
            Shown shown(lesson_pool(), size);
            QWidget* row = shown.panel.figure_row();
            const auto bottom = [&](QWidget* w) {
                return w->mapTo(&shown.panel, QPoint(0, w->height())).y();
            };
            const auto top = [&](QWidget* w) { return w->mapTo(&shown.panel, QPoint(0, 0)).y(); };
            QVERIFY(bottom(row) <= top(shown.panel.grid()));
            QVERIFY(bottom(shown.panel.grid()) <= top(shown.panel.table()));
            QVERIFY(!picture(shown.panel).isNull());
        }
    }

    void theme_change_repaints_in_its_colours() {
        Shown shown(lesson_pool());
        const QImage light = picture(shown.panel);
        use(true);
        const QImage dark = picture(shown.panel);
        QVERIFY(light != dark);
        QCOMPARE(at(dark, {4, shown.panel.height() / 3.0}), current_theme().surface);
    }

    void exports() {
        Shown shown(lesson_pool());
        QTemporaryDir folder;
        const QString png = folder.filePath(QStringLiteral("Blöcke 1.png"));
        QVERIFY(shown.panel.save_png(png));
        QCOMPARE(QImage(png).width(), shown.panel.width() * 2);
        const QString csv = folder.filePath(QStringLiteral("Blöcke 1.csv"));
        QVERIFY(shown.panel.save_csv(csv));
        QFile file(csv);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QList<QByteArray> lines = file.readAll().trimmed().split('\n');
        QCOMPARE(lines.size(), 249);
        QCOMPARE(lines[0], QByteArray("block,state,references,tokens,session,logical"));
        QCOMPARE(lines[1 + 8], QByteArray("8,used,2,16,1,1"));
        QCOMPARE(lines[1 + 12], QByteArray("12,cached,0,16,1,"));
        QCOMPARE(lines[1 + 200], QByteArray("200,free,0,0,,"));
        QString error;
        QVERIFY(!shown.panel.save_png(folder.filePath("missing/x.png"), &error));
        QVERIFY(error.contains("missing/x.png"));
    }

    void zooms_and_pans_from_a_hundred_thousand_to_single_blocks() {
        auto pool = empty_pool(100'000);
        add_sequence(*pool, 1, 1, SequenceState::Held, 16, {77'777});
        count(*pool);
        Shown shown(pool);
        KvGridView& grid = *shown.panel.grid();
        const int merged = grid.layout_of_tiles().blocks_per_tile();
        QVERIFY(merged > 1);
        QCOMPARE(grid.shown(), 100'000);
        // Ctrl and the wheel, about the pointer.
        const QPoint place = grid.tile_rect(77'777 / merged).center();
        for (int i = 0; i < 40; ++i) {
            const std::int32_t before = grid.shown();
            QWheelEvent wheel(place, grid.mapToGlobal(place), {}, {0, 120}, Qt::NoButton, Qt::ControlModifier,
                              Qt::NoScrollPhase, false);
            QCoreApplication::sendEvent(&grid, &wheel);
            QVERIFY(grid.shown() <= before);
        }
        QCOMPARE(grid.shown(), 32);
        QCOMPARE(grid.layout_of_tiles().blocks_per_tile(), 1);
        QVERIFY(grid.zoomed());
        QVERIFY2(shown.panel.subtitle().contains(QStringLiteral("of 100\u202F000")),
                 qPrintable(shown.panel.subtitle()));
        // The keyboard finds it, wherever it is.
        QTest::keyClick(&grid, Qt::Key_0);
        QCOMPARE(grid.shown(), 100'000);
        QSignalSpy clicked(&shown.panel, &KvPanel::block_clicked);
        grid.zoom(20, 77'777);
        QVERIFY(grid.first_shown() <= 77'777 && grid.first_shown() + grid.shown() > 77'777);
        const int tile = 77'777 - grid.first_shown();
        QTest::mouseClick(&grid, Qt::LeftButton, {}, grid.tile_rect(tile).center());
        QCOMPARE(clicked.last()[0].toInt(), 77'777);
        QCOMPARE(clicked.last()[1].toLongLong(), 1);
        QCOMPARE(at(shown.grid_picture(), QRectF(grid.tile_rect(tile)).center()),
                 sequence_color(0, current_theme()).fill);
        const int first = grid.first_shown();
        QTest::keyClick(&grid, Qt::Key_PageDown);
        QVERIFY(grid.first_shown() > first);
        for (int i = 0; i < 20; ++i) QTest::keyClick(&grid, Qt::Key_Left);  // walks out of the view
        const int now = grid.highlight();
        QCOMPARE(now, 77'757);
        QVERIFY(now >= grid.first_shown() && now < grid.first_shown() + grid.shown());
        QTest::keyClick(&grid, Qt::Key_End);
        QCOMPARE(grid.highlight(), 99'999);
        QTest::keyClick(&grid, Qt::Key_Home);
        QCOMPARE(grid.first_shown(), 0);
        // Dragging moves rows.
        const QPoint from = grid.rect().center();
        QTest::mousePress(&grid, Qt::LeftButton, {}, from);
        QTest::mouseMove(&grid, from - QPoint(0, 3 * grid.layout_of_tiles().pitch()));
        QTest::mouseRelease(&grid, Qt::LeftButton);
        QVERIFY(grid.first_shown() > 0);
        // Another pool is shown whole.
        shown.panel.set_snapshot(lesson_pool());
        shown.settle();
        QVERIFY(!grid.zoomed());
        QCOMPARE(grid.shown(), 248);
    }

    void flashes_say_what_happened() {
        auto before = empty_pool(64);
        add_sequence(*before, 1, 1, SequenceState::Running, 16, {0});
        add_cached(*before, 9, 1);
        add_cached(*before, 10, 1);
        count(*before);
        Shown shown(before);
        const QPointF place = shown.middle(9);
        const auto flash = [&](BlockEvent event) {
            auto after = std::make_shared<KvSnapshot>(*before);
            after->iteration = before->iteration + 1;
            after->blocks[9] = {BlockState::Used, 1, 1, 1};
            Record r{};
            r.kind = RecordKind::Block;
            r.block = {};
            r.block.block = 9;
            r.block.event = event;
            shown.panel.append({r});
            shown.panel.set_snapshot(after);
            shown.settle();
            const QImage image = shown.grid_picture();
            const QColor now = at(image, {place.x(), QRectF(shown.panel.grid()->tile_rect(9)).top() + 3});
            QTest::qWait(250);
            if (shown.panel.grid()->flashing() != 0) return QColor(Qt::magenta);  // once, and gone
            shown.panel.set_snapshot(before);
            shown.settle();
            QTest::qWait(250);
            return now;
        };
        const QColor taken = flash(BlockEvent::Allocate);
        const QColor copied = flash(BlockEvent::Copy);
        const QColor evicted = flash(BlockEvent::Evict);
        QVERIFY(taken != copied && copied != evicted && taken != evicted);
        QVERIFY(taken != QColor(Qt::magenta) && copied != QColor(Qt::magenta) &&
                evicted != QColor(Qt::magenta));
    }

    void each_sequence_has_its_block_table() {
        Shown shown(lesson_pool());
        shown.panel.set_selected(1);
        QVERIFY(shown.panel.table()->caption().contains(QStringLiteral("Why tides")));
        QTest::mouseClick(shown.panel.grid(), Qt::LeftButton, {}, shown.middle(28).toPoint());
        QVERIFY2(shown.panel.table()->caption().contains(QStringLiteral("Ferry")),
                 qPrintable(shown.panel.table()->caption()));
        QSignalSpy clicked(&shown.panel, &KvPanel::block_clicked);
        QTest::mouseClick(shown.panel.table(), Qt::LeftButton, {},
                          shown.panel.table()->chip_rect(0).center());
        QCOMPARE(clicked[0][1].toLongLong(), 3);
        QCOMPARE(clicked[0][2].toInt(), 0);
        shown.panel.set_selected(2);
        QVERIFY(shown.panel.table()->caption().contains(QStringLiteral("Second try")));
    }

    void the_text_of_a_block_is_asked_for_and_shown() {
        Shown shown(lesson_pool());
        QSignalSpy wanted(&shown.panel, &KvPanel::text_wanted);
        QTest::mouseMove(shown.panel.grid(), shown.middle(20).toPoint());
        QTRY_COMPARE(wanted.size(), 1);
        QCOMPARE(wanted[0][0].toInt(), 20);
        shown.panel.set_block_text(20, 412, QStringLiteral("<b>the\nsea"));
        shown.panel.set_block_text(3, 412, QStringLiteral("too late"));
        QTest::mouseMove(shown.panel.grid(), shown.middle(20).toPoint() + QPoint(1, 0));
        QHelpEvent help(QEvent::ToolTip, shown.middle(20).toPoint(),
                        shown.panel.grid()->mapToGlobal(shown.middle(20).toPoint()));
        QCoreApplication::sendEvent(shown.panel.grid(), &help);
        QVERIFY2(QToolTip::text().contains(QStringLiteral("“<b>the\u21B5sea”")),
                 qPrintable(QToolTip::text()));
        QVERIFY(!Qt::mightBeRichText(QToolTip::text()));
        QToolTip::hideText();
    }
};

QTEST_MAIN(TestKvPanel)
#include "tst_kv_panel.moc"
