#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include <QtTest>

#include "core/sample/sampler.h"
#include "core/sample/softmax.h"

using namespace vitrine;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

std::vector<float> row(std::initializer_list<float> v) { return v; }

std::vector<float> random_row(std::size_t n, unsigned seed, float spread = 5.0F) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, spread);
    std::vector<float> r(n);
    for (float& v : r) v = normal(random);
    return r;
}

std::map<int, double> processed(const std::vector<float>& logits, const SamplingParams& p,
                                const std::vector<TokenId>& history = {}) {
    Sampler s;
    const auto d = s.distribution(logits, static_cast<std::int32_t>(logits.size()), history, p);
    std::map<int, double> m;
    if (d.ok())
        for (const auto& [id, probability] : *d) m[id.value] = probability;
    return m;
}

int pick(const std::vector<float>& logits, const SamplingParams& p, std::uint64_t index = 0,
         const std::vector<TokenId>& history = {}) {
    Sampler s;
    const auto r = s.sample(logits, static_cast<std::int32_t>(logits.size()), history, p, index);
    return r.ok() ? r->id.value : -1;
}

SamplingParams warm(float temperature = 1.0F) {
    SamplingParams p;
    p.temperature = temperature;
    return p;
}

}  // namespace

class TestSampler : public QObject {
    Q_OBJECT
  private slots:
    void smp_01_non_finite_logits_end_visibly_data() {
        QTest::addColumn<int>("place");
        QTest::addColumn<float>("value");
        for (const int place : {0, 3, 7})
            for (const float value : {nan_value, infinity})
                QTest::addRow("%f at %d", static_cast<double>(value), place) << place << value;
    }
    void smp_01_non_finite_logits_end_visibly() {
        QFETCH(int, place);
        QFETCH(float, value);
        for (const std::size_t size : {std::size_t{8}, std::size_t{16}, std::size_t{40}, std::size_t{1000}}) {
            std::vector<float> logits = random_row(size, 1);
            logits[static_cast<std::size_t>(place) * (size - 1) / 7] = value;
            for (const float t : {0.0F, 0.8F}) {
                Sampler s;
                const auto r = s.sample(logits, static_cast<std::int32_t>(size), {}, warm(t), 4);
                QVERIFY(!r.ok());
                QVERIFY(r.error().message.find("non-finite") != std::string::npos);
            }
        }
    }

    void smp_02_all_minus_infinity_is_an_error_not_token_zero() {
        const std::vector<float> logits(20, -infinity);
        QCOMPARE(pick(logits, warm(0)), -1);
        QCOMPARE(pick(logits, warm(1)), -1);
        Sampler s;
        QVERIFY(!s.sample({}, 0, {}, warm(0), 0).ok());
        QVERIFY(!s.sample(logits, -3, {}, warm(0), 0).ok());
    }

    void smp_02_some_minus_infinity_is_fine() {
        const auto logits = row({-infinity, 1, -infinity, 0});
        QCOMPARE(pick(logits, warm(0)), 1);
        for (std::uint64_t i = 0; i < 200; ++i) {
            const int id = pick(logits, warm(3), i);
            QVERIFY(id == 1 || id == 3);
        }
    }

    void smp_04_05_tiny_temperatures_are_greedy_data() {
        QTest::addColumn<float>("temperature");
        for (const float t : {0.0F, -0.0F, 1e-45F, 1e-12F, 1e-6F, 1e-3F})
            QTest::addRow("%g", static_cast<double>(t)) << t;
    }
    void smp_04_05_tiny_temperatures_are_greedy() {
        QFETCH(float, temperature);
        const auto logits = row({-20, 20, 19.9F, -20});
        for (std::uint64_t i = 0; i < 50; ++i) QCOMPARE(pick(logits, warm(temperature), i), 1);
        SamplingParams p = warm(temperature);
        p.top_p = 0.9F;
        p.min_p = 0.1F;
        for (std::uint64_t i = 0; i < 50; ++i) QCOMPARE(pick(logits, p, i), 1);
    }

