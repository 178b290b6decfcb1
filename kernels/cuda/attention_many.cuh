// Attention of many rows: tiles of rows × grouped heads against tiles of keys, both products on tensor cores,
// softmax in registers between them (FlashAttention-2's order). Bound by arithmetic.
//
// A block has 64 or 128 "lines" (row-major: row, then head of the group) of one KV head, so that every tile
// of the cache that it gathers through the block table serves all heads of the group. q stays in shared
// memory; keys and values come by cp.async, the next tile while this one is multiplied. Rows of shared memory
// are 16 bytes longer than a head, so that ldmatrix meets every bank once.
#pragma once

#include <algorithm>

#include "kernels/cuda/attention_parts.h"
#include "kernels/cuda/attention_tile.cuh"

namespace vitrine::cuda::attention {

constexpr int kManyWarps = 4;
constexpr int kManyThreads = kManyWarps * kWarp;

struct ManyArgs {
    AttentionView a;
    StepView step;
    RowRange range;
};

// kTall: tiles of 16 lines a warp has. kKeys: keys of a tile.
template <int kDim, int kTall, int kKeys>
struct ManyRoom {
    static constexpr int kLines = kManyWarps * 16 * kTall;
    static constexpr int kPitch = kDim * 2 + 16;  // bytes of a row
    static constexpr int kTileBytes = kKeys * kPitch;
    static constexpr int kTotal = kLines * kPitch + 4 * kTileBytes + kLines * 4;
};

// Sixteen bytes, or zeros, into shared memory without waiting.
__device__ __forceinline__ void fetch16(std::uint32_t to, const void* from, bool there) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
#else
    const uint4 v = there ? load16(from) : uint4{0, 0, 0, 0};
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
#endif
}
__device__ __forceinline__ void await_fetched() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}
__device__ __forceinline__ void load_transposed(std::uint32_t (&r)[4], std::uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}

// q's lines in the cache's type, each scaled so that its largest element lies in [0.5, 1); `factor` undoes
// it.
template <Kind kKind, int kDim, int kLines>
__device__ void stage_lines(const ManyArgs& f, const SliceView& slice, int kv_head, int group, int first,
                            int lines, std::uint8_t* shared, float* factor) {
    constexpr int kLoads = (kDim + 127) / 128;
    const int lane = threadIdx.x % kWarp;
#pragma unroll 8
    for (int m = threadIdx.x / kWarp; m < kLines; m += kManyWarps) {
        const int line = first + m;
        const float* from = f.a.q + (std::int64_t{slice.first_row + line / group} * f.a.heads +
                                     kv_head * group + line % group) *
                                        kDim;
        float4 q[kLoads];
        float top = 0;
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
            const int d = 4 * lane + 128 * r;
            float4 v =
                line < lines && d < kDim ? *reinterpret_cast<const float4*>(from + d) : float4{0, 0, 0, 0};
            v = {v.x * f.a.scale, v.y * f.a.scale, v.z * f.a.scale, v.w * f.a.scale};
            top = fmaxf(top, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
            q[r] = v;
        }
#pragma unroll
        for (int offset = kWarp / 2; offset > 0; offset /= 2)
            top = fmaxf(top, __shfl_xor_sync(kAll, top, offset));
        const PowerOfTwo power(top);
        if (lane == 0) factor[m] = power.up * (f.a.softcap != 0.0F ? 1.0F : kLog2e);
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
            const int d = 4 * lane + 128 * r;
            if (d >= kDim) continue;
            *reinterpret_cast<uint2*>(shared + m * (kDim * 2 + 16) + d * 2) = {
                pack<kKind>(q[r].x * power.down, q[r].y * power.down),
                pack<kKind>(q[r].z * power.down, q[r].w * power.down)};
        }
    }
}

