// What the CUDA module offers to the program that loads it at run time, and nothing else: the program has no
// CUDA header and needs no driver to start. Both must come from one build; `build` is compared first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace vitrine {

struct GpuInfo {
    int index = 0;
    std::string name;
    int capability = 0;  // 90: compute capability 9.0
    std::uint64_t memory_total = 0;
    std::uint64_t memory_free = 0;
};

struct CudaModuleApi {
    const char* build = nullptr;
    // The GPUs that can be used: driver there, capability at least 7.5, a trial kernel gave the right result.
    // Where there is none: Unsupported with the reason in a sentence.
    Result<std::vector<GpuInfo>> (*gpus)() = nullptr;
    // `plain`: the device's own plain operations, slow, the yardstick of its fast ones.
    Result<std::unique_ptr<Device>> (*open)(int index, bool plain) = nullptr;
};

inline constexpr const char* kCudaBuild = "vitrine " VITRINE_VERSION " cuda 1";
inline constexpr const char* kCudaEntry = "vitrine_cuda_module";  // extern "C" const CudaModuleApi* (*)()

}  // namespace vitrine
