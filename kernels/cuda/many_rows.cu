#include <algorithm>
#include <type_traits>

#include "kernels/cuda/formats.cuh"
#include "kernels/cuda/many_rows.h"

namespace vitrine::cuda::many {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAll = 0xFFFFFFFFU;
constexpr int kEight = 8;  // numbers of 16 bits in 16 bytes

struct Sum {
    __device__ static float of(float a, float b) { return a + b; }
};
struct Largest {
    // Keeps a NaN.
    __device__ static float of(float a, float b) { return a > b || isnan(a) ? a : b; }
};

template <class How>
__device__ float over_warp(float v) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) v = How::of(v, __shfl_xor_sync(kAll, v, offset));
    return v;
}

// The same in every thread of a block of up to 1024.
template <class How>
__device__ float over_block(float v) {
    __shared__ float parts[kWarp];
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    v = over_warp<How>(v);
    __syncthreads();
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = v;
    __syncthreads();
    v = parts[0];
    for (int i = 1; i < warps; ++i) v = How::of(v, parts[i]);
    return v;
}

// Two numbers of 16 bits.
template <class T>
__device__ std::uint32_t pack(float a, float b);
template <>
__device__ std::uint32_t pack<__half>(float a, float b) {
    const __half2 h = __floats2half2_rn(a, b);
    return *reinterpret_cast<const std::uint32_t*>(&h);
}
template <>
__device__ std::uint32_t pack<__nv_bfloat16>(float a, float b) {
    const __nv_bfloat162 h = __floats2bfloat162_rn(a, b);
    return *reinterpret_cast<const std::uint32_t*>(&h);
}
template <class T>
__device__ float2 unpack(std::uint32_t bits);
template <>
__device__ float2 unpack<__half>(std::uint32_t bits) {
    return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}
template <>
__device__ float2 unpack<__nv_bfloat16>(std::uint32_t bits) {
    return {__uint_as_float(bits << 16U), __uint_as_float(bits & 0xFFFF0000U)};
}

// Eight neighbours of a row, zero beyond its end. kWhole: rows are whole eights, so all is aligned.
template <bool kWhole>
__device__ void load_eight(const float* row, std::int32_t first, std::int32_t n, float (&v)[kEight]) {
    if constexpr (kWhole) {
        const float4 a = *reinterpret_cast<const float4*>(row + first);
        const float4 b = *reinterpret_cast<const float4*>(row + first + 4);
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
    } else {
#pragma unroll
        for (int i = 0; i < kEight; ++i) v[i] = first + i < n ? row[first + i] : 0.0F;
    }
}
template <class T, bool kWhole>
__device__ void load_eight(const T* row, std::int32_t first, std::int32_t n, float (&v)[kEight]) {
    if constexpr (kWhole) {
        const uint4 a = *reinterpret_cast<const uint4*>(row + first);
        const std::uint32_t words[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 pair = unpack<T>(words[i]);
            v[2 * i] = pair.x;
            v[2 * i + 1] = pair.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < kEight; ++i) v[i] = first + i < n ? static_cast<float>(row[first + i]) : 0.0F;
    }
}
template <class T>
__device__ void store_eight(T* row, std::int32_t first, const float (&v)[kEight], float scale) {
    *reinterpret_cast<uint4*>(row + first) =
        make_uint4(pack<T>(v[0] * scale, v[1] * scale), pack<T>(v[2] * scale, v[3] * scale),
                   pack<T>(v[4] * scale, v[5] * scale), pack<T>(v[6] * scale, v[7] * scale));
}

constexpr float kLongest = 64.0F;

// 2^-e for the e with v in [2^e, 2^(e+1)); 1 where there is none.
__device__ float inverse_power(float v) {
    if (!(v > 0.0F) || isinf(v)) return 1.0F;
    return ldexpf(1.0F, -max(-100, min(100, ilogbf(v))));
}

