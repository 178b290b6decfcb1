// Tiles of weights as rows of f16 for the tensor cores, out of any format's planes.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/view.h"

namespace vitrine::cuda::many {

// Rows [first, first + count) of w to `out`, `stride` numbers apart (a multiple of 8, at least w.cols; zero
// beyond w.cols). Weights beyond what f16 holds (65504) become infinite.
void expand_rows(const WeightView& w, std::int32_t first, std::int32_t count, void* out, std::int64_t stride,
                 cudaStream_t stream);

}  // namespace vitrine::cuda::many
