// What the kernels for one row of activations have in common.
#pragma once

#include "kernels/cuda/few_tile.cuh"
#include "kernels/cuda/few_units.cuh"

namespace vitrine::cuda::few {

__device__ inline float sum_of_warp(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xFFFFFFFFU, v, offset);
    return v;
}

// One over the root mean square of the row, whose squares the warps have summed; 1 without a norm.
__device__ inline float norm_factor(const Job& job, const float (&square_parts)[kWarps]) {
    if (job.norm == nullptr) return 1;
    float all = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) all += square_parts[w];
    return rsqrtf(all / static_cast<float>(job.cols) + job.eps);
}

// What Finish::Add adds to, in a unit's row.
template <int kPanels>
__device__ inline float old_value(const Job& job, const Unit<kPanels>& unit, int local) {
    if (job.finish != Finish::Add || local >= kPanels * kPanelRows) return 0;
    const std::int32_t panel = kPanels == 2 && local >= kPanelRows ? unit.panel[kPanels - 1] : unit.panel[0];
    const std::int32_t row = panel * kPanelRows + local % kPanelRows;
    return row < unit.matrix[0]->w.rows ? __ldcg(job.out + row) : 0.0F;
}

}  // namespace vitrine::cuda::few
