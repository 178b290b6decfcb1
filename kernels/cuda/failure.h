// Failures of the CUDA runtime as sentences for the person who can act on them, and GPUs that were lost.
//
// Some errors are sticky: a kernel that read outside of memory, a memory fault, a launch that the display's
// watchdog ended. After one of them nothing works on that GPU until the process ends. It is then *lost*: this
// file remembers it, and whoever asks for the GPU hears so at once, in one sentence, instead of calling a
// driver that can only repeat itself.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <string>

#include "kernels/error.h"

namespace vitrine::cuda {

// A failed call as a sentence; OutOfMemory where it was that. `what` begins it: "A step". Takes the error off
// the runtime, so that the next, unrelated call does not report it. A sticky one makes this thread's GPU (see
// use_gpu) a lost one.
Error cuda_error(cudaError_t code, const std::string& what);

// The same without any effect.
Error error_of(cudaError_t code, const std::string& what);

// After one of these nothing works on the device until the process ends.
bool is_sticky(cudaError_t code);

// Makes GPU `index` this thread's current one. An error, at once, where it is lost.
Status use_gpu(int index);
// The reason, where it is lost.
Status state_of_gpu(int index);

// Test hooks: the next step reports `code` as if the GPU had; all GPUs count as working again.
void fail_step(int code);
void revive_gpus();
// What fail_step() left to be reported, else `code`.
cudaError_t or_injected(cudaError_t code);

}  // namespace vitrine::cuda