template <class T, bool kWhole>
__global__ void normalise_kernel(const float* x, const std::int32_t* picked, std::int32_t n,
                                 const float* weight, float eps, T* out, std::int64_t stride, float* alpha) {
    const std::int64_t row = picked != nullptr ? picked[blockIdx.x] : static_cast<std::int32_t>(blockIdx.x);
    const float* from = x + row * n;
    T* to = out + blockIdx.x * stride;
    const auto step = static_cast<std::int32_t>(blockDim.x) * kEight;
    const std::int32_t begin = static_cast<std::int32_t>(threadIdx.x) * kEight;
    float squares = 0;
    float top = 0;
    for (std::int32_t i = begin; i < n; i += step) {
        float v[kEight];
        float w[kEight];
        load_eight<kWhole>(from, i, n, v);
        load_eight<kWhole>(weight, i, n, w);
#pragma unroll
        for (int j = 0; j < kEight; ++j) {
            squares = fmaf(v[j], v[j], squares);
            top = fmaxf(top, fabsf(w[j]));
        }
    }
    const float factor = 1.0F / sqrtf(over_block<Sum>(squares) / static_cast<float>(n) + eps);
    float power = 1;
    if constexpr (sizeof(T) == sizeof(__half) && !std::is_same_v<T, __nv_bfloat16>) {
        // A normalised row is at most √n long, and each number grows at most by the largest weight.
        const float bound = sqrtf(static_cast<float>(n)) * over_block<Largest>(top) * (2.0F / kLongest);
        power = inverse_power(bound);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        alpha[0] = 1.0F / power;
        alpha[1] = 0;
    }
    for (std::int32_t i = begin; i < n; i += step) {
        float v[kEight];
        float w[kEight];
        load_eight<kWhole>(from, i, n, v);
        load_eight<kWhole>(weight, i, n, w);
#pragma unroll
        for (int j = 0; j < kEight; ++j) v[j] = v[j] * factor * w[j];
        store_eight(to, i, v, power);
    }
}

// Rows whose largest number lies in this range are left as they are: 2^15 is half of what 16 bits hold, and
// below 2^-9 the smallest numbers would lose more than rounding takes anyway.
constexpr float kMost = 32768.0F;
constexpr float kLeast = 1.0F / 512.0F;

template <class T>
__device__ float power_for(float top) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) return 1.0F;
    return top >= kLeast && top <= kMost ? 1.0F : inverse_power(top);
}

__device__ void prepare_residual(const Residual& r, float power) {
    if (threadIdx.x == 0) r.inverse[blockIdx.x] = 1.0F / power;
    if (r.x == nullptr || (r.bias == nullptr && power == 1.0F)) return;
    float* row = r.x + std::int64_t{blockIdx.x} * r.n;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < r.n; i += static_cast<std::int32_t>(blockDim.x))
        row[i] = (row[i] + (r.bias != nullptr ? r.bias[i] : 0.0F)) * power;
}

template <class T, bool kWhole>
__global__ void narrow_kernel(const float* in, std::int32_t n, T* out, std::int64_t stride,
                              Residual residual) {
    const float* from = in + std::int64_t{blockIdx.x} * n;
    T* to = out + blockIdx.x * stride;
    const auto step = static_cast<std::int32_t>(blockDim.x) * kEight;
    const std::int32_t begin = static_cast<std::int32_t>(threadIdx.x) * kEight;
    float top = 0;
    for (std::int32_t i = begin; i < n; i += step) {
        float v[kEight];
        load_eight<kWhole>(from, i, n, v);
#pragma unroll
        for (int j = 0; j < kEight; ++j) top = fmaxf(top, fabsf(v[j]));
    }
    const float power = power_for<T>(over_block<Largest>(top));
    for (std::int32_t i = begin; i < n; i += step) {
        float v[kEight];
        load_eight<kWhole>(from, i, n, v);
        store_eight(to, i, v, power);
    }
    prepare_residual(residual, power);
}

template <Activation kKind>
__device__ float activate(float x) {
    if constexpr (kKind == Activation::SiLU) return __fdividef(x, 1.0F + __expf(-x));
    return __fdividef(x, 1.0F + __expf(-2.0F * 0.79788456F * fmaf(0.044715F, x * x * x, x)));
}

struct Gate {
    const void* gate_up;
    const float* alpha;
    std::int32_t n;
    const float* gate_bias;
    const float* up_bias;
};

template <class T, Activation kKind, bool kWhole>
__device__ void gated_eight(const Gate& g, std::int32_t first, float (&v)[kEight]) {
    const T* gate = static_cast<const T*>(g.gate_up) + std::int64_t{blockIdx.x} * 2 * g.n;
    float up[kEight];
    load_eight<T, kWhole>(gate, first, g.n, v);
    load_eight<T, kWhole>(gate + g.n, first, g.n, up);
    const float alpha = __ldg(g.alpha);
#pragma unroll
    for (int j = 0; j < kEight; ++j) {
        v[j] *= alpha;
        up[j] *= alpha;
    }
    if (g.gate_bias != nullptr) {
        float bias[kEight];
        load_eight<kWhole>(g.gate_bias, first, g.n, bias);
#pragma unroll
        for (int j = 0; j < kEight; ++j) v[j] += bias[j];
    }
    if (g.up_bias != nullptr) {
        float bias[kEight];
        load_eight<kWhole>(g.up_bias, first, g.n, bias);
#pragma unroll
        for (int j = 0; j < kEight; ++j) up[j] += bias[j];
    }
#pragma unroll
    for (int j = 0; j < kEight; ++j) v[j] = activate<kKind>(v[j]) * up[j];
}

