// The product with one row of activations: a block takes units of one or two panels in turn, its warps share
// the inputs. Weights are fed some steps ahead, across units, and the first of them before the kernel waits
// for what was enqueued before it.
#pragma once

#include "kernels/cuda/few_feed.cuh"
#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_tile.cuh"
#include "kernels/cuda/few_units.cuh"

namespace vitrine::cuda::few {

// Bytes of shared memory for the activations.
template <DType kType>
constexpr std::size_t one_row_bytes(std::int32_t cols) {
    const auto n = static_cast<std::size_t>(cols);
    return is_quantized(kType) ? n + n / 32 * sizeof(GroupMark) : n * sizeof(float);
}

// x times the norm's weights into shared memory, as signed bytes or float32; returns this thread's part of
// the sum of squares of x.
template <DType kType, int kWorkers>
__device__ inline float stage_row(const Job& job, std::uint32_t* memory) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    if (job.bytes != nullptr) {
        const std::int32_t sixteens = (job.cols + job.cols / 2) / 16;
        for (std::int32_t i = thread; i < sixteens; i += kWorkers)
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
        if constexpr (is_quantized(kType)) {
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
        } else if (i < fours) {
            reinterpret_cast<float4*>(memory)[i] = v;
        }
    };
    const std::int32_t end = (fours + 31) / 32 * 32;
    for (std::int32_t first = thread; first < end; first += kRound * kWorkers) {
        float4 v[kRound];
        float4 n[kRound];
#pragma unroll
        for (int j = 0; j < kRound; ++j) {
            const std::int32_t i = first + j * kWorkers;
            v[j] = n[j] = {0, 0, 0, 0};
            if (i < fours) {
                v[j] = __ldcg(reinterpret_cast<const float4*>(x) + i);
                if (job.norm != nullptr) n[j] = __ldg(reinterpret_cast<const float4*>(job.norm) + i);
            }
        }
#pragma unroll
        for (int j = 0; j < kRound; ++j)
            if (first + j * kWorkers < end) stage_four(first + j * kWorkers, v[j], n[j]);
    }
    return squares;
}

// What Finish::Add adds to, in a unit's row.
template <int kPanels>
__device__ inline float old_value(const Job& job, const Unit<kPanels>& unit, int local) {
    if (job.finish != Finish::Add || local >= kPanels * kPanelRows) return 0;
    const std::int32_t panel = kPanels == 2 && local >= kPanelRows ? unit.panel[kPanels - 1] : unit.panel[0];
    const std::int32_t row = panel * kPanelRows + local % kPanelRows;
    return row < unit.matrix[0]->w.rows ? __ldcg(job.out + row) : 0.0F;
}

// Steps that a warp has under way: about 48 KB a block, of which two run on a multiprocessor and two of the
// next kernel wait; with two panels a step is larger, and a little more keeps three of them.
template <DType kType, int kPanels>
constexpr int one_depth() {
    constexpr int kFit = (kPanels == 2 ? 56 : 48) * 1024 / (kWarps * kPanels * Slot<kType>::kBytes);
    return kFit < 2 ? 2 : kFit > 8 ? 8 : kFit;
}
template <DType kType, int kPanels>
constexpr std::size_t feed_bytes(int depth) {
    return std::size_t{kWarps} * static_cast<std::size_t>(depth) * kPanels * Slot<kType>::kBytes;
}

template <DType kType, int kPanels, int kDepth>
__global__ void __launch_bounds__(kThreads, 4) one_row_kernel(const __grid_constant__ Job job) {
    constexpr int kSlotBytes = kPanels * Slot<kType>::kBytes;
    extern __shared__ uint4 dynamic_memory[];
    __shared__ float parts[2][kWarps][kPanels * kPanelRows];
    __shared__ float square_parts[kWarps];
    __shared__ KvRow kv;

    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    auto* slots = reinterpret_cast<std::uint8_t*>(dynamic_memory) + warp * kDepth * kSlotBytes;
    auto* memory = reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::uint8_t*>(dynamic_memory) +
                                                    feed_bytes<kType, kPanels>(kDepth));
    const std::int32_t all_steps = (job.cols + step_inputs(kType) - 1) / step_inputs(kType);
    // Steps of a warp in a unit; the last may lie beyond the row.
    const std::int32_t rounds = (all_steps + kWarps - 1) / kWarps;

    // Where the next step is to be fed from.
    auto feed_number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t feed_step = warp;
    typename Slot<kType>::Source sources[kPanels];
    const auto find_sources = [&] {
        const Unit<kPanels> unit = unit_of<kPanels>(job, min(feed_number, job.units - 1));
#pragma unroll
        for (int p = 0; p < kPanels; ++p)
            sources[p] = Slot<kType>::source(unit.matrix[p]->w, unit.panel[p], lane);
    };
    find_sources();
    const auto feed_next = [&](std::uint8_t* slot) {
        if (feed_number < job.units) {
            if (feed_step < all_steps) {
#pragma unroll
                for (int p = 0; p < kPanels; ++p)
                    Slot<kType>::fill(slot + p * Slot<kType>::kBytes, sources[p], job.cols, feed_step, lane);
            }
            feed_step += kWarps;
            if (feed_step >= rounds * kWarps) {
                feed_step = warp;
                feed_number += static_cast<std::int32_t>(gridDim.x);
                find_sources();
            }
        }
        feed_group();
    };
