// Weights on their way through shared memory (compute capability 9.0 and later): one warp of a block enqueues
// bulk copies of the next stages, the others work on those that have arrived. A stage is some steps of all
// panels of a unit. Copies cost almost no instructions, and their first stages are under way before the
// kernel may read what the one before it writes.
#pragma once

#include <cstdint>

#include "kernels/cuda/few_tile.cuh"
#include "kernels/cuda/few_units.cuh"

namespace vitrine::cuda::few {

constexpr int kRingThreads = kThreads + 32;  // and the warp that copies
constexpr int kMostStages = 8;

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)

__device__ inline std::uint32_t shared_address(const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
__device__ inline void barrier_make(std::uint64_t* b, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}
__device__ inline void barrier_arrive(std::uint64_t* b) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}
__device__ inline void barrier_expect(std::uint64_t* b, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
                 : "memory");
}
__device__ inline void barrier_wait(std::uint64_t* b, std::uint32_t parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(shared_address(b)),
        "r"(parity)
        : "memory");
}
// `bytes` is a multiple of 16, both addresses are.
__device__ inline void copy_in(void* to, const void* from, std::uint32_t bytes, std::uint64_t* arrived) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(arrived))
        : "memory");
}
// A barrier among the warps that do not copy.
__device__ inline void workers_meet() { asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory"); }

#endif

// A panel's share of a stage of kSteps steps.
template <DType kType, int kSteps>
struct Stage {
    static constexpr int kGroups = kSteps * kQuadGroups;
    static constexpr int kLow = 0;
    static constexpr int kTwo =
        kLow + (has_low(kType) ? kGroups * 256 : 0) + (kType == DType::Q8_0 ? kGroups * 512 : 0);
    static constexpr int kOne = kTwo + (has_two(kType) ? kGroups * 128 : 0);
    static constexpr int kScale = kOne + (has_one(kType) ? kGroups * 64 : 0);
    static constexpr int kSuper = kScale + kGroups * 16 * scale_bytes(kType);
    static constexpr int kSuperBytes = has_super(kType) ? kPanelRows * (has_minimum(kType) ? 4 : 2) : 0;
    // Rows of the other types: a step is 128 bytes; filled so that two rows' shares lie in different banks.
    static constexpr int kRowBytes = kSteps * 128 + 64;
    static constexpr int kBytes =
        is_quantized(kType) ? (kSuper + kGroups / 8 * kSuperBytes + 127) / 128 * 128 : kPanelRows * kRowBytes;
    static_assert(kSteps % 2 == 0);
};

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)

// The stages' places and barriers, in shared memory.
struct Ring {
    std::uint8_t* data = nullptr;
    std::uint64_t* full = nullptr;
    std::uint64_t* empty = nullptr;
    int stages = 0;
    int at = 0;
    std::uint32_t turn = 0;

    __device__ void next() {
        if (++at == stages) {
            at = 0;
            turn ^= 1U;
        }
    }
};

