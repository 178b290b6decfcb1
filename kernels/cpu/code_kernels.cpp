#include "kernels/cpu/code_kernels.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/processor.h"
#include "kernels/cpu/weight_layout.h"
#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/code_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/code_product-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // part of the target, but not of what Highway 1.0.3 tells the compiler
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

void quantize(const float* x, std::int64_t blocks, std::byte* panel, int T, int t) {
    panel += kRecord * t;
    for (std::int64_t b = 0; b < blocks; ++b, x += kBlock, panel += kRecord * T) {
        const hn::RebindToUnsigned<FloatTag> du;
        // Magnitudes compare as integers, and so NaN is above infinity is above every number.
        auto top = hn::Zero(du);
        for (int i = 0; i < kBlock; i += kVectorFloats)
            top = hn::Max(top, hn::And(hn::BitCast(du, hn::LoadU(kFloat, x + i)), hn::Set(du, 0x7FFFFFFFU)));
        const std::uint32_t largest = hn::GetLane(hn::MaxOfLanes(du, top));
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
        const hn::RebindToSigned<FloatTag> di;
        const hn::Rebind<std::int8_t, FloatTag> d8;
        std::int32_t halves[2] = {0, 0};
        for (int half = 0; half < 2; ++half) {
            auto sums = hn::Zero(di);
            for (int i = 16 * half; i < 16 * half + 16; i += kVectorFloats) {
                auto v = hn::Mul(hn::LoadU(kFloat, x + i), hn::Set(kFloat, inverse));
                if (inverse == 0) v = hn::Zero(kFloat);
                const auto code = hn::NearestInt(v);
                sums = hn::Add(sums, code);
                hn::StoreU(hn::DemoteTo(d8, code), d8, reinterpret_cast<std::int8_t*>(panel) + i);
            }
            halves[half] = hn::GetLane(hn::SumOfLanes(di, sums));
        }
        const auto put = [&](std::int64_t at, auto value) { std::memcpy(panel + at, &value, sizeof value); };
        const std::int32_t sum = halves[0] + halves[1];
        put(kRecordScale, scale);
        put(kRecordSum, static_cast<float>(sum));
        put(kRecordStart, kMagicBits - 128 * sum);
        put(kRecordSumLow, static_cast<float>(halves[0]));
        put(kRecordStartLow, kMagicBits - 128 * halves[0]);
        put(kRecordStartHigh, kMagicBits - 128 * halves[1]);
    }
}

struct Bytes {
    template <class Dot>
    static void add(MatrixKernels& k) {
        k.max_tile = kTile;
        k.quantize = quantize;
        k.name = kTargetName;
#if HWY_TARGET == HWY_AVX2
        if (std::is_same_v<Dot, VnniDot>) k.name = "AVX2 VNNI";
#elif HWY_TARGET == HWY_AVX3
        if (std::is_same_v<Dot, VnniDot>) k.name = "AVX-512 VNNI";
#endif
        add_every<DType::Q8_0, Dot>(k);
        add_every<DType::Q4_0, Dot>(k);
        add_every<DType::Q4_1, Dot>(k);
    }
};

}  // namespace

void fill_code(MatrixKernels& k, bool vector_neural) { add_family<Bytes>(k, vector_neural); }

}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::cpu {

HWY_EXPORT(fill_code);

void add_code_kernels(MatrixKernels& table) {
    HWY_DYNAMIC_DISPATCH(fill_code)(table, has_dot_extension((hwy::SupportedTargets() & HWY_AVX3) != 0));
}

}  // namespace vitrine::cpu
#endif
