// The CUDA device against the reference: one layer with everything in it, in every weight format and cache
// precision, in one piece and continued. Skipped, with the reason, where no GPU can be used.
#include <cmath>
#include <random>

#include <QtTest>

#include "kernels/gpu/cuda_module.h"
#include "kernels/host/half.h"
#include "tests/kernels/fixture.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kHead = 64;
constexpr int kWidth = 256;
constexpr int kHidden = 512;
constexpr int kVocab = 300;
constexpr int kBlocks = 40;
constexpr int kTurned = kHead - 16;

std::vector<float> near_one(std::mt19937& random, std::size_t n, float spread, float centre) {
    std::normal_distribution<float> normal(centre, spread);
    std::vector<float> v(n);
    for (float& x : v) x = normal(random);
    return v;
}

struct Layer {
    OwnedTensor embedding, wq, wk, wv, wo, gate, up, down, output;
    std::vector<float> norm, bias, head_norm;

    Layer(DType type, std::mt19937& random)
        : norm(near_one(random, kWidth, 0.2F, 1.0F)),
          bias(near_one(random, kHeads * kHead, 0.3F, 0.0F)),
          head_norm(near_one(random, kHead, 0.2F, 1.0F)) {
        const auto matrix = [&](int rows, int cols) {
            return random_tensor(type, rows, cols, 1.0F / std::sqrt(static_cast<float>(cols)), random);
        };
        embedding = matrix(kVocab, kWidth);
        wq = matrix(kHeads * kHead, kWidth);
        wk = matrix(kKvHeads * kHead, kWidth);
        wv = matrix(kKvHeads * kHead, kWidth);
        wo = matrix(kWidth, kHeads * kHead);
        gate = matrix(kHidden, kWidth);
        up = matrix(kHidden, kWidth);
        down = matrix(kWidth, kHidden);
        output = matrix(kVocab, kWidth);
    }
};

struct Case {
    DType kv;
    int rows;   // of the second step
    int start;  // rows of the first step
    int window;
    bool full;  // biases, head norms, post norms, soft caps, GeGLU
    float embedding_scale = 1.5F;
};

Weight vector_of(Device& device, const std::vector<float>& v) {
    HostTensor t;
    t.rows = 1;
    t.cols = static_cast<std::int64_t>(v.size());
    t.data = reinterpret_cast<const std::byte*>(v.data());
    auto w = device.upload(t);
    return w.ok() ? *w : nullptr;
}