template <Kind kKind, int kDim, int kTall, int kKeys>
__global__ void __launch_bounds__(kManyThreads, 2) many_kernel(ManyArgs f) {
    using R = ManyRoom<kDim, kTall, kKeys>;
    constexpr int kSteps = kDim / 16;
    constexpr int kOctets = kKeys / 8;
    constexpr int kChunks = kDim / 8;  // of 16 bytes in a row
    extern __shared__ __align__(16) std::uint8_t memory[];
    __shared__ unsigned long long unfit_keys;
    auto* const factor = reinterpret_cast<float*>(memory + R::kLines * R::kPitch + 4 * R::kTileBytes);
    const auto shared_q = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
    const std::uint32_t shared_kv = shared_q + R::kLines * R::kPitch;  // keys 0, values 0, keys 1, values 1

    const SliceView slice = f.step.slices[blockIdx.z];
    const int kv_head = static_cast<int>(blockIdx.x);
    const int group = f.a.heads / f.a.kv.kv_heads;
    const int lines = slice.rows * group;
    // The last lines see most keys: they start first.
    const int tiles = (lines + R::kLines - 1) / R::kLines;
    const int line_tile = tiles - 1 - static_cast<int>(blockIdx.y);
    if (slice.rows < f.range.least || slice.rows > f.range.most || line_tile < 0) return;
    const int first_line = line_tile * R::kLines;
    const int row_low = first_line / group;
    const int row_high = (min(lines, first_line + R::kLines) - 1) / group;
    const int to = slice.start + row_high + 1;
    const int from = f.a.window > 0 ? max(0, slice.start + row_low + 1 - f.a.window) : 0;
    const int begin = from / kKeys * kKeys;

    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const int octets = f.a.kv.block_size / 8;
    const std::int64_t plane = std::int64_t{f.a.kv.blocks} * f.a.kv.kv_heads * f.a.kv.block_size * kDim * 2;
    const std::uint8_t* const base = f.a.kv.base + std::int64_t{f.a.layer} * 2 * plane;
    const std::int32_t* const table = f.step.tables + slice.first_block;
    // Where eight keys lie, counted in eights: lane o of a warp knows it for octet o of the next tile.
    const auto octet_place = [&](int first) {
        const int key = first + lane % kOctets * 8;
        if (key >= to || key + 8 <= from) return 0;
        const int o = key / 8;
        return (table[o / octets] * f.a.kv.kv_heads + kv_head) * octets + o % octets;
    };
    const auto fetch_tile = [&](int first, int place, int side) {
#pragma unroll
        for (int c = threadIdx.x; c < kKeys * kChunks; c += kManyThreads) {
            const int row = c / kChunks;
            const int column = c % kChunks;
            const int octet = __shfl_sync(kAll, place, row / 8);
            const int key = first + row;
            const bool there = key >= from && key < to;
            const std::uint8_t* at =
                base + std::int64_t{octet} * (8 * kDim * 2) + row % 8 * (kDim * 2) + column * 16;
            const std::uint32_t in = shared_kv + side * 2 * R::kTileBytes + row * R::kPitch + column * 16;
            fetch16(in, at, there);
            fetch16(in + R::kTileBytes, at + plane, there);
        }
    };
    static_assert(kKeys * kChunks % kWarp == 0);  // warps take part whole

    int place = octet_place(begin);
    fetch_tile(begin, place, 0);
    place = octet_place(begin + kKeys);
    stage_lines<kKind, kDim, R::kLines>(f, slice, kv_head, group, first_line, lines, memory, factor);
    if (threadIdx.x == 0) unfit_keys = 0;
    __syncthreads();

    const int g = lane / 4;
    const int t = lane % 4;
    const int warp_line = warp * 16 * kTall;
    int last[kTall][2];  // position of the lane's lines
    float up[kTall][2];
    float top[kTall][2];
    float sum[kTall][2];
    float acc[kTall][2 * kSteps][4] = {};
#pragma unroll
    for (int m = 0; m < kTall; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int line = warp_line + 16 * m + 8 * h + g;
            last[m][h] = slice.start + min(first_line + line, lines - 1) / group;
            up[m][h] = factor[line];
            top[m][h] = -INFINITY;
            sum[m][h] = 0;
        }
    }
    const int warp_low = slice.start + min(first_line + warp_line, lines - 1) / group;
    const int warp_high = slice.start + min(first_line + warp_line + 16 * kTall - 1, lines - 1) / group;

    int side = 0;
    for (int first = begin; first < to; first += kKeys, side ^= 1) {
        await_fetched();
        __syncthreads();
        if (first + kKeys < to) {
            fetch_tile(first + kKeys, place, side ^ 1);
            place = octet_place(first + 2 * kKeys);
        }
        const std::uint32_t keys = shared_kv + side * 2 * R::kTileBytes;
        const std::uint32_t values = keys + R::kTileBytes;
        const bool block_masked = first + kKeys > slice.start + row_low + 1 ||
                                  (f.a.window > 0 && first < slice.start + row_high + 1 - f.a.window);
        unsigned long long unfit_here = 0;
        if (block_masked) {
            // A value that is not finite must not reach lines that do not see its key.
            std::uint8_t* const at = memory + (values - shared_q);
            for (int c = threadIdx.x; c < kKeys * kChunks; c += kManyThreads) {
                auto* word =
                    reinterpret_cast<std::uint32_t*>(at + c / kChunks * R::kPitch + c % kChunks * 16);
                bool any = false;
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if (!unfit<kKind>(word[i])) continue;
                    any = true;
                    word[i] = 0;
                }
                if (any) atomicOr(&unfit_keys, 1ULL << (c / kChunks));
            }
            __syncthreads();
            unfit_here = unfit_keys;
            __syncthreads();
            if (unfit_here != 0 && threadIdx.x == 0) unfit_keys = 0;  // seen after the next barrier
        }
        if (first > warp_high || (f.a.window > 0 && first + kKeys <= warp_low + 1 - f.a.window)) continue;

        float s[kTall][kKeys / 8][4] = {};
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
            std::uint32_t q[kTall][4];
