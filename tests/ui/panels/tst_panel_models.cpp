// What the panels know without a window: geometry, the turned-round snapshot, percentiles.
#include <algorithm>
#include <cmath>
#include <random>

#include <QTest>

#include "tests/ui/panels/fake_pool.h"
#include "tests/ui/panels/fake_records.h"
#include "ui/panels/kv_grid_layout.h"
#include "ui/panels/kv_model.h"
#include "ui/panels/latency_model.h"

using namespace vitrine;
using namespace vitrine::ui;
using namespace vitrine::test;

class TestPanelModels : public QObject {
    Q_OBJECT

  private slots:
    // --- geometry
    // ---------------------------------------------------------------------------------------------
    void grid_holds_every_block_data() {
        QTest::addColumn<int>("blocks");
        for (const int n :
             {1, 2, 31, 32, 33, 248, 999, 1500, 1501, 4096, 10'000, 65'537, 100'000, 1'000'000}) {
            QTest::addRow("%d", n) << n;
        }
    }
    void grid_holds_every_block() {
        QFETCH(int, blocks);
        for (const QSize area :
             {QSize(450, 128), QSize(336, 60), QSize(160, 56), QSize(2000, 900), QSize(6, 6)}) {
            const KvGridLayout grid(blocks, area);
            QVERIFY(grid.tiles() > 0);
            QVERIFY(grid.extent().width() <= area.width() && grid.extent().height() <= area.height());
            QVERIFY(grid.cell() >= KvGridLayout::min_pitch - 1);
            // Every block is in exactly one tile, in order.
            QCOMPARE(grid.first_block(0), 0);
            for (int t = 0; t + 1 < grid.tiles(); ++t) QCOMPARE(grid.end_block(t), grid.first_block(t + 1));
            QCOMPARE(grid.end_block(grid.tiles() - 1), blocks);
            QCOMPARE(grid.tile_of(blocks - 1), grid.tiles() - 1);
            // The number of tiles depends on pixels, not on blocks.
            QVERIFY(grid.tiles() <= (area.width() / 6 + 1) * (area.height() / 6 + 1));
            // Tiles do not overlap and are found again where they lie.
            for (int t = 0; t < grid.tiles(); t += 1 + grid.tiles() / 97) {
                const QRect rect = grid.tile_rect(t);
                QCOMPARE(grid.tile_at(rect.center()), t);
                QCOMPARE(grid.tile_at(rect.topLeft()), t);
                QCOMPARE(grid.tile_at(rect.bottomRight()), t);
                if (t > 0) QVERIFY(!rect.intersects(grid.tile_rect(t - 1)));
            }
        }
    }

    void grid_merges_only_when_it_must() {
        QCOMPARE(KvGridLayout(32, {450, 128}).blocks_per_tile(), 1);
        QCOMPARE(KvGridLayout(248, {450, 128}).blocks_per_tile(), 1);
        QVERIFY(KvGridLayout(248, {450, 128}).cell() >= 11);  // room for a count
        QCOMPARE(KvGridLayout(1500, {450, 128}).blocks_per_tile(), 1);
        QCOMPARE(KvGridLayout(3000, {450, 128}).blocks_per_tile(), 2);
        const int merged = KvGridLayout(100'000, {450, 128}).blocks_per_tile();
        QCOMPARE(merged & (merged - 1), 0);
        // Not twice as coarse as needed.
        QVERIFY(100'000 / (merged / 2) > 75 * 21);
    }

    void grid_without_room_or_blocks() {
        QCOMPARE(KvGridLayout(10, {0, 0}).tiles(), 0);
        QCOMPARE(KvGridLayout(10, {-5, 100}).tiles(), 0);
        QCOMPARE(KvGridLayout(0, {100, 100}).tiles(), 0);
        QCOMPARE(KvGridLayout(-3, {100, 100}).tiles(), 0);
        QCOMPARE(KvGridLayout().tile_at({3, 3}), -1);
        QVERIFY(KvGridLayout().tile_rect(0).isEmpty());
        QCOMPARE(
            KvGridLayout(INT32_MAX, {450, 128}).end_block(KvGridLayout(INT32_MAX, {450, 128}).tiles() - 1),
            INT32_MAX);
    }

    void grid_gaps_are_nobodys() {
        const KvGridLayout grid(100, {450, 128});
        const QRect first = grid.tile_rect(0);
        QCOMPARE(grid.tile_at({first.right() + 1, 3}), -1);
        QCOMPARE(grid.tile_at({-1, 3}), -1);
        QCOMPARE(grid.tile_at({5000, 3}), -1);
        QCOMPARE(grid.tile_at(grid.tile_rect(99).center() + QPoint(grid.pitch(), 0)), -1);
    }

    void grid_rows_of_a_rectangle() {
        const KvGridLayout grid(248, {450, 128});
        QCOMPARE(grid.tiles_in({0, 0, 450, 128}), std::make_pair(0, 248));
        const auto [first, end] = grid.tiles_in(grid.tile_rect(40));
        QVERIFY(first <= 40 && end > 40 && end - first == grid.columns());
        QCOMPARE(grid.tiles_in({}), std::make_pair(0, 0));
        const auto below = grid.tiles_in({0, 5000, 10, 10});
        QCOMPARE(below.first, below.second);
    }

    void table_shows_all_where_it_can() {
        const BlockTableLayout table(13, 450, 2, 34, 2);
        QCOMPARE(table.chips, 13);
        QCOMPARE(table.left_out, 0);
        for (int i = 0; i < 13; ++i) {
            QCOMPARE(table.logical_at(i), i);
            QCOMPARE(table.chip_of(i), i);
        }
        QCOMPARE(table.logical_at(13), -2);
        QCOMPARE(table.logical_at(-1), -2);
    }

    void table_keeps_both_ends() {
        for (const int entries : {25, 26, 100, 512, 100'000}) {
            for (const int width : {30, 100, 336, 450, 900}) {
                const BlockTableLayout table(entries, width, 2, 34, 2);
                if (table.left_out == 0) continue;
                QCOMPARE(table.chips, table.columns * 2);
                int gaps = 0;
                int shown = 0;
                for (int chip = 0; chip < table.chips; ++chip) {
                    const int logical = table.logical_at(chip);
                    gaps += logical == -1 ? 1 : 0;
                    if (logical < 0) continue;
                    ++shown;
                    QCOMPARE(table.chip_of(logical), chip);
                }
                QCOMPARE(gaps, 1);
                QCOMPARE(shown + table.left_out, entries);
                QCOMPARE(table.logical_at(table.chips - 1), entries - 1);  // where it grows
                QCOMPARE(table.chip_of(table.head), -1);
            }
        }
        QCOMPARE(BlockTableLayout(-4, 100, 2, 34, 2).chips, 0);
    }

    // --- the snapshot turned round
    // ----------------------------------------------------------------------------
    void model_knows_owner_place_and_writer() {
        KvModel model;
        model.set(lesson_pool());
        QCOMPARE(model.block_count(), 248);
        QCOMPARE(model.block(30).owner, SequenceKey(1));
        QCOMPARE(model.block(30).logical, 10);
        QCOMPARE(model.block(42).written, true);
        QCOMPARE(model.block(38).written, true);
        QCOMPARE(model.block(29).written, false);  // held: nobody writes
        QCOMPARE(model.block(29).fill, 5);
        QCOMPARE(model.block(7).references, 2);
        QCOMPARE(model.block(10).owner, SequenceKey(1));  // cached, last had by
        QCOMPARE(model.block(86).owner, no_sequence);
        QCOMPARE(model.block(200).owner, no_sequence);
        const auto places = model.places(8);
        QCOMPARE(places.size(), std::size_t(2));
        QCOMPARE(places[0].key, SequenceKey(1));
        QCOMPARE(places[1].key, SequenceKey(2));
        QCOMPARE(places[1].logical, 1);
        QCOMPARE(model.live(), (std::vector<SequenceKey>{1, 2, 3}));
    }

    void model_figures() {
        KvModel model;
        auto pool = lesson_pool();
        model.set(pool);
        QCOMPARE(model.figures().used, 28);
        QCOMPARE(model.figures().shared, 3);
        QCOMPARE(model.figures().cached_free, 13);
        QCOMPARE(model.figures().sequences, 3);
        // 205 and 236 tokens leave 3 and 4 places empty, 37 leave 11: 18 of 28 · 16.
        QCOMPARE(model.figures().wasted, 18.0 / (28 * 16));
        QCOMPARE(model.figures().times_less, 3.0 * 512 / 28);
        model.set(empty_pool(64));
        QVERIFY(std::isnan(model.figures().wasted));
        QVERIFY(std::isnan(model.figures().times_less));
        model.set(nullptr);
        QVERIFY(model.empty());
    }

    void model_remembers_who_left_blocks_in_the_cache() {
        KvModel model;
        auto running = empty_pool(16);
        add_sequence(*running, 7, 70, SequenceState::Running, 32, {0, 1});
        model.set(running);
        auto after = empty_pool(16);
        add_cached(*after, 0, 7);
        model.set(after);
        QCOMPARE(model.block(0).owner, SequenceKey(70));
        QCOMPARE(model.block(0).logical, -1);
        auto unseen = empty_pool(16);
        add_cached(*unseen, 0, 9);
        model.remember(9, 90);
        model.set(unseen);
        QCOMPARE(model.block(0).owner, SequenceKey(90));
        // Thousands of requests later only those are remembered that own something.
        for (std::int64_t r = 100; r < 5000; ++r) {
            auto next = empty_pool(16);
            add_cached(*next, 3, 7);
            add_sequence(*next, r, r, SequenceState::Running, 4, {5});
            model.set(next);
        }
        QCOMPARE(model.block(3).owner, SequenceKey(70));
        QCOMPARE(model.key_of_request(101), no_sequence);
    }

    void model_session_has_several_requests() {
        KvModel model;
        auto pool = empty_pool(16);
        add_sequence(*pool, 1, 5, SequenceState::Held, 32, {0, 1});
        add_sequence(*pool, 3, 5, SequenceState::Held, 32, {2});
        add_sequence(*pool, 2, 5, SequenceState::Running, 48, {3, 4, 6});
        add_sequence(*pool, 4, 0, SequenceState::Running, 16, {8});
        SequenceView waiting;
        waiting.request = 9;
        waiting.session = 6;
        pool->sequences.push_back(waiting);
        model.set(pool);
        QCOMPARE(model.sequence_of(5)->request, 2);
        QCOMPARE(model.sequence_of(6), nullptr);  // holds nothing
        QCOMPARE(model.sequence_of(key_of(0, 4))->request, 4);
        QVERIFY(key_of(0, 0) < 0);
        QCOMPARE(model.sequence_of(77), nullptr);
    }

    void model_survives_a_wrong_snapshot() {
        auto pool = empty_pool(4);
        SequenceView bad;
        bad.request = 1;
        bad.session = 1;
        bad.state = SequenceState::Running;
        bad.computed = 1'000'000;
        bad.blocks = {-1, 99, 2, INT32_MAX};
        pool->sequences.push_back(bad);
        bad.computed = -5;
        pool->sequences.push_back(bad);
        pool->block_size = 0;
        pool->used = 3;
        KvModel model;
        model.set(pool);
        QCOMPARE(model.block(2).logical, 2);
        QVERIFY(std::isnan(model.figures().wasted));
    }

    // --- latency
    // ----------------------------------------------------------------------------------------------
    void nearest_rank_exact() {
        std::vector<float> values;
        for (int i = 100; i >= 1; --i) values.push_back(static_cast<float>(i));
        QCOMPARE(nearest_rank(values, 50), 50.0);
        QCOMPARE(nearest_rank(values, 95), 95.0);
        QCOMPARE(nearest_rank(values, 99), 99.0);
        QCOMPARE(nearest_rank(values, 100), 100.0);
        QCOMPARE(nearest_rank(values, 0), 1.0);
        QCOMPARE(nearest_rank(values, 50.5), 51.0);
        std::vector<float> five = {15, 20, 35, 40, 50};
        QCOMPARE(nearest_rank(five, 30), 20.0);
        QCOMPARE(nearest_rank(five, 40), 20.0);
        QCOMPARE(nearest_rank(five, 50), 35.0);
        std::vector<float> one = {3};
        QCOMPARE(nearest_rank(one, 1), 3.0);
        QCOMPARE(nearest_rank(one, 99), 3.0);
        std::vector<float> none;
        QVERIFY(std::isnan(nearest_rank(none, 50)));
        QCOMPARE(nearest_rank(five, 250), 50.0);
    }

    void nearest_rank_by_definition() {
        std::mt19937 random(5);
        for (int n = 1; n < 200; ++n) {
            std::vector<float> values;
            values.reserve(static_cast<std::size_t>(n));
            for (int i = 0; i < n; ++i) values.push_back(static_cast<float>(random() % 50));
            std::vector<float> sorted = values;
            std::sort(sorted.begin(), sorted.end());
            for (const int p : {1, 25, 50, 90, 95, 99}) {
                // Integers: no binary fractions to argue about.
                const auto rank = static_cast<std::size_t>((p * n + 99) / 100);
                QCOMPARE(nearest_rank(values, p),
                         static_cast<double>(sorted[std::max<std::size_t>(rank, 1) - 1]));
            }
        }
    }

    void first_tokens_are_no_intervals() {
        LatencyModel model;
        model.append(token(1, 0, 1.0, 0.5));
        QCOMPARE(model.points().size(), std::size_t(0));
        QCOMPARE(model.marks().size(), std::size_t(1));
        QCOMPARE(model.marks()[0].seconds, 0.5F);
        QCOMPARE(model.percentiles().count, std::size_t(0));
        QVERIFY(std::isnan(model.percentiles().p50));
        model.append(token(1, 1, 1.01, 0.01F));
        QCOMPARE(model.percentiles().count, std::size_t(1));
        QCOMPARE(model.percentiles().p99, static_cast<double>(0.01F));
    }

    void percentiles_over_a_window() {
        LatencyModel model;
        for (int i = 1; i <= 200; ++i) model.append(token(1, i, i * 1.0, static_cast<float>(i) * 1e-3F));
        const Percentiles last = model.percentiles(100);  // 101 … 200 ms
        QCOMPARE(last.count, std::size_t(100));
        QCOMPARE(last.p50, static_cast<double>(150 * 1e-3F));
        QCOMPARE(last.p95, static_cast<double>(195 * 1e-3F));
        QCOMPARE(last.p99, static_cast<double>(199 * 1e-3F));
    }

    void ring_keeps_the_last() {
        LatencyModel model(100);
        for (int i = 1; i <= 1234; ++i) model.append(token(1, i, i * 0.01, 0.01F));
        QCOMPARE(model.points().size(), std::size_t(100));
        QCOMPARE(model.points()[0].index, 1135);
        QCOMPARE(model.points()[99].index, 1234);
        LastOf<int> zero(0);
        zero.push(1);
        zero.push(2);
        QCOMPARE(zero.size(), std::size_t(1));
        QCOMPARE(zero[0], 2);
    }

    void speed_of_the_newest_request_of_a_chat() {
        LatencyModel model;
        for (int i = 1; i <= 10; ++i) model.append(token(1, i, i * 0.1, 0.1F));
        for (int i = 1; i <= 20; ++i) {
            model.append(token(2, i, 2 + i * 0.02, 0.02F));
            model.append(token(3, i, 2 + i * 0.02, 0.05F));
        }
        const auto chat = [](std::int64_t request) { return request == 1 || request == 2; };
        QVERIFY(std::abs(model.tokens_per_second(chat) - 50) < 0.01);
        QVERIFY(std::abs(model.tokens_per_second([](std::int64_t r) { return r == 3; }) - 20) < 0.01);
        QVERIFY(std::isnan(model.tokens_per_second([](std::int64_t) { return false; })));
        // A window: only the last five, which were slower.
        for (int i = 21; i <= 25; ++i) model.append(token(2, i, 3 + i * 0.5, 0.5F));
        QVERIFY(std::abs(model.tokens_per_second(chat, 5) - 2) < 0.001);
    }

    void pauses_are_cut() {
        LatencyModel model;
        model.append(request(1, RequestEvent::Submitted, 10));
        model.append(request(1, RequestEvent::PrefillChunk, 10.3, 0.3F, 100));
        model.append(token(1, 0, 10.3, 0.3F));
        for (int i = 1; i <= 10; ++i) model.append(token(1, i, 10.3 + i * 0.01, 0.01F));
        QVERIFY(std::abs(model.now() - 0.4) < 1e-6);
        // An hour later: a twentieth of a second stays of it.
        model.append(token(2, 0, 3610.8, 0.2F));
        QVERIFY(std::abs(model.now() - (0.4 + LatencyModel::idle_kept + 0.2)) < 1e-4);
        QCOMPARE(model.bars().size(), std::size_t(1));
        QVERIFY(std::abs(model.bars()[0].begin - 0.0) < 1e-6);
        QVERIFY(std::abs(model.bars()[0].end - 0.3) < 1e-6);
    }

    void a_slow_token_is_no_pause() {
        LatencyModel model;
        model.append(token(1, 1, 10, 5));
        model.append(token(1, 2, 15, 5));
        QVERIFY(std::abs(model.now() - 10) < 1e-6);
        QVERIFY(std::abs(model.points()[1].at - model.points()[0].at - 5) < 1e-6);
    }

    void several_requests_share_the_clock() {
        LatencyModel model;
        for (int i = 1; i <= 100; ++i) {
            for (int r = 0; r < 8; ++r) model.append(token(r, i, 1 + i * 0.02 + r * 1e-4, 0.02F));
        }
        QVERIFY(model.now() < 100 * 0.02 + 0.01);
        for (std::size_t i = 1; i < model.points().size(); ++i) {
            QVERIFY(model.points()[i].at >= model.points()[i - 1].at - 1e-9);
        }
    }

    void events_are_marks() {
        LatencyModel model;
        model.append(request(1, RequestEvent::Preempted, 1));
        model.append(request(1, RequestEvent::Cancelled, 2));
        model.append(request(1, RequestEvent::Failed, 3));
        for (const RequestEvent quiet : {RequestEvent::Submitted, RequestEvent::Admitted,
                                         RequestEvent::FirstToken, RequestEvent::Finished}) {
            model.append(request(1, quiet, 4));
        }
        QCOMPARE(model.marks().size(), std::size_t(3));
        QCOMPARE(model.marks()[0].kind, MarkKind::Preempted);
        QCOMPARE(model.marks()[2].kind, MarkKind::Failed);
        Record iteration{};
        iteration.kind = RecordKind::Iteration;
        model.append(iteration);
        QCOMPARE(model.points().size(), std::size_t(0));
    }

    void nonsense_times_are_skipped() {
        LatencyModel model;
        model.append(token(1, 1, NAN, 0.1F));
        model.append(token(1, 1, 1, NAN));
        model.append(token(1, 1, 1, -1));
        model.append(token(1, 1, INFINITY, 0.1F));
        model.append(request(1, RequestEvent::Cancelled, NAN));
        model.append(request(1, RequestEvent::PrefillChunk, 1, NAN, 5));
        QVERIFY(model.empty());
    }

    void another_engine_starts_its_clock_anew() {
        LatencyModel model;
        for (int i = 1; i <= 10; ++i) model.append(token(1, i, 1000 + i * 0.01, 0.01F));
        const double before = model.now();
        for (int i = 1; i <= 10; ++i) model.append(token(1, i, 1 + i * 0.01, 0.01F));
        QVERIFY(model.now() > before);
        QVERIFY(model.now() < before + 0.2);
        for (std::size_t i = 1; i < 20; ++i) QVERIFY(model.points()[i].at > model.points()[i - 1].at);
        model.clear();
        QVERIFY(model.empty());
        QCOMPARE(model.now(), 0.0);
    }
};

QTEST_GUILESS_MAIN(TestPanelModels)
#include "tst_panel_models.moc"
