// What a step tells the kernels: ids, positions, block tables, rotations. It travels in one copy to addresses
// that are the same for every step of equally many rows and outputs, so that a captured step can be replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/plain.h"
#include "kernels/cuda/step_ops.h"
#include "kernels/cuda/view.h"

namespace vitrine::cuda {

class StepMemory {
  public:
    // The generation counts up when addresses of the views change.
    explicit StepMemory(std::shared_ptr<Generation> generation) : generation_(std::move(generation)) {}

    // Enqueues the copies. row_sequence[r]: index of the row's sequence in step.sequences. The host side of
    // the copies is kept here until the next call, which must come after the stream has done them.
    Status prepare(const StepInput& step, std::span<const std::int32_t> row_sequence, cudaStream_t stream);

    // Device memory for steps of that many rows, tables of their blocks aside.
    static std::uint64_t bytes(std::int64_t rows, std::int64_t outputs, std::int64_t head_dim,
                               std::int64_t ropes);

    const StepView& view() const { return view_; }
    // Tables of cosines and sines are the kernels' to fill (fill_rope), first thing in the step.
    const std::vector<RopeView>& ropes() const { return ropes_; }
    // Rounded up, so that one captured step serves many.
    const AttentionPlan& plan() const { return plan_; }

  private:
    Status prepare_ropes(const StepInput& step, cudaStream_t stream);

    std::shared_ptr<Generation> generation_;
    PinnedMemory staging_;
    DeviceMemory ids_;
    DeviceMemory numbers_;             // frequencies and magnitudes of all sets
    DeviceMemory tables_;              // cosines and sines of the step's rows
    std::vector<std::byte> uploaded_;  // what numbers_ holds
    StepView view_;
    std::vector<RopeView> ropes_;
    AttentionPlan plan_;
};

}  // namespace vitrine::cuda
