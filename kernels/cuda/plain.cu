#include "kernels/cuda/formats.cuh"
#include "kernels/cuda/plain.h"

namespace vitrine::cuda {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAll = 0xFFFFFFFFU;

template <class T>
__device__ T warp_sum(T v) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(kAll, v, offset);
    return v;
}

// Sum over a block of up to 1024 threads, the same in every thread.
template <class T>
__device__ T block_sum(T v) {
    __shared__ T parts[kWarp];
    const int warp = threadIdx.x / kWarp;
    v = warp_sum(v);
    __syncthreads();
    if (threadIdx.x % kWarp == 0) parts[warp] = v;
    __syncthreads();
    T sum = 0;
    for (int i = 0; i < static_cast<int>(blockDim.x) / kWarp; ++i) sum += parts[i];
    return sum;
}

__device__ float block_max(float v) {
    __shared__ float parts[kWarp];
    const int warp = threadIdx.x / kWarp;
    for (int offset = kWarp / 2; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(kAll, v, offset));
    __syncthreads();
    if (threadIdx.x % kWarp == 0) parts[warp] = v;
    __syncthreads();
    float top = parts[0];
    for (int i = 1; i < static_cast<int>(blockDim.x) / kWarp; ++i) top = fmaxf(top, parts[i]);
    return top;
}

template <DType kType>
__global__ void embed_kernel(WeightView table, StepView step, float scale, float* x) {
    const std::int32_t token = step.tokens[blockIdx.x];
    float* out = x + std::int64_t{blockIdx.x} * table.cols;
    for (std::int32_t g = threadIdx.x; g * 32 < table.cols; g += blockDim.x) {
        float w[32];
        load_group<kType>(table, token, g, w);
        for (int i = 0; i < min(32, table.cols - g * 32); ++i) out[g * 32 + i] = w[i] * scale;
    }
}

template <DType kType>
__global__ void row_kernel(WeightView w, std::int32_t row, float* out) {
    for (std::int32_t g = threadIdx.x; g * 32 < w.cols; g += blockDim.x) {
        float v[32];
        load_group<kType>(w, row, g, v);
        for (int i = 0; i < min(32, w.cols - g * 32); ++i) out[g * 32 + i] = v[i];
    }
}

__global__ void normalise_kernel(const float* x, const std::int32_t* picked, std::int32_t n,
                                 const float* weight, float eps, float* out) {
    const std::int64_t row = picked != nullptr ? picked[blockIdx.x] : static_cast<std::int32_t>(blockIdx.x);
    const float* from = x + row * n;
    float* to = out + std::int64_t{blockIdx.x} * n;
    double squares = 0;
    for (std::int32_t i = threadIdx.x; i < n; i += blockDim.x)
        squares += static_cast<double>(from[i]) * static_cast<double>(from[i]);
    const double mean = block_sum(squares) / n;
    const auto factor = static_cast<float>(1.0 / sqrt(mean + static_cast<double>(eps)));
    for (std::int32_t i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i] * factor * weight[i];
}

constexpr int kTokens = 4;  // of one pass over the weights

// A warp a row. Lane l takes groups l, l + 32, …; the lanes' sums are added as a tree.
template <DType kType>
__global__ void multiply_kernel(WeightView w, const float* x, std::int32_t tokens, const float* bias,
                                bool add, float* out, std::int32_t stride) {
    const auto row = static_cast<std::int32_t>(blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp);
    if (row >= w.rows) return;
    const auto lane = static_cast<std::int32_t>(threadIdx.x % kWarp);
    const std::int32_t first = static_cast<std::int32_t>(blockIdx.y) * kTokens;
    float sums[kTokens] = {};
    for (std::int32_t g = lane; g * 32 < w.cols; g += kWarp) {
        float v[32];
        load_group<kType>(w, row, g, v);
        const int count = min(32, w.cols - g * 32);
#pragma unroll
        for (int t = 0; t < kTokens; ++t) {
            if (first + t >= tokens) break;
            const float* in = x + std::int64_t{first + t} * w.cols + g * 32;
            for (int i = 0; i < count; ++i) sums[t] = fmaf(v[i], in[i], sums[t]);
        }
    }
    for (int t = 0; t < kTokens && first + t < tokens; ++t) {
        float sum = warp_sum(sums[t]);
        if (lane != 0) continue;
        if (bias != nullptr) sum += bias[row];
        float& to = out[std::int64_t{first + t} * stride + row];
        to = add ? to + sum : sum;
    }
}

