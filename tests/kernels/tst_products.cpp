// Products of every format and shape on both devices, against double precision within derived bounds.
#include <limits>
#include <random>

#include <QtTest>

#include "tests/kernels/estimate.h"
#include "tests/kernels/fixture.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

constexpr DType kTypes[] = {DType::F32,  DType::F16,  DType::BF16,   DType::Q8_0,    DType::Q4_0, DType::Q4_1,
                            DType::Q5_0, DType::Q5_1, DType::IQ4_NL, DType::Q2_K,    DType::Q3_K, DType::Q4_K,
                            DType::Q5_K, DType::Q6_K, DType::IQ4_XS, DType::F8_E4M3, DType::I8};
static_assert(std::size(kTypes) == kDTypes);
const char* const kDevices[] = {"reference", "cpu"};

// The smallest row of a format that has at least `cols` weights.
int fit(DType type, int cols) {
    const int block = info_of(type).block;
    return (cols + block - 1) / block * block;
}

std::string label(const std::string& device, DType type, std::int64_t rows, std::int64_t cols, int tokens) {
    return device + " " + std::string(info_of(type).name) + " " + std::to_string(rows) + "x" +
           std::to_string(cols) + " by " + std::to_string(tokens);
}

}  // namespace

class TestProducts : public QObject {
    Q_OBJECT

    std::mt19937 random_{std::random_device{}()};

    // x += W·in + bias on a fresh device, and the estimate of it; the worst ratio of all rows.
    double project(const std::string& name, const OwnedTensor& w, const std::vector<float>& in, int tokens,
                   bool with_bias, int threads = 2) {
        auto device = make_device(name, threads);
        if (device == nullptr) return 1e30;
        const std::vector<float> x0 = random_floats(static_cast<std::size_t>(w.rows * tokens), 1.0F, random_);
        const std::vector<float> bias = random_floats(static_cast<std::size_t>(w.rows), 1.0F, random_);
        const Weight matrix = upload(*device, w);
        const Weight bias_weight = upload(*device, vector_tensor(bias));
        const Buffer input = buffer_of(*device, in);
        const Buffer x = buffer_of(*device, x0);
        Step step;
        step.add(0, tokens, {});
        device->begin_step(step.input());
        ProjectArgs a;
        a.in = input.get();
        a.w = matrix.get();
        a.bias = with_bias ? bias_weight.get() : nullptr;
        a.x = x.get();
        device->project(a);
        if (!device->finish_step().ok()) return 1e30;
        const std::vector<float> got = values_of(*device, *x);
        const KnownMatrix known(w);
        double ratio = 0;
        for (int t = 0; t < tokens; ++t) {
            const std::span<const float> row(in.data() + t * w.cols, static_cast<std::size_t>(w.cols));
            const Estimate y = product(exactly(row), known, name == "cpu",
                                       with_bias ? std::span<const float>(bias) : std::span<const float>());
            const std::span<const float> before(x0.data() + t * w.rows, static_cast<std::size_t>(w.rows));
            const std::span<const float> after(got.data() + t * w.rows, static_cast<std::size_t>(w.rows));
            ratio = std::max(ratio, worst(after, sum_of(exactly(before), y)));
        }
        return ratio;
    }

