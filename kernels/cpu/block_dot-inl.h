// The integer dot product of one block, for each instruction set. Included once per
// Highway target.
#if defined(VITRINE_BLOCK_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_BLOCK_DOT_INL_H
#undef VITRINE_BLOCK_DOT_INL_H
#else
#define VITRINE_BLOCK_DOT_INL_H
#endif

#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // part of the target, but not of what Highway 1.0.3 tells the compiler
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

// One row at a time.
struct BestDot {
    template <DType kType>
    struct Codes {
        explicit Codes(const std::byte* codes) : codes_(codes) {}
        IntVector dot(std::int32_t start, const std::byte* x) const {
            for (int i = 0; i < 32; ++i) {
                const std::byte code =
                    kType == DType::Q8_0 ? codes_[i / 4 * 64 + i % 4] : codes_[i % 16 / 4 * 64 + i % 4];
                const int w = kType == DType::Q8_0 ? static_cast<int>(code)
                                                   : (static_cast<int>(code) >> (i < 16 ? 0 : 4)) & 15;
                start += w * static_cast<std::int8_t>(x[i]);
            }
            return hn::Set(IntTag(), start);
        }

      private:
        const std::byte* codes_;
    };
};

#else

using ByteTag = hn::Repartition<std::uint8_t, FloatTag>;
using ByteVector = hn::Vec<ByteTag>;

// The eight vectors of a block's codes, each with four inputs of every row, unsigned.
template <DType kType>
HWY_INLINE void unpack(const std::byte* codes, ByteVector (&w)[8]) {
    const ByteTag d8;
    const auto* p = reinterpret_cast<const std::uint8_t*>(codes);
    if constexpr (kType == DType::Q8_0) {
        HWY_UNROLL(16)
        for (int i = 0; i < 8; ++i) w[i] = hn::LoadU(d8, p + 64 * i);
    } else {
        const auto low = hn::Set(d8, std::uint8_t{15});
        const hn::Repartition<std::uint16_t, FloatTag> d16;
        HWY_UNROLL(16)
        for (int i = 0; i < 4; ++i) {
            const ByteVector pair = hn::LoadU(d8, p + 64 * i);
            w[i] = hn::And(pair, low);
            w[i + 4] = hn::And(hn::BitCast(d8, hn::ShiftRight<4>(hn::BitCast(d16, pair))), low);
        }
    }
}

// Four activations in every row's lane.
HWY_INLINE ByteVector four(const std::byte* x) {
    return hn::BitCast(ByteTag(), hn::Set(IntTag(), load_int(x)));
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
HWY_INLINE IntVector dot_instruction(IntVector sum, ByteVector w, ByteVector x) {
    return IntVector{_mm512_dpbusd_epi32(sum.raw, w.raw, x.raw)};
}
#elif HWY_TARGET <= HWY_AVX3
// By name: these targets do not include the instruction, but processors of theirs may have it.
HWY_INLINE IntVector dot_instruction(IntVector sum, ByteVector w, ByteVector x) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
    return sum;
}
#elif HWY_TARGET == HWY_AVX2
HWY_INLINE IntVector dot_instruction(IntVector sum, ByteVector w, ByteVector x) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(w.raw), "x"(x.raw));
    return sum;
}
#endif

struct VnniDot {
    template <DType kType>
    struct Codes {
        explicit HWY_INLINE Codes(const std::byte* codes) { unpack<kType>(codes, w_); }
        HWY_INLINE IntVector dot(std::int32_t start, const std::byte* x) const {
            IntVector sum = hn::Set(IntTag(), start);
            HWY_UNROLL(16)
            for (int i = 0; i < 8; ++i) sum = dot_instruction(sum, w_[i], four(x + 4 * i));
            return sum;
        }

      private:
        ByteVector w_[8];
    };
};

