// The operations of a step as the CUDA device hands them to its kernels: device pointers and views,
// everything that changes from step to step in device memory (StepView), so that a step can be captured into
// a graph and replayed. Two families implement them: `few` (a few rows: bound by reading weights) and `many`
// (prefill: bound by arithmetic); plain.h is the yardstick of both.
//
// Launchers only enqueue on `stream`: no allocation, no synchronisation, and a launch that depends on nothing
// but the arguments here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/plain.h"
#include "kernels/cuda/view.h"
#include "kernels/ops.h"

namespace vitrine::cuda {

// Working memory that lives from one launch to the next on the same stream, and its size for a model: the
// largest that any operation asks for.
struct WorkView {
    std::byte* data = nullptr;
    std::uint64_t size = 0;
};

// Norms and biases are [D], [H·C], … float32 or null.
struct QkvView {
    const float* x = nullptr;  // [R, D]
    const float* norm = nullptr;
    float eps = 0;
    WeightView wq, wk, wv;
    const float* bq = nullptr;
    const float* bk = nullptr;
    const float* bv = nullptr;
    HeadsArgs heads;  // y is not set: the family finds its own room for the projections
};

struct ProjectView {
    const float* in = nullptr;  // [R, cols of w]
    WeightView w;
    const float* bias = nullptr;
    const float* post_norm = nullptr;
    float eps = 0;
    float* x = nullptr;  // in and out [R, D]
};

struct FeedForwardView {
    float* x = nullptr;  // in and out [R, D]
    const float* norm = nullptr;
    float eps = 0;
    WeightView gate, up, down;
    const float* gate_bias = nullptr;
    const float* up_bias = nullptr;
    const float* down_bias = nullptr;
    const float* post_norm = nullptr;
    Activation activation = Activation::SiLU;
    float* hidden = nullptr;  // scratch [R, F]
};

struct LogitsView {
    const float* x = nullptr;  // [R, D]; rows step.output_rows are wanted, step.outputs of them
    const float* norm = nullptr;
    float eps = 0;
    WeightView w;
    float softcap = 0;
    float* out = nullptr;  // [outputs, V]
};

// Each returns false, having enqueued nothing, where it has no kernel for these shapes or formats or `work`
// is too small; the caller then takes the plain operations.
namespace few {
inline constexpr std::int32_t kMostRows = 64;
// Bytes of working memory for matrices of at most `cols` inputs and `width` outputs.
std::uint64_t work_bytes(std::int64_t cols, std::int64_t width);
bool qkv(const QkvView& a, const StepView& step, WorkView work, cudaStream_t stream);
bool project(const ProjectView& a, const StepView& step, WorkView work, cudaStream_t stream);
bool feed_forward(const FeedForwardView& a, const StepView& step, WorkView work, cudaStream_t stream);
bool logits(const LogitsView& a, const StepView& step, WorkView work, cudaStream_t stream);
}  // namespace few

namespace many {
// Bytes of working memory for steps of `rows` rows.
std::uint64_t work_bytes(std::int64_t rows, std::int64_t cols, std::int64_t width);
bool qkv(const QkvView& a, const StepView& step, WorkView work, cudaStream_t stream);
bool project(const ProjectView& a, const StepView& step, WorkView work, cudaStream_t stream);
bool feed_forward(const FeedForwardView& a, const StepView& step, WorkView work, cudaStream_t stream);
bool logits(const LogitsView& a, const StepView& step, WorkView work, cudaStream_t stream);
}  // namespace many

// What attention kernels may plan with: upper bounds that hold for every replay of a captured step.
struct AttentionPlan {
    std::int32_t longest = 0;    // keys visible to any row
    std::int32_t most_rows = 0;  // rows of one sequence
    std::int32_t sequences = 0;
    friend bool operator==(const AttentionPlan&, const AttentionPlan&) = default;
};
std::uint64_t attention_work_bytes(std::int32_t rows, std::int32_t heads, std::int32_t head_dim);
bool attention_fast(const AttentionView& a, const StepView& step, const AttentionPlan& plan, WorkView work,
                    cudaStream_t stream);

}  // namespace vitrine::cuda
