#include "kernels/cuda/many_parts.cuh"
#include "kernels/cuda/many_rows.h"

namespace vitrine::cuda::many {
namespace {

constexpr int kHeadWarps = 8;

// Of a row and head: where its numbers come from and go.
struct HeadPlace {
    const float* y;
    const float* bias;  // or null
    const float* norm;  // or null
    float* q;           // or null: into the cache
    std::int64_t cache;
    bool turned;
};

__device__ HeadPlace head_place(const HeadsArgs& a, std::int64_t stride, const float* bq, const float* bk,
                                const float* bv, const StepView& step, std::int32_t r, std::int32_t h) {
    const std::int32_t c = a.kv.head_dim;
    const bool is_q = h < a.heads;
    const bool is_v = h >= a.heads + a.kv.kv_heads;
    const std::int32_t head = is_q ? h : is_v ? h - a.heads - a.kv.kv_heads : h - a.heads;
    const float* bias = is_q ? bq : is_v ? bv : bk;
    HeadPlace p{};
    p.y = a.y + r * stride + std::int64_t{h} * c;
    p.bias = bias != nullptr ? bias + head * c : nullptr;
    p.norm = is_v ? nullptr : is_q ? a.q_norm : a.k_norm;
    p.turned = !is_v;
    if (is_q) {
        p.q = a.q + (std::int64_t{r} * a.heads + h) * c;
        return p;
    }
    const SliceView slice = step.slices[step.row_slice[r]];
    const std::int32_t slot = slice.start + r - slice.first_row;
    const std::int32_t block = step.tables[slice.first_block + slot / a.kv.block_size];
    const std::int64_t plane = std::int64_t{a.layer} * 2 + (is_v ? 1 : 0);
    const std::int64_t panel = (plane * a.kv.blocks + block) * a.kv.kv_heads + head;
    p.cache = (panel * a.kv.block_size + slot % a.kv.block_size) * c;
    return p;
}

// Two neighbours, the first at an even place.
__device__ float2 load_pair(const HeadPlace& p, std::int32_t i) {
    float2 v = *reinterpret_cast<const float2*>(p.y + i);
    if (p.bias != nullptr) {
        v.x += p.bias[i];
        v.y += p.bias[i + 1];
    }
    return v;
}
__device__ void store_pair(const KvView& kv, const HeadPlace& p, std::int32_t i, float2 v) {
    if (p.q != nullptr) {
        *reinterpret_cast<float2*>(p.q + i) = v;
        return;
    }
    const std::int64_t at = (p.cache + i) / 2;
    if (kv.dtype == DType::F32)
        reinterpret_cast<float2*>(kv.base)[at] = v;
    else
        reinterpret_cast<std::uint32_t*>(kv.base)[at] =
            kv.dtype == DType::F16 ? pack<__half>(v.x, v.y) : pack<__nv_bfloat16>(v.x, v.y);
}

// x·cos − y·sin and y·cos + x·sin, rounded as in the plain operations.
__device__ void turn(float& x, float& y, float cosine, float sine) {
    const float first = __fsub_rn(__fmul_rn(x, cosine), __fmul_rn(y, sine));
    y = __fadd_rn(__fmul_rn(y, cosine), __fmul_rn(x, sine));
    x = first;
}

// A warp a row and head: query heads, then key heads, then value heads. A lane takes two rotations at a time:
// two neighbours here and two there (kHalves), or four in a row. Heads of a multiple of four, rope.half even.
template <bool kHalves>
__global__ void __launch_bounds__(kHeadWarps* kWarp)
    heads_kernel(HeadsArgs a, std::int64_t stride, const float* bq, const float* bk, const float* bv,
                 StepView step) {
    const std::int32_t c = a.kv.head_dim;
    const auto lane = static_cast<std::int32_t>(threadIdx.x % kWarp);
    const auto r = static_cast<std::int32_t>(blockIdx.y);
    const auto h = static_cast<std::int32_t>(blockIdx.x * kHeadWarps + threadIdx.x / kWarp);
    if (h >= a.heads + 2 * a.kv.kv_heads) return;
    const HeadPlace p = head_place(a, stride, bq, bk, bv, step, r, h);
    float factor = 1;
    if (p.norm != nullptr) {
        float squares = 0;
        for (std::int32_t i = 2 * lane; i < c; i += 2 * kWarp) {
            const float2 v = load_pair(p, i);
            squares = fmaf(v.x, v.x, fmaf(v.y, v.y, squares));
        }
        factor = 1.0F / sqrtf(over_warp<Sum>(squares) / static_cast<float>(c) + a.eps);
    }
    const auto value = [&](std::int32_t i) {
        float2 v = load_pair(p, i);
        if (p.norm != nullptr) {
            v.x = v.x * factor * p.norm[i];
            v.y = v.y * factor * p.norm[i + 1];
        }
        return v;
    };
    const std::int32_t half = p.turned ? a.rope.half : 0;
    for (std::int32_t i = 2 * lane; i < half; i += 2 * kWarp) {
        const std::int32_t here = kHalves ? i : 2 * i;
        const std::int32_t there = kHalves ? half + i : 2 * i + 2;
        float2 v = value(here);
        float2 w = value(there);
        const std::int64_t place = std::int64_t{r} * half + i;
        const float2 cosine = *reinterpret_cast<const float2*>(a.rope.cosine + place);
        const float2 sine = *reinterpret_cast<const float2*>(a.rope.sine + place);
        if constexpr (kHalves) {
            turn(v.x, w.x, cosine.x, sine.x);
            turn(v.y, w.y, cosine.y, sine.y);
        } else {
            turn(v.x, v.y, cosine.x, sine.x);
            turn(w.x, w.y, cosine.y, sine.y);
        }
        store_pair(a.kv, p, here, v);
        store_pair(a.kv, p, there, w);
    }
    for (std::int32_t i = 2 * half + 2 * lane; i < c; i += 2 * kWarp) store_pair(a.kv, p, i, value(i));
}

// The same for heads of any even size, through shared memory.
__global__ void odd_heads_kernel(HeadsArgs a, std::int64_t stride, const float* bq, const float* bk,
                                 const float* bv, StepView step) {
    extern __shared__ float2 memory[];
    const std::int32_t c = a.kv.head_dim;
    const auto warp = static_cast<std::int32_t>(threadIdx.x / kWarp);
    const auto lane = static_cast<std::int32_t>(threadIdx.x % kWarp);
    const auto r = static_cast<std::int32_t>(blockIdx.y);
    const std::int32_t h = static_cast<std::int32_t>(blockIdx.x) * kHeadWarps + warp;
    if (h >= a.heads + 2 * a.kv.kv_heads) return;
    const HeadPlace p = head_place(a, stride, bq, bk, bv, step, r, h);
    float2* pairs = memory + warp * (c / 2);
    auto* head = reinterpret_cast<float*>(pairs);
    float squares = 0;
    for (std::int32_t i = lane; i < c / 2; i += kWarp) {
        const float2 v = load_pair(p, 2 * i);
        squares = fmaf(v.x, v.x, fmaf(v.y, v.y, squares));
        pairs[i] = v;
    }
    if (p.norm != nullptr) {
        const float factor = 1.0F / sqrtf(over_warp<Sum>(squares) / static_cast<float>(c) + a.eps);
        for (std::int32_t i = lane; i < c / 2; i += kWarp) {
            pairs[i].x = pairs[i].x * factor * p.norm[2 * i];
            pairs[i].y = pairs[i].y * factor * p.norm[2 * i + 1];
        }
    }
    __syncwarp();
    if (p.turned) {
        const std::int32_t half = a.rope.half;
        const std::int32_t next = a.rope.style == RopeStyle::Halves ? 1 : 2;
        const std::int32_t other = a.rope.style == RopeStyle::Halves ? half : 1;
        for (std::int32_t i = lane; i < half; i += kWarp)
            turn(head[i * next], head[i * next + other], a.rope.cosine[std::int64_t{r} * half + i],
                 a.rope.sine[std::int64_t{r} * half + i]);
        __syncwarp();
    }
    for (std::int32_t i = lane; i < c / 2; i += kWarp) store_pair(a.kv, p, 2 * i, pairs[i]);
}

}  // namespace

void finish_many_heads(const HeadsArgs& a, std::int64_t stride, const float* bq, const float* bk,
                       const float* bv, const StepView& step, cudaStream_t stream) {
    const std::int32_t heads = a.heads + 2 * a.kv.kv_heads;
    const dim3 grid(static_cast<unsigned>((heads + kHeadWarps - 1) / kHeadWarps),
                    static_cast<unsigned>(step.rows));
    constexpr unsigned kThreads = kHeadWarps * kWarp;
    const bool fours = a.kv.head_dim % 4 == 0 && a.rope.half % 2 == 0;
    if (fours && a.rope.style == RopeStyle::Halves) {
        heads_kernel<true><<<grid, kThreads, 0, stream>>>(a, stride, bq, bk, bv, step);
    } else if (fours) {
        heads_kernel<false><<<grid, kThreads, 0, stream>>>(a, stride, bq, bk, bv, step);
    } else {
        const std::size_t bytes =
            std::size_t{kHeadWarps} * static_cast<std::size_t>(a.kv.head_dim) * sizeof(float);
        odd_heads_kernel<<<grid, kThreads, bytes, stream>>>(a, stride, bq, bk, bv, step);
    }
}

}  // namespace vitrine::cuda::many
