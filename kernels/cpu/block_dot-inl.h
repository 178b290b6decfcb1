// The integer dot product of one block, for each instruction set.
//
// Codes<type> holds a block of sixteen rows, unpacked. dot<first, count>(start, x) adds to `start` the sum of
// code · x over the vectors [first, first + count), each four inputs. Codes are meant as weight_factor()
// says: where a format subtracts an offset, they are shifted up until it is 128, and the caller has −128 · Σx
// in `start`. The signed forms of 8-bit codes subtract it themselves and start from kMagic. Included once per
// Highway target.
#if defined(VITRINE_BLOCK_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_BLOCK_DOT_INL_H
#undef VITRINE_BLOCK_DOT_INL_H
#else
#define VITRINE_BLOCK_DOT_INL_H
#endif

#include "kernels/cpu/vectors-inl.h"
#include "kernels/host/super_block.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // part of the target, but not of what Highway 1.0.3 tells the compiler
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

// Sums start from this, so that their bits are those of the float32 number 1.5 · 2^23 + sum: exact for
// |sum| < 2^22, and converted without an instruction. A block's sum is below 255 · 127 · 32 < 2^20.
constexpr std::int32_t kMagicBits = 0x4B400000;
constexpr float kMagic = 12582912.0F;

constexpr int code_bits(DType type) {
    return is_iq4(type) ? 8 : code_layout(type).low_bits + code_layout(type).high_bits;
}
// Bits that a code is shifted up, so that its format's offset becomes 128.
constexpr int code_shift(DType type) { return code_layout(type).minimum ? 0 : 8 - code_bits(type); }
// What the scale has to be multiplied with for that.
constexpr float weight_factor(DType type) { return 1.0F / static_cast<float>(1 << code_shift(type)); }

#if HWY_TARGET == HWY_SCALAR

// One row at a time.
struct BestDot {
    template <DType kType>
    struct Codes {
        explicit Codes(const std::byte* codes) : codes_(codes) {}
        template <int kFirst, int kCount>
        IntVector dot(IntVector start, const std::byte* x) const {
            std::int32_t sum = start.raw;
            for (int i = 4 * kFirst; i < 4 * (kFirst + kCount); ++i) {
                const unsigned code = code_at(code_layout(kType), codes_, i);
                const int w =
                    is_iq4(kType) ? kIq4Values[code] + 128 : static_cast<int>(code << code_shift(kType));
                sum += w * static_cast<std::int8_t>(x[i]);
            }
            return IntVector{sum};
        }

      private:
        const std::byte* codes_;
    };
};

#else

using ByteTag = hn::Repartition<std::uint8_t, FloatTag>;
using ByteVector = hn::Vec<ByteTag>;

// Bits kFrom… of every byte moved to kTo…, kBits of them; zero elsewhere.
template <int kFrom, int kTo, int kBits>
HWY_INLINE ByteVector bits_moved(ByteVector v) {
    const ByteTag d8;
    const hn::Repartition<std::uint16_t, FloatTag> d16;
    if constexpr (kTo > kFrom)
        v = hn::BitCast(d8, hn::ShiftLeft<kTo - kFrom>(hn::BitCast(d16, v)));
    else if constexpr (kTo < kFrom)
        v = hn::BitCast(d8, hn::ShiftRight<kFrom - kTo>(hn::BitCast(d16, v)));
    return hn::And(v, hn::Set(d8, static_cast<std::uint8_t>(((1 << kBits) - 1) << kTo)));
}

// One of the eight vectors of a block's codes, shifted up by kShift. low and high: the loaded planes.
template <DType kType, int kShift, int i>
HWY_INLINE ByteVector code_vector(const ByteVector* low, const ByteVector* high) {
    constexpr CodeLayout kLayout = code_layout(kType);
    ByteVector w = low[kLayout.low_bits == 8 ? i : 0];
    if constexpr (kLayout.low_bits == 4)
        w = bits_moved < i < 4 ? 0 : 4, kShift, 4 > (low[i % 4]);
    else if constexpr (kLayout.low_bits == 2)
        w = bits_moved<i % 4 * 2, kShift, 2>(low[i / 4]);
    constexpr int kTo = kShift + kLayout.low_bits;
    if constexpr (kLayout.high_bits == 1)
        w = hn::Or(w, bits_moved<i, kTo, 1>(high[0]));
    else if constexpr (kLayout.high_bits == 2)
        w = hn::Or(w, bits_moved<i % 4 * 2, kTo, 2>(high[i / 4]));
    if constexpr (is_iq4(kType)) {
        alignas(16) static constexpr std::uint8_t kTable[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                                129, 141, 153, 166, 181, 197, 217, 241};
        w = hn::TableLookupBytes(hn::LoadDup128(ByteTag(), kTable), w);
    }
    return w;
}

