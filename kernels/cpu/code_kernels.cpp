#include "kernels/cpu/code_kernels.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/cpu/processor.h"
#include "kernels/cpu/weight_layout.h"
#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/code_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/block_dot-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // part of the target, but not of what Highway 1.0.3 tells the compiler
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

void quantize(const float* x, std::int64_t blocks, std::byte* panel, int T, int t) {
    const std::int64_t record = kPanelBytes * T;
    for (std::int64_t b = 0; b < blocks; ++b, x += kBlock, panel += record) {
        const hn::RebindToUnsigned<FloatTag> du;
        // Magnitudes compare as integers, and so NaN is above infinity is above every number.
        auto top = hn::Zero(du);
        for (int i = 0; i < kBlock; i += kVectorFloats)
            top = hn::Max(top, hn::And(hn::BitCast(du, hn::LoadU(kFloat, x + i)), hn::Set(du, 0x7FFFFFFFU)));
        std::uint32_t bits[kVectorFloats];
        hn::StoreU(top, du, bits);
        std::uint32_t largest = 0;
        for (const std::uint32_t v : bits) largest = v > largest ? v : largest;
        float magnitude = 0;
        std::memcpy(&magnitude, &largest, sizeof magnitude);

        float scale = magnitude / 127.0F;
        float inverse = 127.0F / magnitude;
        if (largest >= 0x7F800000U) {
            scale = std::nanf("");
            inverse = 0;
        } else if (magnitude < 0x1p-100F) {
            scale = 0;
            inverse = 0;
        }
        std::int32_t codes[kBlock];
        const hn::RebindToSigned<FloatTag> di;
        auto sums = hn::Zero(di);
        for (int i = 0; i < kBlock; i += kVectorFloats) {
            auto v = hn::Mul(hn::LoadU(kFloat, x + i), hn::Set(kFloat, inverse));
            if (inverse == 0) v = hn::Zero(kFloat);
            const auto code = hn::NearestInt(v);
            sums = hn::Add(sums, code);
            hn::StoreU(code, di, codes + i);
        }
        std::int32_t lanes[kVectorFloats];
        hn::StoreU(sums, di, lanes);
        std::int32_t sum = 0;
        for (const std::int32_t v : lanes) sum += v;

        auto* out = reinterpret_cast<std::int8_t*>(panel) + kBlock * t;
        for (int i = 0; i < kBlock; ++i) out[i] = static_cast<std::int8_t>(codes[i]);
        std::byte* tail = panel + kBlock * T + 4 * t;
        const float sum_float = static_cast<float>(sum);
        const std::int32_t by8 = -8 * sum;
        const std::int32_t by128 = -128 * sum;
        std::memcpy(tail, &scale, 4);
        std::memcpy(tail + 4 * T, &sum_float, 4);
        std::memcpy(tail + 8 * T, &by8, 4);
        std::memcpy(tail + 12 * T, &by128, 4);
    }
}

// One block of a group against T rows. `part` picks the vector of rows.
template <DType kType, int T, class Dot>
HWY_INLINE void multiply_block(const std::byte* codes, const std::byte* scales, const std::byte* record,
                               Vector (&sums)[T]) {
    typename Dot::template Codes<kType> weights(codes);
    const Vector d = load_halves(scales);
    const std::byte* tail = record + kBlock * T;
    constexpr int kOffset = kType == DType::Q4_0 ? 8 * T : 12 * T;
    Vector m = d;
    if constexpr (kType == DType::Q4_1) m = load_halves(scales + scale_bytes);
    HWY_UNROLL(16)
    for (int t = 0; t < T; ++t) {
        const std::int32_t start = kType == DType::Q4_1 ? 0 : load_int(tail + kOffset + 4 * t);
        const Vector product = hn::Mul(hn::ConvertTo(kFloat, weights.dot(start, record + kBlock * t)), d);
        if constexpr (kType == DType::Q4_1) {
            const Vector with_minimum = hn::MulAdd(m, broadcast(tail + 4 * T + 4 * t), product);
            sums[t] = hn::MulAdd(with_minimum, broadcast(tail + 4 * t), sums[t]);
        } else {
            sums[t] = hn::MulAdd(product, broadcast(tail + 4 * t), sums[t]);
        }
    }
}

template <DType kType, int T, class Dot>
void multiply_codes(const std::byte* groups, std::int64_t group_stride, std::int64_t count,
                    const std::byte* panel, std::int64_t blocks, float* out, std::int64_t out_stride) {
    for (std::int64_t g = 0; g < count; ++g) {
        const std::byte* group = groups + g * group_stride;
        for (int part = 0; part < kParts; ++part) {
            Vector sums[T];
            for (int t = 0; t < T; ++t) sums[t] = hn::Zero(kFloat);
            const std::byte* codes = group + part * kVectorFloats * 4;
            const std::byte* scales = group + part * kVectorFloats * 2;
            const std::byte* record = panel;
            for (std::int64_t b = 0; b < blocks; ++b, record += kPanelBytes * T)
                multiply_block<kType, T, Dot>(codes + code_offset(kType, b), scales + scale_offset(kType, b),
                                              record, sums);
            for (int t = 0; t < T; ++t)
                hn::StoreU(sums[t], kFloat, out + t * out_stride + g * kGroup + part * kVectorFloats);
        }
    }
}

template <class Dot, int... T>
void fill(MatrixKernels& k, std::integer_sequence<int, T...>) {
    const auto at = [&](DType type) { return k.multiply[static_cast<int>(type)]; };
    ((at(DType::Q8_0)[T + 1] = multiply_codes<DType::Q8_0, T + 1, Dot>), ...);
    ((at(DType::Q4_0)[T + 1] = multiply_codes<DType::Q4_0, T + 1, Dot>), ...);
    ((at(DType::Q4_1)[T + 1] = multiply_codes<DType::Q4_1, T + 1, Dot>), ...);
}

template <class Dot>
void add(MatrixKernels& k, const char* name) {
    k.name = name;
    k.max_tile = kTile;
    k.quantize = quantize;
    fill<Dot>(k, std::make_integer_sequence<int, kTile>());
}

}  // namespace

void add_codes(MatrixKernels& k, bool vector_neural) {
#if HWY_TARGET == HWY_AVX2
    if (vector_neural) {
        add<VnniDot>(k, "AVX2 VNNI");
        return;
    }
#elif HWY_TARGET == HWY_AVX3
    if (vector_neural) {
        add<VnniDot>(k, "AVX-512 VNNI");
        return;
    }
#else
    static_cast<void>(vector_neural);
#endif
    add<BestDot>(k, kTargetName);
}

}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::cpu {

HWY_EXPORT(add_codes);

void add_code_kernels(MatrixKernels& table) {
    HWY_DYNAMIC_DISPATCH(add_codes)(table, has_dot_extension((hwy::SupportedTargets() & HWY_AVX3) != 0));
}

}  // namespace vitrine::cpu
#endif
