// Keys and values on their way into the cache, and attention over them, on both devices.
#include <limits>
#include <random>

#include <QtTest>

#include "tests/kernels/estimate.h"
#include "tests/kernels/fixture.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

const std::string kDevices[] = {"reference", "cpu"};

// A cache with known content: tokens go in through qkv() with random float32 weights, in steps of `chunk`.
struct Filled {
    std::unique_ptr<Device> device;
    KvCache kv;
    std::vector<std::int32_t> blocks;  // shuffled
    std::int32_t heads = 0;
    std::size_t width = 64;  // of x

    // What the cache holds, [tokens][head_dim].
    std::vector<float> read(bool value, std::int32_t head, std::int32_t tokens) const {
        const auto c = static_cast<std::size_t>(kv->shape.head_dim);
        std::vector<float> out(static_cast<std::size_t>(tokens) * c);
        for (std::int32_t t = 0; t < tokens; ++t)
            device->read_kv(*kv, 0, value, blocks[static_cast<std::size_t>(t / kv->shape.block_size)], head,
                            t % kv->shape.block_size,
                            std::span(out).subspan(static_cast<std::size_t>(t) * c, c));
        return out;
    }
};

struct Case {
    std::string device;
    DType dtype = DType::F16;
    std::int32_t heads = 4;
    std::int32_t kv_heads = 2;
    std::int32_t head_dim = 16;
    std::int32_t block_size = 16;
    std::int32_t tokens = 50;
    std::int32_t last_rows = 7;  // rows of the step that attends
    std::int32_t window = 0;
    float softcap = 0;
};

}  // namespace

class TestAttention : public QObject {
    Q_OBJECT

    std::mt19937 random_{std::random_device{}()};

    // Writes tokens [0, c.tokens), the last c.last_rows of them in the step that then attends; poisons the
    // rest. Returns the worst ratio to the bound.
    double run(const Case& c) {
        Filled f;
        f.device = make_device(c.device, 2);
        f.heads = c.heads;
        KvShape shape{1, c.kv_heads, c.head_dim, c.block_size, c.tokens / c.block_size + 3, c.dtype};
        auto kv = f.device->make_kv(shape);
        if (!kv.ok()) return 1e30;
        f.kv = std::move(kv).value();
        f.blocks = table_of(shape.blocks);
        std::shuffle(f.blocks.begin(), f.blocks.end(), random_);
        f.device->fill_kv(*f.kv, std::numeric_limits<float>::quiet_NaN());

        const std::int64_t d = static_cast<std::int64_t>(f.width);
        const float sigma = 0.3F;
        const Weight norm = upload(*f.device, vector_tensor(std::vector<float>(f.width, 1.0F)));
        const Weight wq =
            upload(*f.device, random_tensor(DType::F32, c.heads * c.head_dim, d, sigma, random_));
        const Weight wk =
            upload(*f.device, random_tensor(DType::F32, c.kv_heads * c.head_dim, d, sigma, random_));
        const Weight wv =
            upload(*f.device, random_tensor(DType::F32, c.kv_heads * c.head_dim, d, sigma, random_));
        const RopeSpec rope = rope_of(c.head_dim / 2 * 2, RopeStyle::Halves);
        const auto q_width = static_cast<std::size_t>(c.heads * c.head_dim);
        const std::int32_t before = c.tokens - c.last_rows;
        std::vector<float> queries;
        std::vector<float> got;
        for (std::int32_t at = 0; at < c.tokens;) {
            const std::int32_t rows = at < before ? std::min(16, before - at) : c.last_rows;
            const auto count = static_cast<std::size_t>(rows);
            Step step;
            step.add(at, rows, f.blocks);
            step.ropes.push_back(rope);
            const Buffer x = buffer_of(*f.device, random_floats(count * f.width, 1.0F, random_));
            const Buffer q = buffer_of(*f.device, std::vector<float>(count * q_width));
            const Buffer out = buffer_of(*f.device, std::vector<float>(count * q_width));
            f.device->begin_step(step.input());
            QkvArgs a;
            a.x = x.get();
            a.norm = norm.get();
            a.wq = wq.get();
            a.wk = wk.get();
            a.wv = wv.get();
            a.heads = c.heads;
            a.kv = f.kv.get();
            a.q = q.get();
            f.device->qkv(a);
            AttentionArgs t;
            t.q = q.get();
            t.kv = f.kv.get();
            t.heads = c.heads;
            t.scale = 0.25F;
            t.window = c.window;
            t.softcap = c.softcap;
            t.out = out.get();
            f.device->attention(t);
            if (!f.device->finish_step().ok()) return 1e30;
            queries = values_of(*f.device, *q);
            got = values_of(*f.device, *out);
            at += rows;
        }
        double ratio = 0;
        for (std::int32_t h = 0; h < c.heads; ++h) {
            const std::int32_t g = h / (c.heads / c.kv_heads);
            const std::vector<float> keys = f.read(false, g, c.tokens);
            const std::vector<float> values = f.read(true, g, c.tokens);
            for (std::int32_t r = 0; r < c.last_rows; ++r) {
                const std::size_t at =
                    static_cast<std::size_t>(r) * q_width + static_cast<std::size_t>(h * c.head_dim);
                const auto n = static_cast<std::size_t>(c.head_dim);
                ratio = std::max(
                    ratio, worst(std::span(got).subspan(at, n),
                                 attended(std::span(queries).subspan(at, n), keys, values, before + r, c)));
            }
        }
        return ratio;
    }

