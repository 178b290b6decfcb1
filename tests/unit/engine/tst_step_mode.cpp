// What somebody reads who steps the engine: a sentence for each iteration, who waits for what, and that
// cancelling moves nobody else.
#include "core/engine/pool_story.h"
#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

Request ask(std::int32_t first, std::int32_t prompt, std::int32_t max_tokens, std::int64_t session = 0) {
    Request r;
    for (std::int32_t i = 0; i < prompt; ++i) r.prompt.push_back(TokenId{3 + (first + i) % 40});
    r.max_tokens = max_tokens;
    r.ignore_eog = true;
    r.session = session;
    return r;
}

KvChange change(KvChangeKind kind, std::int64_t owner, std::int32_t block, std::int32_t logical,
                std::int32_t from = -1, bool last = true) {
    return {kind, BlockId{block}, BlockId{from}, SequenceId{owner}, logical, last};
}

}  // namespace

class TestStepMode : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::shared_ptr<Model> model_;

  private slots:
    void initTestCase() { model_ = small(dir_, {.layers = 1, .seed = 5, .dtype = DType::Q8_0}, "cpu"); }

    void stories() {
        PoolStory story;
        QCOMPARE(story.sentence(), std::string());
        QCOMPARE(story.last_step(), std::string());
        story.begin(7);
        story.add(change(KvChangeKind::Allocate, 2, 41, 5));
        const std::string crossed =
            "Iteration 7: sequence 2 crossed into logical block 5; physical block 41 came from the free "
            "list.";
        QCOMPARE(story.sentence(), crossed);
        // An iteration that only fills blocks is told to whoever steps, and to nobody else.
        story.begin(8);
        story.wrote(SequenceId{2}, 81, 1, BlockId{41}, 16);
        QCOMPARE(story.sentence(), crossed);
        QCOMPARE(story.last_step(), std::string("Iteration 8: sequence 2 wrote token 81 to place 2 of 16 in "
                                                "physical block 41; no block changed hands."));
        story.begin(9);
        story.wrote(SequenceId{2}, 82, 1, BlockId{41}, 16);
        story.wrote(SequenceId{3}, 0, 12, BlockId{42}, 16);
        QCOMPARE(
            story.last_step(),
            std::string("Iteration 9: sequence 3 wrote 12 tokens, the last of them number 11, to place 12 "
                        "of 16 in physical block 42, another sequence to its own; no block changed hands."));
        // Blocks of several sequences are not credited to one.
        story.begin(10);
        story.add(change(KvChangeKind::Allocate, 2, 50, 6));
        story.add(change(KvChangeKind::Allocate, 3, 51, 1));
        story.add(change(KvChangeKind::Allocate, 3, 52, 2));
        QCOMPARE(story.sentence(),
                 std::string("Iteration 10: sequence 3 took 2 blocks from the free list, and "
                             "another sequence 1 more."));
        story.begin(11);
        story.add(change(KvChangeKind::Copy, 4, 60, 2, 7));
        QCOMPARE(
            story.sentence(),
            std::string("Iteration 11: sequence 4 copied block 7 to block 60 before writing to it, because "
                        "the original is shared or cached."));
        story.begin(12);
        story.add(change(KvChangeKind::Evict, -1, 9, -1));
        story.add(change(KvChangeKind::Allocate, 4, 9, 3));
        QCOMPARE(story.sentence(),
                 std::string("Iteration 12: sequence 4 crossed into logical block 3; physical "
                             "block 9 was a cached one, whose content is forgotten."));
        // Outside of an iteration.
        story.between();
        QCOMPARE(story.last_step(), story.sentence());
        story.add(change(KvChangeKind::Free, 4, 9, 3));
        story.add(change(KvChangeKind::Free, 4, 8, 2, -1, false));
        QCOMPARE(story.sentence(),
                 std::string("After iteration 12: sequence 4 gave back 2 blocks; 1 of them are still used by "
                             "others."));
        story.begin(13);
        QCOMPARE(story.last_step(), std::string("Iteration 13: nothing was written."));
    }

    void each_iteration_of_an_engine_has_its_sentence() {
        auto engine =
            engine_or_die(model_, {.context = 128, .block_size = 8, .blocks = 16, .token_budget = 8});
        Listener listener;
        QVERIFY(engine->submit(ask(0, 12, 6)).ok());
        QStringList told;
        while (!engine->idle()) {
            engine->step(listener);
            const KvSnapshot s = engine->snapshot();
            told << QString::fromStdString(s.last_step);
            QVERIFY2(told.back().startsWith(QStringLiteral("Iteration %1: ").arg(s.iteration)),
                     qPrintable(told.back()));
        }
        QVERIFY2(told[0].contains("took 1 block from the free list"), qPrintable(told[0]));
        QVERIFY2(told[1].contains("crossed into logical block 1"), qPrintable(told[1]));
        QVERIFY2(told[2].contains("wrote token 12 to place 5 of 8 in physical block"), qPrintable(told[2]));
        QVERIFY2(told[6].contains("crossed into logical block 2") || told[6].contains("gave back"),
                 qPrintable(told[6]));
    }

    void cancelling_moves_nobody_else() {
        auto engine = engine_or_die(model_, {.context = 128, .block_size = 8, .blocks = 32});
        Listener listener;
        auto flag = std::make_shared<std::atomic<bool>>(false);
        Request one = ask(0, 10, 20);
        one.cancel = flag;
        const auto first = engine->submit(std::move(one));
        const auto second = engine->submit(ask(20, 10, 20));
        QVERIFY(first.ok() && second.ok());
        engine->step(listener);
        const std::int64_t before = engine->iterations();
        const auto tokens = listener.answers[second->value].ids.size();
        engine->drop_cancelled(listener);
        QVERIFY(!listener.answers[first->value].finished);
        *flag = true;
        engine->drop_cancelled(listener);
        QVERIFY(listener.answers[first->value].finished);
        QCOMPARE(listener.answers[first->value].reason, FinishReason::Cancelled);
        QCOMPARE(engine->iterations(), before);
        QCOMPARE(listener.answers[second->value].ids.size(), tokens);
        QVERIFY(engine->verify().ok());
        QVERIFY(engine->snapshot().last_step.starts_with("After iteration 1: sequence 1 gave back"));
    }

    void what_a_block_holds() {
        auto engine = engine_or_die(model_, {.context = 128, .block_size = 8, .blocks = 32});
        Listener listener;
        const Request r = ask(0, 12, 3, 1);
        const std::vector<TokenId> prompt = r.prompt;
        QVERIFY(engine->submit(r).ok());
        engine->step(listener);
        const KvSnapshot s = engine->snapshot();
        const auto first = engine->block_tokens(BlockId{s.sequences[0].blocks[0]});
        const auto second = engine->block_tokens(BlockId{s.sequences[0].blocks[1]});
        QCOMPARE(first, std::vector<TokenId>(prompt.begin(), prompt.begin() + 8));
        QCOMPARE(second, std::vector<TokenId>(prompt.begin() + 8, prompt.end()));
        for (const int none : {-1, 31, 32, 1 << 30}) QVERIFY(engine->block_tokens(BlockId{none}).empty());
        while (!engine->idle()) engine->step(listener);
        engine->release_session(1);  // free, but still known
        QCOMPARE(engine->block_tokens(BlockId{s.sequences[0].blocks[0]}), first);
        QVERIFY(engine->block_tokens(BlockId{s.sequences[0].blocks[1]}).empty());
    }

    void who_waits_and_for_what() {
        // A pool for one of them; a third arrives that no iteration has seen.
        auto engine = engine_or_die(model_, {.context = 64, .block_size = 8, .blocks = 8});
        Listener listener;
        QVERIFY(engine->submit(ask(0, 50, 4)).ok());
        QVERIFY(engine->submit(ask(7, 40, 4)).ok());
        QVERIFY(engine->submit(ask(9, 4, 4)).ok());
        QCOMPARE(engine->snapshot().sequences[1].wait, WaitReason::Arrived);
        engine->step(listener);
        const KvSnapshot s = engine->snapshot();
        QCOMPARE(s.sequences[0].state, SequenceState::Running);
        QCOMPARE(s.sequences[0].wait, WaitReason::None);
        QCOMPARE(s.sequences[1].wait, WaitReason::Blocks);
        QCOMPARE(s.sequences[1].wait_blocks, 6);
        QCOMPARE(s.sequences[2].wait, WaitReason::Behind);
        QCOMPARE(s.sequences[2].wait_behind, s.sequences[1].request);
        while (!engine->idle()) engine->step(listener);
        QCOMPARE(listener.answers.size(), std::size_t(3));

        auto narrow = engine_or_die(model_, {.context = 64, .block_size = 8, .blocks = 16, .max_running = 1});
        QVERIFY(narrow->submit(ask(0, 5, 4)).ok());
        QVERIFY(narrow->submit(ask(7, 5, 4)).ok());
        Listener other;
        narrow->step(other);
        QCOMPARE(narrow->snapshot().sequences[1].wait, WaitReason::Slots);
    }
};

QTEST_GUILESS_MAIN(TestStepMode)
#include "tst_step_mode.moc"