// A block a row. The products stay in registers between the search for the largest and the writing, kChunks
// eights a thread; with kChunks 0 they are computed twice.
template <class T, Activation kKind, int kChunks, bool kWhole>
__global__ void gate_kernel(Gate g, T* out, std::int64_t stride, Residual residual) {
    T* to = out + blockIdx.x * stride;
    const auto step = static_cast<std::int32_t>(blockDim.x) * kEight;
    const std::int32_t begin = static_cast<std::int32_t>(threadIdx.x) * kEight;
    float top = 0;
    if constexpr (kChunks > 0) {
        float v[kChunks][kEight];
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
            if (begin + c * step >= g.n) continue;
            gated_eight<T, kKind, kWhole>(g, begin + c * step, v[c]);
#pragma unroll
            for (int j = 0; j < kEight; ++j) top = fmaxf(top, fabsf(v[c][j]));
        }
        const float power = power_for<T>(over_block<Largest>(top));
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
            if (begin + c * step < g.n) store_eight(to, begin + c * step, v[c], power);
        prepare_residual(residual, power);
    } else {
        float v[kEight];
        for (std::int32_t i = begin; i < g.n; i += step) {
            gated_eight<T, kKind, kWhole>(g, i, v);
#pragma unroll
            for (int j = 0; j < kEight; ++j) top = fmaxf(top, fabsf(v[j]));
        }
        const float power = power_for<T>(over_block<Largest>(top));
        for (std::int32_t i = begin; i < g.n; i += step) {
            gated_eight<T, kKind, kWhole>(g, i, v);
            store_eight(to, i, v, power);
        }
        prepare_residual(residual, power);
    }
}

// A warp a row; nearly always there is nothing to do.
__global__ void finish_kernel(Residual r, std::int32_t rows) {
    const auto row = static_cast<std::int32_t>(blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp);
    if (row >= rows) return;
    const float inverse = r.inverse[row];
    if (inverse == 1.0F) return;
    float* x = r.x + std::int64_t{row} * r.n;
    for (auto i = static_cast<std::int32_t>(threadIdx.x % kWarp); i < r.n; i += kWarp) x[i] *= inverse;
}

template <bool kWhole>
__global__ void add_normalised_kernel(const float* y, const float* inverse, std::int32_t n, const float* bias,
                                      const float* weight, float eps, float* x) {
    const float* from = y + std::int64_t{blockIdx.x} * n;
    float* to = x + std::int64_t{blockIdx.x} * n;
    const float power = inverse[blockIdx.x];
    const auto step = static_cast<std::int32_t>(blockDim.x) * kEight;
    const std::int32_t begin = static_cast<std::int32_t>(threadIdx.x) * kEight;
    const auto load = [&](std::int32_t i, float(&v)[kEight]) {
        float b[kEight] = {};
        load_eight<kWhole>(from, i, n, v);
        if (bias != nullptr) load_eight<kWhole>(bias, i, n, b);
#pragma unroll
        for (int j = 0; j < kEight; ++j) v[j] = fmaf(v[j], power, b[j]);
    };
    float squares = 0;
    for (std::int32_t i = begin; i < n; i += step) {
        float v[kEight];
        load(i, v);
#pragma unroll
        for (int j = 0; j < kEight; ++j) squares = fmaf(v[j], v[j], squares);
    }
    const float factor = 1.0F / sqrtf(over_block<Sum>(squares) / static_cast<float>(n) + eps);
    for (std::int32_t i = begin; i < n; i += step) {
        float v[kEight];
        float w[kEight];
        float old[kEight];
        load(i, v);
        load_eight<kWhole>(weight, i, n, w);
        load_eight<kWhole>(to, i, n, old);
#pragma unroll
        for (int j = 0; j < kEight; ++j) v[j] = old[j] + v[j] * factor * w[j];
        if constexpr (kWhole) {
            *reinterpret_cast<float4*>(to + i) = make_float4(v[0], v[1], v[2], v[3]);
            *reinterpret_cast<float4*>(to + i + 4) = make_float4(v[4], v[5], v[6], v[7]);
        } else {
            for (int j = 0; j < min(kEight, n - i); ++j) to[i + j] = v[j];
        }
    }
}

