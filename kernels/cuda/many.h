// The `many` family of step_ops.h: steps of many rows, bound by arithmetic.
//
// Activations become f16 rows (bf16 where all weights of an operation are BF16), weights that are not f16 or
// bf16 already become f16 by tiles, cuBLASLt multiplies and adds in float32.
//
// Tolerance against the plain operations, for a product y = Σ w x: both factors are rounded once, so
// |error| ≤ 2 u Σ |w x|, with u = 2^-11 for f16 and, for BF16 weights, u = 2^-9 on the activations alone; f16
// weights are not rounded at all. Gate and up are rounded once more. Rounding errors are independent, so what
// is seen is near u · |y| / 2: 3e-4 of the largest output for f16, 2e-3 for bf16, 5e-4 and 4e-3 for the
// feed-forward operation, are the limits of the tests.
//
// work_bytes(): `cols` is the largest number of inputs of any matrix, `width` the largest of (heads + 2 ·
// kv_heads) · head_dim and D; F and V do not count, their outputs lie in `hidden` and `out`.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/step_ops.h"

namespace vitrine::cuda::many {

// Fewer rows than this are not worth the expansion of weights; the functions work for any number.
inline constexpr std::int32_t kFewestRows = few::kMostRows + 1;

// Empty: cuBLASLt is there. Else one sentence for the user; the functions of the family return false.
std::string problem();

// Gives back what the library holds on all devices; the next use begins again. No step may be on its way.
void release();

}  // namespace vitrine::cuda::many
