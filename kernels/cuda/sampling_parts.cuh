// What the kernels of sampling share: their working memory, and sums, sorts and orders within a block.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/sampling.h"

namespace vitrine::cuda {

inline constexpr int kChunkThreads = 256;
inline constexpr int kPerThread = kSampleChunk / kChunkThreads;
inline constexpr int kBinsPerUnit = 64;
// Weights below exp(-50) of the heaviest are less than a unit in the last place of any sum: like the host's.
inline constexpr float kLightest = -50.0F;
inline constexpr int kBins = 50 * kBinsPerUnit;
inline constexpr std::uint16_t kNoBin = 0xFFFF;
inline constexpr int kRoom = 4096;  // tokens that are sorted at once
// A weight is kept as its share of the heaviest one that its bin could hold, in 2^-39: a block's 4096 of them
// fit into two words, 2^18 of them into 64 bits.
inline constexpr int kMassBits = 39;
inline constexpr unsigned kAll = 0xFFFFFFFFU;
inline constexpr unsigned long long kNothing = ~0ULL;
inline constexpr std::uint64_t kTicketBytes = 4 * kMostSampleRows;

struct alignas(16) ChunkStats {
    unsigned long long top;      // packed(): the largest logit and its id
    unsigned long long altered;  // the same after the changes
    float maximum;
    float sum;  // of exp(logit - maximum)
    int odd;    // not 0: a NaN or +infinity, before or after the changes
    int padding;
};

struct RowStats {
    double log_total;
    unsigned long long bound;            // packed(): at least top_k tokens come no later, after the changes
    unsigned long long candidate_bound;  // at least `candidates` tokens come no later, before them
    float maximum;                       // before the changes
    float altered;                       // after them
    unsigned listed;                     // tokens in `list`
    unsigned candidates_listed;
};

// What the kernels keep of one row for each other.
struct RowWork {
    ChunkStats* chunks;                  // [kMostSampleChunks]
    RowStats* stats;                     // [1]
    double* sums;                        // [kMostSampleChunks] of weights, for the walk
    unsigned long long* masses;          // [kBins]
    unsigned* counts;                    // [kBins]
    unsigned long long* list;            // [kRoom] packed(log-weight, id) of tokens that top-k may keep
    unsigned long long* candidate_list;  // [kRoom] packed(logit, id)
    unsigned long long* chunk_lists;     // [kMostCandidates][kMostCandidates] sorted, of few chunks
    float* values;                       // [whole chunks] changed logits, then log-weights
    std::uint16_t* bins;                 // [whole chunks] or kNoBin
    static constexpr std::uint64_t kStatsAt = sizeof(ChunkStats) * kMostSampleChunks;
    static constexpr std::uint64_t kSumsAt = kStatsAt + 64;
    static constexpr std::uint64_t kMassesAt = kSumsAt + sizeof(double) * kMostSampleChunks;
    static constexpr std::uint64_t kCountsAt = kMassesAt + sizeof(unsigned long long) * kBins;
    static constexpr std::uint64_t kListAt = kCountsAt + sizeof(unsigned) * kBins;
    static constexpr std::uint64_t kCandidateListAt = kListAt + sizeof(unsigned long long) * kRoom;
    static constexpr std::uint64_t kChunkListsAt = kCandidateListAt + sizeof(unsigned long long) * kRoom;
    static constexpr std::uint64_t kValuesAt =
        kChunkListsAt + sizeof(unsigned long long) * kMostCandidates * kMostCandidates;
};
static_assert(sizeof(RowStats) <= 64 && RowWork::kValuesAt % 16 == 0);

__host__ __device__ constexpr int chunks_of(int width) { return (width + kSampleChunk - 1) / kSampleChunk; }
__host__ __device__ constexpr std::uint64_t row_bytes(int width) {
    return RowWork::kValuesAt +
           (sizeof(float) + sizeof(std::uint16_t)) * kSampleChunk * static_cast<std::uint64_t>(chunks_of(width));
}

inline __device__ RowWork work_of(const SampleView& v, int row) {
    std::byte* base = v.work + kTicketBytes + row_bytes(v.width) * static_cast<std::uint64_t>(row);
    RowWork w;
    w.chunks = reinterpret_cast<ChunkStats*>(base);
    w.stats = reinterpret_cast<RowStats*>(base + RowWork::kStatsAt);
    w.sums = reinterpret_cast<double*>(base + RowWork::kSumsAt);
    w.masses = reinterpret_cast<unsigned long long*>(base + RowWork::kMassesAt);
    w.counts = reinterpret_cast<unsigned*>(base + RowWork::kCountsAt);
    w.list = reinterpret_cast<unsigned long long*>(base + RowWork::kListAt);
    w.candidate_list = reinterpret_cast<unsigned long long*>(base + RowWork::kCandidateListAt);
    w.chunk_lists = reinterpret_cast<unsigned long long*>(base + RowWork::kChunkListsAt);
    w.values = reinterpret_cast<float*>(base + RowWork::kValuesAt);
    w.bins = reinterpret_cast<std::uint16_t*>(w.values + kSampleChunk * chunks_of(v.width));
    return w;
}

inline __device__ const SampleSettings& settings_of(const SampleView& v, int row) {
    return reinterpret_cast<const SampleSettings*>(v.settings)[row];
}
inline __device__ int& state_of(const SampleView& v, int row) {
    return reinterpret_cast<int*>(v.results)[row];
}
inline __device__ bool is_drawn(const SampleView& v, int row) {
    return state_of(v, row) == static_cast<int>(SampleState::Drawn);
}
inline __device__ const float* logits_of(const SampleView& v, const SampleSettings& s) {
    return v.logits + static_cast<std::int64_t>(s.output) * v.width;
}
inline __device__ DrawnToken* drawn_of(const SampleView& v, const SampleSettings& s) {
    return reinterpret_cast<DrawnToken*>(v.results + s.drawn_at);
}

// Unsigned numbers that rise as values fall, and with equal values as ids rise.
inline __device__ unsigned long long packed(float value, int id) {
    if (value == 0.0F) value = 0.0F;  // both zeros are one value
    const unsigned bits = __float_as_uint(value);
    const unsigned rising = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
    return static_cast<unsigned long long>(~rising) << 32 | static_cast<unsigned>(id);
}
inline __device__ int id_of(unsigned long long pack) { return static_cast<int>(pack & 0xFFFFFFFFU); }
inline __device__ float value_of(unsigned long long pack) {
    const unsigned rising = ~static_cast<unsigned>(pack >> 32);
    return __uint_as_float((rising & 0x80000000U) != 0 ? rising & 0x7FFFFFFFU : ~rising);
}

inline __device__ unsigned long long least(unsigned long long a, unsigned long long b) {
    return a < b ? a : b;
}
inline __device__ unsigned long long warp_least(unsigned long long x) {
    for (int d = 16; d > 0; d /= 2) x = least(x, __shfl_xor_sync(kAll, x, d));
    return x;
}
template <class T>
__device__ T warp_sum(T x) {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(kAll, x, d);
    return x;
}

// Sum of all earlier threads' values in *before, and of all values as result. In a fixed order.
// `room`: shared, a value for each warp and one more.
template <int kThreads, class T>
__device__ T block_scan(T x, T* before, T* room) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    T sum = x;
    for (int d = 1; d < 32; d *= 2) {
        const T other = __shfl_up_sync(kAll, sum, d);
        if (lane >= d) sum += other;
    }
    __syncthreads();
    if (lane == 31) room[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        T total = lane < kThreads / 32 ? room[lane] : T(0);
        for (int d = 1; d < 32; d *= 2) {
            const T other = __shfl_up_sync(kAll, total, d);
            if (lane >= d) total += other;
        }
        const T earlier = __shfl_up_sync(kAll, total, 1);
        if (lane < kThreads / 32) room[lane] = lane == 0 ? T(0) : earlier;
        if (lane == 31) room[kThreads / 32] = total;
    }
    __syncthreads();
    const T earlier = __shfl_up_sync(kAll, sum, 1);
    *before = lane == 0 ? room[warp] : room[warp] + earlier;
    return room[kThreads / 32];
}

// Rising. `count` is a power of two, at least 64. Steps across no more than 32 stay within a warp.
template <int kThreads>
__device__ void sort_shared(unsigned long long* keys, int count) {
    __syncthreads();
    for (int k = 2; k <= count; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            for (int p = static_cast<int>(threadIdx.x); p < count / 2; p += kThreads) {
                const int a = 2 * p - (p & (j - 1));  // 2 j (p / j) + p % j, without a division
                const int b = a + j;
                const unsigned long long x = keys[a];
                const unsigned long long y = keys[b];
                if ((x > y) == ((a & k) == 0)) {
                    keys[a] = y;
                    keys[b] = x;
                }
            }
            // The next step may read across warps: after a wide one, or before the next k's first, wide one.
            if (j > 32 || (j == 1 && k >= 64))
                __syncthreads();
            else
                __syncwarp();
        }
    }
    __syncthreads();
}

inline __device__ int bin_of(float z) { return static_cast<int>(-z * static_cast<float>(kBinsPerUnit)); }

// Rounded like the host's.
inline __device__ float log_weight(float logit, double maximum, double temperature) {
    return static_cast<float>(fmax((static_cast<double>(logit) - maximum) / temperature, -1e30));
}

}  // namespace vitrine::cuda
