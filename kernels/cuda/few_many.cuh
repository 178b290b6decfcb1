// The product with 2 to 64 rows of activations on tensor cores: weights, converted to f16 in registers, are
// the 16 rows of m16n8k16, activations its 8 columns. One read of the weights whatever the rows. A block
// takes units of two panels in turn, its warps share the inputs.
#pragma once

#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_ring.cuh"
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

constexpr int kManyPanels = 2;
constexpr int kManyRows = kManyPanels * kPanelRows;

template <int kEights, int kPanels = kManyPanels>
using Sums = float[kPanels][kEights][4];

// The activations of a step. What fits is loaded all at once, and before the weights are waited for: else
// every unit of 32 inputs waits for its own.
template <DType kType, int kEights>
struct Inputs {
    static constexpr int kUnits = Panel<kType>::kUnits;
    static constexpr bool kAhead = kUnits * kEights <= 16;

    const uint4* from;
    uint4 ahead[kAhead ? kUnits : 1][kAhead ? kEights : 1];

    __device__ Inputs(const Job& job, std::int32_t step, int lane)
        : from(job.fragments + std::int64_t{step} * kUnits * kEights * 32 + lane) {
        if constexpr (kAhead) {
#pragma unroll
            for (int u = 0; u < kUnits; ++u)
#pragma unroll
                for (int e = 0; e < kEights; ++e) ahead[u][e] = from[(u * kEights + e) * 32];
        }
    }
    __device__ uint4 at(int u, int e) const {
        if constexpr (kAhead) return ahead[u][e];
        return from[(u * kEights + e) * 32];
    }
};

// sums += a step of the panels times all rows of activations. kScaled: each 128 inputs have their own scales.
template <DType kType, bool kScaled, int kEights, int kPanels>
__device__ inline void add_step(const Job& job, const Inputs<kType, kEights>& in,
                                const Panel<kType> (&from)[kPanels], std::int32_t step, int lane,
                                float (&sums)[kPanels][kEights][4]) {
    constexpr bool kOutside = Panel<kType>::kOutside;
    constexpr bool kFresh = kOutside || kScaled;
    typename Panel<kType>::Factors f[kPanels][2];
#pragma unroll
    for (int p = 0; p < kPanels; ++p)
#pragma unroll
        for (int h = 0; h < 2; ++h) f[p][h] = from[p].factors(h);
    // Outside scales and those of the activations hold for the whole step: its sums take them on.
    [[maybe_unused]] float fresh[kFresh ? kPanels : 1][kFresh ? kEights : 1][4] = {};
    [[maybe_unused]] float2 scale[kScaled ? kEights : 1];
    if constexpr (kScaled) {
        const float* scales = job.scales + step * Panel<kType>::kStep / 128 * (8 * kEights) + lane % 4 * 2;
#pragma unroll
        for (int e = 0; e < kEights; ++e) scale[e] = *reinterpret_cast<const float2*>(scales + 8 * e);
    }
#pragma unroll
    for (int u = 0; u < Panel<kType>::kUnits; ++u) {
        std::uint32_t weights[kPanels][2][4];
#pragma unroll
        for (int p = 0; p < kPanels; ++p)
#pragma unroll
            for (int h = 0; h < 2; ++h) from[p].fragment(h, u, f[p][h], weights[p][h]);
#pragma unroll
        for (int e = 0; e < kEights; ++e) {
            const uint4 b = in.at(u, e);
#pragma unroll
            for (int p = 0; p < kPanels; ++p) {
                auto& d = kFresh ? fresh[kFresh ? p : 0][kFresh ? e : 0] : sums[p][e];
                multiply_tile(d, weights[p][0][0], weights[p][1][0], weights[p][0][1], weights[p][1][1], b.x,
                              b.y);
                multiply_tile(d, weights[p][0][2], weights[p][1][2], weights[p][0][3], weights[p][1][3], b.z,
                              b.w);
            }
        }
    }
    if constexpr (kFresh) {
#pragma unroll
        for (int p = 0; p < kPanels; ++p)
#pragma unroll
            for (int e = 0; e < kEights; ++e)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    float by = kOutside ? from[p].grid[i / 2] : 1.0F;
                    if constexpr (kScaled) by *= i % 2 == 0 ? scale[e].x : scale[e].y;
                    sums[p][e][i] = fmaf(by, fresh[p][e][i], sums[p][e][i]);
                }
    }
}

