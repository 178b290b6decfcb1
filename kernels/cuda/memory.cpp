#include "kernels/cuda/memory.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace vitrine::cuda {
namespace {

std::atomic<std::uint64_t> asked{0};
// Of the numbers that `asked` counts, those from first to last fail; 0: none.
std::atomic<std::uint64_t> first_failing{0};
std::atomic<std::uint64_t> last_failing{0};

std::atomic<std::uint64_t> device_bytes{0};
std::atomic<std::uint64_t> pinned_bytes{0};
std::atomic<std::int32_t> pieces{0};

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes + (1U << 20U) - 1) >> 20U) + " MiB";
}

Error no_room(const std::string& what, std::uint64_t bytes) {
    static_cast<void>(cudaGetLastError());
    std::size_t free = 0;
    std::size_t total = 0;
    const bool known = cudaMemGetInfo(&free, &total) == cudaSuccess;
    if (!known) static_cast<void>(cudaGetLastError());
    return Error{ErrorKind::OutOfMemory,
                 what + ": " + mebibytes(bytes) + " of GPU memory are needed" +
                     (known ? ", and " + mebibytes(free) + " are free" : std::string(", more than is free")) +
                     ". Choose a shorter context or a smaller model, or close other programs that use the "
                     "GPU."};
}

Error no_pinned_room(std::uint64_t bytes) {
    static_cast<void>(cudaGetLastError());
    const auto free = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_AVPHYS_PAGES))) *
                      static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
    return Error{ErrorKind::OutOfMemory, "Page-locked memory: " + mebibytes(bytes) +
                                             " are needed, and the system gives no more (" + mebibytes(free) +
                                             " of memory are free). Close other programs."};
}

}  // namespace

void fail_allocations(std::uint64_t n, std::uint64_t count) {
    const std::uint64_t now = asked;
    first_failing = n == 0 ? 0 : now + n;
    last_failing = n == 0 ? 0 : count > UINT64_MAX - now - n ? UINT64_MAX : now + n + count - 1;
}

std::uint64_t allocations() { return asked; }

bool allocation_fails() {
    const std::uint64_t number = ++asked;
    return first_failing != 0 && number >= first_failing && number <= last_failing;
}

CudaHoldings memory_held() {
    CudaHoldings held;
    held.device_bytes = device_bytes;
    held.pinned_bytes = pinned_bytes;
    held.allocations = pieces;
    return held;
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
    if (cudaFree(data_) != cudaSuccess) static_cast<void>(cudaGetLastError());
    device_bytes -= size_;
    --pieces;
    if (generation_) generation_->fetch_add(1);
}

Result<DeviceMemory> DeviceMemory::make(std::uint64_t bytes, const std::string& what,
                                        std::shared_ptr<Generation> generation) {
    DeviceMemory m;
    void* p = nullptr;
    const cudaError_t code =
        allocation_fails() ? cudaErrorMemoryAllocation : cudaMalloc(&p, std::max<std::uint64_t>(bytes, 256));
    if (code == cudaErrorMemoryAllocation) return no_room(what, bytes);
    if (code != cudaSuccess) return cuda_error(code, what);
    m.data_ = static_cast<std::byte*>(p);
    m.size_ = bytes;
    device_bytes += bytes;
    ++pieces;
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
    if (data_ == nullptr) return;
    if (cudaFreeHost(data_) != cudaSuccess) static_cast<void>(cudaGetLastError());
    pinned_bytes -= size_;
    --pieces;
}

Result<PinnedMemory> PinnedMemory::make(std::uint64_t bytes) {
    PinnedMemory m;
    void* p = nullptr;
    const cudaError_t code = allocation_fails() ? cudaErrorMemoryAllocation : cudaMallocHost(&p, bytes);
    if (code == cudaErrorMemoryAllocation) return no_pinned_room(bytes);
    if (code != cudaSuccess) return cuda_error(code, "Page-locked memory");
    m.data_ = static_cast<std::byte*>(p);
    m.size_ = bytes;
    pinned_bytes += bytes;
    ++pieces;
    return m;
}

Status PinnedMemory::grow(std::uint64_t bytes) {
    if (size_ >= bytes && data_ != nullptr) return {};
    { PinnedMemory old(std::move(*this)); }
    VITRINE_TRY(*this, make(bytes));
    return {};
}

}  // namespace vitrine::cuda
