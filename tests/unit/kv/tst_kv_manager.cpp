#include <random>

#include <QtTest>

#include "core/kv/kv_manager.h"

using namespace vitrine;

namespace {

const CacheContext context{.model = 1, .weights_format = "Q8_0", .rope = "file", .kv_dtype = "F16"};

std::vector<TokenId> counting(int n, int from = 0) {
    std::vector<TokenId> list;
    for (int i = 0; i < n; ++i) list.emplace_back(from + i);
    return list;
}

std::uint64_t constant_hash(ContentId, std::span<const TokenId>) { return 42; }

BlockTable computed(KvManager& kv, const std::vector<TokenId>& ids, std::int64_t owner = 1) {
    BlockTable t;
    t.owner = SequenceId{owner};
    (void)kv.match_prefix(t, ids, 1 << 30);
    const auto n = static_cast<std::int32_t>(ids.size());
    if (!kv.reserve(t, n)) qFatal("pool too small");
    kv.publish(t, ids, n);
    return t;
}

void verify(const KvManager& kv, std::initializer_list<const BlockTable*> tables) {
    const Status s = kv.verify(std::vector<const BlockTable*>(tables));
    QVERIFY2(s.ok(), s.ok() ? "" : s.error().message.c_str());
}

}  // namespace

class TestKvManager : public QObject {
    Q_OBJECT
  private slots:
    void a_known_prefix_is_shared_block_by_block() {
        KvManager kv(16, 8, context, true);
        BlockTable a = computed(kv, counting(20));
        BlockTable b;
        b.owner = SequenceId{2};
        QCOMPARE(kv.match_prefix(b, counting(20), 1000), 16);  // two full blocks; the third is not full
        QCOMPARE(b.blocks[0], a.blocks[0]);
        QCOMPARE(b.blocks[1], a.blocks[1]);
        QCOMPARE(kv.pool().references(a.blocks[0]), 2);
        verify(kv, {&a, &b});
        kv.release(a);
        kv.release(b);
        verify(kv, {});
        QCOMPARE(kv.pool().free_count(), 16);
    }

    void contiguous_tables_are_runs_and_nothing_is_shared() {
        KvManager kv(10, 8, context, KvPolicy{.contiguous = true});
        QVERIFY(kv.contiguous() && !kv.prefix_cache_enabled());
        BlockTable a, b, c;
        QVERIFY(kv.reserve(a, 32));
        QVERIFY(kv.reserve(b, 24));
        for (const BlockTable* t : {&a, &b})
            for (std::size_t i = 1; i < t->blocks.size(); ++i)
                QCOMPARE(t->blocks[i].value, t->blocks[i - 1].value + 1);
        QVERIFY(kv.reserve(a, 20));   // what it has
        QVERIFY(!kv.reserve(a, 33));  // it does not grow
        QCOMPARE(a.blocks.size(), std::size_t{4});
        kv.publish(a, counting(32), 32);
        QCOMPARE(kv.match_prefix(c, counting(32), 1000), 0);
        // Five blocks are free, but no four side by side.
        kv.release(a);
        QVERIFY(kv.reserve(a, 8));
        QVERIFY(kv.reserve(c, 16));
        kv.release(a);
        QVERIFY(!kv.reserve(a, 40));
        QVERIFY(a.blocks.empty());
        QVERIFY(kv.reserve(a, 24));
        std::vector<PlannedCopy> copies;
        QVERIFY(kv.make_writable(a, 0, 24, copies));
        QVERIFY(copies.empty());
        kv.give_back_before(a, 24);
        QCOMPARE(a.given_back, 0);
        verify(kv, {&a, &b, &c});
        kv.release(a);
        kv.release(b);
        kv.release(c);
        verify(kv, {});
    }

    void sets_of_rotary_embeddings_have_roots_of_their_own() {
        KvManager kv(16, 8, context, KvPolicy{.rope_sets = 2});
        const auto ids = counting(20);
        BlockTable near = computed(kv, ids);
        BlockTable far;
        far.owner = SequenceId{2};
        far.rope_set = 1;
        QCOMPARE(kv.peek_prefix(ids, 1000, 0).blocks, 2);
        QCOMPARE(kv.peek_prefix(ids, 1000, 1).blocks, 0);
        QCOMPARE(kv.match_prefix(far, ids, 1000), 0);
        QVERIFY(kv.reserve(far, 20));
        kv.publish(far, ids, 20);
        BlockTable again;
        again.rope_set = 1;
        QCOMPARE(kv.match_prefix(again, ids, 1000), 16);
        QCOMPARE(again.blocks[0], far.blocks[0]);
        QVERIFY(near.blocks[0] != far.blocks[0]);
        verify(kv, {&near, &far, &again});
    }