    // One row of attention in double, with the bound of attention_kernels.h.
    static Estimate attended(std::span<const float> q, const std::vector<float>& keys,
                             const std::vector<float>& values, std::int32_t position, const Case& c) {
        const std::int32_t from = c.window == 0 ? 0 : std::max(0, position - c.window + 1);
        const auto n = static_cast<std::size_t>(c.head_dim);
        std::vector<double> scores;
        double top = -1e300;
        double largest = 0;
        double magnitude = 0;
        for (std::int32_t p = from; p <= position; ++p) {
            double s = 0;
            double m = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const double term = static_cast<double>(q[i]) *
                                    static_cast<double>(keys[static_cast<std::size_t>(p) * n + i]);
                s += term;
                m += std::abs(term);
                largest = std::max(
                    largest, std::abs(static_cast<double>(values[static_cast<std::size_t>(p) * n + i])));
            }
            s *= 0.25;
            magnitude = std::max(magnitude, 0.25 * m);
            if (c.softcap != 0)
                s = static_cast<double>(c.softcap) * std::tanh(s / static_cast<double>(c.softcap));
            scores.push_back(s);
            top = std::max(top, s);
        }
        double sum = 0;
        for (double& s : scores) sum += s = std::exp(s - top);
        Estimate y{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = 0; k < scores.size(); ++k)
                y.value[i] += scores[k] / sum *
                              static_cast<double>(values[(static_cast<std::size_t>(from) + k) * n + i]);
        const double count = static_cast<double>(scores.size());
        const double score_error = (static_cast<double>(n) + 4) * kRounding * magnitude + 0x1p-22 +
                                   static_cast<double>(c.softcap) * 0x1p-20;
        for (double& e : y.error) e = (2 * score_error + (count + 40) * kRounding) * largest;
        return y;
    }

    void check(const Case& c) {
        const double ratio = run(c);
        QVERIFY2(ratio <= 1.0, qPrintable(QString("off by %1 times the bound").arg(ratio)));
    }

  private slots:
    // Head sizes and sharing as models have them and odd ones, precisions, block sizes. Everything unwritten
    // is NaN: CTX-10, BAT-13.
    void shapes_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("dtype");
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("kv_heads");
        QTest::addColumn<int>("head_dim");
        QTest::addColumn<int>("block_size");
        const int heads[][2] = {{9, 3}, {4, 4}, {8, 1}, {32, 2}, {13, 1}, {6, 2}};
        int turn = 0;
        for (const std::string& device : kDevices)
            for (const DType dtype : {DType::F32, DType::F16, DType::BF16})
                for (const int dim : {64, 80, 96, 128, 256, 12, 16, 32, 1, 7, 33})
                    for (const int block : {8, 16, 24, 32, 256}) {
                        const auto& h = heads[turn++ % 6];
                        QTest::addRow("%s %s %d/%d heads of %d, blocks of %d", device.c_str(),
                                      name_of_type(dtype).c_str(), h[0], h[1], dim, block)
                            << QString::fromStdString(device) << static_cast<int>(dtype) << h[0] << h[1]
                            << dim << block;
                    }
    }
    void shapes() {
        QFETCH(QString, device);
        QFETCH(int, dtype);
        QFETCH(int, heads);
        QFETCH(int, kv_heads);
        QFETCH(int, head_dim);
        QFETCH(int, block_size);
        Case c;
        c.device = device.toStdString();
        c.dtype = static_cast<DType>(dtype);
        c.heads = heads;
        c.kv_heads = kv_heads;
        c.head_dim = head_dim;
        c.block_size = block_size;
        c.tokens = 1 + static_cast<std::int32_t>(random_() % 80);
        c.last_rows =
            1 + static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(std::min(c.tokens, 20)));
        check(c);
    }

    // Around the ends of pieces of 256 keys, for single rows and many.
    void long_contexts_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("tokens");
        QTest::addColumn<int>("rows");
        for (const std::string& device : kDevices)
            for (const int tokens : {255, 256, 257, 300, 513, 1100})
                for (const int rows : {1, 2, 40, 130})
                    QTest::addRow("%s %d keys, %d rows", device.c_str(), tokens, rows)
                        << QString::fromStdString(device) << tokens << rows;
    }
    void long_contexts() {
        QFETCH(QString, device);
        QFETCH(int, tokens);
        QFETCH(int, rows);
        Case c;
        c.device = device.toStdString();
        c.heads = 6;
        c.kv_heads = 2;
        c.head_dim = 32;
        c.tokens = tokens;
        c.last_rows = rows;
        check(c);
    }

    // CTX-07, CTX-08: the query and W − 1 before it, in one step and one by one, at every length about W.
    void windows_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("window");
        QTest::addColumn<int>("tokens");
        QTest::addColumn<int>("rows");
        for (const std::string& device : kDevices)
            for (const int window : {1, 4, 16, 33, 250, 300})
                for (const int tokens : {window - 1, window, window + 1, 2 * window, 2 * window + 1, 600})
                    for (const int rows : {1, 5, 9})
                        if (tokens >= rows)
                            QTest::addRow("%s window %d, %d keys, %d rows", device.c_str(), window, tokens,
                                          rows)
                                << QString::fromStdString(device) << window << tokens << rows;
    }
    void windows() {
        QFETCH(QString, device);
        QFETCH(int, window);
        QFETCH(int, tokens);
        QFETCH(int, rows);
        Case c;
        c.device = device.toStdString();
        c.block_size = 8;
        c.window = window;
        c.tokens = tokens;
        c.last_rows = rows;
        check(c);
    }

    void softcap() {
        for (const std::string& device : kDevices) {
            for (const float cap : {5.0F, 50.0F}) {
                Case c;
                c.device = device;
                c.tokens = 290;
                c.softcap = cap;
                c.window = 100;
                check(c);
            }
        }
    }

    // Blocks that a window left behind may be given back: they are not read, and may be named -1.
    void blocks_before_the_window_are_not_needed() {
        for (const std::string& name : kDevices) {
            auto device = make_device(name, 1);
            KvCache kv = std::move(device->make_kv({1, 1, 16, 8, 4, DType::F16})).value();
            device->fill_kv(*kv, 0.5F);
            const std::vector<std::int32_t> blocks = {-1, -1, 2, 3};
            const Buffer q = buffer_of(*device, std::vector<float>(16, 1.0F));
            const Buffer out = buffer_of(*device, std::vector<float>(16));
            Step step;
            step.add(31, 1, blocks);
            AttentionArgs a;
            a.q = q.get();
            a.kv = kv.get();
            a.heads = 1;
            a.out = out.get();
            a.window = 16;
            device->begin_step(step.input());
            device->attention(a);
            QVERIFY(device->finish_step().ok());
            for (const float v : values_of(*device, *out)) QCOMPARE(v, 0.5F);
            a.window = 17;  // one key too far
            device->begin_step(step.input());
            device->attention(a);
            QVERIFY(!device->finish_step().ok());
        }
    }

    // The projections: biases, norms of heads, both ways of rotating, partial rotation, and the cache's
    // rounding.
    void qkv_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("dtype");
        QTest::addColumn<int>("variant");
        for (const std::string& device : kDevices)
            for (const DType type :
                 {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1})
                for (const DType dtype : {DType::F32, DType::F16, DType::BF16})
                    for (int variant = 0; variant < 4; ++variant)
                        QTest::addRow("%s %s into %s, variant %d", device.c_str(), name_of_type(type).c_str(),
                                      name_of_type(dtype).c_str(), variant)
                            << QString::fromStdString(device) << static_cast<int>(type)
                            << static_cast<int>(dtype) << variant;
    }
    void qkv() {
        QFETCH(QString, device);
        QFETCH(int, type);
        QFETCH(int, dtype);
        QFETCH(int, variant);
        const bool rounded = device == "cpu";
        const bool biased = (variant & 1) != 0;
        const bool normed = (variant & 2) != 0;
        const std::int32_t heads = 6;
        const std::int32_t kv_heads = 2;
        const std::int32_t dim = variant == 2 ? 20 : 24;
        const std::int32_t rows = variant == 0 ? 1 : 15;
        const std::int32_t start = 1000 + static_cast<std::int32_t>(random_() % 1000);
        auto d = make_device(device.toStdString(), 2);
        const auto wtype = static_cast<DType>(type);
        const OwnedTensor tensors[] = {random_tensor(wtype, heads * dim, 64, 0.2F, random_),
                                       random_tensor(wtype, kv_heads * dim, 64, 0.2F, random_),
                                       random_tensor(wtype, kv_heads * dim, 64, 0.2F, random_)};
        const std::vector<float> norm = random_floats(64, 1.0F, random_);
        const auto head = static_cast<std::size_t>(dim);
        const std::vector<float> head_norms[] = {random_floats(head, 1.0F, random_),
                                                 random_floats(head, 1.0F, random_)};
        std::vector<float> biases[3];
        std::vector<Weight> w;
        for (int i = 0; i < 3; ++i) {
            biases[i] = random_floats(static_cast<std::size_t>(tensors[i].rows), 1.0F, random_);
            w.push_back(upload(*d, tensors[i]));
            w.push_back(upload(*d, vector_tensor(biases[i])));
        }
        const Weight norms[] = {upload(*d, vector_tensor(norm)), upload(*d, vector_tensor(head_norms[0])),
                                upload(*d, vector_tensor(head_norms[1]))};
        KvCache kv = std::move(d->make_kv({3, kv_heads, dim, 8, 300, static_cast<DType>(dtype)})).value();
        std::vector<std::int32_t> blocks = table_of(300);
        std::shuffle(blocks.begin(), blocks.end(), random_);
        const std::vector<float> x0 = random_floats(static_cast<std::size_t>(rows) * 64, 2.0F, random_);
        const Buffer x = buffer_of(*d, x0);
        const auto q_width = static_cast<std::size_t>(heads * dim);
        const Buffer q = buffer_of(*d, std::vector<float>(static_cast<std::size_t>(rows) * q_width));
        Step step;
        step.add(start, rows, blocks);
        step.ropes.push_back(rope_of(4, RopeStyle::Halves));
        step.ropes.push_back(
            rope_of(variant == 3 ? 16 : dim, variant % 2 == 0 ? RopeStyle::Halves : RopeStyle::Neighbours));
        step.ropes[1].magnitude = variant == 3 ? 1.3F : 1.0F;
        QkvArgs a;
        a.x = x.get();
        a.norm = norms[0].get();
        a.wq = w[0].get();
        a.wk = w[2].get();
        a.wv = w[4].get();
        if (biased) {
            a.bq = w[1].get();
            a.bk = w[3].get();
            a.bv = w[5].get();
        }
        if (normed) {
            a.q_norm = norms[1].get();
            a.k_norm = norms[2].get();
        }
        a.heads = heads;
        a.rope = 1;
        a.layer = 1;
        a.kv = kv.get();
        a.q = q.get();
        d->begin_step(step.input());
        d->qkv(a);
        QVERIFY(d->finish_step().ok());
        const std::vector<float> got = values_of(*d, *q);
        for (std::int32_t r = 0; r < rows; ++r) {
            const Estimate n = normalised(exactly({x0.data() + r * 64, 64}), norm, 1e-5);
            for (int i = 0; i < 3; ++i) {
                const Estimate all =
                    product(n, tensors[i], rounded,
                            biased ? std::span<const float>(biases[i]) : std::span<const float>());
                for (std::int32_t h = 0; h < (i == 0 ? heads : kv_heads); ++h) {
                    const auto at = static_cast<std::ptrdiff_t>(h) * dim;
                    Estimate y{{all.value.begin() + at, all.value.begin() + at + dim},
                               {all.error.begin() + at, all.error.begin() + at + dim}};
                    if (i < 2 && normed) y = normalised(y, head_norms[i], 1e-5);
                    if (i < 2) y = rotated(y, step.ropes[1], start + r);
                    std::vector<float> mine(head);
                    if (i == 0) {
                        std::copy_n(got.begin() + static_cast<std::ptrdiff_t>(r) * heads * dim + at, dim,
                                    mine.begin());
                    } else {
                        y = stored(y, static_cast<DType>(dtype));
                        d->read_kv(*kv, 1, i == 2, blocks[static_cast<std::size_t>((start + r) / 8)], h,
                                   (start + r) % 8, mine);
                    }
                    const double ratio = worst(mine, y);
                    QVERIFY2(ratio <= 1.0,
                             qPrintable(QString("%1 of row %2: %3").arg("qkv"[i]).arg(r).arg(ratio)));
                }
            }
        }
    }

    // Copies every layer, keys and values, in the order given; nothing else changes.
    void copy_blocks() {
        for (const std::string& name : kDevices) {
            auto d = make_device(name, 1);
            KvCache kv = std::move(d->make_kv({2, 2, 12, 8, 6, DType::F16})).value();
            d->fill_kv(*kv, 1.0F);
            const Weight norm = upload(*d, vector_tensor(std::vector<float>(16, 1.0F)));
            const Weight w = upload(*d, random_tensor(DType::F32, 24, 16, 1.0F, random_));
            const std::vector<std::int32_t> blocks = {2};
            for (std::int32_t layer = 0; layer < 2; ++layer) {
                const Buffer x = buffer_of(*d, random_floats(16 * 8, 1.0F, random_));
                const Buffer q = buffer_of(*d, std::vector<float>(24 * 8));
                Step step;
                step.add(0, 8, blocks);
                step.ropes.push_back(rope_of(12, RopeStyle::Halves));
                QkvArgs a;
                a.x = x.get();
                a.norm = norm.get();
                a.wq = a.wk = a.wv = w.get();
                a.heads = 2;
                a.layer = layer;
                a.kv = kv.get();
                a.q = q.get();
                d->begin_step(step.input());
                d->qkv(a);
                QVERIFY(d->finish_step().ok());
            }
            const BlockCopy copies[] = {{2, 4}, {4, 0}, {3, 3}};
            d->copy_blocks(*kv, copies);
            std::vector<float> from(12);
            std::vector<float> to(12);
            for (std::int32_t layer = 0; layer < 2; ++layer)
                for (const bool value : {false, true})
                    for (std::int32_t head = 0; head < 2; ++head)
                        for (std::int32_t token = 0; token < 8; ++token) {
                            d->read_kv(*kv, layer, value, 2, head, token, from);
                            for (const std::int32_t copy : {4, 0}) {
                                d->read_kv(*kv, layer, value, copy, head, token, to);
                                QCOMPARE(to, from);
                            }
                            for (const std::int32_t other : {1, 3, 5}) {
                                d->read_kv(*kv, layer, value, other, head, token, to);
                                QCOMPARE(to, std::vector<float>(12, 1.0F));
                            }
                        }
            const BlockCopy bad[] = {{0, 6}};
            d->begin_step({});
            d->copy_blocks(*kv, bad);
            QVERIFY(!d->finish_step().ok());
        }
    }
};

QTEST_APPLESS_MAIN(TestAttention)
#include "tst_attention.moc"