__global__ void rope_kernel(RopeView rope, StepView step) {
    const std::int32_t set = step.slices[step.row_slice[blockIdx.x]].rope_set;
    const auto position = static_cast<double>(step.positions[blockIdx.x]);
    const auto magnitude = static_cast<double>(rope.magnitude[set]);
    for (std::int32_t i = threadIdx.x; i < rope.half; i += blockDim.x) {
        const double angle = position * rope.inv_freq[set * rope.half + i];
        const std::int64_t at = std::int64_t{blockIdx.x} * rope.half + i;
        rope.cosine[at] = static_cast<float>(cos(angle) * magnitude);
        rope.sine[at] = static_cast<float>(sin(angle) * magnitude);
    }
}

__device__ float load_element(DType type, const std::uint8_t* base, std::int64_t index) {
    if (type == DType::F32) return reinterpret_cast<const float*>(base)[index];
    const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(base)[index];
    return type == DType::F16 ? half_bits(bits) : __uint_as_float(static_cast<std::uint32_t>(bits) << 16U);
}

__device__ void store_element(DType type, std::uint8_t* base, std::int64_t index, float v) {
    if (type == DType::F32)
        reinterpret_cast<float*>(base)[index] = v;
    else if (type == DType::F16)
        reinterpret_cast<__half*>(base)[index] = __float2half_rn(v);
    else
        reinterpret_cast<__nv_bfloat16*>(base)[index] = __float2bfloat16_rn(v);
}

// The first element of a token's key or value.
__device__ std::int64_t kv_place(const KvView& kv, std::int32_t layer, bool value, std::int32_t block,
                                 std::int32_t head, std::int32_t slot) {
    const std::int64_t plane = std::int64_t{layer} * 2 + (value ? 1 : 0);
    const std::int64_t panel = (plane * kv.blocks + block) * kv.kv_heads + head;
    return (panel * kv.block_size + slot) * kv.head_dim;
}

// One block a row and head (query heads, then key heads, then value heads); a thread an element of the head.
__global__ void heads_kernel(HeadsArgs a, StepView step) {
    extern __shared__ float head[];
    const std::int32_t c = a.kv.head_dim;
    const auto r = static_cast<std::int32_t>(blockIdx.x);
    const auto h = static_cast<std::int32_t>(blockIdx.y);
    const bool is_q = h < a.heads;
    const bool is_v = h >= a.heads + a.kv.kv_heads;
    const float* y = a.y + (std::int64_t{r} * (a.heads + 2 * a.kv.kv_heads) + h) * c;
    for (std::int32_t i = threadIdx.x; i < c; i += blockDim.x) head[i] = y[i];
    __syncthreads();
    const float* norm = is_v ? nullptr : is_q ? a.q_norm : a.k_norm;
    if (norm != nullptr) {
        double squares = 0;
        for (std::int32_t i = threadIdx.x; i < c; i += blockDim.x)
            squares += static_cast<double>(head[i]) * static_cast<double>(head[i]);
        const double mean = block_sum(squares) / c;
        const auto factor = static_cast<float>(1.0 / sqrt(mean + static_cast<double>(a.eps)));
        for (std::int32_t i = threadIdx.x; i < c; i += blockDim.x) head[i] = head[i] * factor * norm[i];
        __syncthreads();
    }
    if (!is_v) {
        const std::int32_t half = a.rope.half;
        const std::int32_t next = a.rope.style == RopeStyle::Halves ? 1 : 2;
        const std::int32_t other = a.rope.style == RopeStyle::Halves ? half : 1;
        for (std::int32_t i = threadIdx.x; i < half; i += blockDim.x) {
            const float cosine = a.rope.cosine[std::int64_t{r} * half + i];
            const float sine = a.rope.sine[std::int64_t{r} * half + i];
            const float p = head[i * next];
            const float q = head[i * next + other];
            head[i * next] = __fsub_rn(__fmul_rn(p, cosine), __fmul_rn(q, sine));
            head[i * next + other] = __fadd_rn(__fmul_rn(q, cosine), __fmul_rn(p, sine));
        }
        __syncthreads();
    }
    if (is_q) {
        float* q = a.q + (std::int64_t{r} * a.heads + h) * c;
        for (std::int32_t i = threadIdx.x; i < c; i += blockDim.x) q[i] = head[i];
        return;
    }
    const SliceView slice = step.slices[step.row_slice[r]];
    const std::int32_t slot = slice.start + r - slice.first_row;
    const std::int32_t block = step.tables[slice.first_block + slot / a.kv.block_size];
    const std::int32_t kv_head = (h - a.heads) % a.kv.kv_heads;
    const std::int64_t to = kv_place(a.kv, a.layer, is_v, block, kv_head, slot % a.kv.block_size);
    for (std::int32_t i = threadIdx.x; i < c; i += blockDim.x)
        store_element(a.kv.dtype, a.kv.base, to + i, head[i]);
}