// The warps' sums of a unit together, and what becomes of them; `parts` is [warps][kManyRows][stride].
template <int kEights, class Meet>
__device__ inline void finish_many(const Job& job, std::int32_t number, float* parts, const float* factors,
                                   const KvRow* kv, Sums<kEights>& sums, Meet&& meet) {
    constexpr int kStride = kSumStride<kEights>;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    float* mine = parts + warp * kManyRows * kStride;
#pragma unroll
    for (int p = 0; p < kManyPanels; ++p)
#pragma unroll
        for (int e = 0; e < kEights; ++e)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = p * kPanelRows + i / 2 * 8 + lane / 4;
                mine[row * kStride + e * 8 + lane % 4 * 2 + i % 2] = sums[p][e][i];
                sums[p][e][i] = 0;
            }
    meet();
    const Unit<kManyPanels> unit = unit_of<kManyPanels>(job, number);
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < kManyRows * job.rows; i += kThreads) {
        const std::int32_t r = i / kManyRows;
        const std::int32_t local_row = i % kManyRows;
        const std::int32_t at =
            (local_row < kPanelRows ? unit.panel[0] : unit.panel[1]) * kPanelRows + local_row % kPanelRows;
        const bool adds = job.finish == Finish::Add && at < unit.matrix[0]->w.rows;
        const float old = adds ? job.out[std::int64_t{r} * job.stride + at] : 0.0F;
        finish<kManyPanels>(job, unit, local_row, r, kv, old, [&](int local) {
            float v = 0;
#pragma unroll
            for (int w = 0; w < kWarps; ++w) v += parts[(w * kManyRows + local) * kStride + r];
            return v * factors[r];
        });
    }
    meet();
}

template <DType kType, int kEights>
__global__ void __launch_bounds__(kThreads, kEights <= 2 ? 2 : 1)
    many_rows_kernel(const __grid_constant__ Job job) {
#if __CUDA_ARCH__ < 900  // later GPUs have the ring
    extern __shared__ uint4 dynamic_memory[];
    auto* parts = reinterpret_cast<float*>(dynamic_memory);
    __shared__ KvRow kv[8 * kEights];
    __shared__ float factors[8 * kEights];
    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const std::int32_t all_steps = (job.cols + step_inputs(kType) - 1) / step_inputs(kType);
    for (auto r = static_cast<std::int32_t>(threadIdx.x); r < job.rows; r += kThreads) {
        factors[r] = job.factors[r];
        if (job.finish == Finish::Heads) kv[r] = kv_row(job, r);
    }
    Sums<kEights> sums = {};
    for (auto number = static_cast<std::int32_t>(blockIdx.x); number < job.units;
         number += static_cast<std::int32_t>(gridDim.x)) {
        const Unit<kManyPanels> unit = unit_of<kManyPanels>(job, number);
        for (std::int32_t step = warp; step < all_steps; step += kWarps) {
            Panel<kType> held[kManyPanels];
#pragma unroll
            for (int p = 0; p < kManyPanels; ++p) {
                const WeightView& w = unit.matrix[p]->w;
                const auto last = static_cast<std::int32_t>(panels_of(w.rows)) - 1;
                held[p].load(w, min(unit.panel[p], last), step, lane);
            }
            add_step<kType, false>(job, Inputs<kType, kEights>(job, step, lane), held, step, lane, sums);
        }
        finish_many<kEights>(job, number, parts, factors, kv, sums, [] { __syncthreads(); });
    }
#endif
}

