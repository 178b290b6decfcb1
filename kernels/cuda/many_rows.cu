#include <algorithm>
#include <type_traits>

#include "kernels/cuda/many_parts.cuh"
#include "kernels/cuda/many_rows.h"

namespace vitrine::cuda::many {
namespace {

constexpr int kEight = 8;  // numbers of 16 bits in 16 bytes

// Eight neighbours of a row that nobody writes, zero beyond its end. kWhole: rows are whole eights, so all is
// aligned.
template <bool kWhole>
__device__ void load_eight(const float* row, std::int32_t first, std::int32_t n, float (&v)[kEight]) {
    if constexpr (kWhole) {
        const float4 a = __ldg(reinterpret_cast<const float4*>(row + first));
        const float4 b = __ldg(reinterpret_cast<const float4*>(row + first + 4));
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
        const uint4 a = __ldg(reinterpret_cast<const uint4*>(row + first));
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

// 2^-e for the e with v in [2^e, 2^(e+1)); 1 where there is none. A residual is multiplied by it too and must
// not overflow: inputs under 2^-40, which a gate that is shut may well leave, are not worth more.
__device__ float inverse_power(float v) {
    if (!(v > 0.0F) || isinf(v)) return 1.0F;
    return ldexpf(1.0F, -max(-40, min(100, ilogbf(v))));
}

// The row is gone through in passes of kChunks eights a thread; the last pass stays in registers, so that a
// row of one pass is read once.
template <class T, int kChunks, bool kWhole>
__global__ void normalise_kernel(const float* x, const std::int32_t* picked, std::int32_t n,
                                 const float* weight, float eps, T* out, std::int64_t stride, float* alpha) {
    const std::int64_t row = picked != nullptr ? picked[blockIdx.x] : static_cast<std::int32_t>(blockIdx.x);
    const float* from = x + row * n;
    T* to = out + blockIdx.x * stride;
    const auto place = [&](std::int32_t begin, int chunk) {
        return begin + static_cast<std::int32_t>(chunk * blockDim.x + threadIdx.x) * kEight;
    };
    float v[kChunks][kEight];
    const auto load = [&](std::int32_t begin) {
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
            if (place(begin, c) < n) {
                load_eight<kWhole>(from, place(begin, c), n, v[c]);
            } else {
#pragma unroll
                for (float& f : v[c]) f = 0;
            }
        }
    };
    const std::int32_t in_pass = static_cast<std::int32_t>(blockDim.x) * kChunks * kEight;
    float squares = 0;
    float top = 0;
    for (std::int32_t begin = 0; begin < n; begin += in_pass) {
        load(begin);
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
            if (place(begin, c) >= n) continue;
            float w[kEight];
            load_eight<kWhole>(weight, place(begin, c), n, w);
#pragma unroll
            for (int j = 0; j < kEight; ++j) {
                squares = fmaf(v[c][j], v[c][j], squares);
                top = fmaxf(top, fabsf(w[j]));
            }
        }
    }
    const float factor = 1.0F / sqrtf(over_block<Sum>(squares) / static_cast<float>(n) + eps);
    float power = 1;
    if constexpr (!std::is_same_v<T, __nv_bfloat16>) {
        // A normalised row is at most √n long, and each number grows at most by the largest weight.
        const float bound = sqrtf(static_cast<float>(n)) * over_block<Largest>(top) * (2.0F / kLongest);
        power = inverse_power(bound);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        alpha[0] = 1.0F / power;
        alpha[1] = 0;
    }
    const std::int32_t last = (n - 1) / in_pass * in_pass;
    for (std::int32_t begin = last; begin >= 0; begin -= in_pass) {
        if (begin != last) load(begin);
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
            if (place(begin, c) >= n) continue;
            float w[kEight];
            load_eight<kWhole>(weight, place(begin, c), n, w);
#pragma unroll
            for (int j = 0; j < kEight; ++j) v[c][j] = v[c][j] * factor * w[j];
            store_eight(to, place(begin, c), v[c], power);
        }
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

// A block a row: `load` gives the eight numbers at a place. They are written as they are while the largest is
// searched for, and once more where that one was too large or too small.
template <class T, int kChunks, class Load>
__device__ void scale_and_store(std::int32_t n, T* out, std::int64_t stride, const Residual& residual,
                                const Load& load) {
    T* to = out + blockIdx.x * stride;
    const auto step = static_cast<std::int32_t>(blockDim.x) * kEight;
    const std::int32_t begin = static_cast<std::int32_t>(threadIdx.x) * kEight;
    float top = 0;
    for (std::int32_t first = begin; first < n; first += kChunks * step) {
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
            const std::int32_t i = first + c * step;
            if (i >= n) continue;
            float v[kEight];
            load(i, v);
#pragma unroll
            for (int j = 0; j < kEight; ++j) top = fmaxf(top, fabsf(v[j]));
            store_eight(to, i, v, 1.0F);
        }
    }
    const float power = power_for<T>(over_block<Largest>(top));
    if (power != 1.0F)
        for (std::int32_t i = begin; i < n; i += step) {
            float v[kEight];
            load(i, v);
            store_eight(to, i, v, power);
        }
    prepare_residual(residual, power);
}

template <class T, int kChunks, bool kWhole>
__global__ void narrow_kernel(const float* in, std::int32_t n, T* out, std::int64_t stride,
                              Residual residual) {
    const float* from = in + std::int64_t{blockIdx.x} * n;
    scale_and_store<T, kChunks>(n, out, stride, residual, [&](std::int32_t i, float(&v)[kEight]) {
        load_eight<kWhole>(from, i, n, v);
    });
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

template <class T, Activation kKind, int kChunks, bool kWhole>
__global__ void gate_kernel(Gate g, T* out, std::int64_t stride, Residual residual) {
    scale_and_store<T, kChunks>(g.n, out, stride, residual, [&](std::int32_t i, float(&v)[kEight]) {
        gated_eight<T, kKind, kWhole>(g, i, v);
    });
}

constexpr std::int32_t kFinishRows = 8;  // of a block

// Nearly always there is nothing to do.
__global__ void finish_kernel(Residual r, std::int32_t rows) {
    const std::int32_t first = static_cast<std::int32_t>(blockIdx.x) * kFinishRows;
    for (std::int32_t row = first; row < min(first + kFinishRows, rows); ++row) {
        const float inverse = r.inverse[row];
        if (inverse == 1.0F) continue;
        float* x = r.x + std::int64_t{row} * r.n;
        for (auto i = static_cast<std::int32_t>(threadIdx.x); i < r.n;
             i += static_cast<std::int32_t>(blockDim.x))
            x[i] *= inverse;
    }
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
        load(i, v);
        load_eight<kWhole>(weight, i, n, w);
        if constexpr (kWhole) {
            auto* fours = reinterpret_cast<float4*>(to + i);
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                float4 sum = fours[j];
                sum.x += v[4 * j] * factor * w[4 * j];
                sum.y += v[4 * j + 1] * factor * w[4 * j + 1];
                sum.z += v[4 * j + 2] * factor * w[4 * j + 2];
                sum.w += v[4 * j + 3] * factor * w[4 * j + 3];
                fours[j] = sum;
            }
        } else {
            for (int j = 0; j < min(kEight, n - i); ++j) to[i + j] += v[j] * factor * w[j];
        }
    }
}

// Threads of a block for a row of n numbers.
unsigned threads_for(std::int32_t n, unsigned most) {
    const auto eights = static_cast<unsigned>((n + kEight - 1) / kEight);
    return std::min(most, (eights + kWarp - 1) / kWarp * kWarp);
}

// Calls f.template operator()<T, kChunks, kWhole>(threads), such that a row is one pass where it can be.
template <class F>
void for_row(blas::Number number, std::int32_t n, unsigned most, F&& f) {
    const auto eights = static_cast<unsigned>((n + kEight - 1) / kEight);
    const bool whole = n % kEight == 0;
    const unsigned needed = (eights + most - 1) / most;
    const unsigned chunks = !whole || needed <= 1 ? 1 : needed <= 2 ? 2 : 4;
    const unsigned threads =
        threads_for(static_cast<std::int32_t>((eights + chunks - 1) / chunks) * kEight, most);
    const auto with = [&]<class T>() {
        if (!whole) return f.template operator()<T, 1, false>(threads);
        switch (chunks) {
            case 1: return f.template operator()<T, 1, true>(threads);
            case 2: return f.template operator()<T, 2, true>(threads);
            default: return f.template operator()<T, 4, true>(threads);
        }
    };
    if (number == blas::Number::F16) return with.template operator()<__half>();
    return with.template operator()<__nv_bfloat16>();
}

}  // namespace

