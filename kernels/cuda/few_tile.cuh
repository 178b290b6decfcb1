// What a lane holds of a panel (16 rows) in one step along the inputs, and what it makes of it. Lane 4 r + t
// has its share t of rows r and r + 8: the operand layout of the tensor cores' m16n8k16, used by the kernel
// for one row as well.
//
// A step is 128 inputs of quantized and one-byte formats (a quad), 64 of F16 and BF16, 32 of F32. Within a
// step a lane's inputs come in `units` of eight; kArrangement says which.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#if defined(__CUDACC__)
#include <cuda_fp8.h>
#endif

#include "kernels/cuda/formats.cuh"

namespace vitrine::cuda::few {

enum class Arrangement : std::uint8_t {
    Plain,   // unit u, share t: inputs 32 u + 8 t, eight in a row
    Bytes,   // pairs of units: inputs 64 (u / 2) + 16 t + 8 (u % 2), eight in a row
    Groups,  // four units: group t of quad u / 4; with j = u % 4 inputs 4 j + {0, 2, 1, 3} and 16 more
};

constexpr Arrangement arrangement_of(DType t) {
    if (is_quantized(t)) return Arrangement::Groups;
    return t == DType::F8_E4M3 || t == DType::I8 ? Arrangement::Bytes : Arrangement::Plain;
}
constexpr int step_inputs(DType t) {
    return t == DType::F32 ? 32 : t == DType::F16 || t == DType::BF16 ? 64 : 128;
}

// Weights are read once: they shall not push the activations out of the first-level cache.
__device__ inline uint4 stream_16(const void* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}
__device__ inline uint2 stream_8(const void* p) {
    uint2 v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
}
__device__ inline std::uint32_t stream_4(const void* p) {
    std::uint32_t v;
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}

__device__ inline float low_half(std::uint32_t v) {
    return half_bits(static_cast<std::uint16_t>(v & 0xFFFFU));
}
__device__ inline float high_half(std::uint32_t v) { return half_bits(static_cast<std::uint16_t>(v >> 16U)); }
__device__ inline std::uint32_t half_pair(float v) {
    const __half2 h = __float2half2_rn(v);
    return *reinterpret_cast<const std::uint32_t*>(&h);
}
__device__ inline __half2 as_halves(std::uint32_t v) { return *reinterpret_cast<__half2*>(&v); }
__device__ inline std::uint32_t as_bits(__half2 v) { return *reinterpret_cast<std::uint32_t*>(&v); }

// One row of activations as signed bytes, sixteen to a scale; a mark holds what belongs to a group of 32.
struct alignas(16) GroupMark {
    float scale0;
    float sum0;  // of the bytes of the first sixteen
    float scale1;
    float sum1;
};

// `a` under the mask, with `bits` set: one instruction.
template <std::uint32_t kMask, std::uint32_t kBits>
__device__ inline std::uint32_t masked(std::uint32_t a) {
    std::uint32_t v;
    asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(v) : "r"(a), "n"(kMask), "r"(kBits));
    return v;
}

template <DType kType>
struct Panel {
    static constexpr bool kQuantized = is_quantized(kType);
    static constexpr bool kOutside = kType == DType::F8_E4M3 || kType == DType::I8;
    static constexpr int kStep = step_inputs(kType);
    static constexpr int kLoads = has_low(kType) ? 1 : kQuantized && kType != DType::Q8_0 ? 0 : 2;
    static constexpr int kUnits = kStep / 32;
    static constexpr int kRegisters = 8 * kLoads + (has_two(kType) ? 4 : 0) + (has_one(kType) ? 2 : 0) +
                                      (kQuantized ? (scale_bytes(kType) + 1) / 2 : 0) +
                                      (has_super(kType) ? 1 + (has_minimum(kType) ? 1 : 0) : 0) +
                                      (kOutside ? 2 : 0);

    std::uint32_t data[2][kLoads > 0 ? kLoads * 4 : 1];
    std::uint32_t two[2][2];
    std::uint32_t one[2];
    std::uint32_t scale[2];  // both rows' entries
    std::uint32_t super[2];
    float grid[2];

    // One that every load brings along.
    __device__ std::uint32_t a_word() const {
        if constexpr (kQuantized) return scale[0];
        return data[0][0];
    }

