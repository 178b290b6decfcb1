// The product with one row of activations, weights not quantized: a warp multiplies two rows of weights,
// which share the activations, and finishes them itself. While it multiplies the loads that it holds in
// registers, as many of the next ones are on their way; the first are asked for before the kernel waits for
// what was enqueued before it.
#pragma once

#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_row.cuh"
#include "kernels/cuda/few_source.cuh"

namespace vitrine::cuda::few {

// Sixteen bytes of a row.
template <DType kType>
struct Chunk {
    static constexpr bool kOutside = kType == DType::F8_E4M3 || kType == DType::I8;
    static constexpr int kSize = kType == DType::F32 ? 4 : kOutside ? 1 : 2;
    static constexpr int kInputs = 16 / kSize;

    uint4 data;
    float scale;  // of the outside scales, where all sixteen have one

    __device__ void add_product(const float4 (&x)[kInputs / 4], float (&sum)[2]) const {
        const std::uint32_t word[4] = {data.x, data.y, data.z, data.w};
        float part[2] = {kOutside ? 0.0F : sum[0], kOutside ? 0.0F : sum[1]};
#pragma unroll
        for (int i = 0; i < kInputs / 4; ++i) {
            float w[4];
            four(word, i, w);
            part[0] = fmaf(w[0], x[i].x, part[0]);
            part[1] = fmaf(w[1], x[i].y, part[1]);
            part[0] = fmaf(w[2], x[i].z, part[0]);
            part[1] = fmaf(w[3], x[i].w, part[1]);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) sum[i] = kOutside ? fmaf(part[i], scale, sum[i]) : part[i];
    }

  private:
    // Weights 4 i to 4 i + 3.
    __device__ static void four(const std::uint32_t (&word)[4], int i, float (&w)[4]) {
        if constexpr (kType == DType::F32) {
#pragma unroll
            for (int j = 0; j < 4; ++j) w[j] = __uint_as_float(word[j]);
        } else if constexpr (kType == DType::BF16) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                w[2 * j] = __uint_as_float(word[2 * i + j] << 16U);
                w[2 * j + 1] = __uint_as_float(word[2 * i + j] & 0xFFFF0000U);
            }
        } else {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                __half2 pair;
                if constexpr (kType == DType::F16) {
                    pair = as_halves(word[2 * i + j]);
                } else if constexpr (kType == DType::F8_E4M3) {
                    const auto codes =
                        static_cast<__nv_fp8x2_storage_t>(j == 0 ? word[i] & 0xFFFFU : word[i] >> 16U);
                    const __half2_raw v = __nv_cvt_fp8x2_to_halfraw2(codes, __NV_E4M3);
                    pair = as_halves(v.x | static_cast<std::uint32_t>(v.y) << 16U);
                } else {
                    // A code plus 128 in the low bits of 1024.0 is 1152 + code.
                    const std::uint32_t codes = word[i] ^ 0x80808080U;
                    pair = __hsub2(as_halves(__byte_perm(codes, 0x64646464U, j == 0 ? 0x4140 : 0x4342)),
                                   as_halves(0x64806480U));
                }
                const float2 v = __half22float2(pair);
                w[2 * j] = v.x;
                w[2 * j + 1] = v.y;
            }
        }
    }
};

// A lane's share of a row of weights: every 32nd chunk.
template <DType kType>
struct RowSource {
    const std::uint8_t* data = nullptr;
    const float* grid = nullptr;

    __device__ RowSource(const WeightView& w, std::int32_t panel, std::int32_t local, int lane) {
        const std::int32_t row = min(panel * kPanelRows + local, w.rows - 1);
        data = w.bytes + std::int64_t{row} * w.cols * Chunk<kType>::kSize + lane * 16;
        if constexpr (Chunk<kType>::kOutside) {
            const std::int32_t across = (w.cols + w.tile_cols - 1) / w.tile_cols;
            grid = w.grid + std::int64_t{(w.first_row + row) / w.tile_rows} * across;
        }
    }
    __device__ Chunk<kType> load(std::int32_t chunk, int lane, std::int32_t tile_cols) const {
        Chunk<kType> c;
        c.data = stream_16(data + std::int64_t{chunk} * 16);
        if constexpr (Chunk<kType>::kOutside)
            c.scale = __ldg(grid + (chunk + lane) * Chunk<kType>::kInputs / tile_cols);
        return c;
    }
};

