#include "kernels/host/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#if defined(__linux__)
#include <sched.h>
#endif

namespace vitrine {
namespace {

constexpr std::uint32_t kJoinedMask = 0x1FFU;
constexpr std::uint32_t kOpen = 0x200U;
constexpr std::uint32_t kJob = 0x400U;
constexpr auto kSpin = std::chrono::microseconds(20);

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Spins until done() or the bound; true when done.
template <class Done>
bool spin_until(const Done& done) {
    const auto end = std::chrono::steady_clock::now() + kSpin;
    do {
        for (int i = 0; i < 8; ++i) {
            if (done()) return true;
            pause();
        }
    } while (std::chrono::steady_clock::now() < end);
    return done();
}

int usable_processors() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : usable_processors()) {
    threads_ = std::min(threads_, kMaxThreads);
    ranges_ = std::make_unique<Range[]>(static_cast<std::size_t>(threads_));
    workers_.reserve(static_cast<std::size_t>(threads_));
    for (int i = 1; i < threads_; ++i) {
        try {
            workers_.emplace_back([this, i] { worker(i); });
        } catch (const std::system_error&) {
            break;  // the system gives no more threads: the ranges of the missing ones are taken over
        }
    }
}

ThreadPool::~ThreadPool() {
    stop_.store(true);
    state_.fetch_add(kJob);
    state_.notify_all();
    for (std::thread& t : workers_) t.join();
}

void ThreadPool::take_part(int thread) {
    const std::int64_t smallest = std::max<std::int64_t>(grain_ / 8, 1);
    for (int i = 0; i < threads_; ++i) {
        Range& range = ranges_[static_cast<std::size_t>((thread + i) % threads_)];
        std::int64_t first = range.next.load(std::memory_order_relaxed);
        while (first < range.last) {
            // The last pieces are small, so that all threads end at about the same time.
            const std::int64_t left = range.last - first;
            const std::int64_t piece = std::min(left, std::clamp(left / 4, smallest, grain_));
            if (!range.next.compare_exchange_weak(first, first + piece, std::memory_order_relaxed)) continue;
            call_(work_, first, first + piece, thread);
            first = range.next.load(std::memory_order_relaxed);
        }
    }
}

void ThreadPool::run(std::int64_t count, std::int64_t grain, Call call, const void* work) {
    if (count <= 0) return;
    grain = std::max<std::int64_t>(grain, 1);
    if (workers_.empty() || count <= grain) {
        call(work, 0, count, 0);
        return;
    }
    call_ = call;
    work_ = work;
    grain_ = grain;
    for (int i = 0; i < threads_; ++i) {
        Range& range = ranges_[static_cast<std::size_t>(i)];
        range.next.store(part(count, i), std::memory_order_relaxed);
        range.last = part(count, i + 1);
    }
    finished_.store(0, std::memory_order_relaxed);

    const std::uint32_t job = (state_.load(std::memory_order_relaxed) & ~(kJob - 1U)) + kJob;
    state_.store(job | kOpen);  // sequentially consistent: a worker either sees it or is counted asleep
    if (sleepers_.load() != 0) state_.notify_all();
    take_part(0);

    const std::uint32_t joined = state_.fetch_and(~kOpen) & kJoinedMask;
    const auto all_left = [&] { return finished_.load(std::memory_order_acquire) == joined; };
    if (all_left() || spin_until(all_left)) return;
    caller_sleeps_.store(true);
    for (std::uint32_t now = finished_.load(); now != joined; now = finished_.load()) finished_.wait(now);
    caller_sleeps_.store(false);
}

void ThreadPool::worker(int thread) {
    std::uint32_t seen = 0;  // the number of the last job looked at
    const auto news = [&] { return (state_.load(std::memory_order_acquire) & ~(kJob - 1U)) != seen; };
    while (true) {
        if (!spin_until(news)) {
            sleepers_.fetch_add(1);
            for (std::uint32_t now = state_.load(); (now & ~(kJob - 1U)) == seen; now = state_.load())
                state_.wait(now);
            sleepers_.fetch_sub(1);
        }
        if (stop_.load()) return;
        std::uint32_t now = state_.load();
        seen = now & ~(kJob - 1U);
        bool joined = false;
        while ((now & kOpen) != 0 && (now & ~(kJob - 1U)) == seen && !joined)
            joined = state_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel);
        if (!joined) continue;
        take_part(thread);
        finished_.fetch_add(1);
        if (caller_sleeps_.load()) finished_.notify_one();
    }
}

}  // namespace vitrine
