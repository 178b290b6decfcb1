// Memory of the device and page-locked memory of the host, given back at the end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <memory>
#include <string>

#include "kernels/cuda/failure.h"
#include "kernels/error.h"
#include "kernels/gpu/module_api.h"

namespace vitrine::cuda {

// Test hook: the n-th allocation from now on (1: the next one) and those after it, `count` in all, fail as if
// memory were full; n = 0: none.
void fail_allocations(std::uint64_t n, std::uint64_t count);
// Allocations asked for since the program began.
std::uint64_t allocations();
// To be called once for each allocation, also for those that the runtime makes by itself for an object: true
// where a test wants it to fail.
bool allocation_fails();
// Device and page-locked memory that is held now; the other fields are zero.
CudaHoldings memory_held();

// Counts what makes addresses stale that somebody may have kept (captured graphs): memory given back or
// moved.
using Generation = std::atomic<std::uint64_t>;

class DeviceMemory {
  public:
    DeviceMemory() = default;
    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&& other) noexcept;
    ~DeviceMemory();
    // `what` begins a sentence: "A matrix of the model". `generation` counts up when the memory is freed.
    // OutOfMemory says how much is needed and how much is free.
    static Result<DeviceMemory> make(std::uint64_t bytes, const std::string& what,
                                     std::shared_ptr<Generation> generation = nullptr);
    std::byte* data() const { return data_; }
    std::uint64_t size() const { return size_; }
    float* floats() const { return reinterpret_cast<float*>(data_); }

    // At least `bytes`; what it held is lost where it grows. Frees first, so that there is room.
    Status grow(std::uint64_t bytes, const std::string& what, const std::shared_ptr<Generation>& generation);

  private:
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
    std::shared_ptr<Generation> generation_;
};

// Host memory that the device can read and write while the processor goes on.
class PinnedMemory {
  public:
    PinnedMemory() = default;
    PinnedMemory(PinnedMemory&& other) noexcept;
    PinnedMemory& operator=(PinnedMemory&& other) noexcept;
    ~PinnedMemory();
    static Result<PinnedMemory> make(std::uint64_t bytes);
    std::byte* data() const { return data_; }
    std::uint64_t size() const { return size_; }
    Status grow(std::uint64_t bytes);

  private:
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
};

}  // namespace vitrine::cuda
