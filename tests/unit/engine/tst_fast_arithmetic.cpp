// How far the fast arithmetic of the CPU device may be from the reference, in the logits of a whole model.
//
// Derivation. The fast device rounds activations to 8 bits with one scale for each block of 32 (the bound of
// one product is in kernels/cpu/matrix_kernels.h). Carried through a whole model a worst-case bound says
// nothing, so this is the statistical one:
//   * rounding a block with largest magnitude a is an error uniform in ±s/2, s = a/127, of variance s²/12;
//     against the block's root mean square r it is η = (a/r) / (127·√12). a/r is at most √32 (one value, 31
//     zeros), so η ≤ 0.0129 for any input.
//   * rounding errors and weights are independent, so a product's output has the same relative error η.
//   * a layer adds two branches to the residual stream. Errors in a branch pass through at most three
//   products
//     in a row (v and o; gate or up, their product, and down: the last adds two of the three), so each branch
//     carries a relative error of at most √3·η, and L layers, added in quadrature as if no branch were small
//     beside the others, √(6L)·η. Norms keep relative errors. The output matrix adds one more η.
//   * so rms(Δ) ≤ η·√(6L + 1)·rms(logits − their mean), and, errors being sums of many small ones, nothing
//     is beyond six standard deviations of that bound.
//   * KV in F16 rounds keys and values by 2^-11 relative, √(2L)·2^-11 of the same kind: below a tenth of the
//     above for every L, so the same tolerance holds with it.
// A wrong operation moves logits by more than their own spread; the last test makes sure that this is seen.
#include <cmath>

#include <QFile>

#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

using Rows = std::vector<std::vector<float>>;

Rows logits_of(const std::shared_ptr<Model>& model, DType kv, const std::vector<TokenId>& ids) {
    auto engine = engine_or_die(model, {.context = 512, .kv_dtype = kv});
    Rows rows;
    Request r;
    r.prompt = ids;
    r.max_tokens = 0;
    r.on_logits = [&](std::int32_t, std::span<const float> row) {
        rows.emplace_back(row.begin(), row.end());
    };
    Listener listener;
    submit_or_die(*engine, std::move(r));
    drain(*engine, listener);
    return rows;
}

struct Distance {
    double rms = 0;  // of the difference
    double largest = 0;
    double spread = 0;  // rms of the reference's logits around their mean, the least of all rows
};

Distance distance(const Rows& got, const Rows& wanted) {
    Distance d;
    d.spread = INFINITY;
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        double mean = 0, square = 0;
        for (const float v : wanted[i]) mean += static_cast<double>(v);
        mean /= static_cast<double>(wanted[i].size());
        for (std::size_t j = 0; j < wanted[i].size(); ++j) {
            const double difference = static_cast<double>(got[i][j]) - static_cast<double>(wanted[i][j]);
            sum += difference * difference;
            d.largest = std::max(d.largest, std::abs(difference));
            square += (static_cast<double>(wanted[i][j]) - mean) * (static_cast<double>(wanted[i][j]) - mean);
            ++count;
        }
        d.spread = std::min(d.spread, std::sqrt(square / static_cast<double>(wanted[i].size())));
    }
    d.rms = std::sqrt(sum / static_cast<double>(count));
    return d;
}

double tolerance(std::int32_t layers) {
    return std::sqrt(32.0) / (127.0 * std::sqrt(12.0)) * std::sqrt(6.0 * layers + 1.0);
}

std::vector<TokenId> english(const Model& model, std::size_t count) {
    QFile file(QStringLiteral(VITRINE_GOLDEN_DIR "/text-en.txt"));
    if (!file.open(QIODevice::ReadOnly)) qFatal("no text");
    auto ids = model.tokenizer().encode(file.readAll().toStdString(), false, false);
    ids.resize(count);
    return ids;
}

}  // namespace

class TestFastArithmetic : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;

  private slots:
    void embedded_model_data() {
        QTest::addColumn<int>("kv");
        for (const DType kv : {DType::F32, DType::F16, DType::BF16})
            QTest::newRow(info_of(kv).name.data()) << static_cast<int>(kv);
    }
    void embedded_model() {
        QFETCH(int, kv);
        const auto reference = load_or_die(VITRINE_EMBEDDED_MODEL, "reference");
        const auto fast = load_or_die(VITRINE_EMBEDDED_MODEL, "cpu");
        const auto ids = english(*reference, 48);
        const Distance d =
            distance(logits_of(fast, static_cast<DType>(kv), ids), logits_of(reference, DType::F32, ids));
        const double allowed = tolerance(reference->config().layers) * d.spread;
        qInfo("rms %.4f, largest %.4f, allowed rms %.4f, spread %.3f", d.rms, d.largest, allowed, d.spread);
        QVERIFY(d.rms <= allowed);
        QVERIFY(d.largest <= 6 * allowed);
        QVERIFY(d.rms > 0);  // they are two devices
    }

    void every_weight_format_data() {
        QTest::addColumn<int>("dtype");
        for (const DType t : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1})
            QTest::newRow(info_of(t).name.data()) << static_cast<int>(t);
    }
    void every_weight_format() {
        QFETCH(int, dtype);
        const SmallModelOptions options{.layers = 3, .seed = 12, .dtype = static_cast<DType>(dtype)};
        const auto reference = small(dir_, options, "reference");
        const auto fast = small(dir_, options, "cpu");
        const auto ids = noise_ids(60, 2);
        const Distance d = distance(logits_of(fast, DType::F32, ids), logits_of(reference, DType::F32, ids));
        const bool codes = info_of(static_cast<DType>(dtype)).block > 1;
        // Float weights are multiplied in float32: rounding alone, √K·2^-24 a product, taken a hundredfold.
        const double allowed =
            (codes ? tolerance(3) : 100 * std::sqrt(96.0) * 0x1p-24 * std::sqrt(19.0)) * d.spread;
        qInfo("rms %.6f, largest %.6f, allowed rms %.6f", d.rms, d.largest, allowed);
        QVERIFY(d.rms <= allowed);
        QVERIFY(d.largest <= 6 * allowed);
    }

    void a_wrong_operation_would_be_seen() {
        const SmallModelOptions right{.layers = 3, .seed = 12, .dtype = DType::Q8_0};
        SmallModelOptions wrong = right;
        wrong.rope_base = 100.0F;  // only the rotary embedding differs
        const auto reference = small(dir_, right, "reference");
        const auto fast = small(dir_, wrong, "cpu");
        const auto ids = noise_ids(60, 2);
        const Distance d = distance(logits_of(fast, DType::F32, ids), logits_of(reference, DType::F32, ids));
        QVERIFY2(d.rms > tolerance(3) * d.spread,
                 qPrintable(QString("%1 of %2").arg(d.rms).arg(tolerance(3) * d.spread)));
    }
};

QTEST_GUILESS_MAIN(TestFastArithmetic)
#include "tst_fast_arithmetic.moc"
