// The same bits for a row however it is gathered into steps, on however many threads, over blocks of any
// size, beside whatever other rows. For both devices: the reference promises it, the fast device does as
// well.
#include <limits>
#include <map>
#include <random>

#include <QtTest>

#include "tests/kernels/fixture.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

const char* const kDevices[] = {"reference", "cpu"};

constexpr std::int32_t kD = 64, kH = 6, kG = 2, kC = 20, kF = 96, kV = 77, kLayers = 2;

// A small model in one format, through every operation.
struct SmallModel {
    struct Layer {
        OwnedTensor norm, wq, wk, wv, wo, norm2, gate, up, down;
    };
    std::vector<Layer> layers;
    OwnedTensor norm, embedding;

    template <class Random>
    SmallModel(DType type, Random& random) {
        const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
            // Columns that fit no quantized block are float16.
            const DType t = cols % info_of(type).block == 0 ? type : DType::F16;
            return random_tensor(t, rows, cols, 0.25F, random);
        };
        const auto vector = [&] { return vector_tensor(random_floats(kD, 1.0F, random)); };
        for (int l = 0; l < kLayers; ++l)
            layers.push_back({vector(), matrix(kH * kC, kD), matrix(kG * kC, kD), matrix(kG * kC, kD),
                              matrix(kD, kH * kC), vector(), matrix(kF, kD), matrix(kF, kD), matrix(kD, kF)});
        norm = vector();
        embedding = matrix(kV, kD);
    }
};

struct Chunk {
    int sequence;
    std::int32_t rows;
};

class Runner {
  public:
    Runner(const std::string& device, int threads, const SmallModel& model, std::int32_t block_size,
           std::int32_t window, bool poison)
        : device_(make_device(device, threads)), block_size_(block_size), window_(window) {
        for (const SmallModel::Layer& l : model.layers)
            layers_.push_back({upload(l.norm), upload(l.wq), upload(l.wk), upload(l.wv), upload(l.wo),
                               upload(l.norm2), upload(l.gate), upload(l.up), upload(l.down)});
        norm_ = upload(model.norm);
        embedding_ = upload(model.embedding);
        kv_ =
            std::move(device_->make_kv({kLayers, kG, kC, block_size, 4096 / block_size, DType::F16})).value();
        device_->fill_kv(*kv_, poison ? std::numeric_limits<float>::quiet_NaN() : 0.0F);
    }

    // Runs the chunks of one step; logits of all rows are appended to logits[sequence].
    bool step(const std::vector<std::vector<std::int32_t>>& tokens, const std::vector<Chunk>& chunks,
              std::map<int, std::vector<float>>& logits) {
        Step s;
        for (const Chunk& chunk : chunks) {
            const std::int32_t at = computed_[chunk.sequence];
            auto& table = tables_[chunk.sequence];
            while (static_cast<std::int32_t>(table.size()) * block_size_ < at + chunk.rows)
                table.push_back(next_block_++);
            s.add(at, chunk.rows, table);
            for (std::int32_t i = 0; i < chunk.rows; ++i)
                s.tokens[s.tokens.size() - static_cast<std::size_t>(chunk.rows - i)] =
                    tokens[static_cast<std::size_t>(chunk.sequence)][static_cast<std::size_t>(at + i)];
        }
        for (std::size_t r = 0; r < s.tokens.size(); ++r) s.outputs.push_back(static_cast<std::int32_t>(r));
        s.ropes.push_back(rope_of(kC, RopeStyle::Halves));
        const std::size_t rows = s.tokens.size();
        const auto make = [&](std::int32_t width) {
            return std::move(device_->allocate(rows * static_cast<std::size_t>(width))).value();
        };
        const Buffer x = make(kD), q = make(kH * kC), attended = make(kH * kC), hidden = make(kF),
                     out = make(kV);
        device_->begin_step(s.input());
        device_->embed({embedding_.get(), 1.0F, x.get()});
        for (std::size_t l = 0; l < layers_.size(); ++l) {
            const auto& w = layers_[l];
            QkvArgs a;
            a.x = x.get();
            a.norm = w[0].get();
            a.wq = w[1].get();
            a.wk = w[2].get();
            a.wv = w[3].get();
            a.heads = kH;
            a.layer = static_cast<std::int32_t>(l);
            a.kv = kv_.get();
            a.q = q.get();
            device_->qkv(a);
            AttentionArgs t;
            t.q = q.get();
            t.kv = kv_.get();
            t.layer = a.layer;
            t.heads = kH;
            t.scale = 0.2F;
            t.window = l == 1 ? window_ : 0;
            t.out = attended.get();
            device_->attention(t);
            ProjectArgs p;
            p.in = attended.get();
            p.w = w[4].get();
            p.x = x.get();
            device_->project(p);
            FeedForwardArgs f;
            f.x = x.get();
            f.norm = w[5].get();
            f.gate = w[6].get();
            f.up = w[7].get();
            f.down = w[8].get();
            f.hidden = hidden.get();
            device_->feed_forward(f);
        }
        LogitsArgs g;
        g.x = x.get();
        g.norm = norm_.get();
        g.w = embedding_.get();
        g.out = out.get();
        device_->logits(g);
        if (!device_->finish_step().ok()) return false;
        const std::vector<float> values = values_of(*device_, *out);
        std::size_t at = 0;
        for (const Chunk& chunk : chunks) {
            const std::size_t n = static_cast<std::size_t>(chunk.rows) * kV;
            auto& mine = logits[chunk.sequence];
            mine.insert(mine.end(), values.begin() + static_cast<std::ptrdiff_t>(at),
                        values.begin() + static_cast<std::ptrdiff_t>(at + n));
            at += n;
            computed_[chunk.sequence] += chunk.rows;
        }
        return true;
    }

