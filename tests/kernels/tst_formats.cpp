// The block formats against a second statement of their layouts: for every weight, scale and minimum the
// place of each of its bits in the block, lowest first. Blocks are put together bit by bit from random
// numbers.
#include <cmath>
#include <random>
#include <vector>

#include <QtTest>

#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"
#include "tests/kernels/random_tensor.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

using Bits = std::vector<int>;  // bit addresses: 8 · byte + bit

Bits run_of(int byte, int bit, int count) {
    Bits out;
    for (int i = 0; i < count; ++i) out.push_back(8 * byte + bit + i);
    return out;
}
Bits operator+(Bits a, const Bits& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// Half precision numbers of a block: where d and the minima's scale are; −1: none.
struct Heads {
    int d;
    int m;
};
Heads heads(DType type) {
    switch (type) {
        case DType::Q4_1:
        case DType::Q5_1:
        case DType::Q4_K:
        case DType::Q5_K: return {0, 2};
        case DType::Q2_K: return {80, 82};
        case DType::Q3_K: return {108, -1};
        case DType::Q6_K: return {208, -1};
        default: return {0, -1};
    }
}

Bits code_bits(DType type, int i) {
    const int half = i / 128;  // K formats: 128 weights of one half of the block
    const int in_half = i % 128;
    switch (type) {
        case DType::Q8_0: return run_of(2 + i, 0, 8);
        case DType::Q4_0:
        case DType::IQ4_NL: return run_of(2 + i % 16, i < 16 ? 0 : 4, 4);
        case DType::Q4_1: return run_of(4 + i % 16, i < 16 ? 0 : 4, 4);
        case DType::Q5_0: return run_of(6 + i % 16, i < 16 ? 0 : 4, 4) + run_of(2 + i / 8, i % 8, 1);
        case DType::Q5_1: return run_of(8 + i % 16, i < 16 ? 0 : 4, 4) + run_of(4 + i / 8, i % 8, 1);
        case DType::Q2_K: return run_of(16 + 32 * half + i % 32, in_half / 32 * 2, 2);
        case DType::Q3_K:
            return run_of(32 + 32 * half + i % 32, in_half / 32 * 2, 2) + run_of(i % 32, i / 32, 1);
        case DType::Q4_K: return run_of(16 + i / 64 * 32 + i % 32, i % 64 < 32 ? 0 : 4, 4);
        case DType::Q5_K:
            return run_of(48 + i / 64 * 32 + i % 32, i % 64 < 32 ? 0 : 4, 4) + run_of(16 + i % 32, i / 32, 1);
        case DType::Q6_K:
            return run_of(64 * half + in_half % 64, in_half < 64 ? 0 : 4, 4) +
                   run_of(128 + 32 * half + i % 32, in_half / 32 * 2, 2);
        default: return run_of(8 + i / 32 * 16 + i % 16, i % 32 < 16 ? 0 : 4, 4);  // IQ4_XS
    }
}

// Scale j (minimum j) of the formats with small scales.
Bits scale_bits(DType type, int j) {
    switch (type) {
        case DType::Q2_K: return run_of(j, 0, 4);
        case DType::Q3_K: return run_of(96 + j % 8, j < 8 ? 0 : 4, 4) + run_of(104 + j % 4, j / 4 * 2, 2);
        case DType::Q4_K:
        case DType::Q5_K: return j < 4 ? run_of(4 + j, 0, 6) : run_of(8 + j, 0, 4) + run_of(j, 6, 2);
        case DType::Q6_K: return run_of(192 + j, 0, 8);
        default: return run_of(4 + j / 2, j % 2 * 4, 4) + run_of(2 + j / 4, j % 4 * 2, 2);  // IQ4_XS
    }
}
Bits minimum_bits(DType type, int j) {
    if (type == DType::Q2_K) return run_of(j, 4, 4);
    return j < 4 ? run_of(8 + j, 0, 6) : run_of(8 + j, 4, 4) + run_of(4 + j, 6, 2);
}

void put(std::vector<std::byte>& block, const Bits& bits, unsigned value) {
    for (std::size_t i = 0; i < bits.size(); ++i)
        if ((value >> i & 1U) != 0)
            block[static_cast<std::size_t>(bits[i] / 8)] |= static_cast<std::byte>(1U << (bits[i] % 8));
}

const int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace

class TestFormats : public QObject {
    Q_OBJECT

    std::mt19937 random_{std::random_device{}()};

    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

  private slots:
    void bit_by_bit_data() {
        QTest::addColumn<int>("type");
        for (int type = 0; type < kDTypes; ++type)
            if (info_of(static_cast<DType>(type)).block > 1)
                QTest::addRow("%s", std::string(info_of(static_cast<DType>(type)).name).c_str()) << type;
    }
    void bit_by_bit() {
        QFETCH(int, type);
        const auto t = static_cast<DType>(type);
        const int weights = info_of(t).block;
        const int width = t == DType::Q2_K || t == DType::Q3_K || t == DType::Q6_K ? 16 : 32;
        for (int round = 0; round < 50; ++round) {
            std::vector<std::byte> block(static_cast<std::size_t>(info_of(t).bytes));
            const Heads head = heads(t);
            const float d = std::ldexp(1.0F + static_cast<float>(below(1024)) / 1024.0F, -6);
            const float m = std::ldexp(-1.0F - static_cast<float>(below(1024)) / 1024.0F, -3);
            put_u16(block.data() + head.d, float_to_half(d));
            if (head.m >= 0) put_u16(block.data() + head.m, float_to_half(m));
            std::vector<double> expected(static_cast<std::size_t>(weights));
            std::vector<double> scales(16, 1.0);
            std::vector<double> minima(16, 0.0);
            for (int j = 0; weights == 256 && j < weights / width; ++j) {
                const auto at = static_cast<std::size_t>(j);
                const Bits bits = scale_bits(t, j);
                const unsigned s = below(1U << bits.size());
                put(block, bits, s);
                scales[at] = s;
                if (t == DType::Q3_K || t == DType::IQ4_XS) scales[at] = static_cast<double>(s) - 32;
                if (t == DType::Q6_K && s > 127) scales[at] = static_cast<double>(s) - 256;
                if (head.m < 0) continue;
                const Bits low = minimum_bits(t, j);
                const unsigned minimum = below(1U << low.size());
                put(block, low, minimum);
                minima[at] = minimum;
            }
            for (int i = 0; i < weights; ++i) {
                const Bits bits = code_bits(t, i);
                const unsigned c = below(1U << bits.size());
                put(block, bits, c);
                double value = c;
                if (t == DType::Q8_0 && c > 127) value -= 256;
                if (t == DType::Q4_0) value -= 8;
                if (t == DType::Q5_0) value -= 16;
                if (t == DType::Q3_K) value -= 4;
                if (t == DType::Q6_K) value -= 32;
                if (t == DType::IQ4_NL || t == DType::IQ4_XS) value = kIq4[c];
                const auto sub = static_cast<std::size_t>(i / width);
                value *= static_cast<double>(d) * scales[sub];
                if (head.m >= 0)
                    value += weights == 256 ? -static_cast<double>(m) * minima[sub] : static_cast<double>(m);
                expected[static_cast<std::size_t>(i)] = value;
            }
            std::vector<float> got(static_cast<std::size_t>(weights));
            dequantize_row(t, block.data(), weights, got.data());
            for (std::size_t i = 0; i < got.size(); ++i) {
                const double off = std::abs(static_cast<double>(got[i]) - expected[i]);
                // Two roundings of parts that are not much larger than this.
                QVERIFY2(off <= 0x1p-22 * 300,
                         qPrintable(QString("weight %1: %2, not %3").arg(i).arg(got[i]).arg(expected[i])));
            }
        }
    }

    // Single blocks whose values are plain to see.
    void by_hand() {
        std::vector<std::byte> block(18);
        put_u16(block.data(), 0x3800);  // 0.5
        block[2] = std::byte{0xF0};     // weight 0: 0 − 8, weight 16: 15 − 8
        block[17] = std::byte{0x19};    // weight 15: 9 − 8, weight 31: 1 − 8
        std::vector<float> out(32);
        dequantize_row(DType::Q4_0, block.data(), 32, out.data());
        QCOMPARE(out[0], -4.0F);
        QCOMPARE(out[16], 3.5F);
        QCOMPARE(out[15], 0.5F);
        QCOMPARE(out[31], -3.5F);
        QCOMPARE(out[1], -4.0F);

        block.assign(210, std::byte{0});
        put_u16(block.data() + 208, 0x3C00);  // 1
        block[192] = std::byte{0xFE};         // scale of weights 0 to 15: −2
        block[0] = std::byte{0x05};           // weight 0: low bits 5
        block[128] = std::byte{0x03};         // and high bits 3: 53 − 32
        out.resize(256);
        dequantize_row(DType::Q6_K, block.data(), 256, out.data());
        QCOMPARE(out[0], -42.0F);
        QCOMPARE(out[1], 64.0F);
        QCOMPARE(out[16], 0.0F);  // its scale is 0

        block.assign(144, std::byte{0});
        put_u16(block.data(), 0x3C00);      // d = 1
        put_u16(block.data() + 2, 0x3800);  // dmin = 0.5
        block[4] = std::byte{0xC3};         // scale 0 = 3, high bits of scale 4 = 3
        block[8] = std::byte{0x42};         // minimum 0 = 2, high bits of minimum 4 = 1
        block[12] = std::byte{0x51};        // scale 4 = 1 + 48, minimum 4 = 5 + 16
        block[16] = std::byte{0x07};        // weight 0 = 7
        block[80] = std::byte{0x02};        // weight 128 = 2
        dequantize_row(DType::Q4_K, block.data(), 256, out.data());
        QCOMPARE(out[0], 20.0F);
        QCOMPARE(out[1], -1.0F);
        QCOMPARE(out[32], 0.0F);
        QCOMPARE(out[128], 98.0F - 10.5F);
        QCOMPARE(out[129], -10.5F);

        const std::byte f8[] = {std::byte{0x38}, std::byte{0xB8}, std::byte{0x7E}, std::byte{0x01},
                                std::byte{0x08}, std::byte{0x80}, std::byte{0x7F}};
        const float scale = 2.0F;
        const HostTensor t{DType::F8_E4M3, 1, 7, f8, {&scale, 1, 7, 0}};
        dequantize_matrix_row(t, 0, out.data());
        QCOMPARE(out[0], 2.0F);
        QCOMPARE(out[1], -2.0F);
        QCOMPARE(out[2], 896.0F);
        QCOMPARE(out[3], 0x1p-8F);
        QCOMPARE(out[4], 0x1p-5F);
        QVERIFY(out[5] == 0.0F && std::signbit(out[5]));
        QVERIFY(std::isnan(out[6]));
    }

    // A tile's scale, also where it is cut at the edge and where a slice of rows begins inside.
    void scale_grids() {
        const std::vector<std::byte> ones(static_cast<std::size_t>(5 * 7), std::byte{1});
        const float scales[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};  // tiles of 2 × 3
        const HostTensor t{DType::I8, 5, 7, ones.data(), {scales, 2, 3, 0}};
        float row[7];
        dequantize_matrix_row(t, 3, row);
        QCOMPARE(row[0], 4.0F);
        QCOMPARE(row[5], 5.0F);
        QCOMPARE(row[6], 6.0F);
        dequantize_matrix_row(t.slice_rows(3, 2), 1, row);
        QCOMPARE(row[0], 7.0F);
        QCOMPARE(row[6], 9.0F);
    }
};

QTEST_APPLESS_MAIN(TestFormats)
#include "tst_formats.moc"
