// One group of 32 weights out of the planes of view.h, in every format.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/places.cuh"
#include "kernels/cuda/view.h"
#include "kernels/host/super_block.h"

namespace vitrine::cuda {

__device__ inline float half_bits(std::uint16_t bits) { return __half2float(__ushort_as_half(bits)); }

// The codes of a group as 32 numbers: eight words of four bytes, input 4 k + b in byte b of word k.
struct Codes {
    std::uint32_t word[8];
    __device__ int at(int i) const { return static_cast<int>((word[i / 4] >> (8 * (i % 4))) & 255U); }
};

template <DType kType>
__device__ inline Codes load_codes(const WeightView& w, std::int32_t row, std::int32_t g) {
    Codes c;
    const std::int32_t groups = w.cols / 32;
    const std::int64_t place = code_place(row, g, groups);
    if constexpr (kType == DType::Q8_0) {
        const auto* p = reinterpret_cast<const uint4*>(w.bytes);
        const uint4 a = __ldg(p + byte_place(row, g, 0, groups));
        const uint4 b = __ldg(p + byte_place(row, g, 1, groups));
        c = {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    } else if constexpr (has_low(kType)) {
        const uint4 a = __ldg(reinterpret_cast<const uint4*>(w.low) + place);
        constexpr std::uint32_t kLow = 0x0F0F0F0FU;
        c = {{a.x & kLow, a.y & kLow, a.z & kLow, a.w & kLow, (a.x >> 4) & kLow, (a.y >> 4) & kLow,
              (a.z >> 4) & kLow, (a.w >> 4) & kLow}};
    } else {
#pragma unroll
        for (auto& v : c.word) v = 0;
    }
    if constexpr (has_two(kType)) {
        const uint2 a = __ldg(reinterpret_cast<const uint2*>(w.two) + place);
        constexpr int kShift = kType == DType::Q6_K ? 4 : 0;
#pragma unroll
        for (int f = 0; f < 4; ++f) {
            c.word[f] |= ((a.x >> (2 * f)) & 0x03030303U) << kShift;
            c.word[4 + f] |= ((a.y >> (2 * f)) & 0x03030303U) << kShift;
        }
    }
    if constexpr (has_one(kType)) {
        const std::uint32_t a = __ldg(reinterpret_cast<const std::uint32_t*>(w.one) + place);
        constexpr int kShift = kType == DType::Q3_K ? 2 : 4;
#pragma unroll
        for (int f = 0; f < 8; ++f) c.word[f] |= ((a >> f) & 0x01010101U) << kShift;
    }
    return c;
}

// w = scale · value − minimum for the first and the second sixteen of a group.
struct Scales {
    float scale[2];
    float minimum[2];
};

template <DType kType>
__device__ inline Scales load_scales(const WeightView& w, std::int32_t row, std::int32_t g) {
    Scales s{};
    const std::int32_t groups = w.cols / 32;
    const std::int64_t place = scale_place(row, g, groups);
    if constexpr (!has_super(kType)) {
        const auto* words = reinterpret_cast<const std::uint16_t*>(w.scale);
        constexpr int kWords = scale_bytes(kType) / 2;
        s.scale[0] = s.scale[1] = half_bits(__ldg(words + place * kWords));
        if constexpr (has_minimum(kType))
            s.minimum[0] = s.minimum[1] = -half_bits(__ldg(words + place * kWords + 1));
    } else {
        const std::int64_t block = super_place(row, g / 8, groups / 8);
        constexpr int kWords = has_minimum(kType) ? 2 : 1;
        const float d = half_bits(__ldg(w.super + block * kWords));
        const float dmin = has_minimum(kType) ? half_bits(__ldg(w.super + block * kWords + 1)) : 0.0F;
        const std::uint8_t* small = w.scale + place * scale_bytes(kType);
        for (int i = 0; i < 2; ++i) {
            if constexpr (kType == DType::Q2_K) {
                s.scale[i] = d * static_cast<float>(__ldg(small + i) & 15);
                s.minimum[i] = dmin * static_cast<float>(__ldg(small + i) >> 4);
            } else if constexpr (has_minimum(kType)) {
                s.scale[i] = d * static_cast<float>(__ldg(small));
                s.minimum[i] = dmin * static_cast<float>(__ldg(small + 1));
            } else {
                const auto value = static_cast<std::int8_t>(__ldg(small + (has_halves(kType) ? i : 0)));
                s.scale[i] = d * static_cast<float>(value);
            }
        }
    }
    return s;
}

__device__ inline int iq4_value(int code) {
    // kIq4Values, as bytes of four words.
    constexpr std::uint32_t kTable[4] = {0xBFAD9881U, 0xF6EADDCFU, 0x26190D01U, 0x71594535U};
    return static_cast<std::int8_t>(kTable[code / 4] >> (8 * (code % 4)));
}

__device__ inline float f8_value(std::uint8_t code) {
    const std::uint32_t sign = (code & 0x80U) << 24U;
    const std::uint32_t magnitude = code & 0x7FU;
    if (magnitude == 0x7FU) return __uint_as_float(sign | 0x7FC00000U);
    // As the exponent and mantissa of a float 2^-120 too small: subnormals come out right as well.
    return __uint_as_float(sign | (magnitude << 20U)) * 0x1p120F;
}

// The 32 weights of group `g` of row `row` in float32, exactly as the processor's reference gives them.
// Columns beyond the row are zero.
template <DType kType>
__device__ inline void load_group(const WeightView& w, std::int32_t row, std::int32_t g, float (&out)[32]) {
    constexpr bool kFloats = kType == DType::F32 || kType == DType::F16 || kType == DType::BF16;
    if constexpr (kFloats || kType == DType::F8_E4M3 || kType == DType::I8) {
        const std::int64_t first = std::int64_t{row} * w.cols + g * 32;
        const int count = min(32, w.cols - g * 32);
        for (int i = 0; i < 32; ++i) {
            float v = 0;
            if (i < count) {
                if constexpr (kType == DType::F32) v = reinterpret_cast<const float*>(w.bytes)[first + i];
                if constexpr (kType == DType::F16)
                    v = half_bits(reinterpret_cast<const std::uint16_t*>(w.bytes)[first + i]);
                if constexpr (kType == DType::BF16)
                    v = __uint_as_float(
                        static_cast<std::uint32_t>(reinterpret_cast<const std::uint16_t*>(w.bytes)[first + i])
                        << 16U);
                if constexpr (kType == DType::F8_E4M3) v = f8_value(w.bytes[first + i]);
                if constexpr (kType == DType::I8)
                    v = static_cast<float>(static_cast<std::int8_t>(w.bytes[first + i]));
                if constexpr (!kFloats) {
                    const std::int32_t across = (w.cols + w.tile_cols - 1) / w.tile_cols;
                    v *= w.grid[std::int64_t{(w.first_row + row) / w.tile_rows} * across +
                                (g * 32 + i) / w.tile_cols];
                }
            }
            out[i] = v;
        }
    } else {
        const Codes c = load_codes<kType>(w, row, g);
        const Scales s = load_scales<kType>(w, row, g);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            int value = c.at(i);
            if constexpr (kType == DType::Q8_0)
                value = static_cast<std::int8_t>(value);
            else if constexpr (kType == DType::IQ4_NL || kType == DType::IQ4_XS)
                value = iq4_value(value);
            else
                value -= code_offset(kType);
            // Two roundings, as on the processor: no fused multiply-add here.
            out[i] = __fsub_rn(__fmul_rn(s.scale[i / 16], static_cast<float>(value)), s.minimum[i / 16]);
        }
    }
}

// Calls f.template operator()<type>() for the type of a weight.
template <class F>
void for_type(DType type, F&& f) {
    switch (type) {
        case DType::F32: return f.template operator()<DType::F32>();
        case DType::F16: return f.template operator()<DType::F16>();
        case DType::BF16: return f.template operator()<DType::BF16>();
        case DType::Q8_0: return f.template operator()<DType::Q8_0>();
        case DType::Q4_0: return f.template operator()<DType::Q4_0>();
        case DType::Q4_1: return f.template operator()<DType::Q4_1>();
        case DType::Q5_0: return f.template operator()<DType::Q5_0>();
        case DType::Q5_1: return f.template operator()<DType::Q5_1>();
        case DType::IQ4_NL: return f.template operator()<DType::IQ4_NL>();
        case DType::Q2_K: return f.template operator()<DType::Q2_K>();
        case DType::Q3_K: return f.template operator()<DType::Q3_K>();
        case DType::Q4_K: return f.template operator()<DType::Q4_K>();
        case DType::Q5_K: return f.template operator()<DType::Q5_K>();
        case DType::Q6_K: return f.template operator()<DType::Q6_K>();
        case DType::IQ4_XS: return f.template operator()<DType::IQ4_XS>();
        case DType::F8_E4M3: return f.template operator()<DType::F8_E4M3>();
        case DType::I8: return f.template operator()<DType::I8>();
    }
}

}  // namespace vitrine::cuda