// Unsigned times signed bytes, neighbours added in 16 bits; and 16-bit neighbours added in 32 bits.
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE __m512i pairs(__m512i w, __m512i x) { return _mm512_maddubs_epi16(w, x); }
HWY_INLINE __m512i add16(__m512i a, __m512i b) { return _mm512_add_epi16(a, b); }
HWY_INLINE __m512i widen(__m512i p) { return _mm512_madd_epi16(p, _mm512_set1_epi16(1)); }
HWY_INLINE __m512i magnitude(__m512i w) { return _mm512_abs_epi8(w); }
HWY_INLINE __m512i with_sign(__m512i x, __m512i w) {
    return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
}
#elif HWY_TARGET == HWY_AVX2
HWY_INLINE __m256i pairs(__m256i w, __m256i x) { return _mm256_maddubs_epi16(w, x); }
HWY_INLINE __m256i add16(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
HWY_INLINE __m256i widen(__m256i p) { return _mm256_madd_epi16(p, _mm256_set1_epi16(1)); }
HWY_INLINE __m256i magnitude(__m256i w) { return _mm256_abs_epi8(w); }
HWY_INLINE __m256i with_sign(__m256i x, __m256i w) { return _mm256_sign_epi8(x, w); }
#endif

// Without the dot product instruction. Nibbles: eight pair sums of at most 2·15·127 fit 16 bits. Bytes: the
// sign moves to the activation, then a pair is at most 2·128·127 = 32512, which fits as well.
struct PairDot {
    template <DType kType>
    struct Codes {
        explicit HWY_INLINE Codes(const std::byte* codes) {
            unpack<kType>(codes, w_);
            if constexpr (kType == DType::Q8_0)
                for (auto& w : w_) w = hn::Xor(w, hn::Set(ByteTag(), std::uint8_t{0x80}));
        }
        HWY_INLINE IntVector dot(std::int32_t start, const std::byte* x) const {
            if constexpr (kType == DType::Q8_0) {
                // The weights are signed again here, so the correction `start` is not needed.
                IntVector sum = hn::Zero(IntTag());
                for (int i = 0; i < 8; ++i)
                    sum = hn::Add(sum, IntVector{widen(pairs(magnitude(w_[i].raw),
                                                             with_sign(four(x + 4 * i).raw, w_[i].raw)))});
                return sum;
            } else {
                auto sum = pairs(w_[0].raw, four(x).raw);
                for (int i = 1; i < 8; ++i) sum = add16(sum, pairs(w_[i].raw, four(x + 4 * i).raw));
                return hn::Add(hn::Set(IntTag(), start), IntVector{widen(sum)});
            }
        }

      private:
        ByteVector w_[8];
    };
};

#if HWY_TARGET == HWY_AVX3_DL
using BestDot = VnniDot;
#else
using BestDot = PairDot;
#endif

#else  // neither x86 nor scalar

// In Highway's own operations: products of 8-bit numbers fit 16 bits (255 · 127 = 32385).
struct BestDot {
    template <DType kType>
    struct Codes {
        explicit HWY_INLINE Codes(const std::byte* codes) { unpack<kType>(codes, w_); }
        HWY_INLINE IntVector dot(std::int32_t start, const std::byte* x) const {
            const hn::Repartition<std::uint16_t, FloatTag> u16;
            const hn::Repartition<std::int16_t, FloatTag> i16;
            const IntTag i32;
            IntVector sum = hn::Set(i32, start);
            for (int i = 0; i < 8; ++i) {
                const auto w = hn::BitCast(u16, w_[i]);
                const auto v = hn::BitCast(i16, four(x + 4 * i));
                const auto even = hn::Mul(hn::BitCast(i16, hn::And(w, hn::Set(u16, std::uint16_t{0xFF}))),
                                          hn::ShiftRight<8>(hn::ShiftLeft<8>(v)));
                const auto odd = hn::Mul(hn::BitCast(i16, hn::ShiftRight<8>(w)), hn::ShiftRight<8>(v));
                for (const auto& products : {even, odd}) {
                    const auto both = hn::BitCast(i32, products);
                    sum = hn::Add(
                        sum, hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(both)), hn::ShiftRight<16>(both)));
                }
            }
            return sum;
        }

      private:
        ByteVector w_[8];
    };
};

#endif
#endif  // HWY_SCALAR

}  // namespace
}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
