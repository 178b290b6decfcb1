// Round-to-nearest: error bounds that follow from the formats, zeros and tiny weights, and whole files.
#include <cmath>

#include "core/quant/quantize_file.h"
#include "core/quant/round_to_nearest.h"
#include "kernels/host/half.h"
#include "tests/unit/io/io_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

Q_DECLARE_METATYPE(std::vector<float>)

namespace {

constexpr DType kAllTypes[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1};

std::vector<float> round_trip(DType type, const std::vector<float>& in) {
    const auto cols = static_cast<std::int64_t>(in.size());
    Bytes row(row_bytes(type, cols).value());
    quantize_row(type, in.data(), cols, row.data());
    std::vector<float> out(in.size());
    dequantize_row(type, row.data(), cols, out.data());
    return out;
}

Bytes quantized(DType type, const std::vector<float>& in) {
    Bytes row(row_bytes(type, static_cast<std::int64_t>(in.size())).value());
    quantize_row(type, in.data(), static_cast<std::int64_t>(in.size()), row.data());
    return row;
}

float stored_scale(const Bytes& row, std::size_t at = 0) { return half_to_float(load_u16(row.data() + at)); }

}  // namespace

class TestQuantize : public QObject {
    Q_OBJECT

  private slots:
    void error_bounds();
    void exact_values_survive();
    void zeros_stay_zeros();
    void tiny_weights_data();
    void tiny_weights();
    void huge_weights_stay_finite();
    void blocks_do_not_know_each_other();
    void bytes_are_fixed();
    void half_conversions();
    void whole_file();
    void fallback_for_rows_that_do_not_fit();
    void vectors_become_f32();
    void deterministic();
    void refuses();
    void cancelled();
    void names_of_types();

  private:
    TestFolder folder_;
};

void TestQuantize::error_bounds() {
    // Half a step of the stored scale; at the ends of Q4_0 and Q4_1 clipping may add the rounding of the
    // scale and the minimum to half precision (2^-11 of their size), and of Q4_0 the missing step at the top.
    Noise noise(3);
    for (const float magnitude : {1e-3F, 0.05F, 1.0F, 300.0F}) {
        for (int n = 0; n < 200; ++n) {
            std::vector<float> in(32);
            const float shift = n % 2 == 0 ? 0.0F : magnitude * 3.0F * noise.uniform();
            for (float& x : in) x = magnitude * noise.uniform() + shift;
            float largest = 0.0F;
            for (const float x : in) largest = std::max(largest, std::abs(x));
            for (const DType type : {DType::Q8_0, DType::Q4_0, DType::Q4_1}) {
                const Bytes row = quantized(type, in);
                const auto out = round_trip(type, in);
                const float step = std::abs(stored_scale(row));
                const float clip = type == DType::Q4_0 ? step * 0.5F : 0.0F;
                const float rounding = std::ldexp(16.0F * step + largest, -11);
                for (std::size_t i = 0; i < in.size(); ++i) {
                    QVERIFY2(std::abs(in[i] - out[i]) <= 0.5F * step + clip + rounding,
                             info_of(type).name.data());
                }
                const float range = type == DType::Q8_0 ? 127.0F : type == DType::Q4_0 ? 8.0F : 15.0F;
                QVERIFY(step <= 2.0F * largest / range * 1.001F);
            }
            const auto half = round_trip(DType::F16, in);
            const auto brain = round_trip(DType::BF16, in);
            for (std::size_t i = 0; i < in.size(); ++i) {
                QVERIFY(std::abs(half[i] - in[i]) <= std::ldexp(std::abs(in[i]), -11) + 0x1p-25F);
                QVERIFY(std::abs(brain[i] - in[i]) <= std::ldexp(std::abs(in[i]), -8));
            }
            QVERIFY(round_trip(DType::F32, in) == in);
        }
    }
}