#pragma unroll 1
    for (int s = 0; s < kDepth; ++s) feed_next(slots + s * kSlotBytes);

    wait_for_input();
    let_next_start();
    if (job.finish == Finish::Heads && threadIdx.x == kThreads - 1) kv = kv_row(job, 0);
    auto number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t turn = 0;
    // The block's warps take turns to finish a unit, so that none falls behind.
    const auto finishes = [&] { return warp == turn % kWarps; };
    float old = finishes() ? old_value<kPanels>(job, unit_of<kPanels>(job, number), lane) : 0.0F;
    float squares = stage_row<kType, kThreads>(job, memory);
    if (job.norm != nullptr) {
        for (int offset = 16; offset > 0; offset /= 2)
            squares += __shfl_xor_sync(0xFFFFFFFFU, squares, offset);
        if (lane == 0) square_parts[warp] = squares;
    }
    __syncthreads();

    const auto* marks = reinterpret_cast<const GroupMark*>(memory + job.cols / 4);
    const auto* floats = reinterpret_cast<const float*>(memory);
    float sums[kPanels][2] = {};
    std::uint8_t* slot = slots;
    for (; number < job.units; number += static_cast<std::int32_t>(gridDim.x), ++turn) {
        for (std::int32_t round = 0; round < rounds; ++round) {
            feed_wait<kDepth - 1>();
            const std::int32_t step = round * kWarps + warp;
#pragma unroll
            for (int p = 0; p < kPanels; ++p) {
                if (step >= all_steps) break;
                Panel<kType> panel;
                Slot<kType>::take(slot + p * Slot<kType>::kBytes, lane, panel);
                if constexpr (Panel<kType>::kOutside) {
                    const Unit<kPanels> unit = unit_of<kPanels>(job, number);
                    panel.load_grid(unit.matrix[p]->w, unit.panel[p], step, lane);
                }
                panel.add_product(step, lane, job.cols, memory, marks, floats, sums[p]);
            }
            feed_next(slot);
            slot = slot == slots + (kDepth - 1) * kSlotBytes ? slots : slot + kSlotBytes;
        }
        const int side = turn % 2;
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
        __syncthreads();
        if (finishes() && lane < kPanels * kPanelRows) {
            float factor = 1;
            if (job.norm != nullptr) {
                float all = 0;
#pragma unroll
                for (int w = 0; w < kWarps; ++w) all += square_parts[w];
                factor = rsqrtf(all / static_cast<float>(job.cols) + job.eps);
            }
            finish<kPanels>(job, unit_of<kPanels>(job, number), lane, 0, &kv, old, [&](int local) {
                float v = 0;
#pragma unroll
                for (int w = 0; w < kWarps; ++w) v += parts[side][w][local];
                return v * factor;
            });
        }
        const std::int32_t next = number + static_cast<std::int32_t>(gridDim.x);
        if (warp == (turn + 1) % kWarps && next < job.units)
            old = old_value<kPanels>(job, unit_of<kPanels>(job, next), lane);
    }
}

template <DType kType, int kPanels>
bool launch_one(const Job& job, cudaStream_t stream) {
    constexpr int kDepth = one_depth<kType, kPanels>();
    constexpr int kLeast = 2;  // where there is less shared memory
    const std::size_t own = one_row_bytes<kType>(job.cols);
    return launch(one_row_kernel<kType, kPanels, kDepth>, job, feed_bytes<kType, kPanels>(kDepth) + own,
                  stream) ||
           (kDepth > kLeast && launch(one_row_kernel<kType, kPanels, kLeast>, job,
                                      feed_bytes<kType, kPanels>(kLeast) + own, stream));
}

}  // namespace vitrine::cuda::few