constexpr int kKeys = 128;  // of one piece; pieces start at multiples of it, whatever the window

// One block a row and query head. Softmax by pieces of keys: running maximum, sum and weighted values.
__global__ void attention_kernel(AttentionView a, StepView step) {
    extern __shared__ float memory[];
    const std::int32_t c = a.kv.head_dim;
    float* q = memory;          // [c]
    float* sums = memory + c;   // [c]
    float* p = memory + 2 * c;  // [kKeys]
    const auto r = static_cast<std::int32_t>(blockIdx.x);
    const auto h = static_cast<std::int32_t>(blockIdx.y);
    const std::int32_t kv_head = h / (a.heads / a.kv.kv_heads);
    const SliceView slice = step.slices[step.row_slice[r]];
    const std::int32_t to = slice.start + r - slice.first_row + 1;
    const std::int32_t from = a.window > 0 ? max(0, to - a.window) : 0;
    const auto place = [&](bool value, std::int32_t key) {
        const std::int32_t block = step.tables[slice.first_block + key / a.kv.block_size];
        return kv_place(a.kv, a.layer, value, block, kv_head, key % a.kv.block_size);
    };
    for (std::int32_t i = threadIdx.x; i < c; i += blockDim.x) {
        q[i] = a.q[(std::int64_t{r} * a.heads + h) * c + i];
        sums[i] = 0;
    }
    __syncthreads();
    float top = -INFINITY;
    float total = 0;
    for (std::int32_t first = from / kKeys * kKeys; first < to; first += kKeys) {
        const std::int32_t key = first + static_cast<std::int32_t>(threadIdx.x);
        float score = -INFINITY;
        if (key >= from && key < to) {
            const std::int64_t at = place(false, key);
            float dot = 0;
            for (std::int32_t i = 0; i < c; ++i)
                dot = fmaf(q[i], load_element(a.kv.dtype, a.kv.base, at + i), dot);
            score = dot * a.scale;
            if (a.softcap != 0.0F) score = a.softcap * tanhf(score / a.softcap);
        }
        const float higher = fmaxf(top, block_max(score));
        // A NaN score would vanish in the maximum; the exponential keeps it.
        const float e = key >= from && key < to ? expf(score - higher) : 0.0F;
        const float old = top == -INFINITY ? 0.0F : expf(top - higher);
        total = total * old + block_sum(e);
        top = higher;
        p[threadIdx.x] = e;
        __syncthreads();
        const std::int32_t last = min(first + kKeys, to);
        for (std::int32_t i = threadIdx.x; i < c; i += blockDim.x) {
            float sum = sums[i] * old;
            for (std::int32_t k = max(first, from); k < last; ++k)
                sum = fmaf(p[k - first], load_element(a.kv.dtype, a.kv.base, place(true, k) + i), sum);
            sums[i] = sum;
        }
        __syncthreads();
    }
    for (std::int32_t i = threadIdx.x; i < c; i += blockDim.x)
        a.out[(std::int64_t{r} * a.heads + h) * c + i] = sums[i] / total;
}

__device__ std::int64_t index_here() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

