// The product with 2 to 64 rows of activations on tensor cores: weights, converted to f16 in registers, are
// the 16 rows of m16n8k16, activations its 8 columns. One read of the weights whatever the rows. A block
// takes units of two panels in turn, its warps share the inputs.
#pragma once

#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_tile.cuh"
#include "kernels/cuda/few_units.cuh"

namespace vitrine::cuda::few {

// d += a · b: a is 16 × 16 of weights, b 16 × 8 of activations.
__device__ inline void multiply_tile(float (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                     std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(b0));
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a2), "r"(a3), "r"(b1));
#endif
}

// Sums of a warp: [panels · 16][rows of activations], an odd stride against bank conflicts.
template <int kEights>
constexpr int kSumStride = 8 * kEights + 1;

template <DType kType, int kEights>
constexpr int kManyAhead = kEights >= 8 ? 1 : 2;

template <DType kType, int kEights>
__global__ void __launch_bounds__(kThreads, kEights <= 2 ? 2 : 1)
    many_rows_kernel(const __grid_constant__ Job job) {
    constexpr int kPanels = 2;
    constexpr int kAhead = kManyAhead<kType, kEights>;
    constexpr int kRows = kPanels * kPanelRows;
    constexpr int kStride = kSumStride<kEights>;
    extern __shared__ uint4 dynamic_memory[];
    auto* parts = reinterpret_cast<float*>(dynamic_memory);  // [warps][kRows][kStride]
    __shared__ KvRow kv[8 * kEights];
    __shared__ float factors[8 * kEights];

    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const std::int32_t all_steps = (job.cols + step_inputs(kType) - 1) / step_inputs(kType);
    const std::int32_t rounds = (all_steps + kWarps - 1) / kWarps;

    Panel<kType> held[kAhead][kPanels];
    std::int32_t load_number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t load_step = warp;
    Unit<kPanels> load_unit = unit_of<kPanels>(job, min(load_number, job.units - 1));
    const auto load_next = [&](Panel<kType>(&to)[kPanels]) {
        if (load_number >= job.units) return;
#pragma unroll
        for (int p = 0; p < kPanels; ++p) {
            if (load_step < all_steps) {
                const WeightView& w = load_unit.matrix[p]->w;
                const auto last = static_cast<std::int32_t>(panels_of(w.rows)) - 1;
                to[p].load(w, min(load_unit.panel[p], last), load_step, lane);
            }
        }
        load_step += kWarps;
        if (load_step >= rounds * kWarps) {
            load_step = warp;
            load_number += static_cast<std::int32_t>(gridDim.x);
            if (load_number < job.units) load_unit = unit_of<kPanels>(job, load_number);
        }
    };
#pragma unroll
    for (int a = 0; a < kAhead; ++a) load_next(held[a]);

    wait_for_input();
    let_next_start();
    for (std::int32_t r = static_cast<std::int32_t>(threadIdx.x); r < job.rows; r += kThreads) {
        factors[r] = job.factors[r];
        if (job.finish == Finish::Heads) kv[r] = kv_row(job, r);
    }

    float sums[kPanels][kEights][4] = {};
    std::int32_t number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t round = 0;
    const auto add_step = [&](const Panel<kType>(&from)[kPanels], std::int32_t step) {
        constexpr bool kOutside = Panel<kType>::kOutside;
        typename Panel<kType>::Factors f[kPanels][2];
#pragma unroll
        for (int p = 0; p < kPanels; ++p)
#pragma unroll
            for (int h = 0; h < 2; ++h) f[p][h] = from[p].factors(h);
        [[maybe_unused]] float fresh[kOutside ? kPanels : 1][kOutside ? kEights : 1][4] = {};
        const uint4* in = job.fragments + std::int64_t{step} * Panel<kType>::kUnits * kEights * 32 + lane;
#pragma unroll
        for (int u = 0; u < Panel<kType>::kUnits; ++u) {
            std::uint32_t weights[kPanels][2][4];
#pragma unroll
            for (int p = 0; p < kPanels; ++p)
#pragma unroll
                for (int h = 0; h < 2; ++h) from[p].fragment(h, u, f[p][h], weights[p][h]);
#pragma unroll
            for (int e = 0; e < kEights; ++e) {
                const uint4 b = in[(u * kEights + e) * 32];
#pragma unroll
                for (int p = 0; p < kPanels; ++p) {
                    auto& d = kOutside ? fresh[kOutside ? p : 0][kOutside ? e : 0] : sums[p][e];
                    multiply_tile(d, weights[p][0][0], weights[p][1][0], weights[p][0][1], weights[p][1][1],
                                  b.x, b.y);
                    multiply_tile(d, weights[p][0][2], weights[p][1][2], weights[p][0][3], weights[p][1][3],
                                  b.z, b.w);
                }
            }
        }
        if constexpr (kOutside) {
#pragma unroll
            for (int p = 0; p < kPanels; ++p)
#pragma unroll
                for (int e = 0; e < kEights; ++e)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        sums[p][e][i] = fmaf(from[p].grid[i / 2], fresh[p][e][i], sums[p][e][i]);
        }
    };
    const auto finish_unit = [&]() {
        float* mine = parts + warp * kRows * kStride;
#pragma unroll
        for (int p = 0; p < kPanels; ++p)
#pragma unroll
            for (int e = 0; e < kEights; ++e)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int row = p * kPanelRows + i / 2 * 8 + lane / 4;
                    mine[row * kStride + e * 8 + lane % 4 * 2 + i % 2] = sums[p][e][i];
                    sums[p][e][i] = 0;
                }
        __syncthreads();
        const Unit<kPanels> unit = unit_of<kPanels>(job, number);
        for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < kRows * job.rows; i += kThreads) {
            const std::int32_t r = i / kRows;
            finish<kPanels>(job, unit, i % kRows, r, kv, [&](int local) {
                float v = 0;
#pragma unroll
                for (int w = 0; w < kWarps; ++w) v += parts[(w * kRows + local) * kStride + r];
                return v * factors[r];
            });
        }
        __syncthreads();
        round = 0;
        number += static_cast<std::int32_t>(gridDim.x);
    };
    while (number < job.units) {
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            if (number >= job.units) break;
            const std::int32_t step = round * kWarps + warp;
            if (step < all_steps) add_step(held[a], step);
            load_next(held[a]);
            if (++round == rounds) finish_unit();
        }
    }
}

template <DType kType, int kEights>
bool launch_many(const Job& job, cudaStream_t stream) {
    constexpr std::size_t kBytes =
        std::size_t{kWarps} * 2 * kPanelRows * kSumStride<kEights> * sizeof(float);
    return launch(many_rows_kernel<kType, kEights>, job, kBytes, stream);
}

}  // namespace vitrine::cuda::few
