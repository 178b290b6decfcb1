// What the devices stand on: half precision, the thread pool, memory, and refused arguments.
#include <atomic>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include <QtTest>

#include "kernels/cpu/targets.h"
#include "kernels/host/half.h"
#include "kernels/host/page_memory.h"
#include "kernels/host/thread_pool.h"
#include "tests/kernels/estimate.h"
#include "tests/kernels/fixture.h"

using namespace vitrine;
using namespace vitrine::test;

// Bytes of this process that are in main memory; 0 where the system does not say.
static std::int64_t resident() {
    std::ifstream in("/proc/self/statm");
    std::int64_t total = 0;
    std::int64_t pages = 0;
    in >> total >> pages;
    return pages * 4096;
}

class TestHost : public QObject {
    Q_OBJECT

    std::mt19937 random_{std::random_device{}()};

    // All codes and activations at their largest, so that sums that do not fit would show.
    static void most_extreme(OwnedTensor& w, std::vector<float>& in) {
        const ScalePlace place = scale_place(w.dtype);
        std::fill(in.begin(), in.end(), 3.0F);
        if (place.d < 0) return;
        const auto bytes = static_cast<std::size_t>(info_of(w.dtype).bytes);
        for (std::size_t i = 0; i < w.bytes.size(); ++i) {
            const auto at = static_cast<int>(i % bytes);
            const bool scale = at / 2 * 2 == place.d || (place.m >= 0 && at / 2 * 2 == place.m);
            if (!scale) w.bytes[i] = w.dtype == DType::Q8_0 ? std::byte{0x7F} : std::byte{0xFF};
        }
    }

  private slots:
    // Every half comes back from float32; floats round to the nearest half, ties to even.
    void halves() {
        for (std::uint32_t h = 0; h < 0x10000U; ++h) {
            const auto half = static_cast<std::uint16_t>(h);
            const float f = half_to_float(half);
            const bool nan = (h & 0x7C00U) == 0x7C00U && (h & 0x3FFU) != 0;
            if (nan) {
                QVERIFY(std::isnan(f) && std::isnan(half_to_float(float_to_half(f))));
                continue;
            }
            QCOMPARE(float_to_half(f), half);
            if ((h & 0x7FFFU) >= 0x7C00U) continue;
            const float next = half_to_float(static_cast<std::uint16_t>(h + 1));
            if (!std::isfinite(next)) continue;
            const float middle = static_cast<float>((static_cast<double>(f) + static_cast<double>(next)) / 2);
            QCOMPARE(float_to_half(middle), static_cast<std::uint16_t>(h % 2 == 0 ? h : h + 1));
            QCOMPARE(float_to_half(std::nextafter(middle, f)), half);
            QCOMPARE(float_to_half(std::nextafter(middle, next)), static_cast<std::uint16_t>(h + 1));
        }
        QCOMPARE(half_to_float(0x3C00), 1.0F);
        QCOMPARE(half_to_float(0x0001), 0x1p-24F);
        QCOMPARE(float_to_half(65519.996F), std::uint16_t{0x7BFF});
        QCOMPARE(float_to_half(65520.0F), std::uint16_t{0x7C00});
        QCOMPARE(float_to_bfloat(1.0F), std::uint16_t{0x3F80});
        QCOMPARE(float_to_bfloat(std::bit_cast<float>(0x3F808000U)), std::uint16_t{0x3F80});
        QCOMPARE(float_to_bfloat(std::bit_cast<float>(0x3F818000U)), std::uint16_t{0x3F82});
        QVERIFY(std::isnan(bfloat_to_float(float_to_bfloat(std::nanf("")))));
    }

