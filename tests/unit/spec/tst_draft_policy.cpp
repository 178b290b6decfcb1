// The policy decides by what it measured: here it is fed with machines of known costs.
#include <cmath>

#include <QtTest>

#include "core/spec/draft_policy.h"

using namespace vitrine;

namespace {

// Seconds of a step by rows, and of a step of the draft model; how often proposals stay.
struct Machine {
    double first;
    double further;
    double draft;
    double stays;
    double step(std::int32_t rows) const { return first + further * (rows - 1); }
};

struct Outcome {
    double tokens = 0;
    double seconds = 0;
    double plain = 0;  // seconds that as many tokens take without drafts
    std::int64_t drafted = 0;
    double gain() const { return plain / seconds; }
};

// Expected values, no chance: a proposal at place i stays with stays^(i + 1); fractions are carried over.
Outcome run(DraftPolicy& policy, const Machine& m, int steps, std::int32_t found = 0) {
    Outcome out;
    double carry = 0;
    DraftRates rates;
    for (int i = 0; i < steps; ++i) {
        std::array<DraftWish, 1> wish;
        wish[0].most = 8;
        wish[0].found = found;
        wish[0].match = 6;
        wish[0].model = m.draft > 0;
        wish[0].rates = &rates;
        policy.choose(wish, 1);
        const std::int32_t length = wish[0].length;
        double expected = 0, p = 1;
        for (std::int32_t k = 0; k < length; ++k) expected += p *= m.stays;
        carry += expected;
        const auto accepted = std::min(length, static_cast<std::int32_t>(carry));
        carry -= accepted;
        const bool model = wish[0].drafting == Drafting::Model;
        const double drafting = model ? m.draft * length : 0;
        if (length > 0) {
            Draft draft;
            draft.tokens.resize(static_cast<std::size_t>(length));
            draft.origin = wish[0].drafting;
            draft.match = 6;
            policy.observe(draft, accepted, accepted < length, rates);
            ++out.drafted;
        }
        policy.observe({.sequences = 1,
                        .rows = 1 + length,
                        .tokens = 1 + accepted,
                        .seconds = m.step(1 + length),
                        .draft_seconds = drafting,
                        .draft_steps = model ? length : 0});
        out.tokens += 1 + accepted;
        out.seconds += m.step(1 + length) + drafting;
        out.plain += m.step(1) * (1 + accepted);
    }
    return out;
}

// Bound by memory: rows are nearly free. Bound by arithmetic: every row costs what the first does.
constexpr Machine kMemoryBound{8e-3, 0.4e-3, 0.5e-3, 0.65};
constexpr Machine kArithmeticBound{2e-3, 1.2e-3, 0.5e-3, 0.65};

}  // namespace

class TestDraftPolicy : public QObject {
    Q_OBJECT

  private slots:
    void rates_forget_and_medians_do_not_mind_outliers() {
        Rate rate;
        QCOMPARE(rate.value(0.5), 0.5);
        rate.add(100, 100);
        rate.add(0, 200);
        QVERIFY(rate.value(0.5) < 0.3);
        Typical typical;
        QVERIFY(!typical.known() && typical.value() == 0);
        for (const double v : {1.0, 1.1, 50.0, 0.9, 1.0, 60.0, 1.0}) typical.add(v);
        QCOMPARE(typical.value(), 1.0);
    }

    void costs_between_and_beyond_what_was_measured() {
        DraftPolicy policy;
        QCOMPARE(policy.cost(3), 0.0);
        policy.observe({.sequences = 1, .rows = 1, .tokens = 1, .seconds = 1.0});
        QCOMPARE(policy.cost(1), 1.0);
        QCOMPARE(policy.cost(3), 1.2);  // the guess
        policy.observe({.sequences = 1, .rows = 5, .tokens = 1, .seconds = 3.0});
        QCOMPARE(policy.cost(3), 2.0);
        QCOMPARE(policy.cost(7), 4.0);
        QVERIFY(policy.cost(1'000'000) >= policy.cost(90));
        policy.observe({.sequences = 0, .rows = 0, .tokens = 0, .seconds = 3.0});
        policy.observe({.sequences = 1, .rows = 4000, .tokens = 0, .seconds = 3.0});
    }

