// Finds and loads the CUDA module at run time, so that one program starts on every machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/gpu/module_api.h"

namespace vitrine {

// The GPUs that can be used, or in one sentence why there are none: module not built or not found, driver
// missing or too old, no device, a failed trial. Loads the module at the first call; cheap afterwards.
Result<std::vector<GpuInfo>> cuda_gpus();

// GPU `index` of cuda_gpus(). `plain`: see CudaModuleApi.
Result<std::unique_ptr<Device>> make_cuda_device(int index, bool plain);

// Of the module, also where there is no GPU; the reason where there is no module.
Result<const CudaTestHooks*> cuda_test_hooks();

// Where the module was looked for, for diagnostics.
std::vector<std::string> cuda_module_places();

}  // namespace vitrine
