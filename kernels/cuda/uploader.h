// Weights on their way from ordinary memory, above all from files mapped into it, to the device.
//
// Several threads copy pieces into page-locked buffers (one thread is slower than the bus), the device
// fetches them on a stream of its own, and the kernels that regroup them run on the caller's stream behind
// that: the three go on at the same time. What will be needed next is asked of the disk ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <memory>

#include "kernels/cuda/view.h"
#include "kernels/error.h"

namespace vitrine::cuda {

class Uploader {
  public:
    Uploader();
    ~Uploader();
    Uploader(const Uploader&) = delete;
    Uploader& operator=(const Uploader&) = delete;

    // The matrix at `source`, `row_bytes` a row as in the file, into its planes on the current device.
    // Returns when the source has been read; whatever is enqueued on `stream` afterwards finds the planes
    // filled. All calls of one uploader name the same device.
    Status upload(const WeightView& planes, const std::byte* source, std::uint64_t row_bytes,
                  cudaStream_t stream);

    // Waits for what is on its way and gives the buffers back; the next upload takes new ones.
    void release();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vitrine::cuda
