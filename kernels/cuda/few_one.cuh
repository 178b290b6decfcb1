// The product with one row of activations, weights quantized. A block takes units of one or two panels in
// turn and its warps share the inputs of a unit. While a warp multiplies the steps that it holds in
// registers, as many of the next ones are on their way: two sets of registers, so that the compiler gives
// each its own scoreboard. The first set is asked for before the kernel waits for what was enqueued before
// it.
#pragma once

#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_row.cuh"
#include "kernels/cuda/few_source.cuh"

namespace vitrine::cuda::few {

// Bytes of shared memory for the activations.
constexpr std::size_t row_bytes_of_marks(std::int32_t cols) {
    const auto n = static_cast<std::size_t>(cols);
    return n + n / 32 * sizeof(GroupMark);
}

// x times the norm's weights into shared memory as signed bytes, then their marks; returns this thread's part
// of the sum of squares of x.
__device__ inline float stage_bytes(const Job& job, std::uint32_t* memory) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    if (job.bytes != nullptr) {
        const std::int32_t sixteens = (job.cols + job.cols / 2) / 16;
        for (std::int32_t i = thread; i < sixteens; i += kThreads)
            reinterpret_cast<uint4*>(memory)[i] = __ldcg(reinterpret_cast<const uint4*>(job.bytes) + i);
        return 0;
    }
    const float* x = job.x;
    if (job.picked != nullptr) x += std::int64_t{*job.picked} * job.cols;
    float squares = 0;
    const std::int32_t fours = job.cols / 4;
    // Whole warps stay together for the shuffles: four lanes have sixteen values. All loads of a round are
    // under way before the first is used.
    constexpr int kRound = 4;
    const auto stage_four = [&](std::int32_t i, float4 v, float4 n) {
        if (job.norm != nullptr) {
            squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
            v = {v.x * n.x, v.y * n.y, v.z * n.z, v.w * n.w};
        }
        constexpr unsigned kAll = 0xFFFFFFFFU;
        // As an unsigned number a NaN is above all others.
        const auto size = [](float f) { return __float_as_uint(f) & 0x7FFFFFFFU; };
        std::uint32_t top = max(max(size(v.x), size(v.y)), max(size(v.z), size(v.w)));
        top = max(top, __shfl_xor_sync(kAll, top, 1));
        top = max(top, __shfl_xor_sync(kAll, top, 2));
        const float largest = __uint_as_float(top);
        const float inverse = top != 0 ? __fdividef(127.0F, largest) : 0.0F;
        // Added to 1.5 · 2^23 the product is rounded, and the low byte is the code.
        const auto code = [&](float f) { return __float_as_uint(fmaf(f, inverse, 12582912.0F)); };
        const std::uint32_t lower = __byte_perm(code(v.x), code(v.y), 0x0040);
        const std::uint32_t upper = __byte_perm(code(v.z), code(v.w), 0x0040);
        const std::uint32_t codes = __byte_perm(lower, upper, 0x5410);
        int sum = __dp4a(static_cast<int>(codes), 0x01010101, 0);
        sum += __shfl_xor_sync(kAll, sum, 1);
        sum += __shfl_xor_sync(kAll, sum, 2);
        if (i < fours) {
            memory[i] = codes;
            if (i % 4 == 0)
                reinterpret_cast<float2*>(memory + fours)[i / 4] = {largest * (1.0F / 127.0F),
                                                                    static_cast<float>(sum)};
        }
    };
    const std::int32_t end = (fours + 31) / 32 * 32;
    for (std::int32_t first = thread; first < end; first += kRound * kThreads) {
        float4 v[kRound];
        float4 n[kRound];
#pragma unroll
        for (int j = 0; j < kRound; ++j) {
            const std::int32_t i = first + j * kThreads;
            v[j] = n[j] = {0, 0, 0, 0};
            if (i < fours) {
                v[j] = __ldcg(reinterpret_cast<const float4*>(x) + i);
                if (job.norm != nullptr) n[j] = __ldg(reinterpret_cast<const float4*>(job.norm) + i);
            }
        }
#pragma unroll
        for (int j = 0; j < kRound; ++j)
            if (first + j * kThreads < end) stage_four(first + j * kThreads, v[j], n[j]);
    }
    return squares;
}

// Steps of a set, two sets and two blocks of 256 threads a multiprocessor: 128 registers a thread.
template <DType kType, int kPanels>
constexpr int steps_held() {
    constexpr int kFit = 76 / (2 * kPanels * Panel<kType>::kRegisters);
    return kFit < 1 ? 1 : kFit > 4 ? 4 : kFit;
}

// Warps meet in one named barrier a unit, of which each is awaited by one warp only, the one that finishes
// the unit. Barriers and places of `parts` are used in turn: a warp that is kWarps units ahead has been the
// one to wait meanwhile.
__device__ inline void arrive_at(std::int32_t side) {
    asm volatile("bar.arrive %0, %1;" ::"r"(side + 1), "n"(kThreads) : "memory");
}
__device__ inline void wait_at(std::int32_t side) {
    asm volatile("bar.sync %0, %1;" ::"r"(side + 1), "n"(kThreads) : "memory");
}

