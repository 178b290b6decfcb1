// The product with one row of activations: a block takes units of one or two panels in turn, its warps share
// the inputs. Weights are loaded some steps ahead, across units, and the first of them before the kernel
// waits for what was enqueued before it.
#pragma once

#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_ring.cuh"
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
    // Whole warps stay together for the shuffles: four lanes have sixteen values.
#pragma unroll 2
    for (std::int32_t i = thread; i < (fours + 31) / 32 * 32; i += kWorkers) {
        float4 v = {0, 0, 0, 0};
        if (i < fours) v = __ldcg(reinterpret_cast<const float4*>(x) + i);
        if (job.norm != nullptr && i < fours) {
            squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
            const float4 n = __ldg(reinterpret_cast<const float4*>(job.norm) + i);
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

template <DType kType, int kPanels, int kAhead>
__global__ void __launch_bounds__(kThreads, 2) one_row_kernel(const __grid_constant__ Job job) {
#if __CUDA_ARCH__ < 900  // later GPUs have the ring
    extern __shared__ uint4 dynamic_memory[];
    auto* memory = reinterpret_cast<std::uint32_t*>(dynamic_memory);
    __shared__ float parts[2][kWarps][kPanels * kPanelRows];
    __shared__ float square_parts[kWarps];
    __shared__ KvRow kv;

    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const std::int32_t all_steps = (job.cols + step_inputs(kType) - 1) / step_inputs(kType);
    const std::int32_t rounds = (all_steps + kWarps - 1) / kWarps;  // steps of a warp in a unit

    Panel<kType> held[kAhead][kPanels];
    // Where the next load is.
    std::int32_t load_number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t load_step = warp;
    Unit<kPanels> load_unit = unit_of<kPanels>(job, min(load_number, job.units - 1));
    const auto load_next = [&](Panel<kType>(&to)[kPanels]) {
        if (load_number >= job.units) return;
#pragma unroll
        for (int p = 0; p < kPanels; ++p) {
            if (load_step < all_steps) {
                const WeightView& w = load_unit.matrix[p]->w;
                const auto last = static_cast<std::int32_t>(panels_of(w.rows)) - 1;
                to[p].load(w, min(load_unit.panel[p], last), load_step, lane);
            }
        }
        load_step += kWarps;
        if (load_step >= rounds * kWarps) {
            load_step = warp;
            load_number += static_cast<std::int32_t>(gridDim.x);
            if (load_number < job.units) load_unit = unit_of<kPanels>(job, load_number);
        }
    };
#pragma unroll
    for (int a = 0; a < kAhead; ++a) load_next(held[a]);

    wait_for_input();
    let_next_start();
    if (job.finish == Finish::Heads && threadIdx.x == kThreads - 1) kv = kv_row(job, 0);
    float squares = stage_row<kType, kThreads>(job, memory);
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xFFFFFFFFU, squares, offset);
    if (lane == 0) square_parts[warp] = squares;
    __syncthreads();

    const auto* marks = reinterpret_cast<const GroupMark*>(memory + job.cols / 4);
    const auto* floats = reinterpret_cast<const float*>(memory);
    float sums[kPanels][2] = {};
    std::int32_t number = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t round = 0;
    int side = 0;
    const auto finish_unit = [&]() {
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
        // The block's warps take turns, so that none falls behind.
        if (warp == number / static_cast<std::int32_t>(gridDim.x) % kWarps && lane < kPanels * kPanelRows) {
            float factor = 1;
            if (job.norm != nullptr) {
                float all = 0;
#pragma unroll
                for (int w = 0; w < kWarps; ++w) all += square_parts[w];
                factor = rsqrtf(all / static_cast<float>(job.cols) + job.eps);
            }
            const Unit<kPanels> unit = unit_of<kPanels>(job, number);
            const float old = old_value<kPanels>(job, unit, lane);
            finish<kPanels>(job, unit, lane, 0, &kv, old, [&](int local) {
                float v = 0;
#pragma unroll
                for (int w = 0; w < kWarps; ++w) v += parts[side][w][local];
                return v * factor;
            });
        }
        side = 1 - side;
        round = 0;
        number += static_cast<std::int32_t>(gridDim.x);
    };
    while (number < job.units) {
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            if (number >= job.units) break;
            const std::int32_t step = round * kWarps + warp;
            if (step < all_steps) {
#pragma unroll
                for (int p = 0; p < kPanels; ++p)
                    held[a][p].add_product(step, lane, job.cols, memory, marks, floats, sums[p]);
            }
            load_next(held[a]);
            if (++round == rounds) finish_unit();
        }
    }
#endif
}

constexpr int kOneWarps = 16;
constexpr int kOneThreads = kOneWarps * 32;

