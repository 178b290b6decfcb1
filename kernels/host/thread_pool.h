// The threads of a CPU device.
//
// parallel_for() cuts [0, count) into one contiguous range per thread. A thread takes pieces of up to `grain`
// from its own range, smaller ones towards its end, and when that is empty from the others': neighbouring
// memory is read by one thread as long as all are at work, and when a neighbour process holds a core the rest
// of its range is taken over. The
// caller works too, so `threads` means threads − 1 workers. A worker that has not woken when the work is done
// is not waited for.
//
// Waiting is a bounded spin of a few microseconds, then sleep: between the operations of a step the workers
// are still awake, between steps they cost nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace vitrine {

class ThreadPool {
  public:
    // 0: as many as the process may run on. At least 1, at most kMaxThreads.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    static constexpr int kMaxThreads = 256;
    int threads() const { return threads_; }

    // Calls work(first, last, thread) for pieces that together cover [0, count); thread < threads(). Returns
    // when all are done. Not reentrant; one caller at a time.
    template <class Work>
    void parallel_for(std::int64_t count, std::int64_t grain, const Work& work) {
        run(
            count, grain,
            [](const void* w, std::int64_t first, std::int64_t last, int thread) {
                (*static_cast<const Work*>(w))(first, last, thread);
            },
            &work);
    }

  private:
    using Call = void (*)(const void* work, std::int64_t first, std::int64_t last, int thread);
    struct alignas(64) Range {
        std::atomic<std::int64_t> next{0};
        std::int64_t last = 0;
    };

    void run(std::int64_t count, std::int64_t grain, Call call, const void* work);
    void take_part(int thread);
    std::int64_t part(std::int64_t count, int thread) const {
        return count / threads_ * thread + count % threads_ * thread / threads_;
    }
    void worker(int thread);

    int threads_ = 1;
    // Job: written by the caller while the job is closed, read by workers that joined it.
    Call call_ = nullptr;
    const void* work_ = nullptr;
    std::int64_t grain_ = 1;
    std::unique_ptr<Range[]> ranges_;

    // Number of the job in the high bits, then kOpen, then the number of workers that joined.
    alignas(64) std::atomic<std::uint32_t> state_{0};
    alignas(64) std::atomic<std::uint32_t> finished_{0};
    alignas(64) std::atomic<std::uint32_t> sleepers_{0};
    std::atomic<bool> caller_sleeps_{false};
    std::atomic<bool> stop_{false};
    std::vector<std::thread> workers_;
};

}  // namespace vitrine