void normalise_rows(const float* x, const std::int32_t* picked, std::int32_t rows, std::int32_t n,
                    const float* weight, float eps, blas::Number number, void* out, std::int64_t stride,
                    float* alpha, cudaStream_t stream) {
    for_row(number, n, 256, [&]<class T, int kChunks, bool kWhole>(unsigned threads) {
        normalise_kernel<T, kChunks, kWhole><<<static_cast<unsigned>(rows), threads, 0, stream>>>(
            x, picked, n, weight, eps, static_cast<T*>(out), stride, alpha);
    });
}

void narrow_rows(const float* in, std::int32_t rows, std::int32_t n, blas::Number number, void* out,
                 std::int64_t stride, const Residual& residual, cudaStream_t stream) {
    for_row(number, n, 256, [&]<class T, int kChunks, bool kWhole>(unsigned threads) {
        narrow_kernel<T, kChunks, kWhole><<<static_cast<unsigned>(rows), threads, 0, stream>>>(
            in, n, static_cast<T*>(out), stride, residual);
    });
}

void gate_rows(const void* gate_up, const float* alpha, std::int32_t rows, std::int32_t n,
               blas::Number number, const float* gate_bias, const float* up_bias, Activation activation,
               void* out, std::int64_t stride, const Residual& residual, cudaStream_t stream) {
    const Gate g{gate_up, alpha, n, gate_bias, up_bias};
    const auto blocks = static_cast<unsigned>(rows);
    for_row(number, n, 512, [&]<class T, int kChunks, bool kWhole>(unsigned threads) {
        auto* to = static_cast<T*>(out);
        if (activation == Activation::SiLU)
            gate_kernel<T, Activation::SiLU, kChunks, kWhole>
                <<<blocks, threads, 0, stream>>>(g, to, stride, residual);
        else
            gate_kernel<T, Activation::GeluTanh, kChunks, kWhole>
                <<<blocks, threads, 0, stream>>>(g, to, stride, residual);
    });
}

void finish_residual(const Residual& residual, std::int32_t rows, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((rows + kFinishRows - 1) / kFinishRows);
    finish_kernel<<<blocks, 256, 0, stream>>>(residual, rows);
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

}  // namespace vitrine::cuda::many