// Residual stream and logits of both steps.
std::vector<float> run(Device& device, const Layer& l, const Case& c, int replays = 0) {
    const Weight embedding = upload(device, l.embedding), wq = upload(device, l.wq),
                 wk = upload(device, l.wk), wv = upload(device, l.wv), wo = upload(device, l.wo),
                 gate = upload(device, l.gate), up = upload(device, l.up), down = upload(device, l.down),
                 output = upload(device, l.output), norm = vector_of(device, l.norm),
                 bias = vector_of(device, l.bias), head_norm = vector_of(device, l.head_norm);
    KvShape shape;
    shape.layers = 1;
    shape.kv_heads = kKvHeads;
    shape.head_dim = kHead;
    shape.block_size = 16;
    shape.blocks = kBlocks;
    shape.dtype = c.kv;
    auto kv = device.make_kv(shape);
    if (!kv.ok()) return {};
    device.fill_kv(**kv, std::nanf(""));
    const auto total = static_cast<std::size_t>(c.start + c.rows);
    const auto buffer = [&](std::size_t n) { return std::move(device.allocate(n)).value(); };
    const Buffer x = buffer(total * kWidth), q = buffer(total * kHeads * kHead),
                 seen = buffer(total * kHeads * kHead), hidden = buffer(total * kHidden),
                 logits = buffer(std::size_t{2} * kVocab);
    RopeSpec rope;
    rope.style = c.full ? RopeStyle::Halves : RopeStyle::Neighbours;
    rope.rotary_dim = kTurned;
    rope.magnitude = 1.1F;
    for (int i = 0; i < kTurned / 2; ++i) rope.inv_freq.push_back(std::pow(10000.0, -2.0 * i / kTurned));
    std::vector<std::int32_t> blocks;
    for (int i = 0; i < kBlocks; ++i) blocks.push_back(i * 7 % kBlocks);
    const float cap = c.full ? 20.0F : 0.0F;

    std::vector<float> result;
    for (const auto& [first, count] : {std::pair{0, c.start}, std::pair{c.start, c.rows}}) {
        if (count == 0) continue;
        Step step;
        step.ropes = {rope};
        step.add(first, count, blocks);
        for (int i = 0; i < count; ++i) step.tokens[static_cast<std::size_t>(i)] = (first + i) * 13 % kVocab;
        step.outputs = {0, count - 1};
        const StepInput input = step.input();
        const auto once = [&] {
            device.begin_step(input);
            EmbedArgs embed;
            embed.table = embedding.get();
            embed.scale = c.embedding_scale;
            embed.x = x.get();
            device.embed(embed);
            QkvArgs qkv;
            qkv.x = x.get();
            qkv.norm = norm.get();
            qkv.wq = wq.get();
            qkv.wk = wk.get();
            qkv.wv = wv.get();
            qkv.bq = c.full ? bias.get() : nullptr;
            qkv.q_norm = c.full ? head_norm.get() : nullptr;
            qkv.k_norm = qkv.q_norm;
            qkv.heads = kHeads;
            qkv.kv = kv->get();
            qkv.q = q.get();
            device.qkv(qkv);
            AttentionArgs attention;
            attention.q = q.get();
            attention.kv = kv->get();
            attention.heads = kHeads;
            attention.scale = 0.125F;
            attention.window = c.window;
            attention.softcap = cap;
            attention.out = seen.get();
            device.attention(attention);
            ProjectArgs project;
            project.in = seen.get();
            project.w = wo.get();
            project.post_norm = c.full ? norm.get() : nullptr;
            project.x = x.get();
            device.project(project);
            FeedForwardArgs feed;
            feed.x = x.get();
            feed.norm = norm.get();
            feed.gate = gate.get();
            feed.up = up.get();
            feed.down = down.get();
            feed.post_norm = c.full ? norm.get() : nullptr;
            feed.activation = c.full ? Activation::GeluTanh : Activation::SiLU;
            feed.hidden = hidden.get();
            device.feed_forward(feed);
            LogitsArgs last;
            last.x = x.get();
            last.norm = norm.get();
            last.w = output.get();
            last.softcap = cap;
            last.out = logits.get();
            device.logits(last);
            if (const Status status = device.finish_step(); !status.ok())
                qFatal("%s", status.error().message.c_str());
            const auto rows = device.read(*logits, 0, std::size_t{2} * kVocab);
            return std::vector<float>(rows.begin(), rows.end());
        };
        const std::vector<float> rows = once();
        // The same step again and again: what is replayed must give the bits of what was enqueued.
        for (int again = 0; again < replays; ++again)
            if (once() != rows) qFatal("a replay differs from the first run");
        result.insert(result.end(), rows.begin(), rows.end());
        const auto stream = device.read(*x, 0, static_cast<std::size_t>(count) * kWidth);
        result.insert(result.end(), stream.begin(), stream.end());
    }
    return result;
}

}  // namespace

class TestCuda : public QObject {
    Q_OBJECT

  private slots:
    // Wherever it runs: there is a device, or a sentence that says why not.
    void a_device_or_a_reason() {
        const auto gpus = cuda_gpus();
        if (gpus.ok())
            QVERIFY(!gpus->empty());
        else
            QVERIFY(
                QString::fromStdString(gpus.error().message).startsWith(QStringLiteral("No GPU is used: ")));
    }