    __device__ void clear() {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
#pragma unroll
            for (auto& v : data[h]) v = 0;
            two[h][0] = two[h][1] = one[h] = scale[h] = super[h] = 0;
            grid[h] = 0;
        }
    }

    __device__ void load(const WeightView& w, std::int32_t panel, std::int32_t step, int lane) {
        const int r = lane / 4;
        const int t = lane % 4;
        if constexpr (kQuantized) {
            const int groups = w.cols / 32;
            const int width = quad_width(step * kQuadGroups, groups);
            if (t >= width) return clear();
            const std::int64_t quad = quad_place(panel, step, groups);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const std::int64_t place = quad + (r + 8 * h) * width + t;
                if constexpr (kType == DType::Q8_0) {
                    const std::int64_t first = 2 * quad + (r + 8 * h) * width + t;
                    put(h, 0, stream_16(w.bytes + first * 16));
                    put(h, 1, stream_16(w.bytes + (first + kPanelRows * width) * 16));
                }
                if constexpr (has_low(kType)) put(h, 0, stream_16(w.low + place * 16));
                if constexpr (has_two(kType)) {
                    const uint2 v = stream_8(w.two + place * 8);
                    two[h][0] = v.x;
                    two[h][1] = v.y;
                }
                if constexpr (has_one(kType)) one[h] = stream_4(w.one + place * 4);
            }
            const std::int64_t both = quad + (r * width + t) * 2;
            if constexpr (scale_bytes(kType) == 4) {
                const uint2 v = stream_8(w.scale + both * 4);
                scale[0] = v.x;
                scale[1] = v.y;
            } else if constexpr (scale_bytes(kType) == 2) {
                scale[0] = stream_4(w.scale + both * 2);
            } else {
                scale[0] = __ldg(reinterpret_cast<const std::uint16_t*>(w.scale + both));
            }
            if constexpr (has_super(kType)) {
                const std::int64_t block =
                    (std::int64_t{panel} * (groups / 8) + step / 2) * kPanelRows + r * 2;
                if constexpr (has_minimum(kType)) {
                    const uint2 v = __ldg(reinterpret_cast<const uint2*>(w.super + block * 2));
                    super[0] = v.x;
                    super[1] = v.y;
                } else {
                    super[0] = __ldg(reinterpret_cast<const std::uint32_t*>(w.super + block));
                }
            }
        } else {
            constexpr int kSize = kType == DType::F32 ? 4 : kOutside ? 1 : 2;
            constexpr int kIn = 16 / kSize;  // inputs of a load
            load_grid(w, panel, step, lane);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const std::int32_t row = min(panel * kPanelRows + r + 8 * h, w.rows - 1);
#pragma unroll
                for (int l = 0; l < 2; ++l) {
                    const std::int32_t k = step * kStep + l * 4 * kIn + t * kIn;
                    const std::int64_t at = (std::int64_t{row} * w.cols + k) * kSize;
                    put(h, l, k < w.cols ? stream_16(w.bytes + at) : uint4{0, 0, 0, 0});
                }
            }
        }
    }

    // Step `local` of a stage in shared memory; `step` is its number in the row. S: Stage of few_ring.cuh.
    template <class S>
    __device__ void load_staged(const std::uint8_t* base, int local, std::int32_t step, std::int32_t cols,
                                int lane) {
        const int r = lane / 4;
        const int t = lane % 4;
        if constexpr (kQuantized) {
            const int width = quad_width(step * kQuadGroups, cols / 32);
            if (t >= width) return clear();
            // Of a full quad the place is the lane's number.
            const int place = width == kQuadGroups ? lane : r * width + t;
            const int next = 8 * width;
            const int quad = local * kQuadGroups * kPanelRows;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int at = quad + place + h * next;
                if constexpr (kType == DType::Q8_0) {
                    const auto* from = reinterpret_cast<const uint4*>(base + S::kLow) + quad + at;
                    put(h, 0, from[0]);
                    put(h, 1, from[kPanelRows * width]);
                }
                if constexpr (has_low(kType)) put(h, 0, reinterpret_cast<const uint4*>(base + S::kLow)[at]);
                if constexpr (has_two(kType)) {
                    const uint2 v = reinterpret_cast<const uint2*>(base + S::kTwo)[at];
                    two[h][0] = v.x;
                    two[h][1] = v.y;
                }
                if constexpr (has_one(kType))
                    one[h] = reinterpret_cast<const std::uint32_t*>(base + S::kOne)[at];
            }
            const std::uint8_t* both = base + S::kScale + (quad + place * 2) * scale_bytes(kType);
            if constexpr (scale_bytes(kType) == 4) {
                const uint2 v = *reinterpret_cast<const uint2*>(both);
                scale[0] = v.x;
                scale[1] = v.y;
            } else if constexpr (scale_bytes(kType) == 2) {
                scale[0] = *reinterpret_cast<const std::uint32_t*>(both);
            } else {
                scale[0] = *reinterpret_cast<const std::uint16_t*>(both);
            }
            if constexpr (has_super(kType)) {
                const std::uint8_t* from = base + S::kSuper + local / 2 * S::kSuperBytes;
                if constexpr (has_minimum(kType)) {
                    const uint2 v = reinterpret_cast<const uint2*>(from)[r];
                    super[0] = v.x;
                    super[1] = v.y;
                } else {
                    super[0] = reinterpret_cast<const std::uint32_t*>(from)[r];
                }
            }
        } else {
            constexpr int kIn = kStep / 8;  // inputs of sixteen bytes
#pragma unroll
            for (int l = 0; l < 2; ++l) {
                const bool there = step * kStep + l * 4 * kIn + t * kIn < cols;
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const std::uint8_t* from =
                        base + (r + 8 * h) * S::kRowBytes + local * 128 + l * 64 + t * 16;
                    put(h, l, there ? *reinterpret_cast<const uint4*>(from) : uint4{0, 0, 0, 0});
                }
            }
        }
    }
    __device__ void load_grid(const WeightView& w, std::int32_t panel, std::int32_t step, int lane) {
        if constexpr (kOutside) {
            const std::int32_t across = (w.cols + w.tile_cols - 1) / w.tile_cols;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const std::int32_t row = min(panel * kPanelRows + lane / 4 + 8 * h, w.rows - 1);
                grid[h] = __ldg(w.grid + std::int64_t{(w.first_row + row) / w.tile_rows} * across +
                                step * kStep / w.tile_cols);
            }
        }
    }

    __device__ void put(int h, int l, uint4 v) {
        data[h][l * 4] = v.x;
        data[h][l * 4 + 1] = v.y;
        data[h][l * 4 + 2] = v.z;
        data[h][l * 4 + 3] = v.w;
    }

    // Codes 4 j … and 16 + 4 j … of a group, a byte each; signed values of IQ4, Q8_0.
    __device__ void words(int h, int j, std::uint32_t& low, std::uint32_t& high) const {
        if constexpr (kType == DType::Q8_0) {
            low = data[h][j];
            high = data[h][4 + j];
        } else if constexpr (kType == DType::IQ4_NL || kType == DType::IQ4_XS) {
            // Table look-ups of four nibbles at a time: by their low three bits in both halves of the table,
            // then a choice by the fourth bit. Even bytes come from low nibbles, odd ones from high.
            const std::uint32_t a = look_up(data[h][j]);
            const std::uint32_t b = look_up(data[h][j] >> 16U);
            low = __byte_perm(a, b, 0x6420);
            high = __byte_perm(a, b, 0x7531);
        } else {
            low = high = 0;
            if constexpr (has_low(kType)) {
                low = data[h][j] & 0x0F0F0F0FU;
                high = (data[h][j] >> 4U) & 0x0F0F0F0FU;
            }
            if constexpr (has_two(kType)) {
                constexpr int kUp = kType == DType::Q6_K ? 4 : 0;
                low |= ((two[h][0] >> (2 * j)) & 0x03030303U) << kUp;
                high |= ((two[h][1] >> (2 * j)) & 0x03030303U) << kUp;
            }
            if constexpr (has_one(kType)) {
                constexpr int kUp = kType == DType::Q3_K ? 2 : 4;
                low |= ((one[h] >> j) & 0x01010101U) << kUp;
                high |= ((one[h] >> (4 + j)) & 0x01010101U) << kUp;
            }
        }
    }
    __device__ static std::uint32_t look_up(std::uint32_t nibbles) {
        const std::uint32_t three = nibbles & 0x7777U;
        const std::uint32_t lower = __byte_perm(0xBFAD9881U, 0xF6EADDCFU, three);
        const std::uint32_t upper = __byte_perm(0x26190D01U, 0x71594535U, three);
        return __byte_perm(lower, upper, 0x3210U | ((nibbles >> 1U) & 0x4444U));
    }

    // The scales of row half h: w = scale · (code − offset) − minimum, for the two sixteens of a group.
    __device__ Scales scales(int h) const {
        Scales s{};
        if constexpr (!has_super(kType)) {
            if constexpr (scale_bytes(kType) == 4) {
                s.scale[0] = low_half(scale[h]);
                s.minimum[0] = -high_half(scale[h]);
            } else {
                s.scale[0] = h == 0 ? low_half(scale[0]) : high_half(scale[0]);
            }
            s.scale[1] = s.scale[0];
            s.minimum[1] = s.minimum[0];
        } else {
            int small[2];
            int minimum[2] = {0, 0};
            integers(h, small, minimum);
            const float d = this->d(h);
            const float dmin = has_minimum(kType) ? high_half(super[h]) : 0.0F;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                s.scale[i] = d * static_cast<float>(small[i]);
                s.minimum[i] = dmin * static_cast<float>(minimum[i]);
            }
        }
        return s;
    }
    __device__ float d(int h) const {
        if constexpr (has_minimum(kType)) return low_half(super[h]);
        return h == 0 ? low_half(super[0]) : high_half(super[0]);
    }
    // Small scales and minima of formats with super-blocks.
    __device__ void integers(int h, int (&small)[2], int (&minimum)[2]) const {
        const auto byte = [&](int i) { return (scale[0] >> (8 * i)) & 255U; };
        if constexpr (kType == DType::IQ4_XS) {
            small[0] = small[1] = static_cast<std::int8_t>(byte(h));
        } else if constexpr (kType == DType::Q2_K) {
            for (int i = 0; i < 2; ++i) {
                small[i] = static_cast<int>(byte(2 * h + i) & 15U);
                minimum[i] = static_cast<int>(byte(2 * h + i) >> 4U);
            }
        } else if constexpr (has_minimum(kType)) {
            small[0] = small[1] = static_cast<int>(byte(2 * h));
            minimum[0] = minimum[1] = static_cast<int>(byte(2 * h + 1));
        } else {
            for (int i = 0; i < 2; ++i) small[i] = static_cast<std::int8_t>(byte(2 * h + i));
        }
    }

    // One row of activations, weights quantized: sum[h] += the lane's share of the product.
    __device__ void add_product(std::int32_t step, int lane, std::int32_t cols, const std::uint32_t* codes,
                                const GroupMark* marks, float (&sum)[2]) const {
        const int t = lane % 4;
        const std::int32_t group = step * kQuadGroups + t;
        if (group * 32 >= cols) return;
        const auto* in = reinterpret_cast<const uint4*>(codes) + group * 2;
        const uint4 a = in[0];
        const uint4 b = in[1];
        const std::uint32_t first[4] = {a.x, a.y, a.z, a.w};
        const std::uint32_t second[4] = {b.x, b.y, b.z, b.w};
        const GroupMark mark = marks[group];
        constexpr auto kOffset = static_cast<float>(code_offset(kType));
        const float all = fmaf(mark.scale0, mark.sum0, mark.scale1 * mark.sum1);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            int dot[2] = {0, 0};
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                std::uint32_t low;
                std::uint32_t high;
                words(h, j, low, high);
                dot[0] = __dp4a(static_cast<int>(low), static_cast<int>(first[j]), dot[0]);
                dot[1] = __dp4a(static_cast<int>(high), static_cast<int>(second[j]), dot[1]);
            }
            const float p = mark.scale0 * static_cast<float>(dot[0]);
            const float q = mark.scale1 * static_cast<float>(dot[1]);
            if constexpr (has_halves(kType)) {
                int small[2];
                int minimum[2];
                integers(h, small, minimum);
                const float p0 = mark.scale0 * mark.sum0;
                const float q0 = mark.scale1 * mark.sum1;
                float part = static_cast<float>(small[0]) * fmaf(-kOffset, p0, p) +
                             static_cast<float>(small[1]) * fmaf(-kOffset, q0, q);
                part *= d(h);
                if constexpr (has_minimum(kType))
                    part -= high_half(super[h]) *
                            (static_cast<float>(minimum[0]) * p0 + static_cast<float>(minimum[1]) * q0);
                sum[h] += part;
            } else {
                const Scales s = scales(h);
                const float part = kOffset != 0 ? fmaf(-kOffset, all, p + q) : p + q;
                sum[h] = fmaf(s.scale[0], part, sum[h]);
                if constexpr (has_minimum(kType)) sum[h] = fmaf(-s.minimum[0], all, sum[h]);
            }
        }
    }

    // Factors of a row half for fragment(), as pairs of halves.
    struct Factors {
        std::uint32_t scale[2];
        std::uint32_t minimum[2];
    };
    __device__ Factors factors(int h) const {
        Factors f{};
        if constexpr (kQuantized) {
            const Scales s = scales(h);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                f.scale[i] = half_pair(s.scale[i]);
                f.minimum[i] = half_pair(-s.minimum[i]);
            }
        }
        return f;
    }

    // The eight weights of unit u of row half h as f16, without outside scales. Quantized: four pairs, of
    // inputs 4 j + {0, 2}, {1, 3}, 16 + 4 j + {0, 2}, {1, 3}; the others: in order.
    __device__ void fragment(int h, int u, std::uint32_t (&pair)[4]) const {
        if constexpr (kType == DType::F16) {
#pragma unroll
            for (int i = 0; i < 4; ++i) pair[i] = data[h][u * 4 + i];
        } else if constexpr (kType == DType::BF16) {
            // Exact but for numbers under 2^-14, which round to multiples of 2^-24, and over 65504.
#pragma unroll
            for (int i = 0; i < 4; ++i)
                pair[i] = as_bits(__floats2half2_rn(__uint_as_float(data[h][u * 4 + i] << 16U),
                                                    __uint_as_float(data[h][u * 4 + i] & 0xFFFF0000U)));
        } else if constexpr (kType == DType::I8) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const std::uint32_t word = data[h][u / 2 * 4 + u % 2 * 2 + i / 2] ^ 0x80808080U;
                pair[i] = as_bits(__hsub2(as_halves(__byte_perm(word, 0x64646464U, i % 2 ? 0x4342 : 0x4140)),
                                          as_halves(0x64806480U)));
            }
        } else if constexpr (kType == DType::F8_E4M3) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const std::uint32_t word = data[h][u / 2 * 4 + u % 2 * 2 + i / 2];
                const auto two_codes =
                    static_cast<__nv_fp8x2_storage_t>(i % 2 ? word >> 16U : word & 0xFFFFU);
                const __half2_raw v = __nv_cvt_fp8x2_to_halfraw2(two_codes, __NV_E4M3);
                pair[i] = v.x | static_cast<std::uint32_t>(v.y) << 16U;
            }
        }
    }
    __device__ void fragment(int h, int u, const Factors& f, std::uint32_t (&pair)[4]) const {
        if constexpr (!kQuantized) {
            fragment(h, u, pair);
        } else {
            // A code c in the low bits of 1024.0 is 1024 + c; the high nibble in place is 1024 + 16 c.
            constexpr bool kDirect = has_low(kType) && !has_two(kType) && !has_one(kType) &&
                                     kType != DType::IQ4_NL && kType != DType::IQ4_XS;
            constexpr bool kSigned = kType == DType::Q8_0 || kType == DType::IQ4_NL || kType == DType::IQ4_XS;
            constexpr int kOffset = kSigned ? 128 : code_offset(kType);
            const __half2 offset = __float2half2_rn(1024.0F + kOffset);
            __half2 v[4];
            if constexpr (kDirect) {
                const std::uint32_t word = data[h][u];
                const std::uint32_t next = word >> 8U;
                const __half2 sixteenth = __float2half2_rn(0.0625F);
                const __half2 high_offset = __float2half2_rn(-64.0F - kOffset);
                v[0] = __hsub2(as_halves(masked<0x000F000FU, 0x64006400U>(word)), offset);
                v[1] = __hsub2(as_halves(masked<0x000F000FU, 0x64006400U>(next)), offset);
                v[2] = __hfma2(as_halves(masked<0x00F000F0U, 0x64006400U>(word)), sixteenth, high_offset);
                v[3] = __hfma2(as_halves(masked<0x00F000F0U, 0x64006400U>(next)), sixteenth, high_offset);
            } else {
                std::uint32_t low;
                std::uint32_t high;
                words(h, u, low, high);
                if constexpr (kSigned) {
                    low ^= 0x80808080U;
                    high ^= 0x80808080U;
                }
                v[0] = __hsub2(as_halves(__byte_perm(low, 0x64646464U, 0x4240)), offset);
                v[1] = __hsub2(as_halves(__byte_perm(low, 0x64646464U, 0x4341)), offset);
                v[2] = __hsub2(as_halves(__byte_perm(high, 0x64646464U, 0x4240)), offset);
                v[3] = __hsub2(as_halves(__byte_perm(high, 0x64646464U, 0x4341)), offset);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const __half2 scale = as_halves(f.scale[i / 2]);
                pair[i] = as_bits(has_minimum(kType) ? __hfma2(v[i], scale, as_halves(f.minimum[i / 2]))
                                                     : __hmul2(v[i], scale));
            }
        }
    }
};

}  // namespace vitrine::cuda::few
