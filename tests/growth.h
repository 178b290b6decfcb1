// A bound on how time grows with the size of an input, wide enough for a busy machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>

namespace vitrine::test {

inline std::int64_t thread_nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Sixteen times the input may take at most 64 times the time, where squares would take 256 times: the
// distance is what keeps caches, clock rates and neighbours on the machine from deciding. work(n / 4) and
// work(4 n) are timed on the processor's clock of this thread and the shortest of several attempts is taken.
template <class Work>
bool grows_linearly(std::size_t n, const Work& work) {
    const auto time = [&](std::size_t size) {
        const std::int64_t begin = thread_nanoseconds();
        work(size);
        return thread_nanoseconds() - begin;
    };
    std::int64_t small = std::numeric_limits<std::int64_t>::max();
    std::int64_t large = small;
    for (int attempt = 0; attempt < 8; ++attempt) {
        small = std::min(small, time(n / 4));
        large = std::min(large, time(4 * n));
        // Below four milliseconds caches and page faults are all that is measured.
        if (large <= 64 * small || large < 4'000'000) return true;
    }
    return false;
}

}  // namespace vitrine::test
