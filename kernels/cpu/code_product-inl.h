// The product of one format of codes, from its layout (weight_layout.h). Included once per Highway target.
#if defined(VITRINE_CODE_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_CODE_PRODUCT_INL_H
#undef VITRINE_CODE_PRODUCT_INL_H
#else
#define VITRINE_CODE_PRODUCT_INL_H
#endif

#include "kernels/cpu/block_dot-inl.h"
#include "kernels/cpu/matrix_kernels.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // part of the target, but not of what Highway 1.0.3 tells the compiler
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

// Whether a multiply-add rounds once.
constexpr bool kFused = HWY_ARCH_X86 ? HWY_TARGET <= HWY_AVX2 : HWY_ARCH_ARM_A64 != 0;

// (y − kMagic) · d, rounded once; `magic` is −kMagic · d.
HWY_INLINE Vector scaled(Vector y, Vector d, Vector magic) {
    if constexpr (kFused) return hn::MulAdd(y, d, magic);
    return hn::Mul(hn::Sub(y, hn::Set(kFloat, kMagic)), d);
}

HWY_INLINE IntVector broadcast_int(const std::byte* p) { return hn::Set(IntTag(), load_int(p)); }

// kVectorFloats bytes as integers.
HWY_INLINE IntVector load_unsigned(const std::byte* p) {
    const hn::Rebind<std::uint8_t, FloatTag> d8;
    return hn::PromoteTo(IntTag(), hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(p)));
}
HWY_INLINE Vector load_signed(const std::byte* p) {
    const hn::Rebind<std::int8_t, FloatTag> d8;
    return hn::ConvertTo(kFloat,
                         hn::PromoteTo(IntTag(), hn::LoadU(d8, reinterpret_cast<const std::int8_t*>(p))));
}

// What a vector of rows has once for a unit of blocks.
struct UnitScales {
    Vector d;
    Vector dmin;
};

// What it has for a block: w = d · code + m for its first (0) and last (1) sixteen inputs, and d · kMagic,
// which is exact and has to be taken away from the product. Halves are alike where the layout's width is 32.
struct BlockScales {
    Vector d[2];
    Vector magic[2];
    Vector m[2];
};

template <DType kType>
HWY_INLINE UnitScales load_unit_scales(const std::byte* p, int part) {
    constexpr CodeLayout kLayout = code_layout(kType);
    UnitScales unit{hn::Zero(kFloat), hn::Zero(kFloat)};
    if constexpr (kType == DType::I8) {
        unit.d = hn::LoadU(kFloat, reinterpret_cast<const float*>(p) + part * kVectorFloats);
    } else if constexpr (kLayout.unit_scale_bytes != 0) {
        unit.d = hn::Mul(load_halves(p + 2 * part * kVectorFloats), hn::Set(kFloat, weight_factor(kType)));
        if constexpr (kLayout.minimum)
            unit.dmin = hn::Neg(load_halves(p + 2 * (kGroup + part * kVectorFloats)));
    }
    return unit;
}

template <DType kType>
HWY_INLINE BlockScales load_block_scales(const std::byte* p, int part, const UnitScales& unit) {
    constexpr CodeLayout kLayout = code_layout(kType);
    const Vector zero = hn::Zero(kFloat);
    BlockScales s{{zero, zero}, {zero, zero}, {zero, zero}};
    if constexpr (kType == DType::I8) {
        s.d[0] = unit.d;
    } else if constexpr (kLayout.unit_scale_bytes == 0) {
        p += 2 * part * kVectorFloats;
        s.d[0] = load_halves(p);
        if constexpr (code_shift(kType) != 0) s.d[0] = hn::Mul(s.d[0], hn::Set(kFloat, weight_factor(kType)));
        if constexpr (kLayout.minimum) s.m[0] = load_halves(p + 2 * kGroup);
    } else if constexpr (kType == DType::Q2_K) {
        p += part * kVectorFloats;
        HWY_UNROLL(2)
        for (int half = 0; half < 2; ++half) {
            const IntVector both = load_unsigned(p + kGroup * half);
            s.d[half] = hn::Mul(unit.d, hn::ConvertTo(kFloat, hn::And(both, hn::Set(IntTag(), 15))));
            s.m[half] = hn::Mul(unit.dmin, hn::ConvertTo(kFloat, hn::ShiftRight<4>(both)));
        }
        s.m[0] = hn::Sub(s.m[0], s.m[1]);
    } else if constexpr (kLayout.minimum) {
        p += part * kVectorFloats;
        s.d[0] = hn::Mul(unit.d, hn::ConvertTo(kFloat, load_unsigned(p)));
        s.m[0] = hn::Mul(unit.dmin, hn::ConvertTo(kFloat, load_unsigned(p + kGroup)));
    } else {
        p += part * kVectorFloats;
        s.d[0] = hn::Mul(unit.d, load_signed(p));
        if constexpr (kLayout.width == 16) s.d[1] = hn::Mul(unit.d, load_signed(p + kGroup));
    }
    if constexpr (kType != DType::I8) {
        s.magic[0] = hn::Mul(s.d[0], hn::Set(kFloat, -kMagic));
        if constexpr (kLayout.width == 16) s.magic[1] = hn::Mul(s.d[1], hn::Set(kFloat, -kMagic));
    }
    return s;
}

