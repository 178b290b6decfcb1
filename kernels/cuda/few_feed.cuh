// A lane's own weights on their way through shared memory: asynchronous copies of what it will read itself,
// so that no barrier is needed and the order is first in, first out. Loads into registers some steps ahead
// came to nothing: the compiler had every step wait for all loads under way.
#pragma once

#include "kernels/cuda/few_tile.cuh"

namespace vitrine::cuda::few {

// Copies kBytes (4, 8 or 16) from `from`, or zeros where not `there`. GPUs before 8.0 copy at once.
template <int kBytes>
__device__ inline void feed(void* to, const void* from, bool there) {
#if __CUDA_ARCH__ >= 800
    const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
    const int bytes = there ? kBytes : 0;
    if constexpr (kBytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(from), "n"(kBytes),
                     "r"(bytes)
                     : "memory");
#else
    auto* words = static_cast<std::uint32_t*>(to);
    for (int i = 0; i < kBytes / 4; ++i) words[i] = there ? static_cast<const std::uint32_t*>(from)[i] : 0U;
#endif
}
// What was fed since the last of these calls is a group.
__device__ inline void feed_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for all groups but the last kLeft.
template <int kLeft>
__device__ inline void feed_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

// A step of a panel in shared memory, as the lanes of a warp hold it.
template <DType kType>
struct Slot {
    using Held = Panel<kType>;
    static constexpr int kSuperBytes = has_minimum(kType) ? 8 : 4;
    static constexpr int kScaleBytes = scale_bytes(kType) == 4 ? 8 : 4;
    static constexpr int kTwo = 2 * Held::kLoads * 512;
    static constexpr int kOne = kTwo + (has_two(kType) ? 512 : 0);
    static constexpr int kScale = kOne + (has_one(kType) ? 256 : 0);
    static constexpr int kSuper = kScale + (is_quantized(kType) ? 32 * kScaleBytes : 0);
    static constexpr int kBytes = (kSuper + (has_super(kType) ? 32 * kSuperBytes : 0) + 15) / 16 * 16;

    // Where a lane's share of a panel begins, in each plane or, for types without, in each of its rows.
    struct Source {
        const std::uint8_t* codes = nullptr;
        const std::uint8_t* second_row = nullptr;
        const std::uint8_t* two = nullptr;
        const std::uint8_t* one = nullptr;
        const std::uint8_t* scale = nullptr;
        const std::uint8_t* super = nullptr;
    };
    static constexpr int kCodeBytes = kType == DType::Q8_0 ? 32 : 16;  // of a group
    static constexpr int kQuad = kPanelRows * kQuadGroups;             // groups of a panel in a full quad

    __device__ static Source source(const WeightView& w, std::int32_t wanted, int lane) {
        const std::int32_t panel = min(wanted, static_cast<std::int32_t>(panels_of(w.rows)) - 1);
        Source s;
        if constexpr (Held::kQuantized) {
            const int groups = w.cols / 32;
            const std::int64_t first = std::int64_t{panel} * kPanelRows * groups;
            s.codes = (kType == DType::Q8_0 ? w.bytes : w.low) + first * kCodeBytes + lane * 16;
            if constexpr (has_two(kType)) s.two = w.two + first * 8 + lane * 8;
            if constexpr (has_one(kType)) s.one = w.one + first * 4 + lane * 4;
            // The entries of rows r and r + 8; of single bytes those of two lanes come together.
            s.scale = w.scale + first * scale_bytes(kType) +
                      lane * 2 * scale_bytes(kType) / kScaleBytes * kScaleBytes;
            if constexpr (has_super(kType))
                s.super = reinterpret_cast<const std::uint8_t*>(w.super) + first / 8 * (kSuperBytes / 2) +
                          lane / 4 * kSuperBytes;
        } else {
            constexpr int kSize = 128 / Held::kStep;
            const auto row = [&](int h) {
                const std::int32_t r = min(panel * kPanelRows + lane / 4 + 8 * h, w.rows - 1);
                return w.bytes + std::int64_t{r} * w.cols * kSize + lane % 4 * 16;
            };
            s.codes = row(0);
            s.second_row = row(1);
        }
        return s;
    }

