#include <algorithm>
#include <cuda_fp16.h>

#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_tile.cuh"
#include "kernels/cuda/few_units.cuh"

namespace vitrine::cuda::few {
namespace {

constexpr unsigned kPrepareThreads = 512;

// Up to eight rows: a warp has 128 inputs of one, scaled by a power of two so that the largest lies between
// 512 and 1024. Nothing overflows, and nothing waits for a whole row but a norm's sum of squares.
constexpr std::int32_t kQuadInputs = 128;

__global__ void __launch_bounds__(1024) prepare_eight_kernel(PrepareArgs a, Arrangement arrangement) {
    __shared__ float square_parts[32];
    fetch_norm(a.norm, a.cols);
    wait_for_input();
    let_next_start();
    const auto r = static_cast<std::int32_t>(blockIdx.x);
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const auto warps = static_cast<std::int32_t>(blockDim.x / 32);
    const float* x = a.x + std::int64_t{a.picked != nullptr ? a.picked[r] : r} * a.cols;
    const std::int32_t quads = (a.cols + kQuadInputs - 1) / kQuadInputs;
    float squares = 0;
    for (std::int32_t quad = static_cast<std::int32_t>(blockIdx.y) * warps + warp; quad < quads;
         quad += static_cast<std::int32_t>(gridDim.y) * warps) {
        const std::int32_t at = lane * 4;
        const std::int32_t k = quad * kQuadInputs + at;
        float4 v = {0, 0, 0, 0};
        if (k < a.cols) {
            v = __ldcg(reinterpret_cast<const float4*>(x + k));
            if (a.norm != nullptr) {
                const float4 n = __ldg(reinterpret_cast<const float4*>(a.norm + k));
                squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
                v = {v.x * n.x, v.y * n.y, v.z * n.z, v.w * n.w};
            }
        }
        float top = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
        for (int offset = 16; offset > 0; offset /= 2)
            top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, offset));
        // top < 2^exponent
        const int exponent =
            static_cast<int>(__float_as_uint(fminf(fmaxf(top, 0x1p-100F), 0x1p100F)) >> 23U) - 126;
        const float up = __uint_as_float(static_cast<unsigned>(137 - exponent) << 23U);
        if (lane == 0) a.scales[quad * 8 + r] = __uint_as_float(static_cast<unsigned>(117 + exponent) << 23U);
        const auto pair = [&](float lower, float upper) {
            return as_bits(__floats2half2_rn(lower * up, upper * up));
        };
        // Unit in the quad, share of it, and which half of the share's eight.
        std::int32_t unit = at / 32;
        std::int32_t t = at % 32 / 8;
        std::int32_t half = at / 4 % 2;
        uint2 out = {pair(v.x, v.y), pair(v.z, v.w)};
        if (arrangement == Arrangement::Bytes) {
            unit = at / 64 * 2 + at / 8 % 2;
            t = at % 64 / 16;
        } else if (arrangement == Arrangement::Groups) {
            unit = at / 4 % 4;
            t = at / 32;
            half = at / 16 % 2;
            out = {pair(v.x, v.z), pair(v.y, v.w)};
        }
        auto* to = reinterpret_cast<uint2*>(a.fragments + std::int64_t{quad * 4 + unit} * 32 + r * 4 + t);
        to[half] = out;
    }
    if (a.norm == nullptr) {
        if (blockIdx.y == 0 && threadIdx.x == 0) a.factors[r] = 1;
        return;
    }
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xFFFFFFFFU, squares, offset);
    if (lane == 0) square_parts[warp] = squares;
    __syncthreads();
    if (threadIdx.x != 0) return;
    float all = 0;
    for (int w = 0; w < warps; ++w) all += square_parts[w];
    a.factors[r] = rsqrtf(all / static_cast<float>(a.cols) + a.eps);
}