// Steps of a panel in a stage, one or two for each warp. Weights that are not quantized are copied row by
// row, and the copying engine takes about 60 ns for a piece whatever its size (H200): 2 KB of a row are
// enough, 1 KB is not.
template <DType kType>
constexpr int many_steps() {
    return is_quantized(kType) ? kWarps : 2 * kWarps;
}
// Such stages leave room for one block.
template <DType kType, int kEights>
constexpr int many_at_once() {
    return is_quantized(kType) && kEights <= 2 ? 2 : 1;
}

template <DType kType, int kEights>
__global__ void __launch_bounds__(kRingThreads, many_at_once<kType, kEights>())
    many_rows_ring_kernel(const __grid_constant__ Job job, int stages, std::uint32_t ring_bytes) {
#if __CUDA_ARCH__ >= 900
    constexpr int kSteps = many_steps<kType>();
    using Place = Stage<kType, kSteps>;
    extern __shared__ uint4 dynamic_memory[];
    auto* weights = reinterpret_cast<std::uint8_t*>(dynamic_memory);
    auto* parts = reinterpret_cast<float*>(weights + ring_bytes);
    __shared__ KvRow kv[8 * kEights];
    __shared__ float factors[8 * kEights];
    __shared__ std::uint64_t full[kMostStages];
    __shared__ std::uint64_t empty[kMostStages];
    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    Ring ring = make_ring(weights, full, empty, stages);
    if (warp == kWarps) return copy_units<kType, kManyPanels, kSteps>(job, ring, lane);

    wait_for_input();
    let_next_start();
    for (auto r = static_cast<std::int32_t>(threadIdx.x); r < job.rows; r += kThreads) {
        factors[r] = job.factors[r];
        if (job.finish == Finish::Heads) kv[r] = kv_row(job, r);
    }
    const std::int32_t all_steps = (job.cols + step_inputs(kType) - 1) / step_inputs(kType);
    Sums<kEights> sums = {};
    for (auto number = static_cast<std::int32_t>(blockIdx.x); number < job.units;
         number += static_cast<std::int32_t>(gridDim.x)) {
        for (std::int32_t first = 0; first < all_steps; first += kSteps, ring.next()) {
            bool waited = false;
#pragma unroll
            for (int local = 0; local < kSteps; local += kWarps) {
                const std::int32_t step = first + local + warp;
                // Of a step that is not there the first is loaded.
                const Inputs<kType, kEights> inputs(job, step < all_steps ? step : 0, lane);
                if (!waited) barrier_wait(ring.full + ring.at, ring.turn);
                waited = true;
                if (step >= all_steps) continue;
                Panel<kType> held[kManyPanels];
#pragma unroll
                for (int p = 0; p < kManyPanels; ++p) {
                    held[p].template load_staged<Place>(
                        ring.data + (ring.at * kManyPanels + p) * Place::kBytes, local + warp, step, job.cols,
                        lane);
                    if constexpr (Panel<kType>::kOutside) {
                        const Unit<kManyPanels> unit = unit_of<kManyPanels>(job, number);
                        held[p].load_grid(unit.matrix[p]->w, unit.panel[p], step, lane);
                    }
                }
                add_step<kType, false>(job, inputs, held, step, lane, sums);
            }
            __syncwarp();
            if (lane == 0) barrier_arrive(ring.empty + ring.at);
        }
        finish_many<kEights>(job, number, parts, factors, kv, sums, [] { workers_meet(); });
    }
#endif
}

template <DType kType, int kEights>
bool launch_many(const Job& job, cudaStream_t stream) {
    constexpr std::size_t kBytes = std::size_t{kWarps} * kManyRows * kSumStride<kEights> * sizeof(float);
    if (has_ring())
        return launch_ring(many_rows_ring_kernel<kType, kEights>, job,
                           kManyPanels * Stage<kType, many_steps<kType>()>::kBytes, kBytes,
                           many_at_once<kType, kEights>(), stream);
    return launch(many_rows_kernel<kType, kEights>, job, kBytes, stream);
}

}  // namespace vitrine::cuda::few