// As one_row_kernel, with the weights through a ring in shared memory. Eight warps work on a stage, the other
// eight on the next one; of two panels, four warps have one.
template <DType kType, int kPanels>
__global__ void __launch_bounds__(kOneThreads + 32, 2)
    one_row_ring_kernel(const __grid_constant__ Job job, int stages, std::uint32_t ring_bytes) {
#if __CUDA_ARCH__ >= 900
    constexpr int kSteps = kTakers / kPanels;
    constexpr int kTeams = kOneWarps / kTakers;
    using Place = Stage<kType, kSteps>;
    extern __shared__ uint4 dynamic_memory[];
    auto* weights = reinterpret_cast<std::uint8_t*>(dynamic_memory);
    auto* memory = reinterpret_cast<std::uint32_t*>(weights + ring_bytes);
    __shared__ float parts[2][kOneWarps][kPanelRows];
    __shared__ float square_parts[kOneWarps];
    __shared__ KvRow kv;
    __shared__ std::uint64_t full[kMostStages];
    __shared__ std::uint64_t empty[kMostStages];

    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    Ring ring = make_ring(weights, full, empty, stages);
    if (warp == kOneWarps) return copy_units<kType, kPanels, kSteps>(job, ring, lane);

    wait_for_input();
    let_next_start();
    if (job.finish == Finish::Heads && threadIdx.x == kOneThreads - 1) kv = kv_row(job, 0);
    float squares = stage_row<kType, kOneThreads>(job, memory);
    if (job.norm != nullptr) {
        for (int offset = 16; offset > 0; offset /= 2)
            squares += __shfl_xor_sync(0xFFFFFFFFU, squares, offset);
        if (lane == 0) square_parts[warp] = squares;
    }
    workers_meet<kOneThreads>();

    const auto* marks = reinterpret_cast<const GroupMark*>(memory + job.cols / 4);
    const auto* floats = reinterpret_cast<const float*>(memory);
    const std::int32_t all_steps = (job.cols + step_inputs(kType) - 1) / step_inputs(kType);
    const std::int32_t mine = warp % kTakers / kSteps;  // panel
    const std::int32_t local = warp % kSteps;           // step of the panel in a stage
    std::int32_t team = 0;                              // that has the next stage
    int side = 0;
    int turn = 0;
    for (auto number = static_cast<std::int32_t>(blockIdx.x); number < job.units;
         number += static_cast<std::int32_t>(gridDim.x), side = 1 - side, ++turn) {
        // The block's warps take turns to finish a unit, so that none falls behind.
        const bool finishes = warp == turn % kOneWarps;
        float old = 0;
        if (finishes) old = old_value<kPanels>(job, unit_of<kPanels>(job, number), lane);
        float sums[2] = {};
        for (std::int32_t first = 0; first < all_steps; first += kSteps, ring.next()) {
            const bool ours = team == warp / kTakers;
            team = team + 1 == kTeams ? 0 : team + 1;
            if (!ours) continue;
            barrier_wait(ring.full + ring.at, ring.turn);
            const std::int32_t step = first + local;
            if (step < all_steps) {
                Panel<kType> panel;
                panel.template load_staged<Place>(ring.data + (ring.at * kPanels + mine) * Place::kBytes,
                                                  local, step, job.cols, lane);
                if constexpr (Panel<kType>::kOutside) {
                    const Unit<kPanels> unit = unit_of<kPanels>(job, number);
                    const bool second = kPanels == 2 && mine == 1;
                    panel.load_grid(second ? unit.matrix[kPanels - 1]->w : unit.matrix[0]->w,
                                    second ? unit.panel[kPanels - 1] : unit.panel[0], step, lane);
                }
                panel.add_product(step, lane, job.cols, memory, marks, floats, sums);
            }
            __syncwarp();
            if (lane == 0) barrier_arrive(ring.empty + ring.at);
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float v = sums[h];
            v += __shfl_xor_sync(0xFFFFFFFFU, v, 1);
            v += __shfl_xor_sync(0xFFFFFFFFU, v, 2);
            if (lane % 4 == 0) parts[side][warp][h * 8 + lane / 4] = v;
        }
        workers_meet<kOneThreads>();
        if (finishes && lane < kPanels * kPanelRows) {
            float factor = 1;
            if (job.norm != nullptr) {
                float all = 0;
#pragma unroll
                for (int w = 0; w < kOneWarps; ++w) all += square_parts[w];
                factor = rsqrtf(all / static_cast<float>(job.cols) + job.eps);
            }
            finish<kPanels>(job, unit_of<kPanels>(job, number), lane, 0, &kv, old, [&](int row) {
                float v = 0;
#pragma unroll
                for (int team_of = 0; team_of < kTeams; ++team_of)
#pragma unroll
                    for (int w = 0; w < kSteps; ++w)
                        v += parts[side][team_of * kTakers + row / kPanelRows * kSteps + w][row % kPanelRows];
                return v * factor;
            });
        }
    }
#endif
}

template <DType kType, int kPanels>
bool launch_one(const Job& job, cudaStream_t stream) {
    if (has_ring())
        return launch_ring(one_row_ring_kernel<kType, kPanels>, job, kOneThreads,
                           kPanels * Stage<kType, kTakers / kPanels>::kBytes, one_row_bytes<kType>(job.cols),
                           1, stream);
    constexpr int kAhead = !is_quantized(kType) || kType == DType::Q8_0 ? (kPanels == 2 ? 2 : 3)
                                                                        : (kPanels == 2 ? 2 : 4);
    return launch(one_row_kernel<kType, kPanels, kAhead>, job, one_row_bytes<kType>(job.cols), stream);
}

}  // namespace vitrine::cuda::few
