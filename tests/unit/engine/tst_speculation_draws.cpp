// With temperature, filters and penalties, what drafts leave is distributed as plain sampling: the joint
// distribution of three tokens against the model's own processed distributions, by Pearson's χ². Fixed seeds.
// VITRINE_DRAWS: another number of draws (tests/bench/draw_a_million).
#include <cmath>
#include <cstdlib>

#include "core/sample/sampler.h"
#include "tests/unit/engine/drafting_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

constexpr std::int32_t kVocab = 8;
constexpr std::size_t kCells = 512;  // three tokens

std::size_t cell_of(std::span<const TokenId> ids) {
    std::size_t cell = 0;
    for (std::size_t i = 0; i < 3; ++i) cell = cell * 8 + static_cast<std::size_t>(ids[i].value);
    return cell;
}

// χ² in standard deviations above what it should be. Cells that are expected less than five times are one.
double deviation(const std::vector<double>& probability, const std::vector<std::int64_t>& counts,
                 std::int64_t draws) {
    double chi = 0, rare = 0;
    std::int64_t rare_count = 0;
    int cells = 0;
    const auto add = [&](double expected, std::int64_t count) {
        const double off = static_cast<double>(count) - expected;
        chi += off * off / expected;
        ++cells;
    };
    for (std::size_t i = 0; i < kCells; ++i) {
        const double expected = probability[i] * static_cast<double>(draws);
        if (probability[i] == 0 && counts[i] > 0) return 1e9;  // a token that the filters take out
        if (expected >= 5) {
            add(expected, counts[i]);
        } else {
            rare += expected;
            rare_count += counts[i];
        }
    }
    if (rare > 0) add(std::max(rare, 1.0), rare_count);
    const double freedom = std::max(1, cells - 1);
    return (chi - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

Q_DECLARE_METATYPE(vitrine::SamplingParams)

class TestSpeculationDraws : public QObject {
    Q_OBJECT

    DraftingBench bench_{SmallModelOptions{.vocab = kVocab,
                                           .layers = 1,
                                           .embedding = 32,
                                           .heads = 2,
                                           .kv_heads = 1,
                                           .feed_forward = 32,
                                           .seed = 21}};
    const std::vector<TokenId> prompt_{TokenId{5}};

    Request request(const SamplingParams& params) const {
        Request r;
        r.prompt = prompt_;
        r.max_tokens = 4;
        r.ignore_eog = true;
        r.vocabulary = kVocab;
        r.sampling = params;
        return r;
    }

    // By enumeration: 1 + 8 + 64 rows of logits.
    std::vector<double> expected(const SamplingParams& params) {
        auto engine = bench_.engine({});
        Sampler sampler;
        std::vector<double> joint(kCells, 0.0);
        const auto row_after = [&](std::vector<TokenId> text) {
            Answer rows;
            Request r = ask_on(std::move(text), 1, &rows);
            r.vocabulary = kVocab;
            Listener listener;
            submit_or_die(*engine, std::move(r));
            drain(*engine, listener);
            return rows.logits[0];
        };
        struct Prefix {
            std::vector<TokenId> text;
            double probability;
        };
        std::vector<Prefix> prefixes{{prompt_, 1.0}};
        for (int place = 0; place < 3; ++place) {
            std::vector<Prefix> longer;
            for (const Prefix& p : prefixes) {
                const auto row = row_after(p.text);
                const auto next = sampler.distribution(row, kVocab, p.text, params);
                if (!next.ok()) qFatal("%s", next.error().message.c_str());
                for (const auto& [id, probability] : *next) {
                    longer.push_back({p.text, p.probability * probability});
                    longer.back().text.push_back(id);
                }
            }
            prefixes = std::move(longer);
        }
        for (const Prefix& p : prefixes)
            joint[cell_of(std::span(p.text).subspan(prompt_.size()))] += p.probability;
        return joint;
    }

    struct Drawn {
        std::vector<std::int64_t> counts = std::vector<std::int64_t>(kCells, 0);
        Verifications seen;
    };
    Drawn draw(const SamplingParams& params, const Speculation& speculation, const std::string& kind,
               std::int64_t draws) {
        auto engine = bench_.engine({.block_size = 8, .max_running = 8}, kind);
        Drawn drawn;
        for (std::int64_t first = 0; first < draws; first += 8) {
            Listener listener;
            for (std::int64_t i = first; i < std::min(draws, first + 8); ++i) {
                Request r = request(params);
                r.sampling.stream = static_cast<std::uint64_t>(i);
                r.speculation = speculation;
                submit_or_die(*engine, std::move(r));
            }
            while (engine->step(listener)) {
            }
            for (const auto& [id, a] : listener.answers) {
                if (a.ids.size() != 4) qFatal("an answer of %zu tokens", a.ids.size());
                ++drawn.counts[cell_of(a.ids)];
            }
            drawn.seen.collect(*engine);
        }
        return drawn;
    }

  private slots:
    void three_tokens_are_distributed_as_plain_ones_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("length");
        QTest::addColumn<SamplingParams>("params");
        QTest::addColumn<int>("draws");
        SamplingParams hot, filtered, penalised;
        hot.temperature = 1.0F;
        hot.seed = 11;
        filtered.temperature = 1.4F;
        filtered.top_k = 6;
        filtered.top_p = 0.93F;
        filtered.seed = 12;
        penalised.repetition_penalty = 1.4F;
        penalised.frequency_penalty = 0.3F;
        penalised.presence_penalty = 0.2F;
        penalised.penalty_window = 2;
        penalised.temperature = 0.9F;
        penalised.min_p = 0.05F;
        penalised.seed = 13;
        QTest::addRow("no draft") << "" << 1 << hot << 20'000;
        QTest::addRow("another model") << "other" << 3 << hot << 100'000;
        QTest::addRow("another model, filters") << "other" << 3 << filtered << 30'000;
        QTest::addRow("another model, penalties") << "other" << 3 << penalised << 30'000;
        QTest::addRow("another model, one token") << "other" << 1 << hot << 20'000;
        QTest::addRow("a near model, filters") << "near" << 3 << filtered << 20'000;
        QTest::addRow("the same model") << "same" << 3 << hot << 20'000;
        QTest::addRow("lookup") << "lookup" << 3 << penalised << 20'000;
        QTest::addRow("auto") << "auto" << 3 << hot << 20'000;
    }
    void three_tokens_are_distributed_as_plain_ones() {
        QFETCH(QString, kind);
        QFETCH(int, length);
        QFETCH(SamplingParams, params);
        QFETCH(int, draws);
        std::int64_t count = draws;
        if (const char* wanted = std::getenv("VITRINE_DRAWS"))
            count = std::max(1L, std::strtol(wanted, nullptr, 10));
        const auto probability = expected(params);
        const Speculation speculation =
            kind.isEmpty() ? Speculation{} : speculation_of(kind.toStdString(), length);
        const Drawn drawn = draw(params, speculation, kind == "auto" ? "other" : kind.toStdString(), count);
        const double off = deviation(probability, drawn.counts, count);
        QVERIFY2(std::abs(off) < 4.5, qPrintable(QString::number(off)));
        if (kind == "other") {
            QVERIFY(drawn.seen.accepted > 0 && drawn.seen.accepted < drawn.seen.proposed);
        }
        // The yardstick tells a difference of a few hundredths of temperature.
        SamplingParams wrong = params;
        wrong.temperature *= 1.1F;
        QVERIFY(deviation(expected(wrong), drawn.counts, count) > 6);
    }
};

QTEST_GUILESS_MAIN(TestSpeculationDraws)
#include "tst_speculation_draws.moc"