    // Every index once, in pieces of at most `grain` where they are shared out, whatever the counts, and
    // again and again, also after the workers went to sleep.
    void pool_covers_every_index() {
        for (const int threads : {1, 2, 3, 4, 7}) {
            ThreadPool pool(threads);
            QCOMPARE(pool.threads(), threads);
            for (int round = 0; round < 300; ++round) {
                const auto count = static_cast<std::int64_t>(random_() % 100);
                const auto grain = static_cast<std::int64_t>(1 + random_() % 9);
                std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
                std::atomic<bool> right{true};
                pool.parallel_for(count, grain, [&](std::int64_t first, std::int64_t last, int thread) {
                    if (first >= last || thread < 0 || thread >= threads) right = false;
                    if (threads > 1 && last - first > grain) right = false;
                    for (std::int64_t i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
                });
                for (const auto& s : seen) QCOMPARE(s.load(), 1);
                QVERIFY(right.load());
                if (round % 100 == 50) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        }
    }

    // Two at work: pieces go to both, and a thread that is held up loses the rest of its range to the other.
    void pool_takes_over_from_a_stuck_thread() {
        ThreadPool pool(2);
        std::atomic<int> done{0};
        std::atomic<bool> held{false};
        pool.parallel_for(100, 1, [&](std::int64_t, std::int64_t, int thread) {
            if (thread == 1 && !held.exchange(true)) {
                while (done.load() < 99)
                    std::this_thread::yield();  // ends only if the others take everything else
            }
            ++done;
        });
        QCOMPARE(done.load(), 100);
    }

    void memory_is_a_value() {
        const SystemMemory memory = system_memory();
        QVERIFY(memory.total > 0 && memory.free > 0 && memory.free <= memory.total);
        for (const char* name : {"reference", "cpu"}) {
            auto d = make_device(name, 1);
            const auto too_large = d->make_kv({1000, 100, 256, 256, 1 << 30, DType::F32});
            QVERIFY(!too_large.ok());
            QCOMPARE(too_large.error().kind, ErrorKind::OutOfMemory);
            const auto more_than_free = d->make_kv(
                {1, 1, 1024, 1024, static_cast<std::int32_t>(memory.total >> 22U) + 1, DType::F32});
            QVERIFY(!more_than_free.ok());
            QCOMPARE(more_than_free.error().kind, ErrorKind::OutOfMemory);
            QVERIFY(QString::fromStdString(more_than_free.error().message).contains("MiB"));
            const auto buffer = d->allocate(std::size_t{1} << 60U);
            QVERIFY(!buffer.ok());
            QCOMPARE(buffer.error().kind, ErrorKind::OutOfMemory);
            // A pool takes no memory before it is used, and then only for what is used of it.
            const std::int64_t before = resident();
            auto lazy = d->make_kv({4, 4, 64, 16, 1 << 14, DType::F16});  // 1 GiB
            if (memory.free > (std::uint64_t{2} << 30U)) {
                QVERIFY(lazy.ok());
                const BlockCopy copy[] = {{100, 7}};
                d->copy_blocks(*lazy.value(), copy);
                QVERIFY(resident() - before < (std::int64_t{8} << 20U));
            }
            const DeviceInfo info = d->info();
            QCOMPARE(info.name, std::string(name));
            QCOMPARE(info.threads, 1);
            QVERIFY(info.memory_total > 0 && info.memory_free > 0 && !info.description.empty());
            const auto seconds = d->read_pass(8U << 20U);
            QVERIFY(seconds.ok() && seconds.value() > 0);
            QVERIFY(!d->read_pass(UINT64_MAX - 10).ok());
            const float one = 1.0F;
            HostTensor bad{DType::Q8_0, 4, 33, reinterpret_cast<const std::byte*>(&one)};
            QVERIFY(!d->upload(bad).ok());
            bad = {DType::F32, INT64_MAX / 2, INT64_MAX / 2, reinterpret_cast<const std::byte*>(&one)};
            QVERIFY(!d->upload(bad).ok());
            bad = {DType::F32, std::int64_t{1} << 40U, 64, reinterpret_cast<const std::byte*>(&one)};
            QVERIFY(!d->upload(bad).ok());
            QCOMPARE(d->upload(bad).error().kind, ErrorKind::OutOfMemory);
        }
    }

    // Uploads that are dropped give their memory back; many live side by side.
    void weights_come_and_go() {
        auto d = make_device("cpu", 1);
        std::vector<Weight> kept;
        std::vector<OwnedTensor> tensors;
        for (int i = 0; i < 40; ++i) {
            tensors.push_back(random_tensor(DType::Q8_0, 33, 64, 1.0F, random_));
            kept.push_back(upload(*d, tensors.back()));
            if (i % 3 == 0)
                kept[random_() % kept.size()] = upload(*d, tensors.back()),
                                 kept.back() = upload(*d, tensors.back());
        }
        std::vector<float> row(64);
        d->read_row(*kept.back(), 32, row);
        const std::vector<float> expected = tensors.back().values();
        QVERIFY(std::equal(row.begin(), row.end(), expected.end() - 64));
    }

    // A wrong step or argument is an error of finish_step(), not a crash, and the next step works again.
    void wrong_arguments() {
        for (const char* name : {"reference", "cpu"}) {
            auto d = make_device(name, 1);
            const Weight w = upload(*d, random_tensor(DType::F16, 8, 16, 1.0F, random_));
            const Buffer x = buffer_of(*d, std::vector<float>(16));
            const auto failed = [&](const Step& step, const auto& act) {
                d->begin_step(step.input());
                act();
                const Status status = d->finish_step();
                return !status.ok() && !status.error().message.empty();
            };
            Step good;
            good.add(0, 1, {});
            Step step = good;
            step.positions.clear();
            QVERIFY(failed(step, [] {}));
            step = good;
            step.sequences[0].rows = 2;
            QVERIFY(failed(step, [] {}));
            step = good;
            step.sequences[0].start = -1;
            QVERIFY(failed(step, [] {}));
            step = good;
            step.sequences.push_back(step.sequences[0]);
            QVERIFY(failed(step, [] {}));
            step = good;
            step.outputs = {1};
            QVERIFY(failed(step, [] {}));
            step = good;
            step.ropes.push_back(rope_of(8, RopeStyle::Halves));
            step.ropes[0].inv_freq.pop_back();
            QVERIFY(failed(step, [] {}));
            step = good;
            step.tokens[0] = 8;
            QVERIFY(failed(step, [&] { d->embed({w.get(), 1.0F, x.get()}); }));
            step.tokens[0] = -1;
            QVERIFY(failed(step, [&] { d->embed({w.get(), 1.0F, x.get()}); }));
            QVERIFY(failed(good, [&] { d->embed({nullptr, 1.0F, x.get()}); }));
            QVERIFY(failed(good, [&] { d->qkv({}); }));
            QVERIFY(failed(good, [&] { d->attention({}); }));
            QVERIFY(failed(good, [&] { d->project({}); }));
            QVERIFY(failed(good, [&] { d->feed_forward({}); }));
            QVERIFY(failed(good, [&] { d->logits({}); }));
            KvCache kv = std::move(d->make_kv({1, 1, 16, 8, 2, DType::F16})).value();
            const std::int32_t blocks[] = {0, 2};
            AttentionArgs a;
            a.q = x.get();
            a.kv = kv.get();
            a.heads = 1;
            a.out = x.get();
            for (const int start : {8, 16}) {
                step = good;
                step.sequences[0].start = start;
                step.sequences[0].blocks = blocks;
                QVERIFY(failed(step, [&] { d->attention(a); }));
            }
            d->begin_step(good.input());
            d->embed({w.get(), 1.0F, x.get()});
            QVERIFY(d->finish_step().ok());
            d->begin_step({});
            d->embed({w.get(), 1.0F, x.get()});
            QVERIFY(d->finish_step().ok());
        }
    }

    // Every instruction set that this machine has gives products and attention within the bounds.
    void other_instruction_sets() {
        const OwnedTensor norm = vector_tensor(std::vector<float>(64, 1.0F));
        for (const cpu::Target& target : cpu::targets()) {
            cpu::use_only(target);
            auto d = make_device("cpu", 2);
            const std::string description = d->info().description;
            for (int index = 0; index < kDTypes; ++index) {
                const auto type = static_cast<DType>(index);
                const bool super = info_of(type).block == 256;
                for (int tokens = 1; tokens <= 13; ++tokens) {
                    const std::int64_t cols = super ? 256 : 64;
                    OwnedTensor w = random_tensor(type, 50, cols, 0.2F, random_);
                    std::vector<float> in =
                        random_floats(static_cast<std::size_t>(cols * tokens), 1.0F, random_);
                    if (tokens % 3 == 0) most_extreme(w, in);
                    if (type == DType::Q8_0)  // the ends of the range
                        for (std::size_t b = 0; b < w.bytes.size(); b += 34)
                            w.bytes[b + 2 + b % 32] = std::byte{0x80};
                    const Weight matrix = upload(*d, w);
                    const Buffer input = buffer_of(*d, in);
                    const Buffer x =
                        buffer_of(*d, std::vector<float>(static_cast<std::size_t>(50 * tokens), 0.0F));
                    Step step;
                    step.add(0, tokens, {});
                    d->begin_step(step.input());
                    ProjectArgs a;
                    a.in = input.get();
                    a.w = matrix.get();
                    a.x = x.get();
                    d->project(a);
                    QVERIFY(d->finish_step().ok());
                    const std::vector<float> got = values_of(*d, *x);
                    const auto width = static_cast<std::size_t>(cols);
                    const KnownMatrix known(w);
                    for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
                        const double ratio =
                            worst({got.data() + t * 50, 50},
                                  product(exactly({in.data() + t * width, width}), known, true));
                        QVERIFY2(ratio <= 1.0, qPrintable(QString("%1, %2, %3 tokens: %4")
                                                              .arg(description.c_str())
                                                              .arg(name_of_type(type).c_str())
                                                              .arg(tokens)
                                                              .arg(ratio)));
                    }
                }
            }
            // Attention over equal values gives them back, whatever the scores; every sharing of heads.
            for (const DType type : {DType::F32, DType::F16, DType::BF16})
                for (std::int32_t heads = 1; heads <= 13; ++heads) {
                    KvCache kv = std::move(d->make_kv({1, 1, 36, heads % 2 == 0 ? 8 : 16, 64, type})).value();
                    d->fill_kv(*kv, 0.75F);
                    const auto blocks = table_of(64);
                    const auto n = static_cast<std::size_t>(heads * 36 * 3);
                    const Buffer q = buffer_of(*d, random_floats(n, 1.0F, random_));
                    const Buffer out = buffer_of(*d, std::vector<float>(n));
                    Step step;
                    step.add(300, 3, blocks);
                    AttentionArgs a;
                    a.q = q.get();
                    a.kv = kv.get();
                    a.heads = heads;
                    a.out = out.get();
                    d->begin_step(step.input());
                    d->attention(a);
                    QVERIFY(d->finish_step().ok());
                    for (const float v : values_of(*d, *out)) QVERIFY(std::abs(v - 0.75F) < 3e-5F);
                }
        }
        cpu::use_all();
    }
};

QTEST_APPLESS_MAIN(TestHost)
#include "tst_host.moc"