    void spc_13_drafts_where_rows_are_nearly_free() {
        DraftPolicy policy;
        const Outcome out = run(policy, kMemoryBound, 2000);
        QVERIFY2(out.gain() > 1.4, qPrintable(QString::number(out.gain())));
        QVERIFY(out.drafted > 1800);
        const DraftWish outlook = policy.outlook(8, true);
        QCOMPARE(outlook.drafting, Drafting::Model);
    }

    void spc_13_no_drafts_where_they_cost_more_than_they_give() {
        DraftPolicy policy;
        const Outcome out = run(policy, kArithmeticBound, 1000);
        QVERIFY2(out.gain() > 0.97, qPrintable(QString::number(out.gain())));
        QVERIFY(out.drafted < 40);
        QCOMPARE(policy.outlook(8, true).drafting, Drafting::Off);
    }

    void spc_13_no_drafts_that_are_hardly_ever_right() {
        Machine wrong = kMemoryBound;
        wrong.stays = 0.02;
        DraftPolicy policy;
        const Outcome out = run(policy, wrong, 1000);
        QVERIFY2(out.gain() > 0.97, qPrintable(QString::number(out.gain())));
    }

    void it_resumes_when_they_pay_again() {
        DraftPolicy policy;
        Machine m = kMemoryBound;
        m.stays = 0.02;
        run(policy, m, 600);
        m.stays = 0.8;
        run(policy, m, 4000);  // tries it now and then
        const Outcome out = run(policy, m, 500);
        QVERIFY2(out.gain() > 1.5, qPrintable(QString::number(out.gain())));
        // And stops again where the machine changes.
        m = kArithmeticBound;
        m.stays = 0.3;
        run(policy, m, 800);
        QVERIFY(run(policy, m, 500).gain() > 0.97);
    }

    void look_ups_are_free_and_taken_where_they_are_right() {
        Machine m = kMemoryBound;
        m.draft = 0;
        m.stays = 0.9;
        DraftPolicy policy;
        const Outcome out = run(policy, m, 500, 8);
        QVERIFY2(out.gain() > 2.5, qPrintable(QString::number(out.gain())));
    }

    void many_sequences_share_a_step() {
        // Sixteen of them: the rows that drafts add are no longer free.
        DraftPolicy policy;
        const Machine m{8e-3, 1e-3, 0.5e-3, 0.6};
        DraftRates rates;
        for (int i = 0; i < 50; ++i)
            policy.observe({.sequences = 16, .rows = 16, .tokens = 16, .seconds = m.step(16)});
        policy.observe({.sequences = 16, .rows = 48, .tokens = 16, .seconds = m.step(48) * 2});
        std::array<DraftWish, 16> wishes;
        for (DraftWish& w : wishes) {
            w.most = 8;
            w.model = true;
            w.rates = &rates;
        }
        policy.choose(wishes, 16);
        for (const DraftWish& w : wishes) QVERIFY(w.length <= 8);
        policy.choose({}, 0);
    }

    void sampled_drafts_keep_their_length() {
        DraftPolicy policy;
        run(policy, kMemoryBound, 100);
        DraftRates rates;
        std::array<DraftWish, 2> wishes;
        for (DraftWish& w : wishes) {
            w.most = 16;
            w.model = true;
            w.rates = &rates;
        }
        wishes[1].sampled = true;
        DraftPolicy other = policy;
        policy.choose(std::span(wishes).first(1), 1);
        other.choose(std::span(wishes).last(1), 1);
        QVERIFY(wishes[0].doubt > 0);
        QVERIFY(wishes[0].length > wishes[1].length);
        QCOMPARE(wishes[1].doubt, 0.0F);
        QVERIFY(wishes[1].length > 0);
    }
};

QTEST_GUILESS_MAIN(TestDraftPolicy)
#include "tst_draft_policy.moc"