__global__ void gate_kernel(Activation kind, float* g, const float* up, std::int64_t count) {
    const std::int64_t i = index_here();
    if (i >= count) return;
    const float x = g[i];
    float a;
    if (kind == Activation::SiLU)
        a = x / (1.0F + expf(-x));
    else
        a = x / (1.0F + expf(-2.0F * 0.79788456F * fmaf(0.044715F, x * x * x, x)));
    g[i] = a * up[i];
}

__global__ void add_kernel(float* x, const float* y, std::int64_t count) {
    const std::int64_t i = index_here();
    if (i < count) x[i] += y[i];
}

__global__ void cap_kernel(float* x, std::int64_t count, float cap) {
    const std::int64_t i = index_here();
    if (i < count) x[i] = cap * tanhf(x[i] / cap);
}

__global__ void fill_kernel(KvView kv, std::int64_t count, float value) {
    const std::int64_t i = index_here();
    if (i < count) store_element(kv.dtype, kv.base, i, value);
}

constexpr unsigned kThreads = 256;
unsigned blocks_for(std::int64_t count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

}  // namespace

void embed(const WeightView& table, const StepView& step, float scale, float* x, cudaStream_t stream) {
    for_type(table.type, [&]<DType kType>() {
        embed_kernel<kType><<<static_cast<unsigned>(step.rows), 128, 0, stream>>>(table, step, scale, x);
    });
}

void dequantize_row(const WeightView& w, std::int32_t row, float* out, cudaStream_t stream) {
    for_type(w.type, [&]<DType kType>() { row_kernel<kType><<<1, 128, 0, stream>>>(w, row, out); });
}

void normalise(const float* x, const std::int32_t* picked, std::int32_t rows, std::int32_t n,
               const float* weight, float eps, float* out, cudaStream_t stream) {
    if (rows > 0)
        normalise_kernel<<<static_cast<unsigned>(rows), 256, 0, stream>>>(x, picked, n, weight, eps, out);
}

void multiply_plain(const WeightView& w, const float* x, std::int32_t tokens, const float* bias, bool add,
                    float* out, std::int32_t stride, cudaStream_t stream) {
    constexpr unsigned kRows = 8;
    const dim3 grid((static_cast<unsigned>(w.rows) + kRows - 1) / kRows,
                    static_cast<unsigned>((tokens + kTokens - 1) / kTokens));
    for_type(w.type, [&]<DType kType>() {
        multiply_kernel<kType><<<grid, kRows * kWarp, 0, stream>>>(w, x, tokens, bias, add, out, stride);
    });
}

void fill_rope(const RopeView& rope, const StepView& step, cudaStream_t stream) {
    if (rope.half > 0) rope_kernel<<<static_cast<unsigned>(step.rows), 64, 0, stream>>>(rope, step);
}

void finish_heads(const HeadsArgs& a, const StepView& step, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(step.rows), static_cast<unsigned>(a.heads + 2 * a.kv.kv_heads));
    heads_kernel<<<grid, 64, static_cast<std::size_t>(a.kv.head_dim) * sizeof(float), stream>>>(a, step);
}

void attention_plain(const AttentionView& a, const StepView& step, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(step.rows), static_cast<unsigned>(a.heads));
    const std::size_t bytes = (2 * static_cast<std::size_t>(a.kv.head_dim) + kKeys) * sizeof(float);
    attention_kernel<<<grid, kKeys, bytes, stream>>>(a, step);
}

void gate(Activation activation, float* g, const float* up, std::int64_t count, cudaStream_t stream) {
    gate_kernel<<<blocks_for(count), kThreads, 0, stream>>>(activation, g, up, count);
}

void add(float* x, const float* y, std::int64_t count, cudaStream_t stream) {
    add_kernel<<<blocks_for(count), kThreads, 0, stream>>>(x, y, count);
}

void soft_cap(float* x, std::int64_t count, float cap, cudaStream_t stream) {
    cap_kernel<<<blocks_for(count), kThreads, 0, stream>>>(x, count, cap);
}

void fill_cache(const KvView& kv, float value, cudaStream_t stream) {
    const std::int64_t count =
        std::int64_t{2} * kv.layers * kv.blocks * kv.kv_heads * kv.block_size * kv.head_dim;
    fill_kernel<<<blocks_for(count), kThreads, 0, stream>>>(kv, count, value);
}

}  // namespace vitrine::cuda