// More: a block a row. Its numbers are scaled by a power of two, so that the largest lies between 512 and
// 1024: nothing overflows, and what is 2^-23 of the largest still counts.
__global__ void __launch_bounds__(kPrepareThreads)
    prepare_kernel(PrepareArgs a, Arrangement arrangement, std::int32_t eights) {
    __shared__ float top_parts[kPrepareThreads / 32];
    __shared__ float square_parts[kPrepareThreads / 32];
    fetch_norm(a.norm, a.cols);
    wait_for_input();
    let_next_start();
    const auto r = static_cast<std::int32_t>(blockIdx.x);
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    const float* x = a.x + std::int64_t{a.picked != nullptr ? a.picked[r] : r} * a.cols;
    const auto four = [&](std::int32_t k, float& squares) {
        float4 v = __ldcg(reinterpret_cast<const float4*>(x + k));
        if (a.norm != nullptr) {
            squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
            const float4 n = __ldg(reinterpret_cast<const float4*>(a.norm + k));
            v = {v.x * n.x, v.y * n.y, v.z * n.z, v.w * n.w};
        }
        return v;
    };
    float top = 0;
    float squares = 0;
#pragma unroll 4
    for (std::int32_t k = thread * 4; k < a.cols; k += static_cast<std::int32_t>(kPrepareThreads) * 4) {
        const float4 v = four(k, squares);
        top = fmaxf(top, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, offset));
        squares += __shfl_xor_sync(0xFFFFFFFFU, squares, offset);
    }
    if (thread % 32 == 0) {
        top_parts[thread / 32] = top;
        square_parts[thread / 32] = squares;
    }
    __syncthreads();
    squares = 0;
    for (unsigned w = 0; w < kPrepareThreads / 32; ++w) {
        top = fmaxf(top, top_parts[w]);
        squares += square_parts[w];
    }
    int exponent = 0;
    frexpf(fminf(fmaxf(top, 0x1p-100F), 0x1p100F), &exponent);  // top < 2^exponent
    const float up = ldexpf(1.0F, 10 - exponent);
    if (thread == 0) {
        float factor = ldexpf(1.0F, exponent - 10);
        if (a.norm != nullptr) factor *= rsqrtf(squares / static_cast<float>(a.cols) + a.eps);
        a.factors[r] = factor;
    }
    const std::int32_t shares = (a.cols + 127) / 128 * 16;  // of eight inputs
    for (std::int32_t i = thread; i < shares; i += static_cast<std::int32_t>(kPrepareThreads)) {
        const std::int32_t unit = i / 4;
        const std::int32_t t = i % 4;
        std::int32_t k = unit * 32 + t * 8;
        std::int32_t next = 4;  // from the first four inputs to the second
        if (arrangement == Arrangement::Bytes) {
            k = unit / 2 * 64 + t * 16 + unit % 2 * 8;
        } else if (arrangement == Arrangement::Groups) {
            k = unit / 4 * 128 + t * 32 + unit % 4 * 4;
            next = 16;
        }
        uint4 out = {0, 0, 0, 0};
        if (k < a.cols) {
            float unused = 0;
            const float4 p = four(k, unused);
            const float4 q = four(k + next, unused);
            const auto pair = [&](float lower, float upper) {
                return as_bits(__floats2half2_rn(lower * up, upper * up));
            };
            if (arrangement == Arrangement::Groups)
                out = {pair(p.x, p.z), pair(p.y, p.w), pair(q.x, q.z), pair(q.y, q.w)};
            else
                out = {pair(p.x, p.y), pair(p.z, p.w), pair(q.x, q.y), pair(q.z, q.w)};
        }
        a.fragments[(std::int64_t{unit} * eights + r / 8) * 32 + r % 8 * 4 + t] = out;
    }
}

}  // namespace

void prepare(const PrepareArgs& a, cudaStream_t stream) {
    if (a.rows <= 8) {
        // A norm's row stays in one block.
        const auto quads = static_cast<unsigned>((a.cols + kQuadInputs - 1) / kQuadInputs);
        const unsigned warps = a.norm != nullptr ? std::min(quads, 32U) : std::min(quads, 8U);
        const dim3 grid(static_cast<unsigned>(a.rows), a.norm != nullptr ? 1U : (quads + warps - 1) / warps);
        launch_early(prepare_eight_kernel, grid, warps * 32, 0, stream, a, arrangement_of(a.type));
        return;
    }
    launch_early(prepare_kernel, dim3(static_cast<unsigned>(a.rows)), kPrepareThreads, 0, stream, a,
                 arrangement_of(a.type), eights_for(a.rows));
}

}  // namespace vitrine::cuda::few
