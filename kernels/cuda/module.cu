#include <cstdlib>
#include <cuda_runtime.h>

#include "kernels/cuda/blas.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/failure.h"
#include "kernels/cuda/memory.h"
#include "kernels/cuda/step_graphs.h"
#include "kernels/gpu/module_api.h"

namespace vitrine::cuda {
namespace {

__global__ void trial(int* out) { out[threadIdx.x] = static_cast<int>(threadIdx.x) * 3 + 1; }

// Whether GPU `index` computes; an error that ends all work on it makes it a lost one.
Status try_out(int index) {
    constexpr int kThreads = 32;
    VITRINE_CHECK(use_gpu(index));
    int* memory = nullptr;
    int values[kThreads] = {};
    cudaError_t code = cudaMalloc(reinterpret_cast<void**>(&memory), sizeof values);
    if (code == cudaSuccess) {
        trial<<<1, kThreads>>>(memory);
        code = cudaGetLastError();
    }
    if (code == cudaSuccess) code = cudaMemcpy(values, memory, sizeof values, cudaMemcpyDeviceToHost);
    if (memory != nullptr) static_cast<void>(cudaFree(memory));
    if (code != cudaSuccess) return cuda_error(code, "A trial computation");
    for (int i = 0; i < kThreads; ++i)
        if (values[i] != 3 * i + 1) return Error{ErrorKind::Io, "A trial computation gave a wrong result."};
    return {};
}

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error unusable(const std::string& reason) {
    return Error{ErrorKind::Unsupported, "No GPU is used: " + reason};
}

// What the driver answered, judged.
Status judge(const CudaProbe& p) {
    if (p.version_code != cudaSuccess || p.version == 0)
        return unusable("no NVIDIA driver is installed (or it does not answer).");
    const auto count_code = static_cast<cudaError_t>(p.count_code);
    if (p.version / 1000 < CUDART_VERSION / 1000 || count_code == cudaErrorInsufficientDriver)
        return unusable("the NVIDIA driver supports CUDA " + version_text(p.version) + ", and CUDA " +
                        version_text(CUDART_VERSION) + " is needed; update the driver.");
    if (count_code == cudaErrorNoDevice || (count_code == cudaSuccess && p.count == 0)) {
        if (p.visible != nullptr)
            return unusable(std::string("the environment variable CUDA_VISIBLE_DEVICES is '") + p.visible +
                            "', which leaves none visible.");
        return unusable("the driver finds none.");
    }
    if (count_code != cudaSuccess) return unusable(error_of(count_code, "asking for the GPUs").message);
    return {};
}

Result<std::vector<GpuInfo>> gpus() {
    CudaProbe probe;
    probe.version_code = cudaDriverGetVersion(&probe.version);
    probe.count_code = cudaGetDeviceCount(&probe.count);
    static_cast<void>(cudaGetLastError());
    probe.visible = std::getenv("CUDA_VISIBLE_DEVICES");
    VITRINE_CHECK(judge(probe));
    std::vector<GpuInfo> found;
    std::string reasons;
    for (int i = 0; i < probe.count; ++i) {
        cudaDeviceProp p{};
        if (cudaGetDeviceProperties(&p, i) != cudaSuccess) {
            static_cast<void>(cudaGetLastError());
            continue;
        }
        const int capability = p.major * 10 + p.minor;
        const Status state = capability < 75
                                 ? Status(Error{ErrorKind::Unsupported,
                                                "Its compute capability is " + std::to_string(p.major) + "." +
                                                    std::to_string(p.minor) + ", and 7.5 is needed."})
                                 : try_out(i);
        if (!state.ok()) {
            reasons += (reasons.empty() ? "" : " ") + std::string(p.name) + ": " + state.error().message;
            continue;
        }
        GpuInfo gpu;
        gpu.index = i;
        gpu.name = p.name;
        gpu.capability = capability;
        std::size_t free = 0;
        std::size_t total = 0;
        if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
            gpu.memory_free = free;
            gpu.memory_total = total;
        }
        found.push_back(std::move(gpu));
    }
    if (found.empty()) return unusable(reasons.empty() ? "the driver finds none." : reasons);
    return found;
}

CudaHoldings holdings() {
    CudaHoldings held = memory_held();
    held.graphs = graphs_held();
    held.libraries = blas::contexts_held();
    return held;
}

Error described(int code, const std::string& what, bool& sticky) {
    sticky = is_sticky(static_cast<cudaError_t>(code));
    return error_of(static_cast<cudaError_t>(code), what);
}

constexpr CudaModuleApi kApi{
    kCudaBuild,
    gpus,
    CudaDevice::open,
    {fail_allocations, allocations, holdings, fail_step, revive_gpus, described, judge}};

}  // namespace
}  // namespace vitrine::cuda

extern "C" __attribute__((visibility("default"))) const vitrine::CudaModuleApi* vitrine_cuda_module() {
    return &vitrine::cuda::kApi;
}
