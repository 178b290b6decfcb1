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
        cudaDeviceGetAttribute(&g.minor, cudaDevAttrComputeCapabilityMinor, index);
        cudaDeviceGetAttribute(&g.shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
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

}  // namespace
}  // namespace attention

std::uint64_t attention_work_bytes(std::int32_t rows, std::int32_t heads, std::int32_t head_dim) {
    // Partial sums of every column, padded to whole tiles: fewer clusters share a sequence where there are
    // many columns, until one has it to itself.
    const std::int64_t columns = std::int64_t{rows} * heads;
    const std::int64_t clusters = std::clamp<std::int64_t>(16384 / columns, 4, 32);
    const std::int64_t padded = columns + 32 * std::min<std::int64_t>(columns, 512);
    constexpr std::int64_t kMost = std::int64_t{64} << 20U;
    return static_cast<std::uint64_t>(std::min(padded * clusters * (std::int64_t{head_dim} * 4 + 8), kMost));
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
    if (a.kv.dtype == DType::F32 || plan.most_rows <= kFewRows)
        return few_rows(a, step, plan, {}, work, stream);
    if (plan.sequences > 1) {
        // Sequences that prefill and others that write, in one step.
        if (!few_rows(a, step, plan, {1, kFewRows}, work, stream)) return false;
    }
    return many_rows(a, step, plan, {plan.sequences > 1 ? kFewRows + 1 : 1, INT32_MAX}, stream);
}

}  // namespace vitrine::cuda
