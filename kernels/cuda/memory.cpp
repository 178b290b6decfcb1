#include "kernels/cuda/memory.h"

#include <algorithm>
#include <utility>

namespace vitrine::cuda {
namespace {

std::atomic<std::uint64_t> failing_allocation{0};

bool fails_now() {
    std::uint64_t left = failing_allocation.load(std::memory_order_relaxed);
    while (left > 0) {
        if (failing_allocation.compare_exchange_weak(left, left - 1)) return left == 1;
    }
    return false;
}

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes + (1U << 20U) - 1) >> 20U) + " MiB";
}

}  // namespace

void fail_allocation(std::uint64_t n) { failing_allocation = n; }

bool is_sticky(cudaError_t code) {
    switch (code) {
        case cudaErrorIllegalAddress:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorHardwareStackError:
        case cudaErrorLaunchFailure:
        case cudaErrorLaunchTimeout:
        case cudaErrorECCUncorrectable:
        case cudaErrorAssert:
        case cudaErrorDevicesUnavailable: return true;
        default: return false;
    }
}

Error cuda_error(cudaError_t code, const std::string& what) {
    // A sticky error stays for the life of the process; others are taken off here.
    static_cast<void>(cudaGetLastError());
    if (code == cudaErrorMemoryAllocation)
        return Error{ErrorKind::OutOfMemory,
                     what +
                         ": the GPU's memory is full. Choose a shorter context or a smaller model, or close "
                         "other programs that use the GPU."};
    const std::string text = what + ": the GPU reports \"" + cudaGetErrorString(code) + "\".";
    if (is_sticky(code))
        return Error{ErrorKind::Io,
                     text +
                         " It cannot be used any more until the program is started again; the chats are "
                         "kept. Until then the model can be loaded on the processor."};
    return Error{ErrorKind::Io, text + " If it happens again, restart the program; the chats are kept."};
}

DeviceMemory::DeviceMemory(DeviceMemory&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)),
      size_(std::exchange(o.size_, 0)),
      generation_(std::move(o.generation_)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(generation_, o.generation_);
    return *this;
}

DeviceMemory::~DeviceMemory() {
    if (data_ == nullptr) return;
    static_cast<void>(cudaFree(data_));
    if (generation_) generation_->fetch_add(1);
}

Result<DeviceMemory> DeviceMemory::make(std::uint64_t bytes, const std::string& what,
                                        std::shared_ptr<Generation> generation) {
    DeviceMemory m;
    void* p = nullptr;
    const cudaError_t code =
        fails_now() ? cudaErrorMemoryAllocation : cudaMalloc(&p, std::max<std::uint64_t>(bytes, 256));
    if (code != cudaSuccess) return cuda_error(code, what + " of " + mebibytes(bytes));
    m.data_ = static_cast<std::byte*>(p);
    m.size_ = bytes;
    m.generation_ = std::move(generation);
    return m;
}

Status DeviceMemory::grow(std::uint64_t bytes, const std::string& what,
                          const std::shared_ptr<Generation>& generation) {
    if (size_ >= bytes && data_ != nullptr) return {};
    { DeviceMemory old(std::move(*this)); }  // its users are on the stream, and freeing waits for them
    VITRINE_TRY(*this, make(bytes, what, generation));
    return {};
}

PinnedMemory::PinnedMemory(PinnedMemory&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
}

PinnedMemory::~PinnedMemory() {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
}

Result<PinnedMemory> PinnedMemory::make(std::uint64_t bytes) {
    PinnedMemory m;
    void* p = nullptr;
    const cudaError_t code = fails_now() ? cudaErrorMemoryAllocation : cudaMallocHost(&p, bytes);
    if (code != cudaSuccess) return cuda_error(code, "Page-locked memory of " + mebibytes(bytes));
    m.data_ = static_cast<std::byte*>(p);
    m.size_ = bytes;
    return m;
}

Status PinnedMemory::grow(std::uint64_t bytes) {
    if (size_ >= bytes && data_ != nullptr) return {};
    { PinnedMemory old(std::move(*this)); }
    VITRINE_TRY(*this, make(bytes));
    return {};
}

}  // namespace vitrine::cuda
