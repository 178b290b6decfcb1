#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include <QtTest>

#include "core/kv/block_pool.h"

using namespace vitrine;

// The pool's promise in the plainest form: counts in a map, the free list as a deque.
class PoolModel {
  public:
    explicit PoolModel(std::int32_t blocks) {
        for (std::int32_t i = 0; i < blocks; ++i) free_.push_back(i);
    }
    std::optional<std::int32_t> allocate() {
        if (free_.empty()) return std::nullopt;
        const std::int32_t b = free_.front();
        free_.pop_front();
        cached_.erase(b);
        references_[b] = 1;
        return b;
    }
    void acquire(std::int32_t b) {
        if (references_[b]++ == 0) free_.erase(std::find(free_.begin(), free_.end(), b));
    }
    bool release(std::int32_t b) {
        if (references_[b] == 0) return false;
        if (--references_[b] == 0) cached_.count(b) ? free_.push_back(b) : free_.push_front(b);
        return true;
    }
    void set_cached(std::int32_t b, bool cached) {
        if ((cached_.count(b) > 0) == cached) return;
        cached ? void(cached_.insert(b)) : void(cached_.erase(b));
        if (references_[b] > 0) return;
        free_.erase(std::find(free_.begin(), free_.end(), b));
        cached ? free_.push_back(b) : free_.push_front(b);
    }
    std::int32_t references(std::int32_t b) { return references_[b]; }
    bool cached(std::int32_t b) const { return cached_.count(b) > 0; }
    std::int32_t free_count() const { return static_cast<std::int32_t>(free_.size()); }
    std::vector<BlockId> owners() {
        std::vector<BlockId> list;
        for (const auto& [b, n] : references_)
            list.insert(list.end(), static_cast<std::size_t>(n), BlockId{b});
        return list;
    }

  private:
    std::deque<std::int32_t> free_;
    std::set<std::int32_t> cached_;
    std::map<std::int32_t, std::int32_t> references_;
};

class TestBlockPool : public QObject {
    Q_OBJECT
  private slots:
    void hundred_thousand_random_operations() {
        constexpr std::int32_t blocks = 24;
        BlockPool pool(blocks);
        PoolModel model(blocks);
        std::vector<std::int32_t> evicted;
        pool.set_evict_hook([&](BlockId b) { evicted.push_back(b.value); });
        std::mt19937 random(20261129);
        for (int i = 0; i < 100'000; ++i) {
            const auto b = static_cast<std::int32_t>(random() % blocks);
            switch (random() % 6) {
                case 0:
                case 1: {
                    const std::size_t before = evicted.size();
                    const auto got = pool.allocate();
                    std::set<std::int32_t> cached_before;
                    for (std::int32_t c = 0; c < blocks; ++c)
                        if (model.cached(c)) cached_before.insert(c);
                    const auto wanted = model.allocate();
                    QCOMPARE(got.has_value(), wanted.has_value());
                    if (got) {
                        QCOMPARE(got->value, *wanted);
                        // Eviction happens here and nowhere else, and exactly for a block that had content.
                        QCOMPARE(evicted.size() - before, cached_before.count(*wanted));
                    }
                    break;
                }
                case 2: {
                    const std::size_t before = evicted.size();
                    pool.acquire(BlockId{b});
                    model.acquire(b);
                    QCOMPARE(evicted.size(), before);
                    break;
                }
                case 3:
                case 4: QCOMPARE(pool.release(BlockId{b}).ok(), model.release(b)); break;
                case 5: {
                    const bool cached = random() % 2 == 0;
                    pool.set_cached(BlockId{b}, cached);
                    model.set_cached(b, cached);
                    break;
                }
            }
            QCOMPARE(pool.free_count(), model.free_count());
            QCOMPARE(pool.references(BlockId{b}), model.references(b));
            QCOMPARE(pool.cached(BlockId{b}), model.cached(b));
            const Status status = pool.verify(model.owners());
            QVERIFY2(status.ok(), status.ok() ? "" : status.error().message.c_str());
        }
    }

    void bat_05_double_free_is_an_error_and_changes_nothing() {
        BlockPool pool(2);
        const BlockId b = *pool.allocate();
        QVERIFY(pool.release(b).ok());
        QVERIFY(!pool.release(b).ok());
        QVERIFY(!pool.release(BlockId{-1}).ok());
        QVERIFY(!pool.release(BlockId{2}).ok());
        QVERIFY(pool.verify({}).ok());
        QCOMPARE(pool.free_count(), 2);
    }

    void blocks_without_content_go_first_then_the_longest_free() {
        BlockPool pool(3);
        std::vector<BlockId> got;
        for (int i = 0; i < 3; ++i) got.push_back(*pool.allocate());
        pool.set_cached(got[0], true);
        pool.set_cached(got[1], true);
        QVERIFY(pool.release(got[1]).ok());
        QVERIFY(pool.release(got[0]).ok());
        QVERIFY(pool.release(got[2]).ok());
        QCOMPARE(*pool.allocate(), got[2]);
        QCOMPARE(*pool.allocate(), got[1]);
        QCOMPARE(*pool.allocate(), got[0]);
        QVERIFY(!pool.allocate());
    }

    void verify_sees_a_wrong_owner() {
        BlockPool pool(4);
        const BlockId b = *pool.allocate();
        QVERIFY(!pool.verify({}).ok());
        const std::vector<BlockId> one{b};
        QVERIFY(pool.verify(one).ok());
        const std::vector<BlockId> two{b, b};
        QVERIFY(!pool.verify(two).ok());
    }

    void an_empty_pool_has_nothing_to_give() {
        BlockPool pool(0);
        QVERIFY(!pool.allocate());
        QVERIFY(pool.verify({}).ok());
        QCOMPARE(BlockPool(-5).size(), 0);
    }
};

QTEST_APPLESS_MAIN(TestBlockPool)
#include "tst_block_pool.moc"