// Two neighbours into the cache.
__device__ void store_pair(const KvView& kv, std::int64_t index, float2 v) {
    if (kv.dtype == DType::F32) {
        reinterpret_cast<float2*>(kv.base)[index / 2] = v;
        return;
    }
    reinterpret_cast<std::uint32_t*>(kv.base)[index / 2] =
        kv.dtype == DType::F16 ? pack<__half>(v.x, v.y) : pack<__nv_bfloat16>(v.x, v.y);
}

constexpr int kHeadWarps = 8;

// A warp a row and head: query heads, then key heads, then value heads.
__global__ void heads_kernel(HeadsArgs a, std::int64_t stride, const float* bq, const float* bk,
                             const float* bv, StepView step) {
    extern __shared__ float2 memory[];
    const std::int32_t c = a.kv.head_dim;
    const auto warp = static_cast<std::int32_t>(threadIdx.x / kWarp);
    const auto lane = static_cast<std::int32_t>(threadIdx.x % kWarp);
    const auto r = static_cast<std::int32_t>(blockIdx.y);
    const std::int32_t h = static_cast<std::int32_t>(blockIdx.x) * kHeadWarps + warp;
    if (h >= a.heads + 2 * a.kv.kv_heads) return;
    const bool is_q = h < a.heads;
    const bool is_v = h >= a.heads + a.kv.kv_heads;
    float2* pairs = memory + warp * (c / 2);
    auto* head = reinterpret_cast<float*>(pairs);
    const auto* y = reinterpret_cast<const float2*>(a.y + r * stride + std::int64_t{h} * c);
    const float* bias = is_q ? bq : is_v ? bv : bk;
    const std::int32_t first = is_q ? h : is_v ? h - a.heads - a.kv.kv_heads : h - a.heads;
    for (std::int32_t i = lane; i < c / 2; i += kWarp) {
        float2 v = y[i];
        if (bias != nullptr) {
            v.x += bias[first * c + 2 * i];
            v.y += bias[first * c + 2 * i + 1];
        }
        pairs[i] = v;
    }
    __syncwarp();
    const float* norm = is_v ? nullptr : is_q ? a.q_norm : a.k_norm;
    if (norm != nullptr) {
        float squares = 0;
        for (std::int32_t i = lane; i < c / 2; i += kWarp)
            squares = fmaf(pairs[i].x, pairs[i].x, fmaf(pairs[i].y, pairs[i].y, squares));
        const float factor = 1.0F / sqrtf(over_warp<Sum>(squares) / static_cast<float>(c) + a.eps);
        for (std::int32_t i = lane; i < c / 2; i += kWarp) {
            pairs[i].x *= factor * norm[2 * i];
            pairs[i].y *= factor * norm[2 * i + 1];
        }
        __syncwarp();
    }
    if (!is_v) {
        const std::int32_t half = a.rope.half;
        const std::int32_t next = a.rope.style == RopeStyle::Halves ? 1 : 2;
        const std::int32_t other = a.rope.style == RopeStyle::Halves ? half : 1;
        for (std::int32_t i = lane; i < half; i += kWarp) {
            const float cosine = a.rope.cosine[std::int64_t{r} * half + i];
            const float sine = a.rope.sine[std::int64_t{r} * half + i];
            const float p = head[i * next];
            const float q = head[i * next + other];
            head[i * next] = __fsub_rn(__fmul_rn(p, cosine), __fmul_rn(q, sine));
            head[i * next + other] = __fadd_rn(__fmul_rn(q, cosine), __fmul_rn(p, sine));
        }
        __syncwarp();
    }
    if (is_q) {
        auto* q = reinterpret_cast<float2*>(a.q + (std::int64_t{r} * a.heads + h) * c);
        for (std::int32_t i = lane; i < c / 2; i += kWarp) q[i] = pairs[i];
        return;
    }
    const SliceView slice = step.slices[step.row_slice[r]];
    const std::int32_t slot = slice.start + r - slice.first_row;
    const std::int32_t block = step.tables[slice.first_block + slot / a.kv.block_size];
    const std::int64_t plane = std::int64_t{a.layer} * 2 + (is_v ? 1 : 0);
    const std::int64_t panel = (plane * a.kv.blocks + block) * a.kv.kv_heads + first;
    const std::int64_t to = (panel * a.kv.block_size + slot % a.kv.block_size) * c;
    for (std::int32_t i = lane; i < c / 2; i += kWarp) store_pair(a.kv, to + 2 * i, pairs[i]);
}

// Calls f.template operator()<T, kWhole>().
template <class F>
void for_number(blas::Number number, bool whole, F&& f) {
    if (number == blas::Number::F16) {
        if (whole) return f.template operator()<__half, true>();
        return f.template operator()<__half, false>();
    }
    if (whole) return f.template operator()<__nv_bfloat16, true>();
    return f.template operator()<__nv_bfloat16, false>();
}