    // Step `step` of a row of `cols` inputs, which has it.
    __device__ static void fill(std::uint8_t* slot, const Source& s, std::int32_t cols, std::int32_t step,
                                int lane) {
        if constexpr (Held::kQuantized) {
            const int left = cols / 32 - step * kQuadGroups;
            if (left >= kQuadGroups) {
                fill_groups(slot, s, step, lane, 0, 8 * kQuadGroups, true);
            } else {
                // A narrower quad: places are r · left + t.
                const int r = lane / 4;
                const int t = lane % 4;
                const bool there = t < left;
                fill_groups(slot, s, step, lane, there ? r * left + t - lane : -lane, there ? 8 * left : 0,
                            there);
            }
        } else {
            constexpr int kIn = Held::kStep / 8;  // inputs of sixteen bytes
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const std::uint8_t* row = h == 0 ? s.codes : s.second_row;
                const std::uint8_t* from = row + std::int64_t{step} * 128;
#pragma unroll
                for (int l = 0; l < 2; ++l) {
                    const bool there = step * Held::kStep + (l * 4 + lane % 4) * kIn < cols;
                    feed<16>(slot + (h * 2 + l) * 512 + lane * 16, there ? from + l * 64 : s.codes, there);
                }
            }
        }
    }
    // `shift`: from the lane's number to its place in the quad; `next`: from row r to r + 8.
    __device__ static void fill_groups(std::uint8_t* slot, const Source& s, std::int32_t step, int lane,
                                       int shift, int next, bool there) {
        const std::uint8_t* codes = s.codes + std::int64_t{step} * (kQuad * kCodeBytes) + shift * 16;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if constexpr (kType == DType::Q8_0) {
                feed<16>(slot + (h * 2) * 512 + lane * 16, codes + h * next * 16, there);
                feed<16>(slot + (h * 2 + 1) * 512 + lane * 16, codes + (h + 2) * next * 16, there);
            }
            if constexpr (has_low(kType)) feed<16>(slot + h * 512 + lane * 16, codes + h * next * 16, there);
            if constexpr (has_two(kType))
                feed<8>(slot + kTwo + h * 256 + lane * 8,
                        s.two + std::int64_t{step} * (kQuad * 8) + (shift + h * next) * 8, there);
            if constexpr (has_one(kType))
                feed<4>(slot + kOne + h * 128 + lane * 4,
                        s.one + std::int64_t{step} * (kQuad * 4) + (shift + h * next) * 4, there);
        }
        feed<kScaleBytes>(
            slot + kScale + lane * kScaleBytes,
            s.scale + std::int64_t{step} * (kQuad * scale_bytes(kType)) + shift * 2 * scale_bytes(kType),
            there);
        if constexpr (has_super(kType))
            feed<kSuperBytes>(slot + kSuper + lane * kSuperBytes,
                              s.super + std::int64_t{step / 2} * (kPanelRows * kSuperBytes / 2), there);
    }

    __device__ static void take(const std::uint8_t* slot, int lane, Held& out) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
#pragma unroll
            for (int l = 0; l < Held::kLoads; ++l)
                out.put(h, l,
                        *reinterpret_cast<const uint4*>(slot + (h * Held::kLoads + l) * 512 + lane * 16));
            if constexpr (has_two(kType)) {
                const uint2 v = *reinterpret_cast<const uint2*>(slot + kTwo + h * 256 + lane * 8);
                out.two[h][0] = v.x;
                out.two[h][1] = v.y;
            }
            if constexpr (has_one(kType))
                out.one[h] = *reinterpret_cast<const std::uint32_t*>(slot + kOne + h * 128 + lane * 4);
        }
        if constexpr (Held::kQuantized) {
            if constexpr (kScaleBytes == 8) {
                const uint2 v = *reinterpret_cast<const uint2*>(slot + kScale + lane * 8);
                out.scale[0] = v.x;
                out.scale[1] = v.y;
            } else {
                out.scale[0] = *reinterpret_cast<const std::uint32_t*>(slot + kScale + lane * 4);
                if constexpr (scale_bytes(kType) == 1) out.scale[0] >>= 16 * (lane % 2);
            }
            if constexpr (has_super(kType)) {
                if constexpr (kSuperBytes == 8) {
                    const uint2 v = *reinterpret_cast<const uint2*>(slot + kSuper + lane * 8);
                    out.super[0] = v.x;
                    out.super[1] = v.y;
                } else {
                    out.super[0] = *reinterpret_cast<const std::uint32_t*>(slot + kSuper + lane * 4);
                }
            }
        }
    }
};

}  // namespace vitrine::cuda::few