    void smp_07_min_p_keeps_the_top_token_data() {
        QTest::addColumn<float>("min_p");
        for (const float p : {1.0F, 1.0001F, 2.0F, 1e30F, infinity})
            QTest::addRow("%g", static_cast<double>(p)) << p;
    }
    void smp_07_min_p_keeps_the_top_token() {
        QFETCH(float, min_p);
        SamplingParams p = warm();
        p.min_p = min_p;
        const auto m = processed(row({1, 3, 2}), p);
        QCOMPARE(m.size(), std::size_t{1});
        QCOMPARE(m.begin()->first, 1);
        QCOMPARE(m.begin()->second, 1.0);
    }

    void smp_08_top_p_at_its_ends() {
        SamplingParams p = warm();
        const auto logits = row({1, 3, 2, 0});
        for (const float keep_one : {-0.1F, 0.0F, 1e-9F, -infinity}) {
            p.top_p = keep_one;
            QCOMPARE(processed(logits, p).size(), std::size_t{1});
            QVERIFY(processed(logits, p).count(1));
        }
        for (const float off : {1.0F, 2.0F, infinity}) {
            p.top_p = off;
            QCOMPARE(processed(logits, p).size(), std::size_t{4});
        }
        p.top_p = nan_value;
        QVERIFY(!validate(p, 4).ok());
    }

