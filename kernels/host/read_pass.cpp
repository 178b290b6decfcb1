#include "kernels/host/read_pass.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/read_pass.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sum of `words` (a multiple of 256) 64-bit words from a 64-byte aligned address.
std::uint64_t sum_words(const std::uint64_t* p, std::int64_t words) {
    const hn::ScalableTag<std::uint64_t> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto a = hn::Zero(d);
    auto b = hn::Zero(d);
    auto c = hn::Zero(d);
    auto e = hn::Zero(d);
    for (std::int64_t i = 0; i < words; i += 4 * lanes) {
        a = hn::Add(a, hn::Load(d, p + i));
        b = hn::Add(b, hn::Load(d, p + i + lanes));
        c = hn::Add(c, hn::Load(d, p + i + 2 * lanes));
        e = hn::Add(e, hn::Load(d, p + i + 3 * lanes));
    }
    // Added outside the vector: the intrinsic adds signed numbers, which a sanitizer rightly calls an
    // overflow.
    HWY_ALIGN std::uint64_t sums[hn::MaxLanes(d)];
    hn::Store(hn::Add(hn::Add(a, b), hn::Add(c, e)), d, sums);
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < lanes; ++i) sum += sums[i];
    return sum;
}

}  // namespace vitrine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine {

HWY_EXPORT(sum_words);

Result<double> ReadPass::run(ThreadPool& pool, std::uint64_t bytes) {
    constexpr std::uint64_t kPiece = std::uint64_t{256} << 10U;
    if (bytes == 0) {
        area_ = PageMemory();
        return 0.0;
    }
    if (bytes > UINT64_MAX - kPiece)
        return Error{ErrorKind::OutOfMemory, "The area to read is larger than any memory."};
    const std::uint64_t size = (bytes + kPiece - 1) / kPiece * kPiece;
    const auto pieces = static_cast<std::int64_t>(size / kPiece);
    if (area_.size() < size) {
        area_ = PageMemory();
        VITRINE_TRY(area_, PageMemory::make(size, "The measurement of the memory's speed"));
        pool.parallel_for(pieces, 1, [&](std::int64_t first, std::int64_t last, int) {
            std::memset(area_.data() + static_cast<std::uint64_t>(first) * kPiece, 1,
                        static_cast<std::uint64_t>(last - first) * kPiece);
        });
    }
    std::atomic<std::uint64_t> sum{0};
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(pieces, 1, [&](std::int64_t first, std::int64_t last, int) {
        const std::byte* p = area_.data() + static_cast<std::uint64_t>(first) * kPiece;
        const auto words = static_cast<std::int64_t>(static_cast<std::uint64_t>(last - first) * kPiece / 8);
        sum += HWY_DYNAMIC_DISPATCH(sum_words)(reinterpret_cast<const std::uint64_t*>(p), words);
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    sink_ += sum.load();
    return taken.count();
}

}  // namespace vitrine
#endif
