// Launches of the kernels for a few rows.
#pragma once

#include <cstddef>
#include <cuda_runtime.h>

#include "kernels/cuda/few_job.h"

namespace vitrine::cuda::few {

using JobKernel = void (*)(const Job);

// A grid in which every block has equally many units, as many blocks as can run at once. False where the
// kernel needs more shared memory than a block may have.
bool launch(JobKernel kernel, const Job& job, std::size_t shared_bytes, cudaStream_t stream);

// Whether the device has what few_ring.cuh is made of.
bool has_ring();

// The same for kernels of kRingThreads with a ring of stages in front of `shared_bytes` of shared memory, and
// `at_once` blocks on a multiprocessor.
using RingKernel = void (*)(const Job, int, std::uint32_t);
bool launch_ring(RingKernel kernel, const Job& job, std::size_t stage_bytes, std::size_t shared_bytes,
                 int at_once, cudaStream_t stream);

// Whether kernels may start before the one ahead ends: compute capability 9.0 and later.
bool starts_early();

// As kernel<<<grid, threads, shared_bytes, stream>>>(args), but it may start before the one ahead ends.
template <class... Args, class... Given>
void launch_early(void (*kernel)(Args...), dim3 grid, unsigned threads, std::size_t shared_bytes,
                  cudaStream_t stream, const Given&... args) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = starts_early() ? 1 : 0;
    cudaLaunchKernelEx(&config, kernel, args...);
}

}  // namespace vitrine::cuda::few
