#include <cstdio>
#include <cuda_runtime.h>

#include "kernels/cuda/cuda_device.h"
#include "kernels/gpu/module_api.h"

namespace vitrine::cuda {
namespace {

__global__ void trial(int* out) { out[threadIdx.x] = static_cast<int>(threadIdx.x) * 3 + 1; }

// Empty: it works.
std::string trial_problem(int index) {
    constexpr int kThreads = 32;
    int* memory = nullptr;
    int values[kThreads] = {};
    cudaError_t code = cudaSetDevice(index);
    if (code == cudaSuccess) code = cudaMalloc(reinterpret_cast<void**>(&memory), sizeof values);
    if (code == cudaSuccess) {
        trial<<<1, kThreads>>>(memory);
        code = cudaGetLastError();
    }
    if (code == cudaSuccess) code = cudaMemcpy(values, memory, sizeof values, cudaMemcpyDeviceToHost);
    if (memory != nullptr) static_cast<void>(cudaFree(memory));
    if (code != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return cudaGetErrorString(code);
    }
    for (int i = 0; i < kThreads; ++i)
        if (values[i] != 3 * i + 1) return "a trial computation gave a wrong result";
    return {};
}

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error unusable(const std::string& reason) {
    return Error{ErrorKind::Unsupported, "No GPU is used: " + reason};
}

Result<std::vector<GpuInfo>> gpus() {
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return unusable("no NVIDIA driver is installed (or it does not answer).");
    if (driver / 1000 < CUDART_VERSION / 1000)
        return unusable("the NVIDIA driver supports CUDA " + version_text(driver) + ", and CUDA " +
                        version_text(CUDART_VERSION) + " is needed; update the driver.");
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
        static_cast<void>(cudaGetLastError());
        const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
        if (visible != nullptr)
            return unusable(std::string("the environment variable CUDA_VISIBLE_DEVICES is '") + visible +
                            "', which leaves none visible.");
        return unusable("the driver finds none.");
    }
    if (code != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return unusable(std::string("the driver reports \"") + cudaGetErrorString(code) + "\".");
    }
    std::vector<GpuInfo> found;
    std::string reasons;
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp p{};
        if (cudaGetDeviceProperties(&p, i) != cudaSuccess) {
            static_cast<void>(cudaGetLastError());
            continue;
        }
        const int capability = p.major * 10 + p.minor;
        std::string problem;
        if (capability < 75)
            problem = "its compute capability is " + std::to_string(p.major) + "." + std::to_string(p.minor) +
                      ", and 7.5 is needed";
        else
            problem = trial_problem(i);
        if (!problem.empty()) {
            reasons += (reasons.empty() ? "" : "; ") + std::string(p.name) + ": " + problem;
            continue;
        }
        GpuInfo gpu;
        gpu.index = i;
        gpu.name = p.name;
        gpu.capability = capability;
        std::size_t free = 0;
        std::size_t total = 0;
        if (cudaSetDevice(i) == cudaSuccess && cudaMemGetInfo(&free, &total) == cudaSuccess) {
            gpu.memory_free = free;
            gpu.memory_total = total;
        }
        found.push_back(std::move(gpu));
    }
    if (found.empty()) return unusable(reasons.empty() ? "the driver finds none." : reasons + ".");
    return found;
}

constexpr CudaModuleApi kApi{kCudaBuild, gpus, CudaDevice::open};

}  // namespace
}  // namespace vitrine::cuda

extern "C" __attribute__((visibility("default"))) const vitrine::CudaModuleApi* vitrine_cuda_module() {
    return &vitrine::cuda::kApi;
}