void TestQuantize::exact_values_survive() {
    // Weights that lie on the grid of a format come back as they were.
    std::vector<float> q8(32);
    std::vector<float> q40(32);
    std::vector<float> q41(32);
    for (int i = 0; i < 32; ++i) {
        q8[static_cast<std::size_t>(i)] = 0.25F * static_cast<float>(i == 0 ? -127 : i * 4 - 64);
        q40[static_cast<std::size_t>(i)] = 0.5F * static_cast<float>(i % 16 - 8);
        q41[static_cast<std::size_t>(i)] = 3.0F + 0.25F * static_cast<float>(i % 16);
    }
    QVERIFY(round_trip(DType::Q8_0, q8) == q8);
    QVERIFY(round_trip(DType::Q4_0, q40) == q40);
    QVERIFY(round_trip(DType::Q4_1, q41) == q41);
}

void TestQuantize::zeros_stay_zeros() {
    // QNT-13
    for (const DType type : kAllTypes) {
        for (const float zero : {0.0F, -0.0F}) {
            const std::vector<float> in(64, zero);
            for (const float x : round_trip(type, in)) QVERIFY(x == 0.0F);
            if (info_of(type).block > 1) QCOMPARE(load_u16(quantized(type, in).data()), std::uint16_t{0});
        }
        // Single zeros between other weights, where the grid holds zero.
        std::vector<float> mixed(32, 0.0F);
        mixed[5] = 1.0F;
        const auto out = round_trip(type, mixed);
        for (std::size_t i = 0; i < out.size(); ++i) QVERIFY(i == 5 || out[i] == 0.0F);
    }
}

void TestQuantize::tiny_weights_data() {
    QTest::addColumn<std::vector<float>>("weights");
    QTest::newRow("QNT-13 row of 1e-6") << std::vector<float>(32, 1e-6F);
    QTest::newRow("QNT-13 row of -1e-6") << std::vector<float>(32, -1e-6F);
    std::vector<float> one(32, 0.0F);
    one[7] = 1e-8F;
    QTest::newRow("QNT-13 one 1e-8") << one;
    one[7] = -1e-8F;
    QTest::newRow("one -1e-8") << one;
    QTest::newRow("subnormal floats") << std::vector<float>(32, 1e-40F);
    std::vector<float> mixed(32, 3e-8F);
    mixed[0] = -2e-7F;
    QTest::newRow("around the smallest half") << mixed;
}

void TestQuantize::tiny_weights() {
    QFETCH(std::vector<float>, weights);
    for (const DType type : {DType::Q8_0, DType::Q4_0, DType::Q4_1}) {
        const float scale = stored_scale(quantized(type, weights));
        QVERIFY2(scale != 0.0F && std::isfinite(scale), info_of(type).name.data());
        const auto out = round_trip(type, weights);
        for (std::size_t i = 0; i < out.size(); ++i) {
            // The smallest half is the finest grid that there is.
            QVERIFY2(std::isfinite(out[i]) && std::abs(out[i] - weights[i]) <= 0x1p-24F,
                     info_of(type).name.data());
        }
    }
}

void TestQuantize::huge_weights_stay_finite() {
    std::vector<float> weights(32, 1.0F);
    weights[3] = 3e38F;
    weights[9] = -3e38F;
    for (const DType type : kAllTypes) {
        const auto out = round_trip(type, weights);
        for (const float x : out) QVERIFY2(std::isfinite(x), info_of(type).name.data());
        QVERIFY(out[3] > 0.0F && out[9] < 0.0F);
    }
}

void TestQuantize::blocks_do_not_know_each_other() {
    Noise noise(9);
    std::vector<float> row(128);
    for (float& x : row) x = noise.uniform() * (noise.next() % 2 == 0 ? 1.0F : 100.0F);
    for (const DType type : kAllTypes) {
        const Bytes whole = quantized(type, row);
        const std::size_t piece = whole.size() / 4;
        for (std::size_t b = 0; b < 4; ++b) {
            const std::vector<float> block(row.begin() + static_cast<std::ptrdiff_t>(b * 32),
                                           row.begin() + static_cast<std::ptrdiff_t>(b * 32 + 32));
            const Bytes alone = quantized(type, block);
            QVERIFY(std::equal(alone.begin(), alone.end(),
                               whole.begin() + static_cast<std::ptrdiff_t>(b * piece)));
        }
    }
}

