#include <algorithm>
#include <array>
#include <mutex>

#include "kernels/cuda/attention_parts.h"

namespace vitrine::cuda {
namespace attention {

const Gpu& current_gpu() {
    constexpr int kMostGpus = 64;
    static std::array<Gpu, kMostGpus> gpus;
    static std::array<std::once_flag, kMostGpus> asked;
    int index = 0;
    static_cast<void>(cudaGetDevice(&index));
    index = std::clamp(index, 0, kMostGpus - 1);
    const auto at = static_cast<std::size_t>(index);
    std::call_once(asked[at], [&] {
        Gpu& g = gpus[at];
        cudaDeviceGetAttribute(&g.multiprocessors, cudaDevAttrMultiProcessorCount, index);
        cudaDeviceGetAttribute(&g.major, cudaDevAttrComputeCapabilityMajor, index);
        cudaDeviceGetAttribute(&g.shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
        int clusters = 0;
        cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, index);
        g.clusters = clusters != 0 && g.major >= 9;
    });
    return gpus[at];
}

namespace {

bool few_rows(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
              WorkView work, cudaStream_t stream) {
    switch (a.kv.dtype) {
        case DType::F16: return few_of<Kind::F16>(a, step, plan, range, work, stream);
        case DType::BF16: return few_of<Kind::BF16>(a, step, plan, range, work, stream);
        case DType::F32: return few_of<Kind::F32>(a, step, plan, range, work, stream);
        default: return false;
    }
}

bool many_rows(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
               cudaStream_t stream) {
    if (a.kv.dtype == DType::F16) return many_of<Kind::F16>(a, step, plan, range, stream);
    return a.kv.dtype == DType::BF16 && many_of<Kind::BF16>(a, step, plan, range, stream);
}

// Few rows after many keys: `many` has one block for 64 rows × heads, which then reads all keys alone.
// Measured on an H200 (8 KV heads of 128, 32000 keys): 1 ms up to where the blocks fill the GPU, `few` 65 µs
// for each 32 columns.
bool few_suits(const AttentionView& a, const AttentionPlan& plan) {
    if (plan.most_rows <= kFewRows) return true;
    const std::int64_t chunks = (std::int64_t{plan.most_rows} * (a.heads / a.kv.kv_heads) + 31) / 32;
    return plan.most_rows <= kMostFewRows && plan.longest > 1024 && a.window == 0 &&
           plan.sequences * a.kv.kv_heads * chunks <= current_gpu().multiprocessors * 2 / 3;
}

}  // namespace
}  // namespace attention

std::uint64_t attention_work_bytes(std::int32_t /*rows*/, std::int32_t /*heads*/, std::int32_t head_dim) {
    // Partial sums of the blocks that run at once, of at most 32 columns each: a maximum, a sum of weights
    // and a sum of values a column. What is too little only makes fewer blocks share a sequence.
    const auto columns =
        std::uint64_t{32} * static_cast<std::uint64_t>(attention::current_gpu().multiprocessors);
    return columns * (static_cast<std::uint64_t>(head_dim) + 2) * sizeof(float);
}

bool attention_fast(const AttentionView& a, const StepView& step, const AttentionPlan& plan, WorkView work,
                    cudaStream_t stream) {
    using namespace attention;
    const std::int32_t c = a.kv.head_dim;
    if (c != 64 && c != 80 && c != 96 && c != 128 && c != 256) return false;
    if (a.kv.block_size < 8 || a.kv.block_size % 8 != 0 || a.kv.kv_heads < 1 || a.heads % a.kv.kv_heads != 0)
        return false;
    if (plan.sequences < 1 || plan.most_rows < 1 || plan.longest < 1) return false;
    // The tensor cores of Turing have no bfloat16.
    if (current_gpu().major < 8 && a.kv.dtype != DType::F16) return false;
    if (a.kv.dtype == DType::F32 || few_suits(a, plan)) return few_rows(a, step, plan, {}, work, stream);
    // Sequences that prefill and others that write, in one step.
    RowRange rest;
    if (plan.sequences > 1) {
        if (!few_rows(a, step, plan, {1, kFewRows}, work, stream)) return false;
        rest.least = kFewRows + 1;
    }
    return many_rows(a, step, plan, rest, stream) || few_rows(a, step, plan, rest, work, stream);
}

}  // namespace vitrine::cuda
