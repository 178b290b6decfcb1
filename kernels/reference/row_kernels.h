// The inner loops of the reference device. Each is written on sixteen partial sums, so that a compiler
// vectorizes it without leave to reorder: partial sum l takes elements l, l + 16, l + 32 … in that order,
// each as one multiplication and one addition (never fused), and the sixteen are added as a fixed tree. The
// result has the same bits on every processor and does not depend on what is computed beside it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor.h"

namespace vitrine::reference {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t padded(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// The loops compiled for the instruction set of this machine.
struct RowKernels {
    // One row of a file as float32, out[padded(cols)]; the padding is zero.
    void (*dequantize)(DType type, const std::byte* row, std::int64_t cols, float* out);

    // out[t * out_stride + r] = w[r] · x[t] for r < rows, t < tokens. w is [rows][n], x is [tokens][n],
    // n a multiple of kLanes.
    void (*dot)(const float* w, std::int64_t rows, const float* x, std::int64_t tokens, std::int64_t n,
                float* out, std::int64_t out_stride);

    // sum[i] += factor · v[i], i < n, n a multiple of kLanes.
    void (*add_scaled)(float factor, const float* v, std::int64_t n, float* sum);
};

const RowKernels& row_kernels();

}  // namespace vitrine::reference
