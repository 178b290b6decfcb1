// Figures by the definitions of the field, on numbers that can be followed by hand.
#include <cmath>

#include <QtTest>

#include "core/telemetry/metrics.h"

using namespace vitrine;

namespace {

Record request(RequestEvent event, std::int64_t id, double time) {
    Record r{};
    r.kind = RecordKind::Request;
    r.request = {.request = id, .iteration = 0, .time = time, .duration = 0, .tokens = 0, .event = event};
    return r;
}

Record token(std::int64_t id, double time, double interval) {
    Record r{};
    r.kind = RecordKind::Token;
    r.token.request = id;
    r.token.time = time;
    r.token.interval = static_cast<float>(interval);
    return r;
}

bool near(double a, double b) { return std::abs(a - b) < 1e-6 * std::max(1.0, std::abs(b)); }

}  // namespace

class TestMetrics : public QObject {
    Q_OBJECT
  private slots:
    void percentiles_lie_between_neighbours() {
        const std::vector<double> v{1, 2, 3, 4};
        QVERIFY(near(percentile(v, 0), 1));
        QVERIFY(near(percentile(v, 1), 4));
        QVERIFY(near(percentile(v, 0.5), 2.5));
        QVERIFY(near(percentile(v, 0.95), 3.85));  // numpy.percentile([1, 2, 3, 4], 95)
        QVERIFY(near(percentile(std::vector<double>{7}, 0.99), 7));
        const Spread s = spread_of({4, 1, 3, 2});
        QCOMPARE(s.count, std::size_t{4});
        QVERIFY(near(s.mean, 2.5) && near(s.p50, 2.5) && near(s.least, 1) && near(s.most, 4));
        QCOMPARE(spread_of({}).count, std::size_t{0});
    }

    void two_requests_by_hand() {
        Metrics m;
        // First: submitted at 0, tokens at 1, 2 and 4, ends at 4. Second: submitted at 1, one token at 3.
        m.add(request(RequestEvent::Submitted, 1, 0));
        m.add(request(RequestEvent::Submitted, 2, 1));
        m.add(token(1, 1, 1));
        m.add(token(1, 2, 1));
        m.add(token(2, 3, 2));
        m.add(request(RequestEvent::Finished, 2, 3));
        m.add(token(1, 4, 2));
        m.add(request(RequestEvent::Finished, 1, 4));
        const MetricsSummary s = m.summary();
        QCOMPARE(s.requests, 2);
        QCOMPARE(s.tokens, 4);
        QVERIFY(near(s.ttft.mean, 1.5));
        QCOMPARE(s.itl.count, std::size_t{2});  // one a token beyond the first
        QVERIFY(near(s.itl.mean, 1.5));
        QCOMPARE(s.tpot.count, std::size_t{1});  // a request of one token has none
        QVERIFY(near(s.tpot.mean, (4.0 - 1.0) / 2));
        QVERIFY(near(s.end_to_end.mean, (4.0 + 2.0) / 2));
        QVERIFY(near(s.user_tok_s, (3.0 / 4 + 1.0 / 2) / 2));
        QVERIFY(near(s.system_tok_s, 4.0 / 4));
        QVERIFY(near(s.seconds, 4));
    }

    // TPOT averages over requests, ITL over tokens: a long answer does not weigh more in the former.
    void tpot_is_per_request_and_itl_per_token() {
        Metrics m;
        m.add(request(RequestEvent::Submitted, 1, 0));
        m.add(request(RequestEvent::Submitted, 2, 0));
        m.add(token(1, 1, 1));
        m.add(token(2, 1, 1));
        double time = 1;
        for (int i = 0; i < 9; ++i) m.add(token(1, time += 0.1, 0.1));
        m.add(request(RequestEvent::Finished, 1, time));
        m.add(token(2, 2, 1));
        m.add(request(RequestEvent::Finished, 2, 2));
        const MetricsSummary s = m.summary();
        QVERIFY(near(s.tpot.mean, (0.1 + 1.0) / 2));
        QVERIFY(near(s.itl.mean, (9 * 0.1 + 1.0) / 10));
    }

    void requests_that_are_stopped_count_with_what_they_gave() {
        Metrics m;
        m.add(request(RequestEvent::Submitted, 1, 0));
        m.add(request(RequestEvent::Submitted, 2, 0));
        m.add(request(RequestEvent::Cancelled, 1, 1));
        m.add(token(2, 1, 1));
        m.add(request(RequestEvent::Failed, 2, 2));
        m.add(token(3, 1, 1));                         // of a request from before
        m.add(request(RequestEvent::Finished, 4, 1));  // the same
        const MetricsSummary s = m.summary();
        QCOMPARE(s.requests, 2);
        QCOMPARE(s.tokens, 1);
        QCOMPARE(s.ttft.count, std::size_t{1});
        m.clear();
        QCOMPARE(m.summary().requests, 0);
        QVERIFY(near(m.summary().system_tok_s, 0));
    }
};

QTEST_APPLESS_MAIN(TestMetrics)
#include "tst_metrics.moc"
