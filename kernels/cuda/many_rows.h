// What stands between the matrix products of the `many` family: rows of float32 become rows of 16-bit
// numbers for the tensor cores, and back. One kernel each.
//
// 16-bit rows have a stride of `stride` numbers, a multiple of 8; what lies beyond a row's width is zero.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/blas.h"
#include "kernels/cuda/plain.h"
#include "kernels/cuda/view.h"
#include "kernels/ops.h"

namespace vitrine::cuda::many {

// Normalised rows x[picked[i]] (picked null: x[i]) times a power of two that is the same for all of them,
// such that no row is longer than kLongest; its inverse, then zero, to `alpha`. So an output of 16 bits
// overflows only where a row of weights is longer than 1000.
void normalise_rows(const float* x, const std::int32_t* picked, std::int32_t rows, std::int32_t n,
                    const float* weight, float eps, blas::Number number, void* out, std::int64_t stride,
                    float* alpha, cudaStream_t stream);

// The residual that a product will be added to. Rows of inputs whose largest number would not do well in 16
// bits are multiplied by a power of two; the residual's row is multiplied by the same before the product is
// added (and the bias with it), and finish_residual() undoes both. With `x` null the residual is somebody
// else's business, only the inverse power is noted.
struct Residual {
    float* x = nullptr;  // [rows][n]
    std::int32_t n = 0;
    const float* bias = nullptr;
    float* inverse = nullptr;  // [rows]
};
void narrow_rows(const float* in, std::int32_t rows, std::int32_t n, blas::Number number, void* out,
                 std::int64_t stride, const Residual& residual, cudaStream_t stream);
// act(gate + bias) · (up + bias). Gate and up lie side by side, [rows][2 n], in the number given, as products
// of what normalise_rows() wrote: still to be multiplied by its alpha, so that they do not overflow either.
void gate_rows(const void* gate_up, const float* alpha, std::int32_t rows, std::int32_t n,
               blas::Number number, const float* gate_bias, const float* up_bias, Activation activation,
               void* out, std::int64_t stride, const Residual& residual, cudaStream_t stream);
void finish_residual(const Residual& residual, std::int32_t rows, cudaStream_t stream);

// x[r] += norm(inverse[r] · y[r] + bias).
void add_normalised(const float* y, const float* inverse, std::int32_t rows, std::int32_t n,
                    const float* bias, const float* weight, float eps, float* x, cudaStream_t stream);

// finish_heads() of plain.h for many rows, biases included; `stride` floats between rows of a.y. Heads of
// an even size.
void finish_many_heads(const HeadsArgs& a, std::int64_t stride, const float* bq, const float* bk,
                       const float* bv, const StepView& step, cudaStream_t stream);

}  // namespace vitrine::cuda::many