    void a_layer_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<bool>("plain");
        for (int t = 0; t < kDTypes; ++t) {
            const std::string name = name_of_type(static_cast<DType>(t));
            QTest::newRow((name + " plain").c_str()) << t << true;
            QTest::newRow((name + " fast").c_str()) << t << false;
        }
    }
    void a_layer() {
        QFETCH(int, type);
        QFETCH(bool, plain);
        const auto gpus = cuda_gpus();
        if (!gpus.ok()) QSKIP(gpus.error().message.c_str());
        auto gpu = make_cuda_device(gpus->front().index, plain);
        if (!gpu.ok()) QFAIL(gpu.error().message.c_str());
        const auto reference = make_device("reference", 0);
        std::mt19937 random(static_cast<unsigned>(type) + 5U);
        const Layer layer(static_cast<DType>(type), random);
        for (const DType kv : {DType::F32, DType::F16, DType::BF16})
            for (const bool full : {false, true})
                for (const auto& [rows, start] : {std::pair{1, 0}, {1, 200}, {5, 17}, {130, 70}})
                    for (const int window : {0, 33}) {
                        const Case c{kv, rows, start, window, full};
                        const auto wanted = run(*reference, layer, c);
                        const auto got = run(**gpu, layer, c, plain ? 0 : 3);
                        QCOMPARE(got.size(), wanted.size());
                        double largest = 0;
                        double difference = 0;
                        for (std::size_t i = 0; i < got.size(); ++i) {
                            largest = std::max(largest, std::abs(static_cast<double>(wanted[i])));
                            const double d =
                                std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
                            difference = std::isfinite(d) ? std::max(difference, d) : HUGE_VAL;
                        }
                        // Both round in float32; a key or value next to a rounding border of the cache's type
                        // may fall to the other side.
                        double tolerance = kv == DType::F32 ? 3e-5 : kv == DType::F16 ? 2e-3 : 1.5e-2;
                        // The fast ones round activations to 16 bits, and to 8 in groups where one row meets
                        // quantized weights (errors of 1/254 of a group's largest, in five products).
                        if (!plain) tolerance += info_of(static_cast<DType>(type)).block > 1 ? 0.08 : 0.01;
                        QVERIFY2(difference <= tolerance * largest,
                                 qPrintable(QStringLiteral("%1 of %2").arg(difference).arg(largest)));
                    }
    }

    // Gates that are shut leave inputs of 1e-29 beside a residual of 1e10: whoever scales the one up must not
    // lose the other.
    void a_shut_gate() {
        const auto gpus = cuda_gpus();
        if (!gpus.ok()) QSKIP(gpus.error().message.c_str());
        std::mt19937 random(77);
        Layer layer(DType::F32, random);
        const auto fill = [](OwnedTensor& t, float value) {
            auto* v = reinterpret_cast<float*>(t.bytes.data());
            std::fill(v, v + t.rows * t.cols, value);
        };
        fill(layer.embedding, 1.0F);
        fill(layer.gate, -70.0F / kWidth);
        layer.norm.assign(layer.norm.size(), 1.0F);
        const auto narrow = [](OwnedTensor& t) {
            OwnedTensor n{DType::F16, t.rows, t.cols, {}};
            n.bytes.resize(static_cast<std::size_t>(t.rows * t.cols) * 2);
            const auto* v = reinterpret_cast<const float*>(t.bytes.data());
            for (std::int64_t i = 0; i < t.rows * t.cols; ++i)
                put_u16(n.bytes.data() + 2 * i, float_to_half(v[i]));
            t = std::move(n);
        };
        for (OwnedTensor* t : {&layer.embedding, &layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.gate,
                               &layer.up, &layer.down, &layer.output})
            narrow(*t);
        const auto reference = make_device("reference", 0);
        for (const bool plain : {true, false}) {
            auto gpu = make_cuda_device(gpus->front().index, plain);
            if (!gpu.ok()) QFAIL(gpu.error().message.c_str());
            for (const int rows : {1, 5, 33, 130}) {
                const Case c{DType::F16, rows, 0, 0, false, 3e10F};
                const auto wanted = run(*reference, layer, c);
                const auto got = run(**gpu, layer, c);
                QCOMPARE(got.size(), wanted.size());
                for (std::size_t i = 0; i < got.size(); ++i)
                    QVERIFY2(std::abs(got[i] - wanted[i]) <= 0.01F * std::max(1.0F, std::abs(wanted[i])),
                             qPrintable(
                                 QStringLiteral("%1 rows: %2, not %3").arg(rows).arg(got[i]).arg(wanted[i])));
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestCuda)
#include "tst_cuda.moc"