    void forget(int sequence, std::int32_t computed) { computed_[sequence] = computed; }

  private:
    Weight upload(const OwnedTensor& t) { return test::upload(*device_, t); }

    std::unique_ptr<Device> device_;
    std::int32_t block_size_;
    std::int32_t window_;
    std::vector<std::vector<Weight>> layers_;
    Weight norm_, embedding_;
    KvCache kv_;
    std::map<int, std::int32_t> computed_;
    std::map<int, std::vector<std::int32_t>> tables_;
    std::int32_t next_block_ = 0;
};

}  // namespace

class TestInvariance : public QObject {
    Q_OBJECT

    std::mt19937 random_{std::random_device{}()};

  private slots:
    // BAT-13, BAT-17: alone one by one, at once, in random chunks beside other sequences.
    void same_bits_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("type");
        for (const char* device : kDevices)
            for (int type = 0; type < kDTypes; ++type)
                if (info_of(static_cast<DType>(type)).block <= 32)  // products_same_bits has the others
                    QTest::addRow("%s %s", device, name_of_type(static_cast<DType>(type)).c_str())
                        << device << type;
    }
    void same_bits() {
        QFETCH(QString, device);
        QFETCH(int, type);
        const std::string name = device.toStdString();
        const SmallModel model(static_cast<DType>(type), random_);
        const std::int32_t lengths[] = {1, 5, 64, 290};
        const std::int32_t window = 40;
        std::vector<std::vector<std::int32_t>> tokens;
        for (const std::int32_t n : lengths) {
            tokens.emplace_back();
            for (std::int32_t i = 0; i < n; ++i)
                tokens.back().push_back(static_cast<std::int32_t>(random_() % kV));
        }
        // One by one, alone, on one thread.
        std::map<int, std::vector<float>> expected;
        for (int s = 0; s < 4; ++s) {
            Runner alone(name, 1, model, 16, window, true);
            for (std::int32_t i = 0; i < lengths[s]; ++i) QVERIFY(alone.step(tokens, {{s, 1}}, expected));
            for (const float v : expected[s]) QVERIFY(std::isfinite(v));
        }
        const auto same = [&](const std::map<int, std::vector<float>>& got) {
            for (int s = 0; s < 4; ++s)
                if (got.at(s).size() != expected[s].size() ||
                    std::memcmp(got.at(s).data(), expected[s].data(), expected[s].size() * sizeof(float)) !=
                        0)
                    return false;
            return true;
        };
        int threads = 1;
        for (const std::int32_t block : {8, 16, 24, 32, 256}) {
            // All at once.
            Runner together(name, threads, model, block, window, true);
            std::map<int, std::vector<float>> got;
            QVERIFY(together.step(tokens, {{2, 64}, {0, 1}, {3, 290}, {1, 5}}, got));
            QVERIFY2(same(got),
                     qPrintable(QString("at once, blocks of %1, %2 threads").arg(block).arg(threads)));
            // In random chunks, interleaved.
            Runner chunked(name, threads, model, block, window, block != 16);
            got.clear();
            std::int32_t left[] = {1, 5, 64, 290};
            while (left[0] + left[1] + left[2] + left[3] > 0) {
                std::vector<Chunk> chunks;
                for (int s = 0; s < 4; ++s) {
                    const std::int32_t most = std::min(left[s], s == 3 ? 60 : 17);
                    const auto rows =
                        static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(most + 1));
                    if (rows > 0) chunks.push_back({s, rows});
                    left[s] -= rows;
                }
                std::shuffle(chunks.begin(), chunks.end(), random_);
                if (!chunks.empty()) QVERIFY(chunked.step(tokens, chunks, got));
            }
            QVERIFY2(same(got),
                     qPrintable(QString("in chunks, blocks of %1, %2 threads").arg(block).arg(threads)));
            threads = threads % 4 + 1;
        }
    }

    // The products of every type, in rows that its blocks fit: all rows at once, alone, and in random parts.
    void products_same_bits_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("type");
        for (const char* device : kDevices)
            for (int type = 0; type < kDTypes; ++type)
                QTest::addRow("%s %s", device, name_of_type(static_cast<DType>(type)).c_str())
                    << device << type;
    }
    void products_same_bits() {
        QFETCH(QString, device);
        QFETCH(int, type);
        const auto dtype = static_cast<DType>(type);
        const int width = info_of(dtype).block == 256 ? 256 : 96;
        const std::size_t cols = static_cast<std::size_t>(width);
        const int rows = 37;
        const std::vector<float> x0 = random_floats(cols * rows, 1.0F, random_);
        const OwnedTensor norm = vector_tensor(random_floats(cols, 1.0F, random_));
        OwnedTensor matrices[4];
        for (OwnedTensor& m : matrices) {
            m = random_tensor(dtype, width, width, 0.1F, random_);
            if (has_outside_scales(dtype)) set_tiles(m, 5, 32, 0.01F, random_);
        }
        // project() and feed_forward() of `count` rows from `first` on.
        const auto run = [&](Device& d, const std::vector<Weight>& w, int first, int count) {
            const auto at = x0.begin() + static_cast<std::ptrdiff_t>(cols) * first;
            const std::vector<float> part(at, at + static_cast<std::ptrdiff_t>(cols) * count);
            const Buffer in = buffer_of(d, part);
            const Buffer x = buffer_of(d, part);
            const Buffer hidden = buffer_of(d, part);
            Step step;
            step.add(0, count, {});
            d.begin_step(step.input());
            ProjectArgs p;
            p.in = in.get();
            p.w = w[0].get();
            p.x = x.get();
            d.project(p);
            FeedForwardArgs f;
            f.x = x.get();
            f.norm = w[4].get();
            f.gate = w[1].get();
            f.up = w[2].get();
            f.down = w[3].get();
            f.hidden = hidden.get();
            d.feed_forward(f);
            return d.finish_step().ok() ? values_of(d, *x) : std::vector<float>();
        };
        std::vector<float> expected;
        for (int threads = 1; threads <= 3; ++threads) {
            auto d = make_device(device.toStdString(), threads);
            std::vector<Weight> w;
            for (const OwnedTensor& m : matrices) w.push_back(upload(*d, m));
            w.push_back(upload(*d, norm));
            if (threads == 1) {
                expected = run(*d, w, 0, rows);
                QCOMPARE(expected.size(), x0.size());
                for (const float v : expected) QVERIFY(std::isfinite(v));
            }
            for (int round = 0; round < 4; ++round) {
                std::vector<float> got;
                for (int first = 0; first < rows;) {
                    const int most = round == 0 ? 1 : std::min(rows - first, 15);
                    const int count = 1 + static_cast<int>(random_() % static_cast<std::uint32_t>(most));
                    const std::vector<float> part = run(*d, w, first, count);
                    got.insert(got.end(), part.begin(), part.end());
                    first += count;
                }
                QCOMPARE(got.size(), expected.size());
                QCOMPARE(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0);
            }
        }
    }

    // What a rejected draft left behind in the cache is overwritten and changes nothing.
    void recomputed_after_rejection() {
        for (const char* device : kDevices) {
            const SmallModel model(DType::Q4_1, random_);
            std::vector<std::vector<std::int32_t>> tokens(1);
            for (int i = 0; i < 40; ++i) tokens[0].push_back(static_cast<std::int32_t>(random_() % kV));
            std::map<int, std::vector<float>> expected;
            Runner plain(device, 2, model, 16, 0, true);
            QVERIFY(plain.step(tokens, {{0, 40}}, expected));
            std::map<int, std::vector<float>> got;
            Runner drafted(device, 2, model, 16, 0, true);
            QVERIFY(drafted.step(tokens, {{0, 20}}, got));
            std::map<int, std::vector<float>> ignored;
            auto wrong = tokens;
            for (std::size_t i = 20; i < 40; ++i) wrong[0][i] = (wrong[0][i] + 1) % kV;
            QVERIFY(drafted.step(wrong, {{0, 15}}, ignored));
            drafted.forget(0, 20);
            QVERIFY(drafted.step(tokens, {{0, 20}}, got));
            QCOMPARE(std::memcmp(got[0].data(), expected[0].data(), expected[0].size() * sizeof(float)), 0);
        }
    }
};

QTEST_APPLESS_MAIN(TestInvariance)
#include "tst_invariance.moc"
