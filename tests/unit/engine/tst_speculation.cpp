// Speculative decoding leaves answers as they are: greedy ones token by token, whatever drafts, how long the
// drafts are and how the work is cut; and what was refused leaves no trace.
#include "tests/unit/engine/drafting_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

// Something to look up, and something new.
std::vector<TokenId> prompt_ids(std::uint64_t seed = 3, std::int32_t length = 40) {
    auto ids = noise_ids(length, seed);
    const auto again = std::vector<TokenId>(ids.begin(), ids.begin() + length / 2);
    ids.insert(ids.end(), again.begin(), again.end());
    return ids;
}

}  // namespace

class TestSpeculation : public QObject {
    Q_OBJECT

    DraftingBench bench_;

    Answer answer(Engine& engine, Request request, Verifications* seen = nullptr) {
        Listener listener;
        const RequestId id = submit_or_die(engine, std::move(request));
        drain(engine, listener);
        if (seen != nullptr) seen->collect(engine);
        return listener.answers[id.value];
    }

    Answer plain(const Request& request, const std::string& device = "cpu", EngineOptions options = {}) {
        Request r = request;
        r.speculation = {};
        return answer(*bench_.engine(options, {}, device), std::move(r));
    }

  private slots:
    void spc_02_greedy_answers_are_the_same_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("length");
        QTest::addColumn<int>("block");
        QTest::addColumn<int>("chunk");
        for (const char* device : {"reference", "cpu"})
            for (const char* kind : {"lookup", "same", "near", "other", "end", "auto"})
                for (const int length : {1, 2, 3, 4, 5, 6, 7, 8, 16})
                    QTest::addRow("%s %s %d", device, kind, length)
                        << device << kind << length << (length % 2 == 1 ? 8 : 16)
                        << (length % 3 == 0 ? 24 : 256);
    }
    void spc_02_greedy_answers_are_the_same() {
        QFETCH(QString, device);
        QFETCH(QString, kind);
        QFETCH(int, length);
        QFETCH(int, block);
        QFETCH(int, chunk);
        const EngineOptions options{.block_size = block, .kv_dtype = DType::F32, .token_budget = chunk};
        auto engine =
            bench_.engine(options, kind == "auto" ? "near" : kind.toStdString(), device.toStdString());
        for (const std::uint64_t seed : {3U, 4U}) {
            Answer rows, wanted_rows;
            Request r = ask_on(prompt_ids(seed), 100, &wanted_rows);
            const Answer wanted = plain(r, device.toStdString(), {.kv_dtype = DType::F32});
            r = ask_on(prompt_ids(seed), 100, &rows);
            r.speculation = speculation_of(kind.toStdString(), length);
            Verifications seen;
            const Answer got = answer(*engine, std::move(r), &seen);
            QCOMPARE(got.ids, wanted.ids);
            QCOMPARE(got.text, wanted.text);
            QCOMPARE(got.reason, wanted.reason);
            QVERIFY(rows.logits == wanted_rows.logits);  // bit by bit, row for row
            QCOMPARE(got.stats.generated_tokens, wanted.stats.generated_tokens);
            if (kind == "same") {
                QVERIFY(seen.accepted > 0);
                QCOMPARE(seen.accepted, seen.proposed);
            }
            if (kind == "near") QVERIFY(seen.accepted > 10);
            if (kind != "lookup" && kind != "auto") QVERIFY(seen.proposed > 40);
            for (const SpeculationRecord& s : seen.steps) QVERIFY(s.proposed <= length);
        }
        QVERIFY(engine->idle());
        QCOMPARE(engine->snapshot().used, 0);
    }

    void several_at_once_each_with_its_own() {
        const std::array<const char*, 5> kinds{"lookup", "model", "off", "auto", "model"};
        std::vector<Request> requests;
        std::vector<Answer> wanted;
        for (std::size_t i = 0; i < 10; ++i) {
            Request r =
                ask_on(prompt_ids(i, 6 + static_cast<std::int32_t>(i) * 7), 40 + static_cast<int>(i) * 5);
            if (i % 4 == 3) {
                r.sampling.temperature = 1.0F;
                r.sampling.seed = i;
            }
            wanted.push_back(plain(r));
            const std::string kind = kinds[i % kinds.size()];
            if (kind != "off" && !(kind != "lookup" && i % 4 == 3))
                r.speculation = speculation_of(kind, 1 + static_cast<int>(i));
            requests.push_back(std::move(r));
        }
        for (const char* draft : {"same", "near", "other"})
            for (const int running : {3, 32}) {
                auto engine =
                    bench_.engine({.block_size = 8, .token_budget = 32, .max_running = running}, draft);
                Listener listener;
                std::vector<RequestId> ids;
                for (const Request& r : requests) ids.push_back(submit_or_die(*engine, r));
                drain(*engine, listener);
                for (std::size_t i = 0; i < ids.size(); ++i)
                    QCOMPARE(listener.answers[ids[i].value].ids, wanted[i].ids);
            }
    }

    void preempted_ones_lose_nothing() {
        std::vector<Answer> wanted;
        for (const std::uint64_t seed : {1U, 2U, 3U})
            wanted.push_back(plain(ask_on(prompt_ids(seed, 30), 60)));
        for (const char* kind : {"lookup", "near"}) {
            auto engine = bench_.engine({.block_size = 8, .blocks = 20, .token_budget = 32}, kind);
            Listener listener;
            std::vector<RequestId> ids;
            for (const std::uint64_t seed : {1U, 2U, 3U}) {
                Request r = ask_on(prompt_ids(seed, 30), 60);
                r.speculation = speculation_of(kind, 6);
                ids.push_back(submit_or_die(*engine, std::move(r)));
            }
            drain(*engine, listener);
            std::int32_t preemptions = 0;
            for (std::size_t i = 0; i < ids.size(); ++i) {
                QCOMPARE(listener.answers[ids[i].value].ids, wanted[i].ids);
                preemptions += listener.answers[ids[i].value].stats.preemptions;
            }
            QVERIFY(preemptions > 0);
        }
    }

    void a_static_cache_a_window_and_two_rotations() {
        // Each with a draft of the same weights.
        const auto compare = [&](const GgufBuilder& builder, const EngineOptions& options) {
            QTemporaryDir dir;
            const auto model = built(dir, builder, "cpu");
            for (const bool model_drafts : {false, true}) {
                auto engine = engine_or_die(model, options);
                Request r = ask_on(prompt_ids(3, 20), 120);
                const Answer wanted = answer(*engine_or_die(model, options), r);
                r.speculation = {model_drafts ? Drafting::Model : Drafting::Lookup, 5};
                if (model_drafts) QVERIFY(engine->set_draft(model).ok());
                const Answer got = answer(*engine, std::move(r));
                QCOMPARE(got.ids, wanted.ids);
            }
        };
        compare(small_model({.layers = 2, .seed = 8}), {.block_size = 8, .cache = CacheMode::Static});
        compare(sliding_model(24, {.layers = 2, .seed = 8}), {.block_size = 8});
        compare(longrope_model(60, {.layers = 2, .seed = 8}), {.block_size = 8});
    }

    void spc_04_an_end_inside_a_draft() {
        // Each token of the greedy answer in turn is what a stop string waits for; and the natural ends.
        Request r = ask_on(prompt_ids(9), 40);
        const Answer whole = plain(r);
        for (const char* kind : {"same", "lookup", "near"}) {
            auto engine = bench_.engine({.block_size = 8}, kind);
            for (std::int32_t most = 1; most <= 20; ++most) {
                r = ask_on(prompt_ids(9), most);
                r.speculation = speculation_of(kind, 6);
                const Answer got = answer(*engine, r);
                QCOMPARE(got.ids, std::vector<TokenId>(whole.ids.begin(), whole.ids.begin() + most));
                QCOMPARE(got.reason, FinishReason::Length);
                QCOMPARE(got.stats.generated_tokens, most);
            }
        }
        // An end-of-generation id at each place of a draft.
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            Request natural = ask_on(prompt_ids(seed, 10 + static_cast<std::int32_t>(seed)), 80);
            natural.ignore_eog = false;
            natural.sampling.logit_bias = {{TokenId{2}, 6.0F}};  // ends soon, somewhere
            const Answer wanted = plain(natural);
            auto engine = bench_.engine({.block_size = 8}, "same");
            natural.speculation = {Drafting::Model, 1 + static_cast<std::int32_t>(seed % 8)};
            const Answer got = answer(*engine, natural);
            QCOMPARE(got.ids, wanted.ids);
            QCOMPARE(got.text, wanted.text);
            QCOMPARE(got.reason, wanted.reason);
        }
    }

    void stop_strings_inside_a_draft() {
        Request r = ask_on(prompt_ids(11), 60);
        const Answer whole = plain(r);
        for (std::size_t at = 0; at + 2 < whole.text.size(); at += 3) {
            r.stop = {whole.text.substr(at, 2)};
            r.speculation = {};
            const Answer wanted = plain(r);
            for (const char* kind : {"same", "near"}) {
                auto engine = bench_.engine({}, kind);
                r.speculation = speculation_of(kind, 7);
                const Answer got = answer(*engine, r);
                QCOMPARE(got.ids, wanted.ids);
                QCOMPARE(got.text, wanted.text);
                QCOMPARE(got.reason, wanted.reason);
            }
        }
    }

    void spc_05_a_draft_that_always_ends() {
        Request r = ask_on(prompt_ids(3), 60);
        r.ignore_eog = false;
        const Answer wanted = plain(r);
        QVERIFY(wanted.ids.size() > 10);
        auto engine = bench_.engine({}, "end");
        r.speculation = {Drafting::Model, 4};
        Verifications seen;
        const Answer got = answer(*engine, r, &seen);
        QCOMPARE(got.ids, wanted.ids);
        QCOMPARE(seen.accepted, 0);  // SPC-11: none accepted, in every step
        QVERIFY(seen.proposed > 100);
    }

    void spc_08_the_drafts_context_is_shorter() {
        const Answer wanted = plain(ask_on(prompt_ids(3, 10), 90));
        auto engine = bench_.engine({.block_size = 8}, "short");
        Request r = ask_on(prompt_ids(3, 10), 90);
        r.speculation = {Drafting::Model, 5};
        Verifications seen;
        const Answer got = answer(*engine, std::move(r), &seen);
        QCOMPARE(got.ids, wanted.ids);
        QVERIFY(seen.accepted > 5);
        for (const SpeculationRecord& s : seen.steps) QVERIFY(s.index + 15 <= 32);
    }

    void spc_10_a_prompt_of_one_token_and_a_full_context() {
        for (const char* kind : {"lookup", "same", "near"}) {
            Request r = ask_on(noise_ids(1, 3), -1);
            const Answer wanted = plain(r, "cpu", {.context = 64});
            auto engine = bench_.engine({.context = 64, .block_size = 8}, kind);
            r.speculation = speculation_of(kind, 8);
            const Answer got = answer(*engine, r);
            QCOMPARE(got.ids, wanted.ids);
            QCOMPARE(got.reason, FinishReason::Context);
        }
    }

    void spc_10_prompts_with_ids_that_answers_never_hold() {
        // A matrix with padding rows: their ids may be in a prompt, and are found again there.
        QTemporaryDir dir;
        const auto model = small(dir, {.padding_rows = 12, .layers = 2, .seed = 5}, "cpu");
        std::vector<TokenId> prompt;
        for (int i = 0; i < 40; ++i) prompt.emplace_back(i % 4 == 3 ? 265 : 10 + i % 4);
        Request r = ask_on(prompt, 40);
        const Answer wanted = answer(*engine_or_die(model, {}), r);
        r.speculation = {Drafting::Lookup, 8};
        QCOMPARE(answer(*engine_or_die(model, {}), r).ids, wanted.ids);
    }

    void spc_14_a_long_request_then_short_ones() {
        auto engine = bench_.engine({.block_size = 8, .token_budget = 16}, "near");
        for (const std::int32_t length : {100, 3, 24, 1, 60, 2}) {
            Request r = ask_on(noise_ids(length, static_cast<std::uint64_t>(length)), 24);
            const Answer wanted = plain(r);
            r.speculation = {Drafting::Model, 4};
            QCOMPARE(answer(*engine, r).ids, wanted.ids);
        }
    }

    void spc_19_cancelled_at_any_step_everything_goes_back() {
        for (const char* kind : {"lookup", "same", "other"})
            for (int steps = 1; steps < 12; ++steps) {
                auto engine = bench_.engine({.block_size = 8, .token_budget = 32}, kind);
                Listener listener;
                Request r = ask_on(prompt_ids(3), 100);
                r.speculation = speculation_of(kind, 5);
                r.cancel = std::make_shared<std::atomic<bool>>(false);
                const auto cancel = r.cancel;
                const RequestId id = submit_or_die(*engine, std::move(r));
                for (int i = 0; i < steps; ++i) engine->step(listener);
                cancel->store(true);
                engine->step(listener);
                QCOMPARE(listener.answers[id.value].reason, FinishReason::Cancelled);
                QCOMPARE(engine->snapshot().used, 0);
                QVERIFY(engine->verify().ok());
                QVERIFY(engine->idle());
            }
    }

    void spc_20_penalties_see_accepted_tokens_one_by_one() {
        for (const char* kind : {"lookup", "same", "near"}) {
            Request r = ask_on(prompt_ids(5), 80);
            r.sampling.repetition_penalty = 1.3F;
            r.sampling.frequency_penalty = 0.4F;
            r.sampling.presence_penalty = 0.2F;
            r.sampling.penalty_window = 30;
            const Answer wanted = plain(r);
            auto engine = bench_.engine({}, kind);
            r.speculation = speculation_of(kind, 6);
            Verifications seen;
            const Answer got = answer(*engine, r, &seen);
            QCOMPARE(got.ids, wanted.ids);
            if (std::string(kind) == "same") QCOMPARE(seen.accepted, seen.proposed);
        }
    }

    void looked_up_tokens_change_no_sampled_answer() {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            Request r = ask_on(prompt_ids(seed), 60);
            r.sampling.temperature = 0.7F;
            r.sampling.top_p = 0.9F;
            r.sampling.seed = seed;
            const Answer wanted = plain(r);
            auto engine = bench_.engine({.block_size = 8}, "lookup");
            r.speculation = {Drafting::Lookup, 6};
            QCOMPARE(answer(*engine, r).ids, wanted.ids);
        }
    }

    void spc_22_repetitive_text_at_both_temperatures() {
        std::vector<TokenId> prompt;
        for (int i = 0; i < 100; ++i) prompt.emplace_back(100 + i % 2);
        for (const float temperature : {0.0F, 1.0F}) {
            Request r = ask_on(prompt, 60);
            r.sampling.temperature = temperature;
            const Answer wanted = plain(r);
            r.speculation = {Drafting::Lookup, 16};
            Verifications seen;
            QCOMPARE(answer(*bench_.engine({}, "lookup"), r, &seen).ids, wanted.ids);
            QVERIFY(seen.proposed > 0);
        }
    }

    void switched_while_the_answer_runs() {
        const Answer wanted = plain(ask_on(prompt_ids(3), 120));
        auto engine = bench_.engine({.block_size = 8});
        Listener listener;
        const RequestId id = submit_or_die(*engine, ask_on(prompt_ids(3), 120));
        const std::array<Speculation, 6> settings{{{Drafting::Model, 4},
                                                   {Drafting::Off, 1},
                                                   {Drafting::Lookup, 16},
                                                   {Drafting::Model, 1},
                                                   {Drafting::Auto, 8},
                                                   {Drafting::Model, 16}}};
        for (std::size_t i = 0; engine->step(listener); ++i) {
            QVERIFY(engine->verify().ok());
            QVERIFY(engine->set_speculation(id, settings[i % settings.size()]).ok());
            if (i == 5) QVERIFY(engine->set_draft(bench_.draft("near")).ok());
            if (i == 15) QVERIFY(engine->set_draft(bench_.draft("other")).ok());
            if (i == 20) QVERIFY(engine->set_draft(nullptr).ok());
            if (i == 22) QVERIFY(engine->set_draft(bench_.draft("same")).ok());
        }
        QCOMPARE(listener.answers[id.value].ids, wanted.ids);
        QVERIFY(!engine->set_speculation(id, {Drafting::Lookup, 17}).ok());
    }

    void refused_tokens_never_reach_the_prefix_cache() {
        // The draft is wrong nearly always, and its tokens fill whole blocks. Afterwards a prompt of prompt
        // and answer is found in the cache as far as after plain decoding, and goes on alike.
        for (const char* kind : {"other", "near", "same"}) {
            Request r = ask_on(prompt_ids(6), 50);
            auto engine = bench_.engine({.block_size = 8}, kind);
            r.speculation = {Drafting::Model, 16};
            const Answer first = answer(*engine, r);
            Request again = ask_on(prompt_ids(6), 30);
            again.prompt.insert(again.prompt.end(), first.ids.begin(), first.ids.end());
            const Answer wanted = plain(again);
            again.speculation = {Drafting::Model, 3};
            const Answer got = answer(*engine, again);
            QCOMPARE(got.ids, wanted.ids);
            const std::int32_t whole = static_cast<std::int32_t>(prompt_ids(6).size()) + 50 - 1;
            QCOMPARE(got.stats.cached_tokens, whole / 8 * 8);
        }
    }

    void parallel_answers_are_drafted_each() {
        Request r = ask_on(prompt_ids(2), 40);
        r.n = 4;
        r.sampling.temperature = 0.5F;
        r.sampling.top_k = 5;
        auto without = bench_.engine({.block_size = 8});
        Listener wanted;
        const RequestId a = submit_or_die(*without, r);
        drain(*without, wanted);
        auto engine = bench_.engine({.block_size = 8}, "lookup");
        r.speculation = {Drafting::Lookup, 5};
        Listener got;
        const RequestId b = submit_or_die(*engine, r);
        drain(*engine, got);
        QCOMPARE(got.answers[b.value].ids, wanted.answers[a.value].ids);
        for (int i = 1; i < 4; ++i)
            QCOMPARE(got.further[std::pair(b.value, i)].ids, wanted.further[std::pair(a.value, i)].ids);
    }

    void held_blocks_of_a_conversation() {
        Request r = ask_on(prompt_ids(2), 33);
        r.session = 7;
        r.speculation = {Drafting::Model, 8};
        auto engine = bench_.engine({.block_size = 8}, "other");
        const Answer got = answer(*engine, r);
        QCOMPARE(got.ids, plain(ask_on(prompt_ids(2), 33)).ids);
        const KvSnapshot s = engine->snapshot();
        QCOMPARE(s.sequences.size(), std::size_t{1});
        QCOMPARE(static_cast<int>(s.sequences[0].blocks.size()), (s.sequences[0].tokens + 7) / 8);
    }

    void spc_01_a_draft_of_another_vocabulary_is_refused() {
        QTemporaryDir dir;
        const auto other = small(dir, {.vocab = 300}, "cpu");
        auto engine = bench_.engine({}, "near");
        const Status refused = engine->set_draft(other);
        QVERIFY(!refused.ok());
        QVERIFY(QString::fromStdString(refused.error().message).contains("token 260"));
        QCOMPARE(engine->draft(), bench_.draft("near"));  // the one before stays
        const QTemporaryDir padded;
        QVERIFY(engine->set_draft(small(padded, {.padding_rows = 4}, "cpu")).ok());
        QVERIFY(engine->memory().draft > 0);
        QVERIFY(engine->set_draft(nullptr).ok());
        QCOMPARE(engine->memory().draft, std::uint64_t{0});
    }

    void records_tell_what_became_of_each_proposal() {
        Verifications seen;
        auto engine = bench_.engine({}, "near");
        Request r = ask_on(prompt_ids(3), 80);
        r.speculation = {Drafting::Model, 4};
        const Answer got = answer(*engine, r, &seen);
        QVERIFY(!seen.steps.empty());
        std::size_t proposal = 0;
        for (const SpeculationRecord& s : seen.steps) {
            const auto index = static_cast<std::size_t>(s.index);
            QVERIFY(s.verify > 0 && s.draft > 0);
            QCOMPARE(s.drafter, DrafterKind::Model);
            for (std::size_t i = 0; i < s.proposed; ++i, ++proposal) {
                const ProposalRecord& p = seen.proposals[proposal];
                QCOMPARE(p.iteration, s.iteration);
                QCOMPARE(p.position, static_cast<std::int32_t>(i));
                QVERIFY(p.confidence > 0 && p.confidence <= 1);
                const bool kept = i < s.accepted;
                QCOMPARE(p.fate == ProposalFate::Accepted, kept);
                if (kept) QCOMPARE(got.ids[index + i].value, p.id);
                if (p.fate == ProposalFate::Rejected) QVERIFY(got.ids[index + i].value != p.id);
            }
            if (s.end == DraftEnd::Corrected || s.end == DraftEnd::Bonus)
                QCOMPARE(got.ids[index + s.accepted].value, s.token);
            if (s.end == DraftEnd::Bonus) QCOMPARE(s.accepted, s.proposed);
        }
        QCOMPARE(proposal, seen.proposals.size());
        std::int32_t accepted = 0;
        for (const TokenRecord& t : seen.tokens) accepted += t.origin == TokenOrigin::Accepted ? 1 : 0;
        QCOMPARE(accepted, seen.accepted);
        QCOMPARE(seen.tokens.size(), got.ids.size());
    }
};

QTEST_GUILESS_MAIN(TestSpeculation)
#include "tst_speculation.moc"
