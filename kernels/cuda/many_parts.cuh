// Sums over threads and pairs of 16-bit numbers, for the kernels of the `many` family.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace vitrine::cuda::many {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAll = 0xFFFFFFFFU;

struct Sum {
    __device__ static float of(float a, float b) { return a + b; }
};
struct Largest {
    // Keeps a NaN.
    __device__ static float of(float a, float b) { return a > b || isnan(a) ? a : b; }
};

template <class How>
__device__ float over_warp(float v) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) v = How::of(v, __shfl_xor_sync(kAll, v, offset));
    return v;
}

// The same in every thread of a block of up to 1024.
template <class How>
__device__ float over_block(float v) {
    __shared__ float parts[kWarp];
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    v = over_warp<How>(v);
    __syncthreads();
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = v;
    __syncthreads();
    v = parts[0];
    for (int i = 1; i < warps; ++i) v = How::of(v, parts[i]);
    return v;
}

// Two numbers of 16 bits.
template <class T>
__device__ std::uint32_t pack(float a, float b);
template <>
__device__ inline std::uint32_t pack<__half>(float a, float b) {
    const __half2 h = __floats2half2_rn(a, b);
    return *reinterpret_cast<const std::uint32_t*>(&h);
}
template <>
__device__ inline std::uint32_t pack<__nv_bfloat16>(float a, float b) {
    const __nv_bfloat162 h = __floats2bfloat162_rn(a, b);
    return *reinterpret_cast<const std::uint32_t*>(&h);
}
template <class T>
__device__ float2 unpack(std::uint32_t bits);
template <>
__device__ inline float2 unpack<__half>(std::uint32_t bits) {
    return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}
template <>
__device__ inline float2 unpack<__nv_bfloat16>(std::uint32_t bits) {
    return {__uint_as_float(bits << 16U), __uint_as_float(bits & 0xFFFF0000U)};
}

}  // namespace vitrine::cuda::many
