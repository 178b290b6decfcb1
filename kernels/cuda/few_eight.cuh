// The product with 2 to 8 rows of activations on tensor cores, fed as few_one.cuh is: two sets of registers,
// one multiplied while the other is on its way. The activations, which all warps of a multiprocessor read
// again for every unit, come through its first-level cache.
#pragma once

#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_many.cuh"
#include "kernels/cuda/few_source.cuh"

namespace vitrine::cuda::few {

// Steps of a set, as in few_one.cuh.
template <DType kType, int kPanels>
constexpr int eight_steps_held() {
    constexpr int kFit = 72 / (2 * kPanels * Panel<kType>::kRegisters);
    return kFit < 1 ? 1 : kFit > 4 / kPanels ? 4 / kPanels : kFit;
}

template <DType kType, int kPanels>
__global__ void __launch_bounds__(kThreads, 2) eight_rows_kernel(const __grid_constant__ Job job) {
    constexpr int kHeld = eight_steps_held<kType, kPanels>();
    using Set = Panel<kType>[kHeld][kPanels];
    constexpr int kStride = kSumStride<1>;
    constexpr int kUnitRows = kPanels * kPanelRows;
    __shared__ float parts[2][kWarps][kUnitRows * kStride];
    __shared__ KvRow kv[8];
    __shared__ float factors[8];

    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const auto blocks = static_cast<std::int32_t>(gridDim.x);
    const std::int32_t all_steps = (job.cols + step_inputs(kType) - 1) / step_inputs(kType);
    const std::int32_t rounds = (all_steps + kWarps - 1) / kWarps;  // steps of a warp in a unit
    const std::int32_t batches = (rounds + kHeld - 1) / kHeld;

    // What is loaded next.
    auto load_number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t load_batch = 0;
    const auto source = [&](bool second) {
        const Unit<kPanels> unit = unit_of<kPanels>(job, min(load_number, job.units - 1));
        // No run-time index into the unit: that would move it to local memory.
        return Source<kType>(second ? unit.matrix[kPanels - 1]->w : unit.matrix[0]->w,
                             second ? unit.panel[kPanels - 1] : unit.panel[0], lane);
    };
    Source<kType> first = source(false);
    Source<kType> second = source(true);
    const auto load = [&](Set& to, std::int32_t awaited) {
        if (load_number + awaited >= job.units) return;
#pragma unroll
        for (int s = 0; s < kHeld; ++s) {
            const std::int32_t step = (load_batch * kHeld + s) * kWarps + warp;
            if (step >= all_steps) break;
            first.load(job.cols, step, lane, to[s][0]);
            if constexpr (kPanels == 2) second.load(job.cols, step, lane, to[s][1]);
        }
        if (++load_batch == batches) {
            load_batch = 0;
            load_number += blocks;
            first = source(false);
            second = source(true);
        }
    };
    Set even = {};
    Set odd = {};
    const auto awaited = [&](const Set& set) { return wait_for_set(set[0][0].a_word(), job); };
    load(even, 0);

    wait_for_input();
    let_next_start();
    if (threadIdx.x < static_cast<unsigned>(job.rows)) {
        factors[threadIdx.x] = __ldcg(job.factors + threadIdx.x);
        if (job.finish == Finish::Heads)
            kv[threadIdx.x] = kv_row(job, static_cast<std::int32_t>(threadIdx.x));
    }
    // A thread finishes one sum of a unit: row `local` of it, row `r` of the step.
    const auto local = static_cast<std::int32_t>(threadIdx.x % kUnitRows);
    const auto r = static_cast<std::int32_t>(threadIdx.x / kUnitRows);
    static_assert(kThreads >= 8 * kUnitRows);

    auto number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t batch = 0;
    int side = 0;
    Sums<1, kPanels> sums = {};
    const auto multiply_set = [&](const Set& from) {
#pragma unroll
        for (int s = 0; s < kHeld; ++s) {
            const std::int32_t step = (batch * kHeld + s) * kWarps + warp;
            if (step >= all_steps) break;
            add_step<kType, true>(job, Inputs<kType, 1>(job, step, lane), from[s], step, lane, sums);
        }
        if (++batch < batches) return;
        batch = 0;
        const Unit<kPanels> unit = unit_of<kPanels>(job, number);
        const std::int32_t at =
            (local < kPanelRows ? unit.panel[0] : unit.panel[kPanels - 1]) * kPanelRows + local % kPanelRows;
        const bool adds = job.finish == Finish::Add && r < job.rows && at < unit.matrix[0]->w.rows;
        const float old = adds ? __ldcg(job.out + std::int64_t{r} * job.stride + at) : 0.0F;
#pragma unroll
        for (int p = 0; p < kPanels; ++p)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = p * kPanelRows + i / 2 * 8 + lane / 4;
                parts[side][warp][row * kStride + lane % 4 * 2 + i % 2] = sums[p][0][i];
                sums[p][0][i] = 0;
            }
        // The other side is free: every thread that read it has met the others since.
        __syncthreads();
        if (r < job.rows)
            finish<kPanels>(job, unit, local, r, kv, old, [&](int row) {
                float v = 0;
#pragma unroll
                for (int w = 0; w < kWarps; ++w) v += parts[side][w][row * kStride + r];
                return v * factors[r];
            });
        side ^= 1;
        number += blocks;
    };
    for (;;) {
        load(odd, awaited(even));
        multiply_set(even);
        if (number >= job.units) break;
        load(even, awaited(odd));
        multiply_set(odd);
        if (number >= job.units) break;
    }
}

template <DType kType>
bool launch_eight(const Job& job, cudaStream_t stream) {
    return job.pairing == Pairing::Single ? launch(eight_rows_kernel<kType, 1>, job, 0, stream)
                                          : launch(eight_rows_kernel<kType, 2>, job, 0, stream);
}

}  // namespace vitrine::cuda::few
