#include "kernels/cuda/uploader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/regroup.h"
#include "kernels/host/thread_pool.h"

namespace vitrine::cuda {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{16} << 20U;
constexpr std::int64_t kChunkBytes = std::int64_t{256} << 10U;  // what a thread copies at a time
constexpr std::uint64_t kAheadBytes = 8 * kPieceBytes;          // asked of the disk
// More threads than this do not make the memory faster.
constexpr int kMostThreads = 16;
// Pieces begin at multiples of it, so that planes may hold rows in tiles.
constexpr std::int64_t kRowStep = 16;

int copy_threads() {
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
}

// Whole pages around [p, p + bytes). Advice only: an error means that the pages are read when touched.
void advise(const std::byte* p, std::uint64_t bytes, int advice) {
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(p) / page * page;
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(p) + bytes;
    static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, advice));
}

}  // namespace

struct Uploader::State {
    static constexpr int kSides = 4;
    struct Side {
        PinnedMemory host;
        DeviceMemory raw;
        cudaEvent_t fetched = nullptr;    // the device has read `host`
        cudaEvent_t regrouped = nullptr;  // and has read `raw`
    };

    std::array<Side, kSides> sides;
    int next = 0;
    cudaStream_t fetching = nullptr;
    ThreadPool pool{copy_threads()};

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        if (fetching != nullptr) static_cast<void>(cudaStreamSynchronize(fetching));
        for (Side& side : sides) {
            if (side.regrouped != nullptr) static_cast<void>(cudaEventSynchronize(side.regrouped));
            if (side.fetched != nullptr) static_cast<void>(cudaEventDestroy(side.fetched));
            if (side.regrouped != nullptr) static_cast<void>(cudaEventDestroy(side.regrouped));
        }
        if (fetching != nullptr) static_cast<void>(cudaStreamDestroy(fetching));
    }

    Status prepare() {
        cudaError_t code = cudaStreamCreateWithFlags(&fetching, cudaStreamNonBlocking);
        for (Side& side : sides) {
            if (code == cudaSuccess) code = cudaEventCreateWithFlags(&side.fetched, cudaEventDisableTiming);
            if (code == cudaSuccess) code = cudaEventCreateWithFlags(&side.regrouped, cudaEventDisableTiming);
        }
        if (code != cudaSuccess) return cuda_error(code, "Preparing to copy the model to the GPU");
        return {};
    }

    // Room for a piece; the side's last one may still be on its way.
    Status ready(Side& side, std::uint64_t bytes, bool raw) {
        if (const cudaError_t code = cudaEventSynchronize(side.fetched); code != cudaSuccess)
            return cuda_error(code, "Copying a matrix to the GPU");
        bytes = std::max(bytes, kPieceBytes);
        if (side.host.size() < bytes) {
            side.host = PinnedMemory();
            VITRINE_TRY(side.host, PinnedMemory::make(bytes));
        }
        if (raw && side.raw.size() < bytes) {
            side.raw = DeviceMemory();  // freeing waits for its users
            VITRINE_TRY(side.raw, DeviceMemory::make(bytes, "Room for a piece of a matrix"));
        }
        return {};
    }

    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
        const auto size = static_cast<std::int64_t>(bytes);
        const std::int64_t chunks = (size + kChunkBytes - 1) / kChunkBytes;
        pool.parallel_for(chunks, 1, [&](std::int64_t first, std::int64_t last, int) {
            const std::int64_t begin = first * kChunkBytes;
            const std::int64_t end = std::min(last * kChunkBytes, size);
#ifdef MADV_POPULATE_READ
            // One call instead of a fault every few pages.
            advise(from + begin, static_cast<std::uint64_t>(end - begin), MADV_POPULATE_READ);
#endif
            std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
        });
    }
};

Uploader::Uploader() = default;
Uploader::~Uploader() = default;
void Uploader::release() { state_.reset(); }

Status Uploader::upload(const WeightView& planes, const std::byte* source, std::uint64_t row_bytes,
                        cudaStream_t stream) {
    if (planes.rows <= 0 || row_bytes == 0) return {};
    if (state_ == nullptr) {
        auto made = std::make_unique<State>();
        VITRINE_CHECK(made->prepare());
        state_ = std::move(made);
    }
    State& s = *state_;
    // Rows of plain numbers lie on the device as in the file: they need no room between.
    const bool plain = planes.type == DType::F32 || planes.type == DType::F16 || planes.type == DType::BF16;
    const std::uint64_t total = static_cast<std::uint64_t>(planes.rows) * row_bytes;
    std::int64_t in_piece = static_cast<std::int64_t>(kPieceBytes / row_bytes) / kRowStep * kRowStep;
    in_piece = std::min<std::int64_t>(std::max(in_piece, kRowStep), planes.rows);
    const std::uint64_t piece = plain ? kPieceBytes : static_cast<std::uint64_t>(in_piece) * row_bytes;
    advise(source, std::min(total, kAheadBytes), MADV_WILLNEED);
    for (std::uint64_t at = 0; at < total; at += piece) {
        const std::uint64_t size = std::min(piece, total - at);
        if (at + kAheadBytes < total)
            advise(source + at + kAheadBytes, std::min(piece, total - at - kAheadBytes), MADV_WILLNEED);
        State::Side& side = s.sides[static_cast<std::size_t>(s.next)];
        s.next = (s.next + 1) % State::kSides;
        VITRINE_CHECK(s.ready(side, size, !plain));
        s.copy(side.host.data(), source + at, size);
        auto* to = plain ? reinterpret_cast<std::byte*>(const_cast<std::uint8_t*>(planes.bytes)) + at
                         : side.raw.data();
        cudaError_t code = cudaStreamWaitEvent(s.fetching, side.regrouped);
        if (code == cudaSuccess)
            code = cudaMemcpyAsync(to, side.host.data(), size, cudaMemcpyHostToDevice, s.fetching);
        if (code == cudaSuccess) code = cudaEventRecord(side.fetched, s.fetching);
        if (code == cudaSuccess) code = cudaStreamWaitEvent(stream, side.fetched);
        if (code == cudaSuccess && !plain) {
            regroup(planes, static_cast<std::int64_t>(at / row_bytes),
                    static_cast<std::int64_t>(size / row_bytes), side.raw.data(), stream);
            code = cudaGetLastError();
        }
        if (code == cudaSuccess) code = cudaEventRecord(side.regrouped, stream);
        if (code != cudaSuccess) return cuda_error(code, "Copying a matrix to the GPU");
    }
    return {};
}

}  // namespace vitrine::cuda
