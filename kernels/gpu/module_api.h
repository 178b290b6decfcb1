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

// What the module holds at a moment, of all devices: all zero when none is open.
struct CudaHoldings {
    std::uint64_t device_bytes = 0;
    std::uint64_t pinned_bytes = 0;
    std::int32_t allocations = 0;  // pieces of either
    std::int32_t graphs = 0;       // captured steps
    std::int32_t libraries = 0;    // contexts of cuBLASLt
};

// What the driver answered when it was asked for GPUs; codes are the CUDA runtime's.
struct CudaProbe {
    int version_code = 0;
    int version = 0;  // 12040: supports CUDA 12.4; 0: no driver
    int count_code = 0;
    int count = 0;
    const char* visible = nullptr;  // CUDA_VISIBLE_DEVICES, null where it is not set
};

// For tests: lets happen what else happens on full or broken machines only.
struct CudaTestHooks {
    // The n-th allocation from now on (1: the next one) and those after it, `count` in all, fail as if memory
    // were full; n = 0: none. A captured step counts as one.
    void (*fail_allocations)(std::uint64_t n, std::uint64_t count) = nullptr;
    std::uint64_t (*allocations)() = nullptr;  // asked for since the program began
    CudaHoldings (*holdings)() = nullptr;
    // The next step reports this code of the CUDA runtime as if the GPU had.
    void (*fail_step)(int code) = nullptr;
    // GPUs that were lost count as working again, after fail_step().
    void (*revive)() = nullptr;
    // What a user reads when a call of the CUDA runtime fails with `code`; `sticky`: nothing works after it.
    Error (*error_of)(int code, const std::string& what, bool& sticky) = nullptr;
    // What a user reads when the driver answers so; ok where there are GPUs to try.
    Status (*judge)(const CudaProbe& probe) = nullptr;
};

struct CudaModuleApi {
    const char* build = nullptr;
    // The GPUs that can be used: driver there, capability at least 7.5, a trial kernel gave the right result.
    // Where there is none: Unsupported with the reason in a sentence.
    Result<std::vector<GpuInfo>> (*gpus)() = nullptr;
    // `plain`: the device's own plain operations, slow, the yardstick of its fast ones.
    Result<std::unique_ptr<Device>> (*open)(int index, bool plain) = nullptr;
    CudaTestHooks hooks;
};

inline constexpr const char* kCudaBuild = "vitrine " VITRINE_VERSION " cuda 2";
inline constexpr const char* kCudaEntry = "vitrine_cuda_module";  // extern "C" const CudaModuleApi* (*)()

}  // namespace vitrine