  private slots:
    // GPU-14, SMP-10, QNT-08: sizes that fit no vector, tile or group.
    void within_the_derived_bound_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("cols");
        QTest::addColumn<int>("tokens");
        const int shapes[][3] = {{1, 1, 1},       {2, 7, 3},     {7, 31, 2},     {16, 33, 5},   {31, 65, 7},
                                 {33, 64, 12},    {65, 96, 13},  {17, 32, 1},    {48, 160, 4},  {64, 344, 25},
                                 {257, 128, 130}, {576, 576, 1}, {100, 192, 17}, {24, 256, 64}, {5, 2, 66},
                                 {1, 64, 9},      {15, 1536, 3}};
        for (const char* device : kDevices)
            for (const DType type : kTypes)
                for (const auto& s : shapes) {
                    const int cols = fit(type, s[1]);
                    QTest::newRow(label(device, type, s[0], cols, s[2]).c_str())
                        << device << static_cast<int>(type) << s[0] << cols << s[2];
                }
    }
    void within_the_derived_bound() {
        QFETCH(QString, device);
        QFETCH(int, type);
        QFETCH(int, rows);
        QFETCH(int, cols);
        QFETCH(int, tokens);
        const OwnedTensor w = random_tensor(static_cast<DType>(type), rows, cols, 0.1F, random_);
        const std::vector<float> in = random_floats(static_cast<std::size_t>(cols * tokens), 1.0F, random_);
        const double ratio = project(device.toStdString(), w, in, tokens, tokens % 2 == 1, 1 + tokens % 4);
        QVERIFY2(ratio <= 1.0, qPrintable(QString("off by %1 times the bound").arg(ratio)));
    }

    // The bound is not empty: rounding activations costs a good part of it, and a wrong product breaks it.
    void the_bound_bites() {
        OwnedTensor w = random_tensor(DType::Q4_1, 64, 576, 0.1F, random_);
        const std::vector<float> in = random_floats(576, 1.0F, random_);
        QVERIFY(project("cpu", w, in, 1, false) > 1e-3);
        auto device = make_device("cpu", 1);
        const Weight good = upload(*device, w);
        for (std::size_t b = 0; b < w.bytes.size(); b += 20)
            w.bytes[b + 4] ^= std::byte{0x0F};  // input 0 of each block
        const Weight bad = upload(*device, w);
        std::vector<float> a(576);
        std::vector<float> b(576);
        device->read_row(*good, 3, a);
        device->read_row(*bad, 3, b);
        QVERIFY(a != b);
    }

    // Every layout gives back the file's weights, bit for bit.
    void rows_round_trip_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("type");
        for (const char* device : kDevices)
            for (const DType type : kTypes)
                QTest::newRow(label(device, type, 0, 0, 0).c_str()) << device << static_cast<int>(type);
    }
    void rows_round_trip() {
        QFETCH(QString, device);
        QFETCH(int, type);
        auto d = make_device(device.toStdString(), 2);
        for (const int rows : {1, 2, 15, 16, 17, 50}) {
            for (const int blocks : {1, 2, 3, 8}) {
                const int block = info_of(static_cast<DType>(type)).block;
                const int cols = blocks * (block > 1 ? block : 11);
                const OwnedTensor w = random_tensor(static_cast<DType>(type), rows, cols, 0.1F, random_);
                const std::vector<float> expected = w.values();
                const Weight weight = upload(*d, w);
                QVERIFY(weight != nullptr);
                QVERIFY(weight->bytes >= w.bytes.size());
                // Weights stay in their own precision.
                if (rows == 16 && block > 1 && blocks == 8)
                    QVERIFY(weight->bytes * 100 <= w.bytes.size() * 104);
                std::vector<float> row(static_cast<std::size_t>(cols));
                for (int r = 0; r < rows; ++r) {
                    d->read_row(*weight, r, row);
                    QCOMPARE(std::memcmp(row.data(), expected.data() + r * cols, row.size() * sizeof(float)),
                             0);
                }
            }
        }
    }

    // QNT-13: zeros stay zeros, in weights and activations, and tiny values do not become NaN.
    void zeros_and_tiny_values() {
        for (const char* name : kDevices) {
            for (const DType type : kTypes) {
                const auto cols = static_cast<std::size_t>(fit(type, 64));
                OwnedTensor w = random_tensor(type, 20, fit(type, 64), 0.1F, random_);
                std::fill(w.bytes.begin(), w.bytes.end(), std::byte{0});
                const std::vector<float> in = random_floats(cols * 5, 1.0F, random_);
                QVERIFY(project(name, w, in, 5, false) <= 1.0);
                w = random_tensor(type, 20, fit(type, 64), 0.1F, random_);
                QVERIFY(project(name, w, std::vector<float>(cols * 5, 0.0F), 5, true) <= 1.0);
                for (const float tiny : {1e-6F, 1e-8F, 1e-30F, 1e-38F, 1e-44F}) {
                    std::vector<float> small(cols * 5, 0.0F);
                    small[3] = tiny;
                    small[70] = -tiny;
                    QVERIFY(project(name, w, small, 5, false) <= 1.0);
                }
            }
        }
    }

    // Scales that f16 can only hold as subnormals.
    void subnormal_scales() {
        for (const char* name : kDevices) {
            for (const DType type : kTypes) {
                const ScalePlace place = scale_place(type);
                if (place.d < 0) continue;
                OwnedTensor w = random_tensor(type, 18, fit(type, 96), 0.1F, random_);
                const auto step = static_cast<std::size_t>(info_of(type).bytes);
                for (std::size_t b = 0; b < w.bytes.size(); b += step) {
                    put_u16(w.bytes.data() + b + place.d, static_cast<std::uint16_t>(1 + random_() % 1000));
                    if (place.m >= 0)
                        put_u16(w.bytes.data() + b + place.m,
                                static_cast<std::uint16_t>(0x8000U | (random_() % 1000)));
                }
                const std::vector<float> in =
                    random_floats(static_cast<std::size_t>(fit(type, 96)) * 3, 1.0F, random_);
                const double ratio = project(name, w, in, 3, false);
                QVERIFY2(ratio <= 1.0, qPrintable(QString("%1").arg(ratio)));
            }
        }
    }

    // QNT-17: activations beyond f16 for every length, and far beyond.
    void huge_activations() {
        for (const char* name : kDevices)
            for (const DType type : kTypes)
                for (const int tokens : {1, 63, 64, 65})
                    for (const float size : {70000.0F, 1e20F}) {
                        const OwnedTensor w = random_tensor(type, 33, fit(type, 64), 0.1F, random_);
                        const auto count = static_cast<std::size_t>(w.cols * tokens);
                        const double ratio =
                            project(name, w, random_floats(count, size, random_), tokens, false);
                        QVERIFY2(ratio <= 1.0, qPrintable(QString("%1").arg(ratio)));
                    }
    }

    // NaN and infinity in one row make that row not finite and leave the others alone.
    void not_finite_stays_not_finite() {
        for (const char* name : kDevices) {
            for (const DType type : kTypes) {
                for (const float bad :
                     {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity()}) {
                    auto device = make_device(name, 2);
                    const OwnedTensor w = random_tensor(type, 40, fit(type, 64), 0.1F, random_);
                    const auto cols = static_cast<std::size_t>(w.cols);
                    std::vector<float> in = random_floats(cols * 5, 1.0F, random_);
                    in[2 * cols + 37] = bad;
                    const Weight matrix = upload(*device, w);
                    const Buffer input = buffer_of(*device, in);
                    const Buffer x = buffer_of(*device, std::vector<float>(40 * 5, 0.0F));
                    Step step;
                    step.add(0, 5, {});
                    device->begin_step(step.input());
                    ProjectArgs a;
                    a.in = input.get();
                    a.w = matrix.get();
                    a.x = x.get();
                    device->project(a);
                    QVERIFY(device->finish_step().ok());
                    const std::vector<float> got = values_of(*device, *x);
                    const std::vector<float> weights = w.values();
                    for (std::size_t i = 0; i < got.size(); ++i) {
                        const bool touched = i / 40 == 2 && weights[i % 40 * cols + 37] != 0.0F;
                        if (touched) QVERIFY(!std::isfinite(got[i]));
                        if (i / 40 != 2) QVERIFY(std::isfinite(got[i]));
                    }
                }
            }
        }
    }

    // QNT-14: a scale that is not finite reaches the output of its row, and of no other.
    void bad_scales_are_seen() {
        for (const char* name : kDevices) {
            for (const std::uint16_t scale :
                 {std::uint16_t{0xFC00}, std::uint16_t{0x7E00}, std::uint16_t{0x7C00}}) {
                for (const DType type : kTypes) {
                    const ScalePlace place = scale_place(type);
                    if (place.d < 0) continue;
                    auto device = make_device(name, 1);
                    OwnedTensor w = random_tensor(type, 20, fit(type, 64), 0.1F, random_);
                    const std::size_t row = w.bytes.size() / 20;
                    const int at = place.m >= 0 && random_() % 2 == 0 ? place.m : place.d;
                    put_u16(w.bytes.data() + 5 * row + at, scale);
                    const Weight matrix = upload(*device, w);
                    const Buffer input =
                        buffer_of(*device, random_floats(static_cast<std::size_t>(w.cols), 1.0F, random_));
                    const Buffer x = buffer_of(*device, std::vector<float>(20, 0.0F));
                    Step step;
                    step.add(0, 1, {});
                    device->begin_step(step.input());
                    ProjectArgs a;
                    a.in = input.get();
                    a.w = matrix.get();
                    a.x = x.get();
                    device->project(a);
                    QVERIFY(device->finish_step().ok());
                    const std::vector<float> got = values_of(*device, *x);
                    for (std::size_t r = 0; r < 20; ++r) QCOMPARE(std::isfinite(got[r]), r != 5);
                }
            }
        }
    }

    // F8_E4M3 and I8: one scale, one for each row, tiles of 128 x 128, and tiles that fit nothing.
    void outside_scales_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("type");
        for (const char* device : kDevices)
            for (const DType type : {DType::F8_E4M3, DType::I8})
                QTest::newRow(label(device, type, 0, 0, 0).c_str()) << device << static_cast<int>(type);
    }
    void outside_scales() {
        QFETCH(QString, device);
        QFETCH(int, type);
        auto d = make_device(device.toStdString(), 2);
        for (const int cols : {1, 33, 128, 300})
            for (const int tokens : {1, 14}) {
                const int rows = 70;
                const int tiles[][2] = {{rows, cols}, {1, cols}, {128, 128}, {16, 64}, {3, 5}, {1000, 1000}};
                for (const auto& tile : tiles) {
                    OwnedTensor w = random_tensor(static_cast<DType>(type), rows, cols, 0.1F, random_);
                    set_tiles(w, tile[0], tile[1], 0.01F, random_);
                    const std::vector<float> in =
                        random_floats(static_cast<std::size_t>(cols * tokens), 1.0F, random_);
                    const double ratio = project(device.toStdString(), w, in, tokens, false);
                    QVERIFY2(ratio <= 1.0,
                             qPrintable(QString("%1 columns, tiles of %2 x %3: %4 times the bound")
                                            .arg(cols)
                                            .arg(tile[0])
                                            .arg(tile[1])
                                            .arg(ratio)));
                    // A slice of rows starts inside a tile.
                    const Weight slice = std::move(d->upload(w.view().slice_rows(37, 20))).value();
                    std::vector<float> row(static_cast<std::size_t>(cols));
                    const std::vector<float> expected = w.values();
                    for (int r = 0; r < 20; ++r) {
                        d->read_row(*slice, r, row);
                        QVERIFY(std::equal(row.begin(), row.end(), expected.begin() + (37 + r) * cols));
                    }
                }
            }
    }

    // A NaN among F8_E4M3 values reaches its row and no other.
    void not_a_number_in_float8() {
        for (const char* name : kDevices) {
            auto device = make_device(name, 1);
            OwnedTensor w = random_tensor(DType::F8_E4M3, 20, 70, 0.1F, random_);
            w.bytes[5 * 70 + 41] = std::byte{0x7F};
            w.bytes[18 * 70] = std::byte{0xFF};
            const Weight matrix = upload(*device, w);
            const Buffer input = buffer_of(*device, random_floats(70, 1.0F, random_));
            const Buffer x = buffer_of(*device, std::vector<float>(20, 0.0F));
            Step step;
            step.add(0, 1, {});
            device->begin_step(step.input());
            ProjectArgs a;
            a.in = input.get();
            a.w = matrix.get();
            a.x = x.get();
            device->project(a);
            QVERIFY(device->finish_step().ok());
            const std::vector<float> got = values_of(*device, *x);
            for (std::size_t r = 0; r < 20; ++r) QCOMPARE(std::isnan(got[r]), r == 5 || r == 18);
        }
    }

    void post_norm() {
        for (const char* name : kDevices) {
            auto device = make_device(name, 2);
            const OwnedTensor w = random_tensor(DType::Q8_0, 40, 64, 0.1F, random_);
            const std::vector<float> in = random_floats(64 * 9, 1.0F, random_);
            const std::vector<float> norm = random_floats(40, 1.0F, random_);
            const std::vector<float> x0 = random_floats(40 * 9, 1.0F, random_);
            const Weight matrix = upload(*device, w);
            const Weight post = upload(*device, vector_tensor(norm));
            const Buffer input = buffer_of(*device, in);
            const Buffer x = buffer_of(*device, x0);
            Step step;
            step.add(0, 9, {});
            device->begin_step(step.input());
            ProjectArgs a;
            a.in = input.get();
            a.w = matrix.get();
            a.post_norm = post.get();
            a.x = x.get();
            device->project(a);
            QVERIFY(device->finish_step().ok());
            const std::vector<float> got = values_of(*device, *x);
            for (std::size_t t = 0; t < 9; ++t) {
                const Estimate y = normalised(
                    product(exactly({in.data() + t * 64, 64}), w, std::string(name) == "cpu"), norm, 1e-5);
                const double ratio =
                    worst({got.data() + t * 40, 40}, sum_of(exactly({x0.data() + t * 40, 40}), y));
                QVERIFY2(ratio <= 1.0, qPrintable(QString("%1 %2").arg(name).arg(ratio)));
            }
        }
    }

    void feed_forward_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("down_type");
        for (const char* device : kDevices)
            for (const DType type : kTypes)
                for (const DType down : {type, DType::F16, DType::Q8_0})
                    QTest::newRow(label(device, type, static_cast<int>(down), 0, 0).c_str())
                        << device << static_cast<int>(type) << static_cast<int>(down);
    }
    void feed_forward() {
        QFETCH(QString, device);
        QFETCH(int, type);
        QFETCH(int, down_type);
        const bool rounded = device == "cpu";
        auto d = make_device(device.toStdString(), 2);
        for (const int wanted : {32, 96, 224}) {
            for (const int tokens : {1, 14}) {
                const int f = fit(static_cast<DType>(down_type), wanted);
                const int in_width = fit(static_cast<DType>(type), 64);
                const auto width = static_cast<std::size_t>(in_width);
                const bool biased = wanted == 96;
                const bool post = tokens == 14;
                const auto hidden = static_cast<std::size_t>(f);
                const OwnedTensor gate = random_tensor(static_cast<DType>(type), f, in_width, 0.2F, random_);
                const OwnedTensor up = random_tensor(static_cast<DType>(type), f, in_width, 0.2F, random_);
                const OwnedTensor down =
                    random_tensor(static_cast<DType>(down_type), in_width, f, 0.2F, random_);
                const std::vector<float> norm = random_floats(width, 1.0F, random_);
                const std::vector<float> post_norm = random_floats(width, 1.0F, random_);
                const std::vector<float> gate_bias = random_floats(hidden, 1.0F, random_);
                const std::vector<float> up_bias = random_floats(hidden, 1.0F, random_);
                const std::vector<float> down_bias = random_floats(width, 1.0F, random_);
                const std::vector<float> x0 =
                    random_floats(width * static_cast<std::size_t>(tokens), 3.0F, random_);
                const Weight weights[] = {upload(*d, vector_tensor(norm)),
                                          upload(*d, gate),
                                          upload(*d, up),
                                          upload(*d, down),
                                          upload(*d, vector_tensor(gate_bias)),
                                          upload(*d, vector_tensor(up_bias)),
                                          upload(*d, vector_tensor(down_bias)),
                                          upload(*d, vector_tensor(post_norm))};
                const Buffer x = buffer_of(*d, x0);
                const Buffer scratch =
                    buffer_of(*d, std::vector<float>(hidden * static_cast<std::size_t>(tokens)));
                Step step;
                step.add(0, tokens, {});
                d->begin_step(step.input());
                FeedForwardArgs a;
                a.x = x.get();
                a.norm = weights[0].get();
                a.gate = weights[1].get();
                a.up = weights[2].get();
                a.down = weights[3].get();
                if (biased) {
                    a.gate_bias = weights[4].get();
                    a.up_bias = weights[5].get();
                    a.down_bias = weights[6].get();
                }
                if (post) a.post_norm = weights[7].get();
                a.hidden = scratch.get();
                a.activation = wanted == 224 ? Activation::SiLU : Activation::GeluTanh;
                d->feed_forward(a);
                QVERIFY(d->finish_step().ok());
                const std::vector<float> got = values_of(*d, *x);
                const auto none = std::span<const float>();
                const KnownMatrix known_gate(gate);
                const KnownMatrix known_up(up);
                const KnownMatrix known_down(down);
                for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
                    const Estimate before = exactly({x0.data() + t * width, width});
                    const Estimate n = normalised(before, norm, 1e-5);
                    const Estimate h =
                        gated(a.activation, product(n, known_gate, rounded, biased ? gate_bias : none),
                              product(n, known_up, rounded, biased ? up_bias : none));
                    Estimate y = product(h, known_down, rounded, biased ? down_bias : none);
                    if (post) y = normalised(y, post_norm, 1e-5);
                    const double ratio = worst({got.data() + t * width, width}, sum_of(before, y));
                    QVERIFY2(ratio <= 1.0, qPrintable(QString("%1").arg(ratio)));
                }
            }
        }
    }

    // Rows in the order asked for, a vocabulary that fits no vector (SMP-10), capped.
    void logits() {
        for (const char* name : kDevices) {
            for (const int vocabulary : {7, 257, 4001}) {
                for (const float cap : {0.0F, 30.0F}) {
                    auto device = make_device(name, 3);
                    const OwnedTensor w = random_tensor(DType::Q8_0, vocabulary, 64, 1.0F, random_);
                    const std::vector<float> norm = random_floats(64, 1.0F, random_);
                    const std::vector<float> x0 = random_floats(64 * 6, 1.0F, random_);
                    const Weight matrix = upload(*device, w);
                    const Weight norm_weight = upload(*device, vector_tensor(norm));
                    const Buffer x = buffer_of(*device, x0);
                    const auto v = static_cast<std::size_t>(vocabulary);
                    const Buffer out = buffer_of(*device, std::vector<float>(v * 3));
                    Step step;
                    step.add(0, 6, {});
                    step.outputs = {5, 0, 3};
                    device->begin_step(step.input());
                    LogitsArgs a;
                    a.x = x.get();
                    a.norm = norm_weight.get();
                    a.w = matrix.get();
                    a.softcap = cap;
                    a.out = out.get();
                    device->logits(a);
                    QVERIFY(device->finish_step().ok());
                    const std::vector<float> got = values_of(*device, *out);
                    for (std::size_t i = 0; i < 3; ++i) {
                        const auto row = static_cast<std::size_t>(step.outputs[i]);
                        Estimate y = product(normalised(exactly({x0.data() + row * 64, 64}), norm, 1e-5), w,
                                             std::string(name) == "cpu");
                        if (cap != 0.0F) y = capped(y, static_cast<double>(cap));
                        const double ratio = worst({got.data() + i * v, v}, y);
                        QVERIFY2(ratio <= 1.0, qPrintable(QString("%1 %2").arg(name).arg(ratio)));
                    }
                }
            }
        }
    }

    void embedding() {
        for (const char* name : kDevices) {
            for (const DType type : kTypes) {
                auto device = make_device(name, 2);
                const OwnedTensor w = random_tensor(type, 50, fit(type, 64), 1.0F, random_);
                const auto cols = static_cast<std::size_t>(w.cols);
                const std::vector<float> expected = w.values();
                const Weight table = upload(*device, w);
                const Buffer x = buffer_of(*device, std::vector<float>(cols * 20));
                Step step;
                step.add(0, 20, {});
                for (std::int32_t& token : step.tokens) token = static_cast<std::int32_t>(random_() % 50);
                device->begin_step(step.input());
                device->embed({table.get(), 2.5F, x.get()});
                QVERIFY(device->finish_step().ok());
                const std::vector<float> got = values_of(*device, *x);
                for (std::size_t r = 0; r < 20; ++r)
                    for (std::size_t i = 0; i < cols; ++i)
                        QCOMPARE(got[r * cols + i],
                                 expected[static_cast<std::size_t>(step.tokens[r]) * cols + i] * 2.5F);
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestProducts)
#include "tst_products.moc"
