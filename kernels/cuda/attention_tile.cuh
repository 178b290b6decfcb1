// Building blocks of the attention kernels: tensor-core products of one tile, transposition between their
// layouts, packing, and what Hopper adds (clusters, programmatic dependent launch).
//
// Fragments of D[16][8] += A[16][16] · B[16][8], lane = 4 g + t:
//   A  a0 (row g, columns 2t 2t+1), a1 (row g+8, same), a2 (row g, 2t+8 2t+9), a3 (row g+8, same)
//   B  b0 (rows 2t 2t+1, column g), b1 (rows 2t+8 2t+9, column g)
//   D  d0 d1 (row g, columns 2t 2t+1), d2 d3 (row g+8, same)
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/attention_parts.h"

namespace vitrine::cuda::attention {

constexpr int kWarp = 32;
constexpr unsigned kAll = 0xFFFFFFFFU;
constexpr float kLog2e = 1.4426950408889634F;

template <Kind kKind>
__device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1) {
    if constexpr (kKind == Kind::F16) {
#if __CUDA_ARCH__ >= 800
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(b0));
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
    } else {
#if __CUDA_ARCH__ >= 800
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
    }
}

// Two numbers as one word of the tensor cores' type, rounded to nearest.
template <Kind kKind>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t word;
    if constexpr (kKind == Kind::F16) {
        const __half2 h = __floats2half2_rn(low, high);
        word = static_cast<std::uint32_t>(__half_as_ushort(__low2half(h))) |
               static_cast<std::uint32_t>(__half_as_ushort(__high2half(h))) << 16U;
    } else {
#if __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
#else
        word = 0;
#endif
    }
    return word;
}

template <Kind kKind>
__device__ __forceinline__ float unpack(std::uint32_t word, bool high) {
    const auto bits = static_cast<std::uint16_t>(high ? word >> 16U : word & 0xFFFFU);
    if constexpr (kKind == Kind::F16)
        return __half2float(__ushort_as_half(bits));
    else
        return __uint_as_float(static_cast<std::uint32_t>(bits) << 16U);
}

// Numbers as a sum of kParts words: each part takes what the ones before left. For F32 the parts are cut, not
// rounded, so that three of them are exact.
template <Kind kKind, int kParts>
__device__ __forceinline__ void split(float low, float high, std::uint32_t (&parts)[kParts]) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
        if constexpr (kKind == Kind::F32)
            parts[p] = __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x7632);
        else
            parts[p] = pack<kKind>(low, high);
        if (p + 1 == kParts) break;
        low -= unpack<kKind>(parts[p], false);
        high -= unpack<kKind>(parts[p], true);
    }
}

// An 8 × 8 matrix of 16-bit elements, one word a lane, transposed across the warp.
__device__ __forceinline__ std::uint32_t transposed(std::uint32_t word) {
    std::uint32_t out;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(word));
    return out;
}

__device__ __forceinline__ float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The power of two that brings the largest element of a row into [0.5, 1), and its inverse: what does not fit
// the tensor cores' type, at either end, fits then.
struct PowerOfTwo {
    float up, down;
    __device__ __forceinline__ explicit PowerOfTwo(float largest) {
        const auto biased = static_cast<int>(__float_as_uint(largest) >> 23U);  // largest ≥ 0
        const int exponent = biased == 0 ? 0 : min(max(biased - 126, -120), 120);
        up = __uint_as_float(static_cast<std::uint32_t>(127 + exponent) << 23U);
        down = __uint_as_float(static_cast<std::uint32_t>(127 - exponent) << 23U);
    }
};

// Whether one of the two halves of a word is infinite or NaN.
template <Kind kKind>
__device__ __forceinline__ bool unfit(std::uint32_t word) {
    constexpr std::uint32_t kLow = kKind == Kind::F16 ? 0x7C00U : 0x7F80U;
    if constexpr (kKind == Kind::F32) return (word & 0x7F800000U) == 0x7F800000U;
    return (word & kLow) == kLow || (word & (kLow << 16U)) == kLow << 16U;
}

// Streaming loads: the cache is read once.
__device__ __forceinline__ uint4 load16(const void* from) {
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}
__device__ __forceinline__ uint2 load8(const void* from) {
    uint2 v;
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(from));
    return v;
}
__device__ __forceinline__ std::uint32_t load4(const void* from) {
    std::uint32_t v;
    asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(from));
    return v;
}

// Programmatic dependent launch: what came before in the stream is complete after wait_for_previous().
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// The barrier of a cluster, in two halves.
__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// The address of the same shared variable in another block of the cluster.
__device__ __forceinline__ std::uint32_t in_block(const void* shared, std::uint32_t rank) {
    auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
#if __CUDA_ARCH__ >= 900
    asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
#endif
    return address;
}
__device__ __forceinline__ void store_shared(std::uint32_t to, const float4& v) {
#if __CUDA_ARCH__ >= 900
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z),
                 "f"(v.w)
                 : "memory");
#else
    asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
                 : "memory");
#endif
}

// n / by without a divide; exact where n · by < 2^32.
struct Divider {
    std::uint32_t by = 1;
    std::uint32_t magic = 0;
    Divider() = default;
    explicit Divider(std::int32_t d)
        : by(static_cast<std::uint32_t>(d)),
          magic(d == 1 ? 0 : static_cast<std::uint32_t>((std::uint64_t{1} << 32U) / by + 1)) {}
    __device__ __forceinline__ std::int32_t operator()(std::uint32_t n) const {
        return static_cast<std::int32_t>(by == 1 ? n : __umulhi(n, magic));
    }
};

// A merge of partial softmaxes weighs each with exp2(its maximum − the largest); a part that saw no finite
// score has weight 0.
__device__ __forceinline__ float weight_of(float top, float highest) {
    return top == -INFINITY ? 0.0F : exp2_fast(top - highest);
}

}  // namespace vitrine::cuda::attention