// The eight vectors of a block's codes, each with four inputs of every row, unsigned.
template <DType kType, int kShift>
HWY_INLINE void unpack(const std::byte* codes, ByteVector (&w)[8]) {
    constexpr CodeLayout kLayout = code_layout(kType);
    const ByteTag d8;
    const auto* p = reinterpret_cast<const std::uint8_t*>(codes);
    ByteVector low[kLayout.low_bits];
    ByteVector high[kLayout.high_bits + 1];
    HWY_UNROLL(16)
    for (int i = 0; i < kLayout.low_bits; ++i) low[i] = hn::LoadU(d8, p + 64 * i);
    HWY_UNROLL(16)
    for (int i = 0; i < kLayout.high_bits; ++i) high[i] = hn::LoadU(d8, p + kLayout.low_bytes() + 64 * i);
    w[0] = code_vector<kType, kShift, 0>(low, high);
    w[1] = code_vector<kType, kShift, 1>(low, high);
    w[2] = code_vector<kType, kShift, 2>(low, high);
    w[3] = code_vector<kType, kShift, 3>(low, high);
    w[4] = code_vector<kType, kShift, 4>(low, high);
    w[5] = code_vector<kType, kShift, 5>(low, high);
    w[6] = code_vector<kType, kShift, 6>(low, high);
    w[7] = code_vector<kType, kShift, 7>(low, high);
}

// Four activations in every row's lane.
HWY_INLINE ByteVector four(const std::byte* x) {
    return hn::BitCast(ByteTag(), hn::Set(IntTag(), load_int(x)));
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
// sum + w · (four activations at x, for every row). By name: most targets do not include the instruction, but
// processors of theirs may have it, and compilers load the activations with an instruction of their own.
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE IntVector dot_instruction(IntVector sum, ByteVector w, const std::byte* x) {
    asm("vpdpbusd %2%{1to16%}, %1, %0"
        : "+v"(sum.raw)
        : "v"(w.raw), "m"(*reinterpret_cast<const std::int32_t*>(x)));
    return sum;
}
#elif HWY_TARGET == HWY_AVX2
HWY_INLINE IntVector dot_instruction(IntVector sum, ByteVector w, const std::byte* x) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(w.raw), "x"(four(x).raw));
    return sum;
}
#endif

struct VnniDot {
    template <DType kType>
    struct Codes {
        explicit HWY_INLINE Codes(const std::byte* codes) { unpack<kType, code_shift(kType)>(codes, w_); }
        template <int kFirst, int kCount>
        HWY_INLINE IntVector dot(IntVector start, const std::byte* x) const {
            HWY_UNROLL(16)
            for (int i = kFirst; i < kFirst + kCount; ++i) start = dot_instruction(start, w_[i], x + 4 * i);
            return start;
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

// Without the dot product instruction. Codes of up to 6 bits: a pair sum is at most 2 · 63 · 127, and as many
// are added as fit 16 bits. Bytes: the sign moves to the activation, then a pair is at most 2·128·127 =
// 32512, which fits as well.
struct PairDot {
    template <DType kType>
    struct Codes {
        static constexpr bool kBytes = code_bits(kType) == 8;
        static constexpr int kAtOnce = kBytes ? 1 : 32767 / (2 * 127 * ((1 << code_bits(kType)) - 1));

        explicit HWY_INLINE Codes(const std::byte* codes) {
            unpack<kType, 0>(codes, w_);
            if constexpr (kBytes)
                for (auto& w : w_) w = hn::Xor(w, hn::Set(ByteTag(), std::uint8_t{0x80}));
        }
        template <int kFirst, int kCount>
        HWY_INLINE IntVector dot(IntVector start, const std::byte* x) const {
            const IntTag i32;
            if constexpr (kBytes) {
                IntVector sum = hn::Set(i32, kMagicBits);
                HWY_UNROLL(16)
                for (int i = kFirst; i < kFirst + kCount; ++i)
                    sum = hn::Add(sum, IntVector{widen(pairs(magnitude(w_[i].raw),
                                                             with_sign(four(x + 4 * i).raw, w_[i].raw)))});
                return sum;
            } else {
                IntVector sum = hn::Zero(i32);
                HWY_UNROLL(16)
                for (int i = kFirst; i < kFirst + kCount; i += kAtOnce) {
                    auto part = pairs(w_[i].raw, four(x + 4 * i).raw);
                    HWY_UNROLL(16)
                    for (int j = i + 1; j < i + kAtOnce && j < kFirst + kCount; ++j)
                        part = add16(part, pairs(w_[j].raw, four(x + 4 * j).raw));
                    sum = hn::Add(sum, IntVector{widen(part)});
                }
                return hn::Add(start, hn::ShiftLeft<code_shift(kType)>(sum));
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
        explicit HWY_INLINE Codes(const std::byte* codes) { unpack<kType, code_shift(kType)>(codes, w_); }
        template <int kFirst, int kCount>
        HWY_INLINE IntVector dot(IntVector sum, const std::byte* x) const {
            const hn::Repartition<std::uint16_t, FloatTag> u16;
            const hn::Repartition<std::int16_t, FloatTag> i16;
            const IntTag i32;
            for (int i = kFirst; i < kFirst + kCount; ++i) {
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
