#include "core/engine/device_memory.h"

#include <algorithm>

#include "kernels/device.h"
#include "kernels/gpu/cuda_module.h"

namespace vitrine {

DeviceMemory device_memory(const std::string& device) {
    const bool gpu_only = device.starts_with("cuda");
    if (gpu_only || device == "auto") {
        const auto gpus = cuda_gpus();
        if (gpus.ok() && !gpus->empty()) {
            const auto roomiest = std::max_element(
                gpus->begin(), gpus->end(),
                [](const GpuInfo& a, const GpuInfo& b) { return a.memory_free < b.memory_free; });
            return {roomiest->memory_total, roomiest->memory_free};
        }
        if (gpu_only) return {};
    }
    const auto processor = make_cpu_device(1);
    if (!processor.ok()) return {};
    const DeviceInfo info = (*processor)->info();
    return {info.memory_total, info.memory_free};
}

}  // namespace vitrine