#pragma unroll
            for (int m = 0; m < kTall; ++m)
                load_matrices(q[m], shared_q + (warp_line + 16 * m + lane % 16) * R::kPitch + step * 32 +
                                        lane / 16 * 16);
#pragma unroll
            for (int n = 0; n < kKeys / 16; ++n) {
                std::uint32_t k[4];
                load_matrices(k, keys + (16 * n + lane % 8 + lane / 16 * 8) * R::kPitch + step * 32 +
                                     lane / 8 % 2 * 16);
#pragma unroll
                for (int m = 0; m < kTall; ++m) {
                    mma<kKind>(s[m][2 * n], q[m], k[0], k[1]);
                    mma<kKind>(s[m][2 * n + 1], q[m], k[2], k[3]);
                }
            }
        }
        const bool masked =
            first + kKeys > warp_low + 1 || (f.a.window > 0 && first < warp_high + 1 - f.a.window);
#pragma unroll
        for (int m = 0; m < kTall; ++m) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                float factor_here = up[m][h];
                if (f.a.softcap != 0.0F) {
#pragma unroll
                    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
                        for (int b = 0; b < 2; ++b) {
                            float& v = s[m][n][2 * h + b];
                            v = f.a.softcap * kLog2e * tanhf(v * factor_here / f.a.softcap);
                        }
                    }
                    factor_here = 1;
                }
                if (masked) {
                    const int before = f.a.window > 0 ? last[m][h] - f.a.window : -1;
#pragma unroll
                    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
                        for (int b = 0; b < 2; ++b) {
                            const int slot = 8 * n + 2 * t + b;
                            const int key = first + slot;
                            if (key > last[m][h] || key <= before)
                                s[m][n][2 * h + b] = -INFINITY;
                            else if ((unfit_here >> slot & 1ULL) != 0)
                                sum[m][h] = NAN;
                        }
                    }
                }
                float best = top[m][h];
#pragma unroll
                for (int n = 0; n < kKeys / 8; ++n)
                    best = fmaxf(best, fmaxf(s[m][n][2 * h], s[m][n][2 * h + 1]));
                best = fmaxf(best, __shfl_xor_sync(kAll, best, 1));
                best = fmaxf(best, __shfl_xor_sync(kAll, best, 2));
                const float less = best == -INFINITY ? 0.0F : best * factor_here;
                const float weight =
                    top[m][h] == -INFINITY ? 0.0F : exp2_fast(fmaf(top[m][h], factor_here, -less));
                top[m][h] = best;
                float part = 0;
#pragma unroll
                for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
                    for (int b = 0; b < 2; ++b) {
                        float& v = s[m][n][2 * h + b];
                        v = exp2_fast(fmaf(v, factor_here, -less));
                        part += v;
                    }
                }
                sum[m][h] = fmaf(sum[m][h], weight, part);
                if (__any_sync(kAll, weight != 1.0F)) {
#pragma unroll
                    for (int j = 0; j < 2 * kSteps; ++j) {
                        acc[m][j][2 * h] *= weight;
                        acc[m][j][2 * h + 1] *= weight;
                    }
                }
            }
        }