// One block of a group against T rows.
template <DType kType, int T, class Dot>
HWY_INLINE void multiply_block(const std::byte* codes, const BlockScales& s, const std::byte* record,
                               Vector (&sums)[T]) {
    constexpr CodeLayout kLayout = code_layout(kType);
    typename Dot::template Codes<kType> weights(codes);
    HWY_UNROLL(16)
    for (int t = 0; t < T; ++t, record += kRecord) {
        const auto start = [&](std::int64_t field) {
            return kLayout.minimum ? hn::Set(IntTag(), kMagicBits) : broadcast_int(record + field);
        };
        Vector y;
        if constexpr (kLayout.width == 32) {
            y = hn::BitCast(kFloat, weights.template dot<0, 8>(start(kRecordStart), record));
            if constexpr (kType == DType::I8)  // d has 24 bits: its product with kMagic would be rounded
                y = hn::Mul(hn::Sub(y, hn::Set(kFloat, kMagic)), s.d[0]);
            else
                y = scaled(y, s.d[0], s.magic[0]);
            if constexpr (kLayout.minimum) y = hn::MulAdd(s.m[0], broadcast(record + kRecordSum), y);
        } else {
            const Vector first =
                hn::BitCast(kFloat, weights.template dot<0, 4>(start(kRecordStartLow), record));
            const Vector last =
                hn::BitCast(kFloat, weights.template dot<4, 4>(start(kRecordStartHigh), record));
            y = hn::Add(scaled(first, s.d[0], s.magic[0]), scaled(last, s.d[1], s.magic[1]));
            if constexpr (kLayout.minimum) {
                y = hn::MulAdd(s.m[0], broadcast(record + kRecordSumLow), y);
                y = hn::MulAdd(s.m[1], broadcast(record + kRecordSum), y);
            }
        }
        sums[t] = hn::MulAdd(y, broadcast(record + kRecordScale), sums[t]);
    }
}

template <DType kType, int T, class Dot>
void multiply_codes(const GroupProduct& p) {
    constexpr CodeLayout kLayout = code_layout(kType);
    const std::int64_t blocks = blocks_of(p.cols);
    const std::int64_t unit_blocks = kType == DType::I8 ? blocks_of(p.tile) : kLayout.unit;
    const std::int64_t record_stride = kRecord * p.rows;
    for (std::int64_t g = 0; g < p.count; ++g) {
        const std::byte* group = p.groups + g * p.group_stride;
        for (int part = 0; part < kParts; ++part) {
            Vector sums[T];
            for (int t = 0; t < T; ++t) sums[t] = hn::Zero(kFloat);
            const std::byte* record = p.panel;
            const std::byte* unit = group;
            const std::byte* unit_scales =
                group + (kType == DType::I8 ? outside_scale_offset(kType, p.cols)
                                            : kLayout.unit_scale_offset(blocks, 0));
            for (std::int64_t left = blocks; left > 0; left -= unit_blocks) {
                const UnitScales once = load_unit_scales<kType>(unit_scales, part);
                const std::byte* codes = unit + part * kVectorFloats * 4;
                const std::byte* scales = unit + kLayout.unit * kLayout.code_bytes();
                const std::int64_t here = left < unit_blocks ? left : unit_blocks;
                HWY_UNROLL(1)
                for (std::int64_t b = 0; b < here; ++b) {
                    if (part == 0 && p.cold) {
                        constexpr std::int64_t kBytes = kLayout.code_bytes() + kLayout.scale_bytes;
                        for (std::int64_t line = 0; line < kBytes; line += 64)
                            fetch(unit + b * kBytes + kAheadBytes + line);
                    }
                    multiply_block<kType, T, Dot>(codes, load_block_scales<kType>(scales, part, once), record,
                                                  sums);
                    codes += kLayout.code_bytes();
                    scales += kLayout.scale_bytes;
                    record += record_stride;
                }
                unit += unit_blocks * (kLayout.code_bytes() + kLayout.scale_bytes);
                unit_scales += kType == DType::I8 ? kGroup * 4 : kLayout.unit_scale_bytes;
            }
            float* out = p.out + g * kGroup + part * kVectorFloats;
            HWY_UNROLL(16)
            for (int t = 0; t < T; ++t)
                if (t < p.rows) hn::StoreU(sums[t], kFloat, out + t * p.out_stride);
        }
    }
}

// A kernel for every number of rows.
template <DType kType, class Dot, int T = kTile>
void add_every(MatrixKernels& k) {
    k.multiply_groups[static_cast<int>(kType)][T] = multiply_codes<kType, T, Dot>;
    if constexpr (T > 1) add_every<kType, Dot, T - 1>(k);
}

// Kernels for 1, 2, 4, 8 and 12 rows: a number between takes the next larger one. Compiles faster.
template <DType kType, class Dot, int T = kTile>
void add_some(MatrixKernels& k) {
    constexpr int kNext = T > 8 ? 8 : T / 2;
    for (int rows = kNext + 1; rows <= T; ++rows)
        k.multiply_groups[static_cast<int>(kType)][rows] = multiply_codes<kType, T, Dot>;
    if constexpr (kNext > 0) add_some<kType, Dot, kNext>(k);
}

// Runs Family::add<Dot>(k) with the dot product that the processor has.
template <class Family>
void add_family(MatrixKernels& k, bool vector_neural) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    if (vector_neural) {
        Family::template add<VnniDot>(k);
        return;
    }
#else
    static_cast<void>(vector_neural);
#endif
    Family::template add<BestDot>(k);
}

}  // namespace
}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
