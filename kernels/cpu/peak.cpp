#include "kernels/cpu/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/cpu/processor.h"
#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"

#ifndef VITRINE_PEAK_ONCE
#define VITRINE_PEAK_ONCE
namespace vitrine::cpu {
inline std::atomic<std::int32_t> sink{0};  // keeps the sums from being left out
}  // namespace vitrine::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/block_dot-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // see block_dot-inl.h
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

// Enough independent sums to hide the instruction's latency, and nothing else in the loop. Multiply-adds
// done.
template <class Dot>
double spin(std::int64_t rounds) {
    constexpr int kSums = kVectorFloats == 16 ? 12 : 6;
    alignas(64) std::byte codes[512] = {};
    alignas(64) std::byte x[kSums * 32] = {};
    const typename Dot::template Codes<DType::Q8_0> weights(codes);
    const IntTag di;
    IntVector sums[kSums];
    for (int s = 0; s < kSums; ++s) sums[s] = hn::Set(di, s);
    for (std::int64_t i = 0; i < rounds; ++i) {
        HWY_UNROLL(16)
        for (int s = 0; s < kSums; ++s) sums[s] = weights.template dot<0, 8>(sums[s], x + 32 * s);
    }
    std::int32_t lanes[kVectorFloats];
    for (int s = 1; s < kSums; ++s) sums[0] = hn::Add(sums[0], sums[s]);
    hn::StoreU(sums[0], di, lanes);
    sink.fetch_add(lanes[0], std::memory_order_relaxed);
    return static_cast<double>(rounds) * kSums * 32 * kVectorFloats;
}

}  // namespace

double spin_for(std::int64_t rounds, bool extension) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    if (extension) return spin<VnniDot>(rounds);
#endif
    static_cast<void>(extension);
    return spin<BestDot>(rounds);
}

}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine {
namespace cpu {
namespace {
HWY_EXPORT(spin_for);
double spin_best(std::int64_t rounds, bool extension) {
    return HWY_DYNAMIC_DISPATCH(spin_for)(rounds, extension);
}
}  // namespace
}  // namespace cpu

double integer_dot_peak(int threads) {
    const bool extension = cpu::has_dot_extension((hwy::SupportedTargets() & HWY_AVX3) != 0);
    // One thread alone is measured in many short runs, which other processes hardly touch.
    const int attempts = threads == 1 ? 200 : 5;
    const std::int64_t rounds = threads == 1 ? 10000 : 200000;
    double best = 0;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        std::atomic<double> work{0};
        std::vector<std::thread> others;
        const auto start = std::chrono::steady_clock::now();
        const auto run = [&] { work += cpu::spin_best(rounds, extension); };
        for (int i = 1; i < threads; ++i) others.emplace_back(run);
        run();
        for (std::thread& t : others) t.join();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        best = std::max(best, work.load() / taken.count());
    }
    return best;
}

}  // namespace vitrine
#endif
