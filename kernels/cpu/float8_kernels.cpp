#include "kernels/cpu/code_kernels.h"
#include "kernels/cpu/weight_layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/float8_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

// kVectorFloats F8_E4M3 as float32: the bits that they share with float16, whose exponent is 8 smaller.
HWY_INLINE Vector load_float8(const std::byte* p) {
    const hn::Rebind<std::uint8_t, FloatTag> d8;
    const hn::Rebind<std::uint16_t, FloatTag> d16;
    const auto code = hn::PromoteTo(d16, hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(p)));
    const auto magnitude = hn::And(code, hn::Set(d16, std::uint16_t{0x7F}));
    const auto sign = hn::ShiftLeft<8>(hn::AndNot(hn::Set(d16, std::uint16_t{0x7F}), code));
    const auto nan = hn::Eq(magnitude, hn::Set(d16, std::uint16_t{0x7F}));
    const auto half = hn::IfThenElse(nan, hn::Set(d16, std::uint16_t{0x7E00}), hn::ShiftLeft<7>(magnitude));
    const hn::Rebind<hwy::float16_t, FloatTag> f16;
    return hn::Mul(hn::PromoteTo(kFloat, hn::BitCast(f16, hn::Or(half, sign))), hn::Set(kFloat, 256.0F));
}

template <int T>
void multiply_float8(const GroupProduct& p) {
    for (std::int64_t v = 0; v < p.count * kParts; ++v) {
        const std::byte* group = p.groups + v / kParts * p.group_stride;
        const std::int64_t lane = v % kParts * kVectorFloats;
        const auto* scales =
            reinterpret_cast<const float*>(group + outside_scale_offset(DType::F8_E4M3, p.cols)) + lane;
        const std::byte* w = group + lane;
        const auto* x = reinterpret_cast<const float*>(p.panel);
        Vector sums[T];
        for (Vector& sum : sums) sum = hn::Zero(kFloat);
        for (std::int64_t first = 0; first < p.cols; first += p.tile, scales += kGroup) {
            const Vector scale = hn::LoadU(kFloat, scales);
            const std::int64_t last = p.cols - first < p.tile ? p.cols : first + p.tile;
            for (std::int64_t k = first; k < last; ++k, w += kGroup, x += T) {
                const Vector weights = hn::Mul(load_float8(w), scale);
                HWY_UNROLL(16)
                for (int t = 0; t < T; ++t) sums[t] = hn::MulAdd(weights, hn::Set(kFloat, x[t]), sums[t]);
            }
        }
        for (int t = 0; t < T; ++t)
            hn::StoreU(sums[t], kFloat, p.out + t * p.out_stride + v / kParts * kGroup + lane);
    }
}

template <int T = kTile>
void add_every(MatrixKernels& k) {
    k.multiply_groups[static_cast<int>(DType::F8_E4M3)][T] = multiply_float8<T>;
    if constexpr (T > 1) add_every<T - 1>(k);
}

}  // namespace

void fill_float8(MatrixKernels& k) { add_every(k); }

}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::cpu {

HWY_EXPORT(fill_float8);

void add_float8_kernels(MatrixKernels& table) { HWY_DYNAMIC_DISPATCH(fill_float8)(table); }

}  // namespace vitrine::cpu
#endif
