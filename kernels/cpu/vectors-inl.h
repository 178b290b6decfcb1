// Vectors of rows, for each instruction set. Included once per Highway target.
#if defined(VITRINE_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_VECTORS_INL_H
#undef VITRINE_VECTORS_INL_H
#else
#define VITRINE_VECTORS_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#include "kernels/cpu/weight_layout.h"
#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"
#include "kernels/tensor.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // part of the target, but not of what Highway 1.0.3 tells the compiler
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Up to sixteen rows (or keys, or elements) at once.
using FloatTag = hn::CappedTag<float, 16>;
constexpr FloatTag kFloat;
constexpr int kVectorFloats = HWY_LANES(float) < 16 ? static_cast<int>(HWY_LANES(float)) : 16;
using Vector = hn::Vec<FloatTag>;
using IntTag = hn::RebindToSigned<FloatTag>;
using IntVector = hn::Vec<IntTag>;

#if HWY_TARGET == HWY_AVX3_DL
constexpr const char* kTargetName = "AVX-512 VNNI";
#elif HWY_TARGET == HWY_AVX3
constexpr const char* kTargetName = "AVX-512";
#elif HWY_TARGET == HWY_AVX2
constexpr const char* kTargetName = "AVX2";
#elif HWY_TARGET == HWY_NEON
constexpr const char* kTargetName = "NEON";
#else
constexpr const char* kTargetName = "scalar";
#endif

HWY_INLINE std::int32_t load_int(const std::byte* p) {
    std::int32_t v = 0;
    std::memcpy(&v, p, sizeof v);
    return v;
}

HWY_INLINE Vector broadcast(const std::byte* p) {
    float v = 0;
    std::memcpy(&v, p, sizeof v);
    return hn::Set(kFloat, v);
}

// How far ahead of their use weights are asked for: at 30 GB/s and some 150 ns a core alone has to keep about
// 4 KiB under way, more than its own look-ahead does.
constexpr std::int64_t kAheadBytes = 8192;

// Asks for a line in the second-level cache. The address may be anything.
HWY_INLINE void fetch(const std::byte* p) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(p, 0, 2);
#else
    static_cast<void>(p);
#endif
}

// kVectorFloats f16 (bf16) as float32.
HWY_INLINE Vector load_halves(const std::byte* p) {
    const hn::Rebind<hwy::float16_t, FloatTag> half;
    return hn::PromoteTo(kFloat, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(p)));
}
HWY_INLINE Vector load_bfloats(const std::byte* p) {
    const hn::Rebind<hwy::bfloat16_t, FloatTag> brain;
    return hn::PromoteTo(kFloat, hn::LoadU(brain, reinterpret_cast<const hwy::bfloat16_t*>(p)));
}

// Rows of activations that a kernel takes at once at most: what the registers hold.
constexpr int kTile = kVectorFloats == 16 ? 12 : (HWY_TARGET == HWY_NEON ? 8 : 4);
// Vectors that a sixteen-row group falls into.
constexpr int kParts = static_cast<int>(kGroup) / kVectorFloats;

}  // namespace
}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