#pragma unroll
        for (int n = 0; n < kKeys / 16; ++n) {
            std::uint32_t p[kTall][4];
#pragma unroll
            for (int m = 0; m < kTall; ++m)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    p[m][i] = pack<kKind>(s[m][2 * n + i / 2][i % 2 * 2], s[m][2 * n + i / 2][i % 2 * 2 + 1]);
#pragma unroll
            for (int j = 0; j < kSteps; ++j) {
                std::uint32_t v[4];
                load_transposed(v, values + (16 * n + lane % 16) * R::kPitch + j * 32 + lane / 16 * 16);
#pragma unroll
                for (int m = 0; m < kTall; ++m) {
                    mma<kKind>(acc[m][2 * j], p[m], v[0], v[1]);
                    mma<kKind>(acc[m][2 * j + 1], p[m], v[2], v[3]);
                }
            }
        }
    }
#pragma unroll
    for (int m = 0; m < kTall; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float all = sum[m][h];
            all += __shfl_xor_sync(kAll, all, 1);
            all += __shfl_xor_sync(kAll, all, 2);
            const int line = first_line + warp_line + 16 * m + 8 * h + g;
            if (line >= lines) continue;
            const float once = 1.0F / all;
            float* out = f.a.out + (std::int64_t{slice.first_row + line / group} * f.a.heads +
                                    kv_head * group + line % group) *
                                       kDim;
#pragma unroll
            for (int j = 0; j < 2 * kSteps; ++j)
                *reinterpret_cast<float2*>(out + 8 * j + 2 * t) = {acc[m][j][2 * h] * once,
                                                                   acc[m][j][2 * h + 1] * once};
        }
    }
}

template <Kind kKind, int kDim, int kTall, int kKeys>
bool launch_many(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
                 cudaStream_t stream) {
    using R = ManyRoom<kDim, kTall, kKeys>;
    if (R::kTotal + 64 > current_gpu().shared) return false;
    const std::int64_t lines = std::int64_t{plan.most_rows} * (a.heads / a.kv.kv_heads);
    const std::int64_t tiles = (lines + R::kLines - 1) / R::kLines;
    if (tiles > 65535 || plan.sequences > 65535) return false;
    // Octets of one plane are counted in 32 bits.
    if (std::int64_t{a.kv.blocks} * a.kv.kv_heads * (a.kv.block_size / 8) > INT32_MAX) return false;
    if (cudaFuncSetAttribute(many_kernel<kKind, kDim, kTall, kKeys>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, R::kTotal) != cudaSuccess)
        return false;
    const dim3 grid(static_cast<unsigned>(a.kv.kv_heads), static_cast<unsigned>(tiles),
                    static_cast<unsigned>(plan.sequences));
    many_kernel<kKind, kDim, kTall, kKeys>
        <<<grid, kManyThreads, R::kTotal, stream>>>(ManyArgs{a, step, range});
    return true;
}

template <Kind kKind, int kDim>
bool many_lines(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
                cudaStream_t stream) {
    if constexpr (kDim <= 128) {
        // Tall blocks read shared memory least; short ones fill the GPU earlier.
        const std::int64_t lines = std::int64_t{plan.most_rows} * (a.heads / a.kv.kv_heads);
        const std::int64_t blocks = (lines + 127) / 128 * a.kv.kv_heads * plan.sequences;
        const bool tall = blocks * 2 > std::int64_t{current_gpu().multiprocessors} * 3;
        if (tall && launch_many<kKind, kDim, 2, 64>(a, step, plan, range, stream)) return true;
        if (launch_many<kKind, kDim, 1, 64>(a, step, plan, range, stream)) return true;
    }
    return launch_many<kKind, kDim, 1, 32>(a, step, plan, range, stream);
}

template <Kind kKind>
bool many_of(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
             cudaStream_t stream) {
    switch (a.kv.head_dim) {
        case 64: return many_lines<kKind, 64>(a, step, plan, range, stream);
        case 80: return many_lines<kKind, 80>(a, step, plan, range, stream);
        case 96: return many_lines<kKind, 96>(a, step, plan, range, stream);
        case 128: return many_lines<kKind, 128>(a, step, plan, range, stream);
        case 256: return many_lines<kKind, 256>(a, step, plan, range, stream);
        default: return false;
    }
}

}  // namespace vitrine::cuda::attention