    void what_no_window_reaches_is_given_back_once() {
        KvManager kv(16, 8, context, true);
        const auto ids = counting(60);
        BlockTable a = computed(kv, ids);
        kv.give_back_before(a, 7);
        QCOMPARE(a.given_back, 0);
        kv.give_back_before(a, 25);
        QCOMPARE(a.given_back, 3);
        QVERIFY(!a.blocks[2].valid() && a.blocks[3].valid());
        kv.give_back_before(a, 25);
        kv.give_back_before(a, 3);
        QCOMPARE(a.given_back, 3);
        verify(kv, {&a});
        QCOMPARE(kv.pool().cached_free_count(), 3);  // still found by who begins alike
        BlockTable b;
        b.owner = SequenceId{2};
        QCOMPARE(kv.match_prefix(b, ids, 1000), 56);
        BlockTable c;
        c.owner = SequenceId{3};
        kv.fork(a, c);
        QCOMPARE(c.given_back, 3);
        verify(kv, {&a, &b, &c});
        // Growing, writing and publishing go on where it is.
        std::vector<PlannedCopy> copies;
        QVERIFY(kv.reserve(a, 70));
        QVERIFY(kv.make_writable(a, 60, 10, copies));
        auto longer = ids;
        for (int i = 60; i < 70; ++i) longer.emplace_back(i);
        kv.publish(a, longer, 70);
        verify(kv, {&a, &b, &c});
        for (BlockTable* t : {&a, &b, &c}) kv.release(*t);
        verify(kv, {});
        QCOMPARE(kv.pool().free_count(), 16);
    }

    void at_least_one_token_is_computed() {
        KvManager kv(16, 8, context, true);
        const auto ids = counting(16);
        BlockTable a = computed(kv, ids);
        BlockTable b;
        QCOMPARE(kv.match_prefix(b, ids, 1000), 15);
        QCOMPARE(b.blocks.size(), std::size_t{2});
        std::vector<PlannedCopy> copies;
        QVERIFY(kv.make_writable(b, 15, 1, copies));
        QCOMPARE(copies.size(), std::size_t{1});
        QCOMPARE(copies[0].from, a.blocks[1]);
        QCOMPARE(copies[0].to, b.blocks[1]);
        QVERIFY(a.blocks[1] != b.blocks[1]);
        kv.publish(b, ids, 16);
        verify(kv, {&a, &b});
        kv.release(a);
        kv.release(b);
        verify(kv, {});
    }

    void a_limit_keeps_positions_to_be_computed() {
        KvManager kv(16, 8, context, true);
        const auto ids = counting(24);
        BlockTable a = computed(kv, ids);
        BlockTable b;
        QCOMPARE(kv.match_prefix(b, ids, 10), 10);
        QCOMPARE(b.blocks.size(), std::size_t{2});
        BlockTable c;
        QCOMPARE(kv.match_prefix(c, ids, 0), 0);
        QVERIFY(c.blocks.empty());
        kv.release(a);
        kv.release(b);
    }

    void bat_07_a_hit_compares_tokens_and_parent_not_the_hash() {
        KvManager kv(32, 8, context, true, constant_hash);
        const auto first = counting(24);
        BlockTable a = computed(kv, first);
        auto other = counting(24, 100);
        BlockTable b;
        QCOMPARE(kv.match_prefix(b, other, 1000), 0);
        // Same second block after another first one.
        auto mixed = counting(24);
        for (std::size_t i = 0; i < 8; ++i) mixed[i] = TokenId{900 + static_cast<int>(i)};
        BlockTable c = computed(kv, mixed, 3);
        QVERIFY(c.blocks[1] != a.blocks[1]);
        BlockTable d;
        QCOMPARE(kv.match_prefix(d, mixed, 1000), 23);
        QCOMPARE(d.blocks[1], c.blocks[1]);
        verify(kv, {&a, &b, &c, &d});
    }