template <DType kType, int kPanels>
__global__ void __launch_bounds__(kThreads, 2) one_row_kernel(const __grid_constant__ Job job) {
    constexpr int kHeld = steps_held<kType, kPanels>();
    using Set = Panel<kType>[kHeld][kPanels];
    extern __shared__ uint4 dynamic_memory[];
    __shared__ float parts[kWarps][kWarps][kPanels * kPanelRows];
    __shared__ float square_parts[kWarps];
    __shared__ KvRow kv;

    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const auto blocks = static_cast<std::int32_t>(gridDim.x);
    auto* memory = reinterpret_cast<std::uint32_t*>(dynamic_memory);
    const std::int32_t all_steps = (job.cols + step_inputs(kType) - 1) / step_inputs(kType);
    const std::int32_t rounds = (all_steps + kWarps - 1) / kWarps;  // steps of a warp in a unit
    const std::int32_t batches = (rounds + kHeld - 1) / kHeld;

    // What is loaded next.
    auto load_number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t load_batch = 0;
    const auto source = [&](bool second) {
        const Unit<kPanels> unit = unit_of<kPanels>(job, min(load_number, job.units - 1));
        // No run-time index into the unit: that would move it to local memory.
        return Source<kType>(second ? unit.matrix[kPanels - 1]->w : unit.matrix[0]->w,
                             second ? unit.panel[kPanels - 1] : unit.panel[0], lane);
    };
    Source<kType> first = source(false);
    Source<kType> second = source(true);
    const auto load = [&](Set& to, std::int32_t awaited) {
        if (load_number + awaited >= job.units) return;
#pragma unroll
        for (int s = 0; s < kHeld; ++s) {
            const std::int32_t step = (load_batch * kHeld + s) * kWarps + warp;
            if (step >= all_steps) break;
            first.load(job.cols, step, lane, to[s][0]);
            if constexpr (kPanels == 2) second.load(job.cols, step, lane, to[s][1]);
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
    const auto awaited = [&](const Set& set) { return wait_for_set(set[0][0].a_word(), job); };
    load(even, 0);
    fetch_norm(job.norm, job.cols);

    if (!job.beside) wait_for_input();
    let_next_start();
    if (job.finish == Finish::Heads && threadIdx.x == kThreads - 1) kv = kv_row(job, 0);
    auto number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t turn = 0;
    // The block's warps take turns to finish a unit, so that none falls behind.
    float old = warp == 0 ? old_value<kPanels>(job, unit_of<kPanels>(job, number), lane) : 0.0F;
    const float squares = sum_of_warp(stage_bytes(job, memory));
    if (lane == 0) square_parts[warp] = squares;
    __syncthreads();

    const auto* marks = reinterpret_cast<const GroupMark*>(memory + job.cols / 4);
    float sums[kPanels][2] = {};
    std::int32_t batch = 0;
    const auto multiply_set = [&](const Set& from) {
#pragma unroll
        for (int s = 0; s < kHeld; ++s) {
            const std::int32_t step = (batch * kHeld + s) * kWarps + warp;
            if (step >= all_steps) break;
#pragma unroll
            for (int p = 0; p < kPanels; ++p)
                from[s][p].add_product(step, lane, job.cols, memory, marks, sums[p]);
        }
        if (++batch < batches) return;
        batch = 0;
        const std::int32_t side = turn % kWarps;
#pragma unroll
        for (int p = 0; p < kPanels; ++p)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                float v = sums[p][h];
                v += __shfl_xor_sync(0xFFFFFFFFU, v, 1);
                v += __shfl_xor_sync(0xFFFFFFFFU, v, 2);
                if (lane % 4 == 0) parts[side][warp][p * kPanelRows + h * 8 + lane / 4] = v;
                sums[p][h] = 0;
            }
        if (warp == side) {
            wait_at(side);
            if (lane < kPanels * kPanelRows) {
                const float factor = norm_factor(job, square_parts);
                finish<kPanels>(job, unit_of<kPanels>(job, number), lane, 0, &kv, old, [&](int local) {
                    float v = 0;
#pragma unroll
                    for (int w = 0; w < kWarps; ++w) v += parts[side][w][local];
                    return v * factor;
                });
            }
        } else {
            arrive_at(side);
        }
        ++turn;
        number += blocks;
        if (warp == turn % kWarps && number < job.units)
            old = old_value<kPanels>(job, unit_of<kPanels>(job, number), lane);
    };
    for (;;) {
        load(odd, awaited(even));
        multiply_set(even);
        if (number >= job.units) break;
        load(even, awaited(odd));
        multiply_set(odd);
        if (number >= job.units) break;
    }
    if (job.beside) wait_for_input();
}

template <DType kType, int kPanels>
bool launch_one(const Job& job, cudaStream_t stream) {
    return launch(one_row_kernel<kType, kPanels>, job, row_bytes_of_marks(job.cols), stream);
}

}  // namespace vitrine::cuda::few
