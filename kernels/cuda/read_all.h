// Reads memory once, as fast as the device can: the measure beside every speed shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

namespace vitrine::cuda {

void read_all(const std::byte* memory, std::uint64_t bytes, cudaStream_t stream);

}  // namespace vitrine::cuda
