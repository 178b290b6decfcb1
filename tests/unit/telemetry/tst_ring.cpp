#include <array>
#include <thread>

#include <QtTest>

#include "core/telemetry/ring.h"

using namespace vitrine;

namespace {

Record token(std::int32_t index) {
    Record r{};
    r.kind = RecordKind::Token;
    r.token.index = index;
    return r;
}

}  // namespace

class TestRing : public QObject {
    Q_OBJECT
  private slots:
    void keeps_the_order() {
        TelemetryRing ring(8);
        for (int i = 0; i < 5; ++i) QVERIFY(ring.push(token(i)));
        std::array<Record, 3> out{};
        QCOMPARE(ring.pop(out), std::size_t{3});
        QCOMPARE(out[0].token.index, 0);
        QCOMPARE(out[2].token.index, 2);
        QCOMPARE(ring.pop(out), std::size_t{2});
        QCOMPARE(out[1].token.index, 4);
        QCOMPARE(ring.pop(out), std::size_t{0});
    }

    void a_full_ring_drops_the_new_and_counts_it() {
        TelemetryRing ring(4);
        for (int i = 0; i < 6; ++i) QCOMPARE(ring.push(token(i)), i < 4);
        QCOMPARE(ring.dropped(), std::uint64_t{2});
        std::array<Record, 8> out{};
        QCOMPARE(ring.pop(out), std::size_t{4});
        QCOMPARE(out[3].token.index, 3);
        QVERIFY(ring.push(token(9)));
    }

    void capacity_is_a_power_of_two() {
        QCOMPARE(TelemetryRing(5).capacity(), std::size_t{8});
        QCOMPARE(TelemetryRing(0).capacity(), std::size_t{2});
    }

    void two_threads() {
        TelemetryRing ring(64);
        constexpr int count = 200'000;
        std::thread producer([&] {
            for (int i = 0; i < count;)
                if (ring.push(token(i)))
                    ++i;
                else
                    std::this_thread::yield();
        });
        std::array<Record, 16> out{};
        int next = 0;
        bool ordered = true;
        while (next < count) {
            const std::size_t n = ring.pop(out);
            if (n == 0) std::this_thread::yield();
            for (std::size_t i = 0; i < n; ++i) ordered = ordered && out[i].token.index == next++;
        }
        producer.join();
        QVERIFY(ordered);
        QCOMPARE(next, count);
    }
};

QTEST_APPLESS_MAIN(TestRing)
#include "tst_ring.moc"