    void bat_08_everything_that_changes_keys_and_values_is_in_the_key() {
        PrefixCache cache(8, 8);
        const ContentId root = cache.root(context);
        QCOMPARE(cache.root(context), root);
        const auto differs = [&](auto change) {
            CacheContext other = context;
            change(other);
            return cache.root(other) != root;
        };
        QVERIFY(differs([](CacheContext& c) { c.model = 2; }));
        QVERIFY(differs([](CacheContext& c) { c.weights_format = "F16"; }));
        QVERIFY(differs([](CacheContext& c) { c.rope = "linear 2"; }));
        QVERIFY(differs([](CacheContext& c) { c.kv_dtype = "F32"; }));
        // Tagged fields: the same letters in another field are another context.
        CacheContext x = context, y = context;
        x.rope = "X";
        x.kv_dtype = "";
        y.rope = "";
        y.kv_dtype = "X";
        QVERIFY(cache.root(x) != cache.root(y));
        const auto ids = counting(8);
        QVERIFY(cache.publish(BlockId{0}, root, ids).entered);
        QVERIFY(cache.find(root, ids));
        QVERIFY(!cache.find(cache.root(x), ids));
    }

    void equal_blocks_computed_twice_have_one_content() {
        KvManager kv(16, 8, context, true);
        // Two sequences that began before either was published.
        const auto ids = counting(16);
        BlockTable a, b;
        QVERIFY(kv.reserve(a, 16));
        QVERIFY(kv.reserve(b, 16));
        kv.publish(a, ids, 16);
        kv.publish(b, ids, 16);
        QCOMPARE(a.content, b.content);
        QVERIFY(!kv.pool().cached(b.blocks[0]));
        verify(kv, {&a, &b});
    }

    void eviction_takes_the_tail_of_a_prefix_first() {
        KvManager kv(4, 8, context, true);
        BlockTable a = computed(kv, counting(32));
        const BlockId tail = a.blocks.back();
        kv.release(a);
        QCOMPARE(kv.pool().cached_free_count(), 4);
        BlockTable b;
        QVERIFY(kv.reserve(b, 8));
        QCOMPARE(b.blocks[0], tail);
        BlockTable c;
        QCOMPARE(kv.match_prefix(c, counting(32), 1000), 24);
        verify(kv, {&b, &c});
    }

    void bat_01_eviction_never_touches_a_used_block() {
        KvManager kv(6, 8, context, true);
        BlockTable a = computed(kv, counting(16));
        BlockTable b;
        QCOMPARE(kv.match_prefix(b, counting(24), 1000), 16);
        kv.release(a);
        BlockTable c;
        QVERIFY(kv.reserve(c, 32));  // everything that is left
        QVERIFY(!kv.reserve(c, 40));
        QCOMPARE(kv.pool().references(b.blocks[0]), 1);
        for (const BlockId x : c.blocks) QVERIFY(x != b.blocks[0] && x != b.blocks[1]);
        verify(kv, {&b, &c});
    }

    void bat_02_a_failed_reservation_leaks_nothing() {
        KvManager kv(8, 8, context, true);
        BlockTable a = computed(kv, counting(16));
        for (int i = 0; i < 100; ++i) {
            const std::int32_t before = kv.pool().free_count();
            BlockTable b;
            (void)kv.match_prefix(b, counting(200), 1000);
            QVERIFY(!kv.reserve(b, 200));
            kv.release(b);
            QCOMPARE(kv.pool().free_count(), before);
            verify(kv, {&a});
        }
    }

    void bat_19_a_partly_filled_block_is_copied_when_forks_diverge() {
        KvManager kv(8, 8, context, true);
        const auto ids = counting(5);
        BlockTable a;
        QVERIFY(kv.reserve(a, 5));
        kv.publish(a, ids, 5);
        BlockTable b;
        kv.fork(a, b);
        QCOMPARE(kv.pool().references(a.blocks[0]), 2);
        std::vector<PlannedCopy> copies;
        QVERIFY(kv.make_writable(b, 5, 1, copies));
        QCOMPARE(copies.size(), std::size_t{1});
        QVERIFY(a.blocks[0] != b.blocks[0]);
        copies.clear();
        QVERIFY(kv.make_writable(a, 5, 1, copies));  // alone again: no copy
        QVERIFY(copies.empty());
        verify(kv, {&a, &b});
    }

    void bat_20_a_deleted_conversation_is_forgotten() {
        KvManager kv(8, 8, context, true);
        BlockTable a = computed(kv, counting(24));
        BlockTable b;
        QCOMPARE(kv.match_prefix(b, counting(8), 1000), 7);  // somebody else uses the first block
        kv.release(a, true);
        BlockTable c;
        QCOMPARE(kv.match_prefix(c, counting(24), 1000), 8);
        verify(kv, {&b, &c});
    }

    void off_means_off() {
        KvManager kv(8, 8, context, false);
        BlockTable a = computed(kv, counting(24));
        BlockTable b;
        QCOMPARE(kv.match_prefix(b, counting(24), 1000), 0);
        kv.release(a);
        QCOMPARE(kv.pool().cached_free_count(), 0);
    }