void TestQuantize::bytes_are_fixed() {
    // Worked out by hand from the formulas in tensor.h: weights −8 … 7 twice.
    std::vector<float> in(32);
    for (std::size_t i = 0; i < 32; ++i) in[i] = static_cast<float>(i % 16) - 8.0F;
    const Bytes q40 = quantized(DType::Q4_0, in);
    QCOMPARE(load_u16(q40.data()), float_to_half(1.0F));
    const Bytes q41 = quantized(DType::Q4_1, in);
    QCOMPARE(load_u16(q41.data()), float_to_half(1.0F));
    QCOMPARE(load_u16(q41.data() + 2), float_to_half(-8.0F));
    for (std::size_t j = 0; j < 16; ++j) {
        // Byte j: weight j low, weight j + 16 high; both are j here.
        QCOMPARE(q40[2 + j], static_cast<std::byte>(j | (j << 4U)));
        QCOMPARE(q41[4 + j], static_cast<std::byte>(j | (j << 4U)));
    }
    std::vector<float> ramp(32, 0.0F);
    ramp[0] = 127.0F;
    ramp[1] = -1.0F;
    ramp[2] = 0.5F;  // half way: away from zero
    const Bytes q80 = quantized(DType::Q8_0, ramp);
    QCOMPARE(load_u16(q80.data()), float_to_half(1.0F));
    QCOMPARE(q80[2], std::byte{127});
    QCOMPARE(q80[3], std::byte{255});
    QCOMPARE(q80[4], std::byte{1});
}

void TestQuantize::half_conversions() {
    // All 65536 halves there and back; NaN stays NaN.
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float wide = half_to_float(half);
        if (std::isnan(wide)) {
            QVERIFY(std::isnan(half_to_float(float_to_half(wide))));
        } else {
            QCOMPARE(float_to_half(wide), half);
        }
        const float brain = bfloat_to_float(half);
        if (!std::isnan(brain)) QCOMPARE(float_to_bfloat(brain), half);
    }
    QCOMPARE(float_to_half(65520.0F), std::uint16_t{0x7C00});  // rounds to infinity
    QCOMPARE(float_to_half(65519.0F), std::uint16_t{0x7BFF});
    QCOMPARE(float_to_half(0x1p-25F), std::uint16_t{0});  // ties to even
    QCOMPARE(float_to_half(0x1.8p-25F), std::uint16_t{1});
    QCOMPARE(float_to_half(1.0F + 0x1p-11F), std::uint16_t{0x3C00});
}

void TestQuantize::whole_file() {
    SmallModelOptions o;
    o.tied = false;
    const auto in = GgufFile::open(folder_.put(small_model_bytes(o), "in.gguf"));
    VERIFY_OK(in);
    for (const DType type : kAllTypes) {
        QuantizeOptions options;
        options.type = type;
        std::uint64_t last = 0;
        options.progress = [&](std::uint64_t done, std::uint64_t total) {
            QVERIFY(done >= last && done <= total);
            last = done;
        };
        const auto path = folder_.path("out.gguf");
        const auto report = quantize_file(**in, path, options);
        VERIFY_OK(report);
        QCOMPARE(report->weights, last);
        const auto model = ModelSource::open(path);
        VERIFY_OK(model);
        QCOMPARE((*model)->weights_format(), std::string(info_of(type).name));
        QCOMPARE((*model)->weights_bytes(), report->bytes_after);
        const auto out = GgufFile::open(path);
        VERIFY_OK(out);
        const std::uint64_t file_types[] = {0, 1, 32, 7, 2, 3};
        QCOMPARE(**(*out)->unsigned_integer("general.file_type"), file_types[static_cast<std::size_t>(type)]);
        QCOMPARE((*out)->find("general.quantization_version") != nullptr, info_of(type).block > 1);
        for (const GgufValue& value : (*in)->values()) {
            const GgufValue* copy = (*out)->find(value.key);
            QVERIFY(copy != nullptr && std::equal(copy->payload.begin(), copy->payload.end(),
                                                  value.payload.begin(), value.payload.end()));
        }
        // The bytes are those of the row quantizer.
        const GgufTensor* source = (*in)->find_tensor("blk.0.ffn_down.weight");
        const GgufTensor* target = (*out)->find_tensor("blk.0.ffn_down.weight");
        std::vector<float> row(96);
        std::memcpy(row.data(), (*in)->data(*source).data() + 5 * 96 * 4, 96 * 4);
        const Bytes wanted = quantized(type, row);
        const auto found = (*out)->data(*target).subspan(5 * wanted.size(), wanted.size());
        QVERIFY(std::equal(wanted.begin(), wanted.end(), found.begin()));
        QVERIFY(contains(report->text(), "blk.0.ffn_down.weight") &&
                contains(report->text(), "bits per weight"));
    }
}

