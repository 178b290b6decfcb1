// Where a lane's weights of a panel lie, found once a unit, so that a step costs an offset.
#pragma once

#include "kernels/cuda/few_job.h"
#include "kernels/cuda/few_tile.cuh"

namespace vitrine::cuda::few {

// Where a panel of a quantized type begins, in each plane, or a lane's two rows of another type.
template <DType kType>
struct Source {
    static constexpr bool kQuantized = is_quantized(kType);
    static constexpr bool kOutside = Panel<kType>::kOutside;
    static constexpr int kCodeBytes = kType == DType::Q8_0 ? 32 : 16;  // of a group
    static constexpr int kQuad = kPanelRows * kQuadGroups;             // groups of a panel in a full quad
    static constexpr int kSuperBytes = has_minimum(kType) ? 8 : 4;

    const std::uint8_t* codes = nullptr;
    const std::uint8_t* two = nullptr;
    const std::uint8_t* one = nullptr;
    const std::uint8_t* scale = nullptr;
    const std::uint8_t* super = nullptr;
    const std::uint8_t* second_row = nullptr;
    const float* grid[2] = {nullptr, nullptr};
    std::int32_t tile_cols = 1;

    __device__ Source(const WeightView& w, std::int32_t wanted, int lane) {
        const std::int32_t panel = min(wanted, static_cast<std::int32_t>(panels_of(w.rows)) - 1);
        if constexpr (kQuantized) {
            const int groups = w.cols / 32;
            const std::int64_t first = std::int64_t{panel} * kPanelRows * groups;
            codes = (kType == DType::Q8_0 ? w.bytes : w.low) + first * kCodeBytes;
            if constexpr (has_two(kType)) two = w.two + first * 8;
            if constexpr (has_one(kType)) one = w.one + first * 4;
            scale = w.scale + first * scale_bytes(kType);
            if constexpr (has_super(kType))
                super = reinterpret_cast<const std::uint8_t*>(w.super) + first / 8 * (kSuperBytes / 2) +
                        lane / 4 * kSuperBytes;
        } else {
            constexpr int kSize = 128 / Panel<kType>::kStep;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const std::int32_t row = min(panel * kPanelRows + lane / 4 + 8 * h, w.rows - 1);
                (h == 0 ? codes : second_row) = w.bytes + std::int64_t{row} * w.cols * kSize + lane % 4 * 16;
                if constexpr (kOutside) {
                    const std::int32_t across = (w.cols + w.tile_cols - 1) / w.tile_cols;
                    grid[h] = w.grid + std::int64_t{(w.first_row + row) / w.tile_rows} * across;
                    tile_cols = w.tile_cols;
                }
            }
        }
    }

    // Step `step` of a row of `cols` inputs, which has it.
    __device__ void load(std::int32_t cols, std::int32_t step, int lane, Panel<kType>& out) const {
        if constexpr (kQuantized) {
            const int left = cols / 32 - step * kQuadGroups;
            if (left >= kQuadGroups) {
                load_at(step, lane, 8 * kQuadGroups, kPanelRows * kQuadGroups, out);
            } else if (lane % 4 < left) {
                // A narrower quad: places are r · left + t.
                load_at(step, lane / 4 * left + lane % 4, 8 * left, kPanelRows * left, out);
            } else {
                out.clear();
            }
        } else {
            constexpr int kStep = Panel<kType>::kStep;
            constexpr int kInputs = kStep / 8;  // of sixteen bytes
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const std::uint8_t* row = (h == 0 ? codes : second_row) + std::int64_t{step} * 128;
#pragma unroll
                for (int l = 0; l < 2; ++l) {
                    const bool there = step * kStep + (l * 4 + lane % 4) * kInputs < cols;
                    out.put(h, l, there ? stream_16(row + l * 64) : uint4{0, 0, 0, 0});
                }
                if constexpr (kOutside) out.grid[h] = __ldg(grid[h] + step * kStep / tile_cols);
            }
        }
    }

  private:
    // `place`: of the lane's group in the quad; `next`: from row r to r + 8; `half`: between halves of Q8_0.
    __device__ void load_at(std::int32_t step, int place, int next, int half, Panel<kType>& out) const {
        const std::uint8_t* from = codes + std::int64_t{step} * (kQuad * kCodeBytes) + place * 16;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if constexpr (kType == DType::Q8_0) {
                out.put(h, 0, stream_16(from + h * next * 16));
                out.put(h, 1, stream_16(from + (half + h * next) * 16));
            }
            if constexpr (has_low(kType)) out.put(h, 0, stream_16(from + h * next * 16));
            if constexpr (has_two(kType)) {
                const uint2 v = stream_8(two + std::int64_t{step} * (kQuad * 8) + (place + h * next) * 8);
                out.two[h][0] = v.x;
                out.two[h][1] = v.y;
            }
            if constexpr (has_one(kType))
                out.one[h] = stream_4(one + std::int64_t{step} * (kQuad * 4) + (place + h * next) * 4);
        }
        const std::uint8_t* entry =
            scale + std::int64_t{step} * (kQuad * scale_bytes(kType)) + place * 2 * scale_bytes(kType);
        if constexpr (scale_bytes(kType) == 4) {
            const uint2 v = stream_8(entry);
            out.scale[0] = v.x;
            out.scale[1] = v.y;
        } else if constexpr (scale_bytes(kType) == 2) {
            out.scale[0] = stream_4(entry);
        } else {
            out.scale[0] = __ldg(reinterpret_cast<const std::uint16_t*>(entry));
        }
        if constexpr (has_super(kType)) {
            const std::uint8_t* block = super + std::int64_t{step / 2} * (kPanelRows * kSuperBytes / 2);
            if constexpr (has_minimum(kType)) {
                const uint2 v = __ldg(reinterpret_cast<const uint2*>(block));
                out.super[0] = v.x;
                out.super[1] = v.y;
            } else {
                out.super[0] = __ldg(reinterpret_cast<const std::uint32_t*>(block));
            }
        }
    }
};

// Two sets of registers take turns: one is multiplied while the other is on its way. The compiler gives all
// their loads one scoreboard, so that the first use of a set would wait for the loads of the other as well.
// Hence a set is awaited before the other's loads are issued: they are made to depend on a word of it, whose
// bits `nothing` takes away again.
__device__ inline std::int32_t wait_for_set(std::uint32_t word, const Job& job) {
    return static_cast<std::int32_t>(word) & job.nothing;
}

}  // namespace vitrine::cuda::few