    void smp_10_every_vocabulary_size() {
        for (const std::size_t n :
             {1U, 2U, 7U, 15U, 16U, 17U, 31U, 33U, 257U, 1023U, 1024U, 1025U, 40'000U, 40'001U}) {
            std::vector<float> padded = random_row(n + 3, static_cast<unsigned>(n));
            for (std::size_t offset = 0; offset < 3; ++offset) {  // unaligned rows
                const std::span<const float> logits = std::span<const float>(padded).subspan(offset, n);
                std::size_t best = 0;
                double sum = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    if (logits[i] > logits[best]) best = i;
                    sum += std::exp(static_cast<double>(logits[i]));
                }
                Sampler s;
                const auto r = s.sample(logits, static_cast<std::int32_t>(n), {}, warm(0), 0, 3);
                QVERIFY(r.ok());
                QCOMPARE(r->id.value, static_cast<std::int32_t>(best));
                QCOMPARE(r->rank, 1);
                const double wanted = static_cast<double>(logits[best]) - std::log(sum);
                QVERIFY(std::abs(static_cast<double>(r->log_probability) - wanted) < 1e-5);
                QCOMPARE(r->candidates.size(), std::min<std::size_t>(3, n));
                QCOMPARE(r->candidates[0].id, r->id);
            }
        }
    }

    void tok_16_rows_beyond_the_vocabulary_never_count() {
        const auto logits = row({0, 1, 0, 100, infinity, nan_value});
        Sampler s;
        const auto r = s.sample(logits, 3, {}, warm(0), 0, 5);
        QVERIFY(r.ok());
        QCOMPARE(r->id.value, 1);
        QCOMPARE(r->candidates.size(), std::size_t{3});
        for (std::uint64_t i = 0; i < 300; ++i) {
            const auto drawn = s.sample(logits, 3, {}, warm(5), i);
            QVERIFY(drawn.ok() && drawn->id.value < 3);
        }
    }

    void smp_11_repetition_penalty_always_makes_repeats_rarer() {
        SamplingParams p = warm();
        p.repetition_penalty = 1.5F;
        const std::vector<TokenId> history{TokenId{0}, TokenId{1}};
        const auto plain = processed(row({2, -2, 0}), warm());
        const auto penalised = processed(row({2, -2, 0}), p, history);
        QVERIFY(penalised.at(0) < plain.at(0));
        QVERIFY(penalised.at(1) / penalised.at(2) < plain.at(1) / plain.at(2));
        const double z = std::exp(2 / 1.5) + std::exp(-3.0) + 1;
        QVERIFY(std::abs(penalised.at(0) - std::exp(2 / 1.5) / z) < 1e-6);
        QVERIFY(std::abs(penalised.at(1) - std::exp(-3.0) / z) < 1e-6);
        for (const float bad : {0.0F, -1.0F, nan_value, infinity}) {
            p.repetition_penalty = bad;
            QVERIFY(!validate(p, 3).ok());
        }
        p.repetition_penalty = 0.5F;  // encourages: allowed
        QVERIFY(validate(p, 3).ok());
    }

    void smp_13_a_ban_with_typical_p() {
        SamplingParams p = warm();
        p.typical_p = 0.5F;
        p.logit_bias = {{TokenId{2}, -infinity}};
        const auto m = processed(row({-1, -2, -0.5F, -3}), p);
        QVERIFY(!m.empty());
        QVERIFY(!m.count(2));
        for (const auto& [id, probability] : m) QVERIFY(std::isfinite(probability) && probability > 0);
        QVERIFY(validate(p, 4).ok());
    }

    void smp_14_no_access_with_ids_outside() {
        SamplingParams p = warm(0);
        p.repetition_penalty = 2.0F;
        const std::vector<TokenId> history{TokenId{-1}, TokenId{99}, TokenId{0}};
        QCOMPARE(pick(row({3, 2}), p, 0, history), 1);
        p.logit_bias = {{TokenId{-1}, 5.0F}};
        QVERIFY(!validate(p, 2).ok());
        p.logit_bias = {{TokenId{2}, 5.0F}};
        QVERIFY(!validate(p, 2).ok());
    }

    void smp_17_19_the_random_stream_belongs_to_the_request() {
        const auto logits = random_row(500, 3, 1.0F);
        SamplingParams a = warm(), b = warm();
        a.seed = 42;
        b.seed = 43;
        int different = 0;
        Sampler other;
        for (std::uint64_t i = 0; i < 50; ++i) {
            const int first = pick(logits, a, i);
            (void)other.sample(logits, 500, {}, b, i);  // a neighbour in the batch
            QCOMPARE(pick(logits, a, i), first);
            different += pick(logits, b, i) != first ? 1 : 0;
        }
        QVERIFY(different > 25);
        SamplingParams c = a;
        c.stream = 1;
        int other_stream = 0;
        for (std::uint64_t i = 0; i < 50; ++i)
            other_stream += pick(logits, c, i) != pick(logits, a, i) ? 1 : 0;
        QVERIFY(other_stream > 25);
    }

    void smp_20_what_filters_leave_keeps_its_odds() {
        // Probabilities 0.6, 0.2, 0.1, 0.1; without the first two thirds of the mass 0.2 : 0.1 remain.
        SamplingParams p = warm();
        p.logit_bias = {{TokenId{0}, -infinity}, {TokenId{3}, -infinity}};
        const auto logits = row({std::log(0.6F), std::log(0.2F), std::log(0.1F), std::log(0.1F)});
        int counts[4] = {};
        constexpr int draws = 100'000;
        for (int i = 0; i < draws; ++i) ++counts[pick(logits, p, static_cast<std::uint64_t>(i))];
        QCOMPARE(counts[0] + counts[3], 0);
        const double expected = draws * 2.0 / 3.0;
        const double chi = std::pow(counts[1] - expected, 2) / expected +
                           std::pow(counts[2] - expected / 2, 2) / (expected / 2);
        QVERIFY2(chi < 10.83, qPrintable(QString::number(chi)));  // one degree of freedom, 0.1 %
    }

    // Both ways of drawing follow the distribution: the walk by ids (nothing filtered) and the sorted one.
    void draws_follow_the_distribution_data() {
        QTest::addColumn<int>("top_k");
        QTest::addColumn<float>("top_p");
        QTest::addColumn<float>("min_p");
        QTest::newRow("nothing filtered") << 0 << 1.0F << 0.0F;
        QTest::newRow("top-k") << 12 << 1.0F << 0.0F;
        QTest::newRow("top-p") << 0 << 0.9F << 0.0F;
        QTest::newRow("min-p") << 0 << 1.0F << 0.02F;
        QTest::newRow("all") << 20 << 0.95F << 0.01F;
    }
    void draws_follow_the_distribution() {
        QFETCH(int, top_k);
        QFETCH(float, top_p);
        QFETCH(float, min_p);
        SamplingParams p = warm(0.9F);
        p.top_k = top_k;
        p.top_p = top_p;
        p.min_p = min_p;
        p.seed = 11;
        const auto logits = random_row(40, 9, 1.5F);
        const auto wanted = processed(logits, p);
        std::map<int, int> counts;
        constexpr int draws = 60'000;
        Sampler s;
        for (int i = 0; i < draws; ++i)
            ++counts[s.sample(logits, 40, {}, p, static_cast<std::uint64_t>(i))->id.value];
        double chi = 0;
        int cells = 0;
        double rest_expected = 0, rest_seen = 0;
        for (const auto& [id, n] : counts) QVERIFY(wanted.count(id));
        for (const auto& [id, probability] : wanted) {
            const double expected = probability * draws;
            if (expected < 8) {
                rest_expected += expected;
                rest_seen += counts[id];
                continue;
            }
            chi += std::pow(counts[id] - expected, 2) / expected;
            ++cells;
        }
        if (rest_expected > 1) chi += std::pow(rest_seen - rest_expected, 2) / rest_expected;
        // 0.1 % point of χ² by Wilson and Hilferty.
        const double k = cells;
        const double limit = k * std::pow(1 - 2 / (9 * k) + 3.09 * std::sqrt(2 / (9 * k)), 3);
        QVERIFY2(chi < limit, qPrintable(QString("%1 of %2").arg(chi).arg(limit)));
    }

    // Filters against their definitions, written the slow way.
    void filters_equal_their_definitions() {
        for (unsigned seed = 0; seed < 60; ++seed) {
            const std::size_t n = 3 + seed * 37 % 900;
            const auto logits = random_row(n, seed, 0.5F + static_cast<float>(seed % 5));
            SamplingParams p = warm(0.4F + static_cast<float>(seed % 4) * 0.4F);
            if (seed % 2) p.top_k = 1 + static_cast<int>(seed * 7 % n);
            if (seed % 3) p.top_p = 0.2F + static_cast<float>(seed % 7) * 0.11F;
            if (seed % 5 == 0) p.min_p = 0.05F;
            struct Item {
                double weight;
                int id;
            };
            std::vector<Item> items;
            const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
            for (std::size_t i = 0; i < n; ++i)
                items.push_back(
                    {std::exp((static_cast<double>(logits[i]) - top) / static_cast<double>(p.temperature)),
                     static_cast<int>(i)});
            std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
                return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
            });
            if (p.top_k > 0 && static_cast<std::size_t>(p.top_k) < items.size())
                items.resize(static_cast<std::size_t>(p.top_k));
            double total = 0;
            for (const Item& i : items) total += i.weight;
            if (p.top_p < 1) {
                double reached = 0;
                std::size_t keep = 0;
                while (keep < items.size() && reached < static_cast<double>(p.top_p))
                    reached += items[keep++].weight / total;
                items.resize(std::max<std::size_t>(1, keep));
            }
            // Weights that no sum can notice are left out by the sampler.
            std::erase_if(items, [&](const Item& i) {
                return i.weight < std::max(static_cast<double>(p.min_p), std::exp(-50.0));
            });
            const auto got = processed(logits, p);
            // A cut that falls between two sums a rounding error apart may go either way.
            QVERIFY(std::abs(static_cast<int>(got.size()) - static_cast<int>(items.size())) <= 1);
            double kept = 0;
            for (const Item& i : items) kept += i.weight;
            for (const Item& i : items)
                if (got.count(i.id))
                    QVERIFY(std::abs(got.at(i.id) - i.weight / kept) <
                            1e-4 * std::max(0.01, i.weight / kept));
        }
    }

    // Locally typical sampling by its definition: nearest to the entropy first, until p is reached.
    void typical_p_equals_its_definition() {
        for (unsigned seed = 0; seed < 40; ++seed) {
            const std::size_t n = 2 + seed * 13 % 200;
            const auto logits = random_row(n, seed, 1.0F + static_cast<float>(seed % 3));
            SamplingParams p = warm();
            p.typical_p = 0.1F + 0.2F * static_cast<float>(seed % 5);
            const auto plain = processed(logits, warm());
            double entropy = 0;
            for (const auto& [id, q] : plain) entropy -= q > 0 ? q * std::log(q) : 0;
            std::vector<std::pair<double, int>> order;
            for (const auto& [id, q] : plain) order.emplace_back(std::abs(-std::log(q) - entropy), id);
            std::sort(order.begin(), order.end());
            std::vector<int> wanted;
            double reached = 0;
            for (const auto& [distance, id] : order) {
                wanted.push_back(id);
                reached += plain.at(id);
                if (reached >= static_cast<double>(p.typical_p)) break;
            }
            const auto got = processed(logits, p);
            QCOMPARE(got.size(), wanted.size());
            for (const int id : wanted) {
                QVERIFY(got.count(id));
                QVERIFY(std::abs(got.at(id) - plain.at(id) / reached) < 1e-5);
            }
        }
    }

    // Each step works on what the one before left: bias, repetition, frequency, presence, temperature, top-k,
    // typical, top-p, min-p. Numbers for which any other order gives something else.
    void the_order_is_the_documented_one() {
        const std::vector<TokenId> history{TokenId{0}, TokenId{0}};
        SamplingParams p = warm(0.5F);
        p.logit_bias = {{TokenId{0}, -3.0F}};
        p.repetition_penalty = 2.0F;
        p.frequency_penalty = 0.25F;
        p.presence_penalty = 0.5F;
        // Token 0: (4 − 3) / 2 − 2 · 0.25 − 0.5 = −0.5.
        const auto m = processed(row({4, 0, 0}), p, history);
        const double z = std::exp(-0.5 / 0.5) + 2;
        QVERIFY(std::abs(m.at(0) - std::exp(-0.5 / 0.5) / z) < 1e-6);
        // Top-k first: of the two that are left, the nucleus of 0.6 is one. The other way round it would be
        // two.
        SamplingParams q = warm();
        q.top_k = 2;
        q.top_p = 0.6F;
        const auto five =
            row({std::log(0.35F), std::log(0.2F), std::log(0.16F), std::log(0.15F), std::log(0.14F)});
        QCOMPARE(processed(five, q).size(), std::size_t{1});
        // Temperature before top-p: a cold distribution has a small nucleus.
        SamplingParams cold = warm(0.1F);
        cold.top_p = 0.8F;
        QCOMPARE(processed(five, cold).size(), std::size_t{1});
    }

    void smp_02_nothing_left_is_an_error_however_it_is_drawn_data() {
        QTest::addColumn<float>("temperature");
        QTest::addColumn<float>("top_p");
        QTest::addColumn<bool>("by_bias");
        for (const float temperature : {0.0F, 1.0F})
            for (const float top_p : {1.0F, 0.5F})
                for (const bool by_bias : {false, true})
                    QTest::addRow("T %g, top-p %g, %s", static_cast<double>(temperature),
                                  static_cast<double>(top_p), by_bias ? "all banned" : "all minus infinity")
                        << temperature << top_p << by_bias;
    }
    void smp_02_nothing_left_is_an_error_however_it_is_drawn() {
        QFETCH(float, temperature);
        QFETCH(float, top_p);
        QFETCH(bool, by_bias);
        std::vector<float> logits(37, by_bias ? 1.0F : -infinity);
        SamplingParams p = warm(temperature);
        p.top_p = top_p;
        if (by_bias)
            for (int i = 0; i < 37; ++i) p.logit_bias.emplace_back(TokenId{i}, -infinity);
        Sampler s;
        const auto r = s.sample(logits, 37, {}, p, 4);
        QVERIFY(!r.ok());
        QVERIFY(r.error().message.size() > 20);
    }

    void a_ban_is_never_drawn_whatever_else_is_set() {  // SMP-13
        for (unsigned seed = 0; seed < 20; ++seed) {
            auto logits = random_row(50, seed, 0.5F);
            for (float& l : logits) l -= 20;  // all below zero
            SamplingParams p = warm(2.0F);
            p.logit_bias = {{TokenId{7}, -infinity}, {TokenId{8}, -infinity}};
            if (seed % 2) p.typical_p = 0.5F;
            if (seed % 3 == 0) p.top_p = 0.7F;
            if (seed % 5 == 0) p.min_p = 0.2F;
            p.repetition_penalty = seed % 4 == 0 ? 1.3F : 1.0F;
            const std::vector<TokenId> history{TokenId{7}, TokenId{3}};
            for (std::uint64_t i = 0; i < 200; ++i) {
                const int id = pick(logits, p, i, history);
                QVERIFY(id >= 0 && id != 7 && id != 8);
            }
        }
    }

    void ten_candidates_are_the_ten_most_probable() {
        for (const std::size_t n : {3U, 10U, 11U, 257U, 40'001U}) {
            auto logits = random_row(n, static_cast<unsigned>(n));
            logits[n / 2] = -infinity;
            Sampler s;
            const auto r = s.sample(logits, static_cast<std::int32_t>(n), {}, warm(), 3, 10);
            QVERIFY(r.ok());
            std::vector<float> sorted(logits);
            std::sort(sorted.begin(), sorted.end(), std::greater<>());
            QCOMPARE(r->candidates.size(), std::min<std::size_t>(10, n));
            double total = 0;
            for (const float l : logits) total += std::exp(static_cast<double>(l));
            for (std::size_t i = 0; i < r->candidates.size(); ++i) {
                const Candidate& c = r->candidates[i];
                const float l = logits[static_cast<std::size_t>(c.id.value)];
                QCOMPARE(l, sorted[i]);
                if (std::isfinite(l))
                    QVERIFY(std::abs(static_cast<double>(c.log_probability) -
                                     (static_cast<double>(l) - std::log(total))) < 1e-4);
            }
        }
    }

    // What is told of the processed distribution is what distribution() gives, and the token was drawn from
    // it.
    void processed_candidates_are_the_distribution() {
        const std::vector<TokenId> history{TokenId{3}, TokenId{5}};
        for (const std::size_t n : {5U, 40U, 3'001U}) {
            const auto logits = random_row(n, static_cast<unsigned>(n));
            for (int kind = 0; kind < 5; ++kind) {
                SamplingParams p = warm(0.8F);
                if (kind == 1) p.top_k = 3;
                if (kind == 2) p.top_p = 0.7F;
                if (kind == 3) p = warm(0);
                if (kind == 4) p.repetition_penalty = 1.7F;
                Sampler s;
                const auto whole = s.distribution(logits, static_cast<std::int32_t>(n), history, p);
                const auto r = s.sample(logits, static_cast<std::int32_t>(n), history, p, 3, 6);
                const auto silent = s.sample(logits, static_cast<std::int32_t>(n), history, p, 3);
                QVERIFY(r.ok() && whole.ok() && silent.ok());
                QCOMPARE(silent->id, r->id);
                QVERIFY(silent->processed.empty() && silent->candidates.empty());
                QCOMPARE(silent->probability, -1.0F);
                QCOMPARE(r->processed.size(), std::min<std::size_t>(6, whole->size()));
                for (std::size_t i = 0; i < r->processed.size(); ++i) {
                    QCOMPARE(r->processed[i].id, (*whole)[i].first);
                    QVERIFY(std::abs(static_cast<double>(r->processed[i].probability) - (*whole)[i].second) <
                            1e-5);
                }
                const auto chosen = std::find_if(whole->begin(), whole->end(),
                                                 [&](const auto& w) { return w.first == r->id; });
                QVERIFY(chosen != whole->end());
                QVERIFY(std::abs(static_cast<double>(r->probability) - chosen->second) < 1e-5);
            }
        }
    }

    void the_greatest_are_found_wherever_they_are() {
        for (const std::size_t n : {1U, 7U, 64U, 65U, 2'000U, 5'000U})
            for (unsigned seed = 0; seed < 6; ++seed) {
                auto row = random_row(n, seed);
                if (seed == 1) std::sort(row.begin(), row.end());
                if (seed == 2) std::fill(row.begin(), row.end(), 1.0F);
                if (seed == 3)
                    for (std::size_t i = 0; i < n; i += 2) row[i] = -infinity;
                if (seed == 4)
                    for (float& v : row) v = std::round(v);
                std::vector<std::int32_t> order(n), found;
                std::iota(order.begin(), order.end(), 0);
                std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
                    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
                });
                for (const std::size_t most : {0U, 1U, 8U, 64U, 65U, 6'000U}) {
                    greatest(row, most, found);
                    QCOMPARE(found, std::vector<std::int32_t>(
                                        order.begin(),
                                        order.begin() + static_cast<std::ptrdiff_t>(std::min(most, n))));
                }
            }
    }

    void penalties_count_within_their_window() {
        SamplingParams p = warm(0);
        p.presence_penalty = 1.0F;
        p.frequency_penalty = 0.5F;
        const std::vector<TokenId> history{TokenId{0}, TokenId{0}, TokenId{1}};
        // Token 0: 3 − 1 − 2·0.5 = 1; token 1: 2.8 − 1.5 = 1.3; token 2: 1.2.
        QCOMPARE(pick(row({3, 2.8F, 1.2F}), p, 0, history), 1);
        p.penalty_window = 1;
        QCOMPARE(pick(row({3, 2.8F, 1.2F}), p, 0, history), 0);
    }

    void a_bias_adds_and_bans() {
        SamplingParams p = warm(0);
        p.logit_bias = {{TokenId{2}, 4.0F}};
        QCOMPARE(pick(row({3, 2, 1}), p), 2);
        p.logit_bias = {{TokenId{0}, -infinity}};
        QCOMPARE(pick(row({3, 2, 1}), p), 1);
    }

    void probability_and_rank_are_the_models_own() {
        SamplingParams p = warm(0);
        p.logit_bias = {{TokenId{2}, 100.0F}};
        Sampler s;
        const auto r = s.sample(row({3, 2, 1}), 3, {}, p, 0, 3);
        QVERIFY(r.ok());
        QCOMPARE(r->id.value, 2);
        QCOMPARE(r->rank, 3);
        const double z = std::exp(3.0) + std::exp(2.0) + std::exp(1.0);
        QVERIFY(std::abs(static_cast<double>(r->log_probability) - std::log(std::exp(1.0) / z)) < 1e-6);
        QCOMPARE(r->candidates[0].id.value, 0);
    }

    void parameters_that_mean_nothing_are_refused() {
        const auto refused = [](auto change) {
            SamplingParams p;
            change(p);
            return !validate(p, 10).ok();
        };
        QVERIFY(refused([](SamplingParams& p) { p.temperature = -1; }));
        QVERIFY(refused([](SamplingParams& p) { p.temperature = nan_value; }));
        QVERIFY(refused([](SamplingParams& p) { p.temperature = infinity; }));
        QVERIFY(refused([](SamplingParams& p) { p.top_k = -1; }));
        QVERIFY(refused([](SamplingParams& p) { p.min_p = nan_value; }));
        QVERIFY(refused([](SamplingParams& p) { p.typical_p = nan_value; }));
        QVERIFY(refused([](SamplingParams& p) { p.penalty_window = -1; }));
        QVERIFY(refused([](SamplingParams& p) { p.frequency_penalty = infinity; }));
        QVERIFY(refused([](SamplingParams& p) { p.presence_penalty = nan_value; }));
        QVERIFY(refused([](SamplingParams& p) { p.logit_bias = {{TokenId{1}, nan_value}}; }));
        QVERIFY(refused([](SamplingParams& p) { p.logit_bias = {{TokenId{1}, infinity}}; }));
        QVERIFY(validate(SamplingParams{}, 10).ok());
    }

    // Known answers of Philox4x32-10 from the paper's own test vectors (kat_vectors: all zeros; all ones).
    void philox_known_answers() {
        const auto expected = [](std::uint32_t a, std::uint32_t b) {
            return static_cast<double>((std::uint64_t{a} << 32 | b) >> 11) * 0x1p-53;
        };
        QCOMPARE(uniform(0, 0, 0), expected(0x6627e8d5, 0xe169c58d));
        QCOMPARE(uniform(~0ULL, ~0ULL, ~0ULL), expected(0x408f276d, 0x41c83b0e));
        for (std::uint64_t i = 0; i < 1000; ++i) QVERIFY(uniform(1, 2, i) >= 0 && uniform(1, 2, i) < 1);
    }

    void the_vectorised_exponential_is_accurate() {
        for (float x = -88.5F; x <= 0; x += 0.0137F) {
            const std::vector<float> one{x};
            const double wanted = x < -87.0F ? 0.0 : std::exp(static_cast<double>(x));
            QVERIFY(std::abs(sum_of_exponentials(one, 0) - wanted) <= 3e-7 * wanted);
        }
        QCOMPARE(sum_of_exponentials(std::vector<float>{-infinity, 0}, 0), 1.0);
    }
};

QTEST_APPLESS_MAIN(TestSampler)
#include "tst_sampler.moc"