void TestQuantize::fallback_for_rows_that_do_not_fit() {
    // QNT-01: rows of 172 cannot be cut into blocks of 32; any number of rows can
    GgufBuilder b;
    b.add_tensor("odd.weight", {172, 3}, 0, Bytes(std::size_t{172} * 3 * 4))
        .add_tensor("even.weight", {64, 13}, 0, Bytes(std::size_t{64} * 13 * 4));
    const auto in = folder_.open(b.bytes());
    VERIFY_OK(in);
    QuantizeOptions options;
    options.type = DType::Q4_1;
    const auto report = quantize_file(**in, folder_.path("out.gguf"), options);
    VERIFY_OK(report);
    QCOMPARE(report->tensors.size(), std::size_t{2});
    QVERIFY(report->tensors[0].fallback && report->tensors[0].to == "F16");
    QVERIFY(!report->tensors[1].fallback && report->tensors[1].to == "Q4_1");
    QCOMPARE(report->bytes_after, std::uint64_t{172 * 3 * 2 + 64 * 13 / 32 * 20});
    const double bits = 8.0 * (172 * 3 * 2 + 64 * 13 / 32 * 20) / (172 * 3 + 64 * 13);
    QVERIFY(std::abs(report->bits_per_weight() - bits) < 1e-12);
    QVERIFY(contains(report->text(), "no multiple of the block"));
    const auto out = GgufFile::open(folder_.path("out.gguf"));
    VERIFY_OK(out);
    QCOMPARE((*out)->find_tensor("odd.weight")->type_name, std::string("F16"));

    options.fallback = DType::Q8_0;
    VERIFY_ERROR(quantize_file(**in, folder_.path("out.gguf"), options), ErrorKind::InvalidArgument,
                 "the fallback type Q8_0 does not fit");
}

void TestQuantize::vectors_become_f32() {
    GgufBuilder b;
    b.add_tensor("norm.weight", {32}, 1, Bytes(64, std::byte{0x3C}))
        .add_tensor("bias", {32, 1}, 30, Bytes(64, std::byte{0x3F}));
    const auto in = folder_.open(b.bytes());
    VERIFY_OK(in);
    VERIFY_OK(quantize_file(**in, folder_.path("out.gguf"), {}));
    const auto out = GgufFile::open(folder_.path("out.gguf"));
    VERIFY_OK(out);
    for (const GgufTensor& tensor : (*out)->tensors()) QCOMPARE(tensor.type_name, std::string("F32"));
    float first = 0.0F;
    std::memcpy(&first, (*out)->data(*(*out)->find_tensor("norm.weight")).data(), sizeof first);
    QCOMPARE(first, half_to_float(0x3C3C));
}

