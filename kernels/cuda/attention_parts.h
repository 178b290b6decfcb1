// The two attention kernels behind attention_fast (step_ops.h).
//
//   few   a few rows of a sequence (and every F32 cache): bound by reading the cache. A cluster of blocks
//         shares a sequence's keys of one KV head and merges its partial softmaxes through distributed shared
//         memory; where several clusters share them, a second kernel merges.
//   many  more rows: bound by arithmetic. FlashAttention-2-style tiles; a block has a tile of the rows ×
//         grouped heads of one KV head.
//
// Error against attention_plain, relative to the largest |value| that a row sees (u = 2^-11 for F16, 2^-9 for
// BF16, 2^-22 for F32):
//   few   q keeps two parts (F32: q, K and V three), so scores differ by rounding of float32 sums only; the
//         probabilities are rounded to u (BF16 keeps two parts, so u²): |error| ≤ u + 2^-18 · |score|.
//   many  q and the probabilities are rounded to the cache's type: a score is off by at most
//         u · Σ|q·k| · scale, on average u / 2 · |q| |k| scale / √C, and the weights by its exponential:
//         |error| ≤ u + 2 · u · Σ|q·k| · scale.
// A value that is not finite reaches each row that sees its key (its dimension, or the whole head as NaN) and
// no other row, although the products run over tiles of keys that only some rows see.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/plain.h"
#include "kernels/cuda/step_ops.h"
#include "kernels/cuda/view.h"

namespace vitrine::cuda::attention {

// What a launcher asks of the GPU that is current. Asked once a GPU.
struct Gpu {
    int multiprocessors = 1;
    int major = 0;          // compute capability
    int shared = 0;         // bytes of shared memory that one block may have
    bool clusters = false;  // of blocks, and programmatic dependent launch
};
const Gpu& current_gpu();

// Rows of one sequence up to which `few` is always taken, and up to which it is where `many` would leave most
// of the GPU idle.
inline constexpr std::int32_t kFewRows = 16;
inline constexpr std::int32_t kMostFewRows = 64;

// How elements of the cache enter the tensor cores. F32 is the exact sum of three bfloat16 parts.
enum class Kind : std::uint8_t { F16, BF16, F32 };

// Rows that a launch takes: sequences with at least `least` and at most `most` rows in this step.
struct RowRange {
    std::int32_t least = 1;
    std::int32_t most = INT32_MAX;
};

// False, with nothing enqueued, where there is no kernel for the cache on this GPU. Instantiated one kind a
// file.
template <Kind kKind>
bool few_of(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
            WorkView work, cudaStream_t stream);
template <Kind kKind>
bool many_of(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
             cudaStream_t stream);

}  // namespace vitrine::cuda::attention
