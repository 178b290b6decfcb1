// What the CPU device does with a single row of activations. Every function works on one row in a fixed
// order, so its result does not depend on the rows beside it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ops.h"

namespace vitrine::cpu {

struct RowKernels {
    // out = x · weight / sqrt(mean(x²) + eps); out may be x.
    void (*normalise)(const float* x, std::int64_t n, const float* weight, float eps, float* out);
    // gate[i] = act(gate[i]) · up[i]
    void (*gate)(Activation kind, float* gate, const float* up, std::int64_t n);
    // x[i] += y[i] (+ bias[i] where bias is not null)
    void (*add)(float* x, const float* y, const float* bias, std::int64_t n);
    // x[i] = cap · tanh(x[i] / cap)
    void (*cap)(float* x, std::int64_t n, float cap);
    // n floats to F16, BF16 or F32, rounded to nearest.
    void (*convert)(DType type, const float* x, std::int64_t n, std::byte* out);
};

const RowKernels& row_kernels();

}  // namespace vitrine::cpu