void TestQuantize::deterministic() {
    const auto in = GgufFile::open(folder_.put(small_model_bytes(), "in.gguf"));
    VERIFY_OK(in);
    const auto read = [&](const char* name) {
        QFile file(QString::fromStdString(folder_.path(name).string()));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    VERIFY_OK(quantize_file(**in, folder_.path("a.gguf"), {}));
    VERIFY_OK(quantize_file(**in, folder_.path("b.gguf"), {}));
    QVERIFY(!read("a.gguf").isEmpty());
    QCOMPARE(read("a.gguf"), read("b.gguf"));
    // What has its type already is copied: quantizing again changes nothing.
    const auto again = GgufFile::open(folder_.path("a.gguf"));
    VERIFY_OK(again);
    VERIFY_OK(quantize_file(**again, folder_.path("c.gguf"), {}));
    QCOMPARE(read("c.gguf"), read("a.gguf"));
}

void TestQuantize::refuses() {
    const auto in = GgufFile::open(folder_.put(small_model_bytes(), "in.gguf"));
    VERIFY_OK(in);
    VERIFY_ERROR(quantize_file(**in, folder_.path("in.gguf"), {}), ErrorKind::InvalidArgument,
                 "must not be the one that is read");
    std::filesystem::create_hard_link(folder_.path("in.gguf"), folder_.path("same.gguf"));
    VERIFY_ERROR(quantize_file(**in, folder_.path("same.gguf"), {}), ErrorKind::InvalidArgument,
                 "must not be the one that is read");
    VERIFY_ERROR(quantize_file(**in, folder_.path("absent/out.gguf"), {}), ErrorKind::Io,
                 "cannot be created");

    GgufBuilder nan = small_model();
    const float bad = std::nanf("");
    std::memcpy(nan.tensor("blk.0.attn_k.weight").data.data() + 4 * 67, &bad, sizeof bad);
    const auto with_nan = folder_.open(nan.bytes());
    VERIFY_OK(with_nan);
    VERIFY_ERROR(quantize_file(**with_nan, folder_.path("refused.gguf"), {}), ErrorKind::BadFile,
                 "'blk.0.attn_k.weight' (F32): the weight at row 1, column 3");
    QVERIFY(!std::filesystem::exists(folder_.path("refused.gguf")));

    GgufBuilder other;
    other.add_tensor("x", {256, 2}, 9, Bytes(std::size_t{16} * 36));
    const auto with_other = folder_.open(other.bytes());
    VERIFY_OK(with_other);
    VERIFY_ERROR(quantize_file(**with_other, folder_.path("refused.gguf"), {}), ErrorKind::Unsupported,
                 "tensor 'x' has type Q8_1");
    GgufBuilder part = small_model();
    part.set("split.count", 2, le<std::uint16_t>(2));
    const auto with_part = folder_.open(part.bytes());
    VERIFY_OK(with_part);
    VERIFY_ERROR(quantize_file(**with_part, folder_.path("refused.gguf"), {}), ErrorKind::Unsupported,
                 "split model");
}

void TestQuantize::cancelled() {
    const auto in = GgufFile::open(folder_.put(small_model_bytes(), "in.gguf"));
    VERIFY_OK(in);
    std::atomic<bool> cancel = false;
    QuantizeOptions options;
    options.cancel = &cancel;
    options.progress = [&](std::uint64_t done, std::uint64_t total) { cancel = done > total / 2; };
    VERIFY_ERROR(quantize_file(**in, folder_.path("stopped.gguf"), options), ErrorKind::Cancelled,
                 "no file was written");
    QVERIFY(!std::filesystem::exists(folder_.path("stopped.gguf")));
}

void TestQuantize::names_of_types() {
    QCOMPARE(parse_dtype("q8_0"), std::optional<DType>(DType::Q8_0));
    QCOMPARE(parse_dtype("Bf16"), std::optional<DType>(DType::BF16));
    QVERIFY(!parse_dtype("q4_k") && !parse_dtype("") && !parse_dtype("q8_0 "));
}

QTEST_GUILESS_MAIN(TestQuantize)
#include "tst_quantize.moc"
