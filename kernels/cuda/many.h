// The `many` family of step_ops.h: steps of many rows, bound by arithmetic.
//
// Activations become f16 rows (bf16 where all weights of an operation are BF16), weights that are not f16 or
// bf16 already become f16 by tiles, cuBLASLt multiplies and adds in float32.
//
// Tolerance against the plain operations, for a product y = Σ w x with u = 2^-11 (f16) or 2^-9 (bf16):
// weights that are expanded and activations are each rounded once, so |error| ≤ (2 u + u²) Σ |w x|, rounding
// of the float32 sums aside. Rounding errors are independent: what is seen is 0.6 u · √Σ (w x)², near 0.6 u
// times the outputs' own spread where weights have no mean to speak of. Gate, up and their product are
// rounded once more each. Tests may hold a product to 2 u and the feed-forward operation to 4 u of a row's
// length (‖error‖ / ‖y‖), and single outputs to 4 u and 8 u of the row's largest. Where outputs cancel
// because weights have a large mean (random Q4_K and Q5_K are so), to twice that.
//
// work_bytes(): `cols` is the largest number of inputs of any matrix; `width` the largest of (heads + 2 ·
// kv_heads) · head_dim and D, the outputs that need room. F and V do not count: those outputs lie in `hidden`
// and `out`. Nothing wider than 32768 gets room.
//
// logits() multiplies as many rows as are wanted; for up to few::kMostRows of them few::logits() is faster.
#pragma once

#include <string>

#include "kernels/cuda/step_ops.h"

namespace vitrine::cuda::many {

// Empty: cuBLASLt is there. Else one sentence for the user; the functions of the family return false.
std::string problem();

// Gives back what the library holds on all devices; the next use begins again. No step may be on its way.
void release();

}  // namespace vitrine::cuda::many