template <DType kType, int kPanels>
__global__ void __launch_bounds__(kThreads, 2) one_row_of_floats_kernel(const __grid_constant__ Job job) {
    constexpr int kHeld = 4;  // chunks of each of the two rows
    constexpr int kInputs = Chunk<kType>::kInputs;
    constexpr int kPlanes = kInputs / 4;
    using Set = Chunk<kType>[kHeld][2];
    extern __shared__ uint4 dynamic_memory[];
    __shared__ float square_parts[kWarps];
    __shared__ KvRow kv;

    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const auto blocks = static_cast<std::int32_t>(gridDim.x);
    // Activations, the first four of every chunk together, then the second four, …: no bank is asked twice.
    auto* planes = reinterpret_cast<float4*>(dynamic_memory);
    const std::int32_t chunks = job.cols / kInputs;
    const std::int32_t batches = (chunks + 32 * kHeld - 1) / (32 * kHeld);
    const std::int32_t tile_cols = job.matrix[0].w.tile_cols;
    // Eight pairs of rows: a panel's neighbours, or half of what two panels have in the same places.
    const std::int32_t turns = job.units * kPanels;
    const auto local_of = [&](std::int32_t n) { return kPanels == 2 ? n % 2 * kWarps + warp : 2 * warp; };
    constexpr int kPartner = kPanels == 2 ? kPanelRows : 1;

    auto load_number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t load_batch = 0;
    const auto source = [&](bool second) {
        const std::int32_t n = min(load_number, turns - 1);
        const Unit<kPanels> unit = unit_of<kPanels>(job, n / kPanels);
        const bool other = second && kPanels == 2;
        return RowSource<kType>(other ? unit.matrix[kPanels - 1]->w : unit.matrix[0]->w,
                                other ? unit.panel[kPanels - 1] : unit.panel[0],
                                local_of(n) + (second && kPanels == 1 ? 1 : 0), lane);
    };
    RowSource<kType> first = source(false);
    RowSource<kType> second = source(true);
    const auto load = [&](Set& to, std::int32_t awaited) {
        if (load_number + awaited >= turns) return;
#pragma unroll
        for (int s = 0; s < kHeld; ++s) {
            const std::int32_t chunk = (load_batch * kHeld + s) * 32;
            if (chunk + lane < chunks) {
                to[s][0] = first.load(chunk, lane, tile_cols);
                to[s][1] = second.load(chunk, lane, tile_cols);
            }
        }
        if (++load_batch == batches) {
            load_batch = 0;
            load_number += blocks;
            first = source(false);
            second = source(true);
        }
    };
    Set even = {};
    Set odd = {};
    const auto awaited = [&](const Set& set) { return wait_for_set(set[0][0].data.x, job); };
    load(even, 0);
    fetch_norm(job.norm, job.cols);

    if (!job.beside) wait_for_input();
    let_next_start();
    if (job.finish == Finish::Heads && threadIdx.x == kThreads - 1) kv = kv_row(job, 0);
    const float* x = job.x;
    if (job.picked != nullptr) x += std::int64_t{*job.picked} * job.cols;
    float squares = 0;
    for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < job.cols / 4; i += kThreads) {
        float4 v = __ldcg(reinterpret_cast<const float4*>(x) + i);
        if (job.norm != nullptr) {
            const float4 n = __ldg(reinterpret_cast<const float4*>(job.norm) + i);
            squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
            v = {v.x * n.x, v.y * n.y, v.z * n.z, v.w * n.w};
        }
        planes[i % kPlanes * chunks + i / kPlanes] = v;
    }
    squares = sum_of_warp(squares);
    if (lane == 0) square_parts[warp] = squares;
    __syncthreads();
    const float factor = norm_factor(job, square_parts);

    auto number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t batch = 0;
    float sums[2][2] = {};
    const auto multiply_set = [&](const Set& from) {
#pragma unroll
        for (int s = 0; s < kHeld; ++s) {
            const std::int32_t chunk = (batch * kHeld + s) * 32 + lane;
            if (chunk < chunks) {
                float4 v[kPlanes];
#pragma unroll
                for (int i = 0; i < kPlanes; ++i) v[i] = planes[i * chunks + chunk];
                from[s][0].add_product(v, sums[0]);
                from[s][1].add_product(v, sums[1]);
            }
        }
        if (++batch < batches) return;
        batch = 0;
        const Unit<kPanels> unit = unit_of<kPanels>(job, number / kPanels);
        const int local = local_of(number);
        const int own = lane == 0 ? local : local + kPartner;
        const float old = lane < 2 ? old_value<kPanels>(job, unit, own) : 0.0F;
        const float a = sum_of_warp(sums[0][0] + sums[0][1]) * factor;
        const float b = sum_of_warp(sums[1][0] + sums[1][1]) * factor;
        sums[0][0] = sums[0][1] = sums[1][0] = sums[1][1] = 0;
        if (lane < 2) finish<kPanels>(job, unit, own, 0, &kv, old, [&](int l) { return l == local ? a : b; });
        number += blocks;
    };
    for (;;) {
        load(odd, awaited(even));
        multiply_set(even);
        if (number >= turns) break;
        load(even, awaited(odd));
        multiply_set(odd);
        if (number >= turns) break;
    }
    if (job.beside) wait_for_input();
}

template <DType kType, int kPanels>
bool launch_one_of_floats(const Job& job, cudaStream_t stream) {
    return launch(one_row_of_floats_kernel<kType, kPanels>, job,
                  static_cast<std::size_t>(job.cols) * sizeof(float), stream);
}

}  // namespace vitrine::cuda::few
