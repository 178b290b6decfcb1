// The parts of speculative decoding that need no engine: what repeats, what is looked up, which vocabularies
// are the same, and the rule by which proposed tokens stay.
#include <array>
#include <cmath>

#include <QtTest>

#include "core/spec/lookup_drafter.h"
#include "core/spec/verify.h"
#include "core/spec/vocabulary_match.h"
#include "tests/unit/io/small_model.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

std::vector<TokenId> ids(std::initializer_list<std::int32_t> values) {
    std::vector<TokenId> out;
    for (const std::int32_t v : values) out.emplace_back(v);
    return out;
}

// The longest ending of the first `size` tokens that occurs earlier among them, by trying all.
std::int32_t longest_repeat(const std::vector<std::int32_t>& text, std::size_t size) {
    std::int32_t longest = 0;
    for (std::size_t end = 1; end < size; ++end) {
        std::size_t n = 0;
        while (n < end && text[end - 1 - n] == text[size - 1 - n]) ++n;
        longest = std::max(longest, static_cast<std::int32_t>(n));
    }
    return longest;
}

Draft looked_up(const std::vector<TokenId>& text, std::int32_t most, std::int32_t shortest = 1) {
    LookupDrafter drafter;
    Draft draft;
    drafter.draft(text, most, shortest, draft);
    return draft;
}

VocabularyData vocabulary() {
    VocabularyData v;
    v.model = "gpt2";
    v.pre = "gpt2";
    for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "a", "b", "c", "d", "e"})
        v.tokens.emplace_back(text);
    v.types.assign(8, TokenType::Normal);
    for (std::size_t i = 0; i < 3; ++i) v.types[i] = TokenType::Control;
    v.bos = TokenId{1};
    v.eos = TokenId{2};
    return v;
}

}  // namespace

class TestSpec : public QObject {
    Q_OBJECT

