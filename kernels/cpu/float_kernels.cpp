#include "kernels/cpu/float_kernels.h"

#include <utility>

#include "kernels/cpu/weight_layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/float_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // part of the target, but not of what Highway 1.0.3 tells the compiler
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

template <DType kType>
HWY_INLINE Vector load_weights(const std::byte* p) {
    if constexpr (kType == DType::F32) {
        return hn::LoadU(kFloat, reinterpret_cast<const float*>(p));
    } else if constexpr (kType == DType::F16) {
        return load_halves(p);
    } else {
        return load_bfloats(p);
    }
}

// kWide vectors of rows at once, so that enough independent sums are under way. Weights are asked for ahead
// of their use; where these rows end, those of the next ones, `next` bytes on.
template <DType kType, int T, int kWide>
HWY_INLINE void multiply_wide(const std::byte* const (&rows)[kWide], std::int64_t next, const float* x,
                              std::int64_t n, float* const (&out)[kWide], std::int64_t out_stride) {
    constexpr std::int64_t kStep = kGroup * info_of(kType).bytes;
    constexpr std::int64_t kLine = kStep < 64 ? 64 / kStep : 1;  // inputs until the next line begins
    constexpr std::int64_t kAhead = kAheadBytes / 2 / kWide / kStep / kLine * kLine;
    Vector sums[kWide][T];
    for (auto& row : sums)
        for (auto& sum : row) sum = hn::Zero(kFloat);
    std::int64_t k = 0;
    std::int64_t end = n > kAhead ? n - kAhead : 0;
    std::int64_t ahead = kAhead * kStep;
    for (int turn = 0; turn < 2; ++turn) {
        for (; k < end; ++k, x += T) {
            if (kLine == 1 || k % kLine == 0) {
                HWY_UNROLL(16)
                for (int i = 0; i < kWide; ++i) fetch(rows[i] + k * kStep + ahead);
            }
            Vector w[kWide];
            HWY_UNROLL(16)
            for (int i = 0; i < kWide; ++i) w[i] = load_weights<kType>(rows[i] + k * kStep);
            HWY_UNROLL(16)
            for (int t = 0; t < T; ++t) {
                const Vector v = hn::Set(kFloat, x[t]);
                HWY_UNROLL(16)
                for (int i = 0; i < kWide; ++i) sums[i][t] = hn::MulAdd(w[i], v, sums[i][t]);
            }
        }
        end = n;
        ahead += next - n * kStep;
    }
    for (int i = 0; i < kWide; ++i)
        for (int t = 0; t < T; ++t) hn::StoreU(sums[i][t], kFloat, out[i] + t * out_stride);
}

template <DType kType, int T>
void multiply_floats(const std::byte* groups, std::int64_t group_stride, std::int64_t count,
                     const std::byte* panel, std::int64_t n, float* out, std::int64_t out_stride) {
    // One row: a single run of memory is read fastest (two at once: 0.92 of it), and the sums keep up with
    // it.
    constexpr int kWide = T == 1 && kParts <= 4 ? kParts : 2;
    const auto* x = reinterpret_cast<const float*>(panel);
    const auto rows_at = [&](std::int64_t vector) {
        return groups + vector / kParts * group_stride +
               vector % kParts * kVectorFloats * info_of(kType).bytes;
    };
    const std::int64_t vectors = count * kParts;
    std::int64_t v = 0;
    for (; v + kWide <= vectors; v += kWide) {
        const std::byte* rows[kWide];
        float* to[kWide];
        for (int i = 0; i < kWide; ++i) {
            rows[i] = rows_at(v + i);
            to[i] = out + (v + i) * kVectorFloats;
        }
        multiply_wide<kType, T, kWide>(rows, kWide * group_stride / kParts, x, n, to, out_stride);
    }
    for (; v < vectors; ++v) {
        const std::byte* const rows[1] = {rows_at(v)};
        float* const to[1] = {out + v * kVectorFloats};
        multiply_wide<kType, T, 1>(rows, group_stride / kParts, x, n, to, out_stride);
    }
}

template <int... T>
void fill(MatrixKernels& k, std::integer_sequence<int, T...>) {
    const auto at = [&](DType type) { return k.multiply[static_cast<int>(type)]; };
    ((at(DType::F32)[T + 1] = multiply_floats<DType::F32, T + 1>), ...);
    ((at(DType::F16)[T + 1] = multiply_floats<DType::F16, T + 1>), ...);
    ((at(DType::BF16)[T + 1] = multiply_floats<DType::BF16, T + 1>), ...);
}

}  // namespace

void add_floats(MatrixKernels& k) { fill(k, std::make_integer_sequence<int, kTile>()); }

}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::cpu {

HWY_EXPORT(add_floats);

void add_float_kernels(MatrixKernels& table) { HWY_DYNAMIC_DISPATCH(add_floats)(table); }

}  // namespace vitrine::cpu
#endif