    void bat_04_cached_and_live_blocks_are_counted_apart() {
        KvManager kv(64, 8, context, true);
        for (int i = 0; i < 100; ++i) {
            BlockTable t = computed(kv, counting(16, i * 1000), i);
            QCOMPARE(kv.pool().size() - kv.pool().free_count(), 2);
            kv.release(t);
            QCOMPARE(kv.pool().free_count(), 64);
        }
        QCOMPARE(kv.pool().cached_free_count(), 64);
        verify(kv, {});
    }

    // Random life of several sequences over few distinct tokens, so that prefixes meet often: after every
    // operation the invariants hold, and a hit never covers tokens that differ.
    void hundred_thousand_random_operations_data() {
        QTest::addColumn<bool>("collide");
        QTest::newRow("hash") << false;
        QTest::newRow("every hash collides") << true;
    }
    void hundred_thousand_random_operations() {
        QFETCH(bool, collide);
        constexpr std::int32_t size = 8;
        KvManager kv(20, size, context, true, collide ? constant_hash : nullptr);
        struct Life {
            std::vector<TokenId> ids;
            std::int32_t computed = 0;
            BlockTable table;
        };
        std::vector<Life> lives(5);
        // What each physical block holds, as written by its owners.
        std::vector<std::vector<TokenId>> memory(20, std::vector<TokenId>(size));
        const auto write = [&](Life& l, std::int32_t first, std::int32_t count) {
            for (std::int32_t p = first; p < first + count; ++p)
                memory[static_cast<std::size_t>(l.table.blocks[static_cast<std::size_t>(p / size)].value)]
                      [static_cast<std::size_t>(p % size)] = l.ids[static_cast<std::size_t>(p)];
        };
        std::mt19937 random(collide ? 7 : 8);
        std::int64_t hits = 0;
        const int operations = collide ? 20'000 : 100'000;
        for (int i = 0; i < operations; ++i) {
            Life& l = lives[random() % lives.size()];
            l.table.owner = SequenceId{static_cast<std::int64_t>(&l - lives.data())};
            switch (random() % 4) {
                case 0:  // begin anew
                    kv.release(l.table, random() % 8 == 0);
                    l.ids.clear();
                    for (auto n = 1 + random() % 60; n > 0; --n)
                        l.ids.emplace_back(static_cast<int>(random() % 100 < 97 ? 1 : 2));
                    l.computed = kv.match_prefix(l.table, l.ids, static_cast<std::int32_t>(random() % 80));
                    QVERIFY(l.computed < static_cast<std::int32_t>(l.ids.size()));
                    hits += l.computed;
                    break;
                case 1:
                case 2: {  // compute some more
                    const auto rest = static_cast<std::int32_t>(l.ids.size()) - l.computed;
                    if (rest == 0) {
                        l.ids.emplace_back(static_cast<int>(random() % 100 < 97 ? 1 : 2));
                        break;
                    }
                    const auto n = 1 + static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(rest));
                    std::vector<PlannedCopy> copies;
                    if (!kv.reserve(l.table, l.computed + n) ||
                        !kv.make_writable(l.table, l.computed, n, copies)) {
                        kv.release(l.table);  // preempted
                        l.computed = 0;
                        break;
                    }
                    for (const PlannedCopy& c : copies)
                        memory[static_cast<std::size_t>(c.to.value)] =
                            memory[static_cast<std::size_t>(c.from.value)];
                    write(l, l.computed, n);
                    l.computed += n;
                    kv.publish(l.table, l.ids, l.computed);
                    break;
                }
                case 3:  // a rejected draft: computed goes back within what was not published
                    if (l.computed > l.table.published * size) --l.computed;
                    break;
            }
            std::vector<const BlockTable*> tables;
            for (const Life& x : lives) tables.push_back(&x.table);
            const Status s = kv.verify(tables);
            QVERIFY2(s.ok(), s.ok() ? "" : s.error().message.c_str());
            // Every computed position of every sequence still reads what that sequence wrote.
            for (const Life& x : lives)
                for (std::int32_t p = 0; p < x.computed; ++p)
                    QCOMPARE(
                        memory[static_cast<std::size_t>(x.table.blocks[static_cast<std::size_t>(p / size)]
                                                            .value)][static_cast<std::size_t>(p % size)],
                        x.ids[static_cast<std::size_t>(p)]);
        }
        QVERIFY(hits > operations / 10);
    }
};

QTEST_APPLESS_MAIN(TestKvManager)
#include "tst_kv_manager.moc"