  private slots:
    void the_longest_repeat_is_found_data() {
        QTest::addColumn<int>("alphabet");
        for (const int alphabet : {1, 2, 3, 20}) QTest::addRow("%d tokens", alphabet) << alphabet;
    }
    void the_longest_repeat_is_found() {
        QFETCH(int, alphabet);
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            Noise noise(seed);
            SuffixAutomaton automaton;
            std::vector<std::int32_t> text;
            for (std::size_t size = 1; size <= 150; ++size) {
                text.push_back(
                    static_cast<std::int32_t>(noise.next() % static_cast<std::uint64_t>(alphabet)));
                automaton.add(text.back());
                const auto repeat = automaton.longest_repeat();
                QCOMPARE(repeat.length, longest_repeat(text, size));
                QCOMPARE(automaton.size(), static_cast<std::int32_t>(size));
                if (repeat.length == 0) continue;
                // And there it is, earlier.
                QVERIFY(repeat.next >= repeat.length && static_cast<std::size_t>(repeat.next) < size);
                for (std::int32_t i = 1; i <= repeat.length; ++i)
                    QCOMPARE(text[static_cast<std::size_t>(repeat.next - i)],
                             text[size - static_cast<std::size_t>(i)]);
            }
        }
    }

    void memory_and_time_grow_with_the_text_alone() {
        // Texts that are hard for naive matching: one token, two alternating, a period that is broken at the
        // end.
        for (const int kind : {0, 1, 2}) {
            SuffixAutomaton automaton;
            for (std::int32_t i = 0; i < 300'000; ++i)
                automaton.add(kind == 0 ? 7 : kind == 1 ? i % 2 : i % 1000 == 999 ? i : i % 7);
            QVERIFY(automaton.size() == 300'000);
        }
    }

    void the_newest_occurrence_is_taken() {
        // "1 2" was followed by 3, later by 4.
        const Draft draft = looked_up(ids({1, 2, 3, 9, 1, 2, 4, 8, 1, 2}), 1);
        QCOMPARE(draft.tokens, ids({4}));
        QCOMPARE(draft.match, 2);
    }

    void spc_10_texts_without_anything_to_find() {
        QVERIFY(looked_up({}, 4).empty());
        QVERIFY(looked_up(ids({5}), 4).empty());
        QVERIFY(looked_up(ids({1, 2, 3, 4, 5}), 4).empty());
        QVERIFY(looked_up(ids({1, 2, 1}), 4, 2).empty());  // one token in common, two asked for
        QVERIFY(looked_up(ids({1, 2, 1, 2}), 0).empty());
        QCOMPARE(looked_up(ids({1, 1}), 3).tokens, ids({1, 1, 1}));
    }

    void spc_22_a_repetition_goes_on_beyond_the_end() {
        std::vector<TokenId> text;
        for (int i = 0; i < 200; ++i) text.emplace_back(i % 3);
        const Draft draft = looked_up(text, 16);
        QCOMPARE(draft.size(), std::size_t{16});
        for (std::size_t i = 0; i < draft.size(); ++i)
            QCOMPARE(draft.tokens[i].value, static_cast<std::int32_t>((text.size() + i) % 3));
    }

    void a_growing_text_is_read_on() {
        LookupDrafter drafter;
        Draft draft;
        std::vector<TokenId> text = ids({1, 2, 3});
        drafter.draft(text, 4, 1, draft);
        QVERIFY(draft.empty());
        text.emplace_back(1);
        drafter.draft(text, 2, 1, draft);
        QCOMPARE(draft.tokens, ids({2, 3}));
        drafter.draft(text, 2, 1, draft);  // asked again
        QCOMPARE(draft.tokens, ids({2, 3}));
    }

    void spc_01_vocabularies_are_compared_by_content() {
        const VocabularyData target = vocabulary();
        QVERIFY(same_vocabulary(target, vocabulary()).ok());
        const auto refused = [&](const VocabularyData& other, const char* word) {
            for (const Status& s : {same_vocabulary(target, other), same_vocabulary(other, target)}) {
                if (s.ok() || s.error().kind != ErrorKind::InvalidArgument) return false;
                if (!QString::fromStdString(s.error().message).contains(word)) return false;
            }
            return true;
        };
        VocabularyData other = vocabulary();
        std::swap(other.tokens[5], other.tokens[6]);
        QVERIFY(refused(other, "token 5"));
        other = vocabulary();
        other.eos = TokenId{0};
        QVERIFY(refused(other, "ends a text"));
        other = vocabulary();
        other.bos = TokenId{0};
        QVERIFY(refused(other, "begins a text"));
        other = vocabulary();
        other.types[4] = TokenType::Control;
        QVERIFY(refused(other, "control token"));
        other = vocabulary();
        other.tokens.emplace_back("f");
        other.types.push_back(TokenType::Normal);
        QVERIFY(refused(other, "token 8"));
        // Padding, named or typed so, is no difference.
        other = vocabulary();
        other.tokens.insert(other.tokens.end(), {"[PAD8]", "<|extra_1|>", "anything"});
        other.types.insert(other.types.end(), {TokenType::Normal, TokenType::Normal, TokenType::Unused});
        QVERIFY(same_vocabulary(target, other).ok());
        QVERIFY(same_vocabulary(other, target).ok());
        // How text is cut does not matter to ids.
        other = vocabulary();
        other.pre = "qwen2";
        QVERIFY(same_vocabulary(target, other).ok());
    }

    void what_was_drawn_from_stays_by_the_rule_data() {
        QTest::addColumn<float>("temperature");
        QTest::addColumn<int>("top_k");
        QTest::addColumn<float>("top_p");
        QTest::addColumn<float>("min_p");
        QTest::addRow("plain") << 1.0F << 0 << 1.0F << 0.0F;
        QTest::addRow("hot") << 2.5F << 0 << 1.0F << 0.0F;
        QTest::addRow("top-k") << 0.8F << 4 << 1.0F << 0.0F;
        QTest::addRow("top-p") << 1.0F << 0 << 0.7F << 0.0F;
        QTest::addRow("min-p") << 1.3F << 0 << 1.0F << 0.15F;
    }
    // One position, many draws: the token that stands is distributed as the model's processed distribution,
    // and it stays as often as the two distributions overlap.
    void what_was_drawn_from_stays_by_the_rule() {
        QFETCH(float, temperature);
        QFETCH(int, top_k);
        QFETCH(float, top_p);
        QFETCH(float, min_p);
        constexpr std::size_t width = 9;
        const std::array<float, width> target{1.0F, 0.2F, -0.5F, 2.0F, 0.0F, 1.5F, -3.0F, 0.7F, 0.1F};
        const std::array<float, width> drafter{0.0F, 1.2F, -0.5F, 1.0F, 2.0F, 0.5F, 0.4F, 0.7F, -2.0F};
        SamplingParams params;
        params.temperature = temperature;
        params.top_k = top_k;
        params.top_p = top_p;
        params.min_p = min_p;
        params.repetition_penalty = 1.2F;
        const auto history = ids({3, 1, 3});
        Sampler sampler;
        const auto p = sampler.processed(target, width, history, params);
        const auto q = sampler.processed(drafter, width, history, params);
        QVERIFY(p.ok() && q.ok());
        double overlap = 0;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(width); ++i)
            overlap += std::min(p->probability(TokenId{i}), q->probability(TokenId{i}));
        constexpr int draws = 40'000;
        std::array<int, width> counts{};
        int kept = 0;
        for (int i = 0; i < draws; ++i) {
            params.stream = static_cast<std::uint64_t>(i);
            Draft draft;
            draft.tokens.push_back(q->draw(chance(params, 7, Chance::Proposal)));
            draft.distributions.push_back(*q);
            const auto verdict = verify_proposal(sampler, target, width, history, params, 7, 0, draft, 0);
            QVERIFY(verdict.ok());
            ++counts[static_cast<std::size_t>(verdict->sampled.id.value)];
            kept += verdict->accepted ? 1 : 0;
            if (verdict->accepted) QCOMPARE(verdict->sampled.id, draft.tokens[0]);
        }
        double chi = 0;
        for (std::size_t i = 0; i < width; ++i) {
            const double expected = draws * p->probability(TokenId{static_cast<std::int32_t>(i)});
            if (expected == 0) {
                QCOMPARE(counts[i], 0);
                continue;
            }
            chi += (counts[i] - expected) * (counts[i] - expected) / expected;
        }
        QVERIFY2(chi < 30, qPrintable(QString::number(chi)));  // 8 degrees of freedom: p < 0.0002
        const double sigma = std::sqrt(draws * overlap * (1 - overlap)) + 1;
        QVERIFY2(std::abs(kept - draws * overlap) < 4 * sigma, qPrintable(QString::number(kept)));
    }

    void a_certain_proposal_leaves_the_sampled_token_as_it_is() {
        const std::array<float, 5> row{0.3F, 1.0F, 0.2F, 0.9F, -1.0F};
        SamplingParams params;
        params.temperature = 1.0F;
        Sampler sampler;
        for (std::uint64_t stream = 0; stream < 200; ++stream) {
            params.stream = stream;
            const auto plain = sampler.sample(row, 5, {}, params, 3);
            QVERIFY(plain.ok());
            for (std::int32_t proposed = 0; proposed < 5; ++proposed) {
                Draft draft;
                draft.tokens.emplace_back(proposed);
                const auto verdict = verify_proposal(sampler, row, 5, {}, params, 3, 0, draft, 0);
                QVERIFY(verdict.ok());
                QCOMPARE(verdict->sampled.id, plain->id);
                QCOMPARE(verdict->accepted, plain->id.value == proposed);
            }
        }
    }

    void what_is_left_of_equal_distributions_is_drawn_from_themselves() {
        Processed same(std::vector<std::pair<TokenId, double>>{{TokenId{4}, 0.25}, {TokenId{2}, 0.75}});
        QCOMPARE(same.draw_residual(same, 0.1).value, 4);
        QCOMPARE(same.draw_residual(same, 0.9).value, 2);
        QCOMPARE(same.probability(TokenId{3}), 0.0);
        QCOMPARE(same.probability(TokenId{2}), 0.75);
    }

    void nonsense_from_the_model_is_an_error() {
        std::array<float, 3> row{0, NAN, 1};
        SamplingParams params;
        params.temperature = 1.0F;
        Sampler sampler;
        Draft draft;
        draft.tokens.emplace_back(0);
        draft.distributions.emplace_back(std::vector<std::pair<TokenId, double>>{{TokenId{0}, 1.0}});
        QVERIFY(!verify_proposal(sampler, row, 3, {}, params, 0, 0, draft, 0).ok());
        draft.distributions.clear();
        QVERIFY(!verify_proposal(sampler, row, 3, {}, params, 0, 0, draft, 0).ok());
    }

    void lengths_out_of_range_are_refused() {
        for (const std::int32_t length : {0, -1, 17}) QVERIFY(!validate({Drafting::Lookup, length}).ok());
        for (const std::int32_t length : {1, 16}) QVERIFY(validate({Drafting::Lookup, length}).ok());
    }
};

QTEST_GUILESS_MAIN(TestSpec)
#include "tst_spec.moc"
