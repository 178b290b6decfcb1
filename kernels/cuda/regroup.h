// From rows as they lie in a file to the planes of view.h, on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/view.h"

namespace vitrine::cuda {

// Where the planes of a matrix lie in one allocation.
struct PlaneLayout {
    std::uint64_t low = 0, bytes = 0, two = 0, one = 0, scale = 0, super = 0, grid = 0;  // offsets
    std::uint64_t total = 0;
};

// Offsets are multiples of 256. `grid_values`: outside scales, 0 for types without.
PlaneLayout plane_layout(DType type, std::int64_t rows, std::int64_t cols, std::int64_t grid_values);

// A view of planes at `base` (device memory). Absent planes are null.
WeightView view_planes(DType type, std::int64_t rows, std::int64_t cols, const PlaneLayout& layout,
                       std::byte* base);

// Rows [first, first + count) of the matrix, as in the file at `source` (device memory), into its planes.
// Types without sub-structure are copied.
void regroup(const WeightView& planes, std::int64_t first, std::int64_t count, const std::byte* source,
             cudaStream_t stream);

}  // namespace vitrine::cuda