// Threads of a block for a row of n numbers.
unsigned threads_for(std::int32_t n, unsigned most) {
    const auto eights = static_cast<unsigned>((n + kEight - 1) / kEight);
    return std::min(most, (eights + kWarp - 1) / kWarp * kWarp);
}

}  // namespace

void normalise_rows(const float* x, const std::int32_t* picked, std::int32_t rows, std::int32_t n,
                    const float* weight, float eps, blas::Number number, void* out, std::int64_t stride,
                    float* alpha, cudaStream_t stream) {
    for_number(number, n % kEight == 0, [&]<class T, bool kWhole>() {
        normalise_kernel<T, kWhole><<<static_cast<unsigned>(rows), threads_for(n, 256), 0, stream>>>(
            x, picked, n, weight, eps, static_cast<T*>(out), stride, alpha);
    });
}

void narrow_rows(const float* in, std::int32_t rows, std::int32_t n, blas::Number number, void* out,
                 std::int64_t stride, const Residual& residual, cudaStream_t stream) {
    for_number(number, n % kEight == 0, [&]<class T, bool kWhole>() {
        narrow_kernel<T, kWhole><<<static_cast<unsigned>(rows), threads_for(n, 256), 0, stream>>>(
            in, n, static_cast<T*>(out), stride, residual);
    });
}

void gate_rows(const void* gate_up, const float* alpha, std::int32_t rows, std::int32_t n,
               blas::Number number, const float* gate_bias, const float* up_bias, Activation activation,
               void* out, std::int64_t stride, const Residual& residual, cudaStream_t stream) {
    const Gate g{gate_up, alpha, n, gate_bias, up_bias};
    const unsigned threads = threads_for(n, 512);
    const auto in_pass = static_cast<std::int32_t>(threads) * kEight;
    const std::int32_t chunks = n % kEight == 0 ? (n + in_pass - 1) / in_pass : 0;
    const auto launch = [&]<class T, Activation kKind, int kChunks, bool kWhole>() {
        gate_kernel<T, kKind, kChunks, kWhole>
            <<<static_cast<unsigned>(rows), threads, 0, stream>>>(g, static_cast<T*>(out), stride, residual);
    };
    const auto with_chunks = [&]<class T, Activation kKind>() {
        if (n % kEight != 0) return launch.template operator()<T, kKind, 0, false>();
        if (chunks <= 1) return launch.template operator()<T, kKind, 1, true>();
        if (chunks <= 2) return launch.template operator()<T, kKind, 2, true>();
        if (chunks <= 4) return launch.template operator()<T, kKind, 4, true>();
        return launch.template operator()<T, kKind, 0, true>();
    };
    for_number(number, true, [&]<class T, bool>() {
        if (activation == Activation::SiLU) return with_chunks.template operator()<T, Activation::SiLU>();
        return with_chunks.template operator()<T, Activation::GeluTanh>();
    });
}

void finish_residual(const Residual& residual, std::int32_t rows, cudaStream_t stream) {
    constexpr unsigned kRows = 8;
    finish_kernel<<<(static_cast<unsigned>(rows) + kRows - 1) / kRows, kRows * kWarp, 0, stream>>>(residual,
                                                                                                   rows);
}

void add_normalised(const float* y, const float* inverse, std::int32_t rows, std::int32_t n,
                    const float* bias, const float* weight, float eps, float* x, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(rows);
    if (n % kEight == 0)
        add_normalised_kernel<true>
            <<<blocks, threads_for(n, 256), 0, stream>>>(y, inverse, n, bias, weight, eps, x);
    else
        add_normalised_kernel<false>
            <<<blocks, threads_for(n, 256), 0, stream>>>(y, inverse, n, bias, weight, eps, x);
}

void finish_many_heads(const HeadsArgs& a, std::int64_t stride, const float* bq, const float* bk,
                       const float* bv, const StepView& step, cudaStream_t stream) {
    const std::int32_t heads = a.heads + 2 * a.kv.kv_heads;
    const dim3 grid(static_cast<unsigned>((heads + kHeadWarps - 1) / kHeadWarps),
                    static_cast<unsigned>(step.rows));
    const std::size_t bytes =
        std::size_t{kHeadWarps} * static_cast<std::size_t>(a.kv.head_dim) * sizeof(float);
    heads_kernel<<<grid, kHeadWarps * kWarp, bytes, stream>>>(a, stride, bq, bk, bv, step);
}

}  // namespace vitrine::cuda::many
