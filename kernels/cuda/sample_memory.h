// What a step's sampling reads and writes: settings on their way to the device, results on their way back.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/sampling.h"

namespace vitrine::cuda {

class SampleMemory {
  public:
    // The generation counts up when addresses of the view change.
    explicit SampleMemory(std::shared_ptr<Generation> generation) : generation_(std::move(generation)) {}

    void clear() { rows_.clear(); }
    // Device memory for that many rows of logits, one answer each, and taking it before a step has to.
    static std::uint64_t bytes(std::int32_t rows, std::int32_t width);
    Status reserve(std::int32_t rows, std::int32_t width, cudaStream_t stream);
    // Enqueues the copy of the settings. The stream must have done what the last step enqueued.
    Status prepare(std::span<const SampleRow> rows, const float* logits, std::int32_t width,
                   cudaStream_t stream);
    const SampleView& view() const { return view_; }
    // Enqueues the copy of the results; after draw_tokens(), outside a captured step.
    Status fetch(cudaStream_t stream);
    // Once the stream has done that. Nothing is decided about a row that was not asked for.
    SampleOutcome outcome(std::size_t row) const;

  private:
    Status reserve_work(std::uint64_t bytes, cudaStream_t stream);

    std::shared_ptr<Generation> generation_;
    PinnedMemory staging_;
    PinnedMemory fetched_;
    DeviceMemory settings_;
    DeviceMemory results_;
    DeviceMemory work_;
    SampleView view_;
    std::vector<SampleSettings> rows_;
    std::uint64_t result_bytes_ = 0;
};

}  // namespace vitrine::cuda