// What the copying warp does: all stages of the block's units, in order.
template <DType kType, int kPanels, int kSteps>
__device__ inline void copy_units(const Job& job, Ring ring, int lane) {
    using Place = Stage<kType, kSteps>;
    constexpr int kStep = step_inputs(kType);
    const std::int32_t all_steps = (job.cols + kStep - 1) / kStep;
    const std::int32_t chunks = (all_steps + kSteps - 1) / kSteps;
    const std::int32_t all_groups = job.cols / 32;
    ring.turn = 1;  // the first turn finds every stage empty
    for (auto number = static_cast<std::int32_t>(blockIdx.x); number < job.units;
         number += static_cast<std::int32_t>(gridDim.x)) {
        const Unit<kPanels> unit = unit_of<kPanels>(job, number);
        for (std::int32_t chunk = 0; chunk < chunks; ++chunk, ring.next()) {
            const std::int32_t step = chunk * kSteps;
            std::uint64_t* full = ring.full + ring.at;
            if (lane == 0) barrier_wait(ring.empty + ring.at, ring.turn);
            if constexpr (is_quantized(kType)) {
                if (lane != 0) continue;
                const auto groups =
                    static_cast<std::uint32_t>(min(kSteps * kQuadGroups, all_groups - step * kQuadGroups));
                constexpr std::uint32_t kGroupBytes =
                    (has_low(kType) ? 256 : 0) + (kType == DType::Q8_0 ? 512 : 0) +
                    (has_two(kType) ? 128 : 0) + (has_one(kType) ? 64 : 0) + 16 * scale_bytes(kType);
                barrier_expect(full, kPanels * (groups * kGroupBytes + groups / 8 * Place::kSuperBytes));
#pragma unroll
                for (int p = 0; p < kPanels; ++p) {
                    const WeightView& w = unit.matrix[p]->w;
                    const auto last = static_cast<std::int32_t>(panels_of(w.rows)) - 1;
                    const std::int32_t panel = min(unit.panel[p], last);
                    const std::int64_t from = quad_place(panel, step, all_groups);
                    std::uint8_t* to = ring.data + (ring.at * kPanels + p) * Place::kBytes;
                    if constexpr (has_low(kType))
                        copy_in(to + Place::kLow, w.low + from * 16, groups * 256, full);
                    if constexpr (kType == DType::Q8_0)
                        copy_in(to + Place::kLow, w.bytes + from * 32, groups * 512, full);
                    if constexpr (has_two(kType))
                        copy_in(to + Place::kTwo, w.two + from * 8, groups * 128, full);
                    if constexpr (has_one(kType))
                        copy_in(to + Place::kOne, w.one + from * 4, groups * 64, full);
                    copy_in(to + Place::kScale, w.scale + from * scale_bytes(kType),
                            groups * 16 * scale_bytes(kType), full);
                    if constexpr (has_super(kType)) {
                        const std::int64_t block = std::int64_t{panel} * (all_groups / 8) + step / 2;
                        copy_in(to + Place::kSuper,
                                reinterpret_cast<const std::uint8_t*>(w.super) + block * Place::kSuperBytes,
                                groups / 8 * Place::kSuperBytes, full);
                    }
                }
            } else {
                constexpr int kSize = 128 / kStep;  // of an input
                const auto bytes =
                    static_cast<std::uint32_t>(min(kSteps * kStep, job.cols - step * kStep) * kSize);
                if (lane == 0) barrier_expect(full, kPanels * kPanelRows * bytes);
                __syncwarp();
                const int p = lane / kPanelRows;
                if (p < kPanels) {
                    const bool second = kPanels == 2 && p == 1;
                    const WeightView& w = second ? unit.matrix[kPanels - 1]->w : unit.matrix[0]->w;
                    const std::int32_t panel = second ? unit.panel[kPanels - 1] : unit.panel[0];
                    const std::int32_t row = min(panel * kPanelRows + lane % kPanelRows, w.rows - 1);
                    std::uint8_t* to = ring.data + (ring.at * kPanels + p) * Place::kBytes +
                                       lane % kPanelRows * Place::kRowBytes;
                    copy_in(to, w.bytes + (std::int64_t{row} * w.cols + step * kStep) * kSize, bytes, full);
                }
            }
        }
    }
}

// Prepares the ring's barriers, for all threads of the block to call.
__device__ inline Ring make_ring(std::uint8_t* data, std::uint64_t (&full)[kMostStages],
                                 std::uint64_t (&empty)[kMostStages], int stages) {
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) {
            barrier_make(full + s, 1);
            barrier_make(empty + s, kWarps);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    Ring ring;
    ring.data = data;
    ring.full = full;
    ring.empty = empty;
    ring.stages = stages;
    return ring;
}

#endif

}  // namespace vitrine::cuda::few
