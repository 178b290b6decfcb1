#include <algorithm>
#include <cfloat>

#include "kernels/cuda/sampling.h"

namespace vitrine::cuda {
namespace {

constexpr int kChunkThreads = 256;
constexpr int kPerThread = kSampleChunk / kChunkThreads;
constexpr int kDrawThreads = 1024;
constexpr int kBinsPerUnit = 64;
// Weights below exp(-50) of the heaviest are less than a unit in the last place of any sum: like the host's.
constexpr float kLightest = -50.0F;
constexpr int kBins = 50 * kBinsPerUnit;
constexpr int kBinsPerThread = (kBins + kDrawThreads - 1) / kDrawThreads;
constexpr int kRoom = 4096;  // tokens that are sorted at once
constexpr int kRoomPerThread = kRoom / kDrawThreads;
// A weight is kept as its share of the heaviest one that its bin could hold, in 2^-44: 2^18 of them fit.
constexpr double kMassUnit = 1.0 / 17592186044416.0;
constexpr unsigned kAll = 0xFFFFFFFFU;
constexpr unsigned long long kNothing = ~0ULL;
constexpr std::uint64_t kTicketBytes = 16384;

struct ChunkStats {
    unsigned long long top;      // packed(): the largest logit and its id
    unsigned long long altered;  // the same after the changes
    float maximum;
    float sum;  // of exp(logit - maximum)
    int odd;    // a NaN or +infinity before (bit 0) or after (bit 1) the changes
    int padding;
};

struct RowStats {
    double log_total;
    float maximum;  // before the changes
    float altered;  // after them
    int token;      // that has it
    int padding;
};

// What kernels of one row keep for each other.
struct RowWork {
    ChunkStats* chunks;          // [kMostSampleChunks]
    RowStats* stats;             // [1]
    double* sums;                // [kMostSampleChunks] of weights, for the walk
    unsigned* counts;            // [kBins]
    unsigned long long* masses;  // [kBins]
    unsigned long long* lists;   // [kMostSampleChunks][kMostCandidates]
    float* values;               // [whole chunks] changed logits, then log-weights
    static constexpr std::uint64_t kStatsAt = sizeof(ChunkStats) * kMostSampleChunks;
    static constexpr std::uint64_t kSumsAt = kStatsAt + 64;
    static constexpr std::uint64_t kMassesAt = kSumsAt + sizeof(double) * kMostSampleChunks;
    static constexpr std::uint64_t kCountsAt = kMassesAt + sizeof(unsigned long long) * kBins;
    static constexpr std::uint64_t kListsAt = kCountsAt + sizeof(unsigned) * kBins;
    static constexpr std::uint64_t kValuesAt =
        kListsAt + sizeof(unsigned long long) * kMostSampleChunks * kMostCandidates;
};

__host__ __device__ constexpr int chunks_of(int width) { return (width + kSampleChunk - 1) / kSampleChunk; }
__host__ __device__ constexpr std::uint64_t row_bytes(int width) {
    return RowWork::kValuesAt + sizeof(float) * kSampleChunk * static_cast<std::uint64_t>(chunks_of(width));
}

__device__ RowWork work_of(const SampleView& v, int row) {
    std::byte* base = v.work + kTicketBytes + row_bytes(v.width) * static_cast<std::uint64_t>(row);
    RowWork w;
    w.chunks = reinterpret_cast<ChunkStats*>(base);
    w.stats = reinterpret_cast<RowStats*>(base + RowWork::kStatsAt);
    w.sums = reinterpret_cast<double*>(base + RowWork::kSumsAt);
    w.masses = reinterpret_cast<unsigned long long*>(base + RowWork::kMassesAt);
    w.counts = reinterpret_cast<unsigned*>(base + RowWork::kCountsAt);
    w.lists = reinterpret_cast<unsigned long long*>(base + RowWork::kListsAt);
    w.values = reinterpret_cast<float*>(base + RowWork::kValuesAt);
    return w;
}

__device__ const SampleSettings& settings_of(const SampleView& v, int row) {
    return reinterpret_cast<const SampleSettings*>(v.settings)[row];
}
__device__ int& state_of(const SampleView& v, int row) { return reinterpret_cast<int*>(v.results)[row]; }
__device__ DrawnToken* drawn_of(const SampleView& v, const SampleSettings& s) {
    return reinterpret_cast<DrawnToken*>(v.results + s.drawn_at);
}

// Unsigned numbers that rise as values fall, and with equal values as ids rise.
__device__ unsigned long long packed(float value, int id) {
    if (value == 0.0F) value = 0.0F;  // both zeros are one value
    const unsigned bits = __float_as_uint(value);
    const unsigned rising = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
    return static_cast<unsigned long long>(~rising) << 32 | static_cast<unsigned>(id);
}
__device__ int id_of(unsigned long long pack) { return static_cast<int>(pack & 0xFFFFFFFFU); }
__device__ float value_of(unsigned long long pack) {
    const unsigned rising = ~static_cast<unsigned>(pack >> 32);
    return __uint_as_float((rising & 0x80000000U) != 0 ? rising & 0x7FFFFFFFU : ~rising);
}

__device__ unsigned long long least(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
__device__ unsigned long long warp_least(unsigned long long x) {
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
                const int a = 2 * j * (p / j) + p % j;
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

// ---- one pass over the logits: changes, largest values, total, candidates ---------------------------------

struct StatsShared {
    float tile[kSampleChunk];
    unsigned long long keys[kSampleChunk];
    unsigned long long top[kChunkThreads / 32];
    unsigned long long altered[kChunkThreads / 32];
    float maximum[kChunkThreads / 32];
    float sum[kChunkThreads / 32];
    double total[kChunkThreads / 32];
    int last;
};

// The changes of tokens [base, base + kSampleChunk), made in `tile`. Rounded after each operation, like the
// host's.
__device__ void make_changes(const SampleView& v, const SampleSettings& s, int base, float* tile) {
    const auto* changes = reinterpret_cast<const LogitChange*>(v.settings + s.changes_at);
    int low = 0;
    for (int high = s.changes; low < high;) {
        const int middle = (low + high) / 2;
        if (changes[middle].token < base)
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = low + static_cast<int>(threadIdx.x); i < s.changes; i += kChunkThreads) {
        const int token = changes[i].token;
        if (token >= base + kSampleChunk) break;
        if (i > 0 && changes[i - 1].token == token) continue;  // made by whoever made the first
        float l = tile[token - base];
        for (int j = i; j < s.changes && changes[j].token == token; ++j) {
            l = __fadd_rn(l, changes[j].bias);
            if (changes[j].seen == 0) continue;
            l = l > 0.0F ? __fdiv_rn(l, s.repetition_penalty) : __fmul_rn(l, s.repetition_penalty);
            l = __fsub_rn(l, __fadd_rn(__fmul_rn(s.frequency_penalty, static_cast<float>(changes[j].seen)),
                                       s.presence_penalty));
        }
        tile[token - base] = l;
    }
}

// The chunks' sorted lists, merged: a thread holds the head of each chunk's.
__device__ void merge_candidates(const SampleView& v, const SampleSettings& s, const RowWork& w, int chunks,
                                 double log_total, StatsShared& shared) {
    auto* out = reinterpret_cast<TokenChance*>(v.results + s.candidates_at);
    const int chunk = static_cast<int>(threadIdx.x);
    const unsigned long long* list = w.lists + chunk * kMostCandidates;
    const int size = min(s.candidates, kMostCandidates);
    int at = 0;
    unsigned long long head = chunk < chunks ? __ldcg(list) : kNothing;
    unsigned long long next = chunk < chunks && size > 1 ? __ldcg(list + 1) : kNothing;
    for (int n = 0; n < size; ++n) {
        const unsigned long long own = warp_least(head);
        // Two places in turn: nobody overtakes a reader.
        unsigned long long* room = n % 2 == 0 ? shared.top : shared.altered;
        if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = own;
        __syncthreads();
        unsigned long long best = room[0];
        for (int i = 1; i < kChunkThreads / 32; ++i) best = least(best, room[i]);
        if (head != best) continue;
        const float l = value_of(best);
        out[n] = {id_of(best), static_cast<float>(static_cast<double>(l) - log_total)};
        ++at;
        head = next;
        next = at + 1 < size ? __ldcg(list + at + 1) : kNothing;
    }
}

__global__ void __launch_bounds__(kChunkThreads) stats_kernel(SampleView v) {
    __shared__ StatsShared shared;
    const int row = static_cast<int>(blockIdx.y);
    const int chunk = static_cast<int>(blockIdx.x);
    const int chunks = static_cast<int>(gridDim.x);
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    const SampleSettings& s = settings_of(v, row);
    const RowWork w = work_of(v, row);
    const float* logits = v.logits + static_cast<std::int64_t>(s.output) * v.width;
    const int base = chunk * kSampleChunk;

    float x[kPerThread];
    float y[kPerThread];
    float maximum = -INFINITY;
    unsigned long long top = kNothing;
    int odd = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        const int id = base + i * kChunkThreads + thread;
        x[i] = id < s.vocab ? logits[id] : -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        const int id = base + i * kChunkThreads + thread;
        if (!(x[i] <= FLT_MAX)) odd |= 1;
        maximum = fmaxf(maximum, x[i]);
        if (id < s.vocab) top = least(top, packed(x[i], id));
        y[i] = x[i];
    }
    unsigned long long altered = top;
    if (s.changes > 0) {
#pragma unroll
        for (int i = 0; i < kPerThread; ++i) shared.tile[i * kChunkThreads + thread] = x[i];
        __syncthreads();
        make_changes(v, s, base, shared.tile);
        __syncthreads();
        altered = kNothing;
#pragma unroll
        for (int i = 0; i < kPerThread; ++i) {
            const int id = base + i * kChunkThreads + thread;
            y[i] = shared.tile[i * kChunkThreads + thread];
            if (!(y[i] <= FLT_MAX)) odd |= 2;
            if (id < s.vocab) altered = least(altered, packed(y[i], id));
            w.values[id] = y[i];
        }
    }
    if (s.mode == SampleMode::Filter)
        for (int b = chunk * kChunkThreads + thread; b < kBins; b += chunks * kChunkThreads) {
            w.counts[b] = 0;
            w.masses[b] = 0;
        }
    if (s.candidates > 0) {
#pragma unroll
        for (int i = 0; i < kPerThread; ++i) {
            const int id = base + i * kChunkThreads + thread;
            shared.keys[i * kChunkThreads + thread] = id < s.vocab ? packed(x[i], id) : kNothing;
        }
        sort_shared<kChunkThreads>(shared.keys, kSampleChunk);
        if (thread < kMostCandidates) w.lists[chunk * kMostCandidates + thread] = shared.keys[thread];
    }

    // The chunk's own maximum and sum: warps first.
    for (int d = 16; d > 0; d /= 2) maximum = fmaxf(maximum, __shfl_xor_sync(kAll, maximum, d));
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i)
        if (x[i] > -INFINITY) sum += expf(x[i] - maximum);
    sum = warp_sum(sum);
    top = warp_least(top);
    altered = warp_least(altered);
    if (lane == 0) {
        shared.top[warp] = top;
        shared.altered[warp] = altered;
        shared.maximum[warp] = maximum;
        shared.sum[warp] = sum;
    }
    odd = (__syncthreads_or(odd & 1) != 0 ? 1 : 0) | (__syncthreads_or(odd & 2) != 0 ? 2 : 0);
    auto* tickets = reinterpret_cast<unsigned*>(v.work);
    if (thread == 0) {
        ChunkStats c{kNothing, kNothing, -INFINITY, 0.0F, odd, 0};
        for (int i = 0; i < kChunkThreads / 32; ++i) {
            c.top = least(c.top, shared.top[i]);
            c.altered = least(c.altered, shared.altered[i]);
            c.maximum = fmaxf(c.maximum, shared.maximum[i]);
        }
        for (int i = 0; i < kChunkThreads / 32; ++i)
            if (shared.maximum[i] > -INFINITY) c.sum += shared.sum[i] * expf(shared.maximum[i] - c.maximum);
        w.chunks[chunk] = c;
    }
    __threadfence();
    __syncthreads();
    if (thread == 0) shared.last = atomicAdd(tickets + row, 1U) == static_cast<unsigned>(chunks - 1) ? 1 : 0;
    __syncthreads();
    if (shared.last == 0) return;

    // The row's last block puts the chunks together.
    __threadfence();
    if (thread == 0) tickets[row] = 0;
    ChunkStats c{kNothing, kNothing, -INFINITY, 0.0F, 0, 0};
    if (thread < chunks) {
        c.top = __ldcg(&w.chunks[thread].top);
        c.altered = __ldcg(&w.chunks[thread].altered);
        c.maximum = __ldcg(&w.chunks[thread].maximum);
        c.sum = __ldcg(&w.chunks[thread].sum);
        c.odd = __ldcg(&w.chunks[thread].odd);
    }
    top = warp_least(c.top);
    altered = warp_least(c.altered);
    if (lane == 0) {
        shared.top[warp] = top;
        shared.altered[warp] = altered;
    }
    odd = __syncthreads_or(c.odd);
    top = shared.top[0];
    altered = shared.altered[0];
    for (int i = 1; i < kChunkThreads / 32; ++i) {
        top = least(top, shared.top[i]);
        altered = least(altered, shared.altered[i]);
    }
    const float highest = value_of(top);
    double total =
        c.maximum > -INFINITY
            ? static_cast<double>(c.sum) * exp(static_cast<double>(c.maximum) - static_cast<double>(highest))
            : 0.0;
    total = warp_sum(total);
    if (lane == 0) shared.total[warp] = total;
    __syncthreads();
    total = 0;
    for (int i = 0; i < kChunkThreads / 32; ++i) total += shared.total[i];
    const double log_total = static_cast<double>(highest) + log(total);
    const bool usable = odd == 0 && highest > -INFINITY && value_of(altered) > -INFINITY;
    if (thread == 0) {
        *w.stats = {log_total, highest, value_of(altered), id_of(altered), 0};
        state_of(v, row) = static_cast<int>(usable ? SampleState::Drawn : SampleState::NotFinite);
    }
    if (!usable) return;
    if (s.mode == SampleMode::Greedy) {
        const int token = id_of(altered);
        const float l = logits[token];
        for (int i = thread; i < s.draws; i += kChunkThreads)
            drawn_of(v, s)[i] = {token, static_cast<float>(static_cast<double>(l) - log_total), 1};
    }
    if (s.candidates > 0) {
        __syncthreads();
        merge_candidates(v, s, w, chunks, log_total, shared);
    }
}

// ---- weights ----------------------------------------------------------------------------------------------

// exp(x) for x in [-1/64, 0], to the last place or the one before.
__device__ double exponential_of_share(double x) {
    double p = 1.0 / 720.0;
    p = fma(p, x, 1.0 / 120.0);
    p = fma(p, x, 1.0 / 24.0);
    p = fma(p, x, 1.0 / 6.0);
    p = fma(p, x, 0.5);
    p = fma(p, x, 1.0);
    return fma(p, x, 1.0);
}

__device__ int bin_of(float z) { return static_cast<int>(-z * static_cast<float>(kBinsPerUnit)); }

// Log-weights (logit - maximum) / temperature into w.values, rounded like the host's; bins or sums of them.
__global__ void __launch_bounds__(kChunkThreads) weigh_kernel(SampleView v) {
    __shared__ double sums[kChunkThreads / 32];
    const int row = static_cast<int>(blockIdx.y);
    const int thread = static_cast<int>(threadIdx.x);
    const SampleSettings& s = settings_of(v, row);
    if (s.mode == SampleMode::Greedy || state_of(v, row) != static_cast<int>(SampleState::Drawn)) return;
    const RowWork w = work_of(v, row);
    const float* from = s.changes > 0 ? w.values : v.logits + static_cast<std::int64_t>(s.output) * v.width;
    const double maximum = w.stats->altered;
    const double temperature = s.temperature;
    double sum = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        const int id = static_cast<int>(blockIdx.x) * kSampleChunk + i * kChunkThreads + thread;
        float z = -INFINITY;
        if (id < s.vocab)
            z = static_cast<float>(fmax((static_cast<double>(from[id]) - maximum) / temperature, -1e30));
        w.values[id] = z;
        if (s.mode == SampleMode::Walk) {
            sum += exp(static_cast<double>(z));
            continue;
        }
        const bool counts = z > kLightest;
        const int bin = counts ? bin_of(z) : -1;
        unsigned count = counts ? 1 : 0;
        unsigned long long mass = 0;
        if (counts) {
            const double share =
                exponential_of_share(static_cast<double>(z) + static_cast<double>(bin) / kBinsPerUnit);
            mass = static_cast<unsigned long long>(share / kMassUnit + 0.5);
        }
        // Equal logits would queue at one address.
        if (__all_sync(kAll, bin == __shfl_sync(kAll, bin, 0))) {
            count = warp_sum(count);
            mass = warp_sum(mass);
            if (thread % 32 != 0) continue;
        }
        if (bin < 0) continue;
        atomicAdd(w.counts + bin, count);
        atomicAdd(w.masses + bin, mass);
    }
    if (s.mode == SampleMode::Walk) {
        sum = warp_sum(sum);
        if (thread % 32 == 0) sums[thread / 32] = sum;
        __syncthreads();
        if (thread != 0) return;
        sum = 0;
        for (const double part : sums) sum += part;
        w.sums[blockIdx.x] = sum;
    }
}

// ---- drawing ----------------------------------------------------------------------------------------------

// A bin and what lies before it in the order of falling weights.
struct Bin {
    int index;
    int count;
    int before;
    double mass_before;
};

struct DrawShared {
    unsigned long long list[kRoom];
    double scan[kDrawThreads / 32 + 1];
    int counts[kDrawThreads / 32 + 1];
    double prefix[kMostSampleChunks];
    Bin bin;
    int index;
    int gathered;
    int before;
    double mass;
    int token;
};

// The tokens of a row by falling weight, as far as they are needed. All threads of the block call everything
// together.
class Ordered {
  public:
    __device__ Ordered(const RowWork& w, int vocab, DrawShared& shared)
        : values_(w.values), vocab_(vocab), shared_(shared) {
        const int first = thread() * kBinsPerThread;
        double mass[kBinsPerThread];
        int count = 0;
        double sum = 0;
#pragma unroll
        for (int i = 0; i < kBinsPerThread; ++i) {
            const int b = first + i;
            counts_[i] = b < kBins ? static_cast<int>(w.counts[b]) : 0;
            mass[i] = counts_[i] > 0 ? static_cast<double>(w.masses[b]) * kMassUnit *
                                           exp(-static_cast<double>(b) / kBinsPerUnit)
                                     : 0.0;
            count += counts_[i];
            sum += mass[i];
        }
        count_ = block_scan<kDrawThreads>(count, &before_[0], shared.counts);
        mass_ = block_scan<kDrawThreads>(sum, &mass_before_[0], shared.scan);
#pragma unroll
        for (int i = 0; i + 1 < kBinsPerThread; ++i) {
            before_[i + 1] = before_[i] + counts_[i];
            mass_before_[i + 1] = mass_before_[i] + mass[i];
        }
    }

    __device__ int count() const { return count_; }
    __device__ double mass() const { return mass_; }

    // The last bin with tokens for which test(bin, tokens before it, mass before it); index -1: none.
    template <class Test>
    __device__ Bin last_bin(const Test& test) {
        __syncthreads();
        if (thread() == 0) shared_.index = -1;
        __syncthreads();
        int mine = -1;
#pragma unroll
        for (int i = 0; i < kBinsPerThread; ++i) {
            const int b = thread() * kBinsPerThread + i;
            if (counts_[i] > 0 && test(b, before_[i], mass_before_[i])) mine = b;
        }
        if (mine >= 0) atomicMax(&shared_.index, mine);
        __syncthreads();
        return told(shared_.index);
    }

    // Gathers and sorts the bin's tokens, with those of bins above it while there is room. False: no room.
    __device__ bool need(const Bin& bin) {
        if (bin.index < 0 || bin.count > kRoom) return false;
        if (bin.index >= low_ && bin.index <= high_) return true;
        const int end = bin.before + bin.count;
        __syncthreads();
        if (thread() == 0) {
            shared_.index = kBins;
            shared_.gathered = 0;
        }
        __syncthreads();
#pragma unroll
        for (int i = kBinsPerThread - 1; i >= 0; --i)
            if (counts_[i] > 0 && before_[i] >= end - kRoom && before_[i] < end)
                atomicMin(&shared_.index, thread() * kBinsPerThread + i);
        __syncthreads();
        const Bin first = told(shared_.index);
        low_ = first.index;
        high_ = bin.index;
        list_before_ = first.before;
        list_count_ = end - first.before;
        gather();
        int padded = 64;
        while (padded < list_count_) padded *= 2;
        for (int i = list_count_ + thread(); i < padded; i += kDrawThreads) shared_.list[i] = kNothing;
        sort_shared<kDrawThreads>(shared_.list, padded);
        double own[kRoomPerThread];
        double sum = 0;
#pragma unroll
        for (int i = 0; i < kRoomPerThread; ++i) {
            own[i] = place(i) < list_count_ ? weight(place(i)) : 0.0;
            sum += own[i];
        }
        double before = 0;
        block_scan<kDrawThreads>(sum, &before, shared_.scan);
        before += first.mass_before;
#pragma unroll
        for (int i = 0; i < kRoomPerThread; ++i) {
            before += own[i];
            reached_[i] = before;
        }
        return true;
    }

    struct Hit {
        int before;   // tokens before it
        double mass;  // up to it, itself included
        int token;    // -1: none
    };
    // The first of the first `limit` tokens with mass up to it for which test(mass, place among all); else
    // the last gathered one of them.
    template <class Test>
    __device__ Hit first(int limit, const Test& test) {
        const int available = min(list_count_, limit - list_before_);
        if (available <= 0) return {0, 0.0, -1};
        __syncthreads();
        if (thread() == 0) shared_.index = available - 1;
        __syncthreads();
#pragma unroll
        for (int i = kRoomPerThread - 1; i >= 0; --i)
            if (place(i) < available && test(reached_[i], list_before_ + place(i)))
                atomicMin(&shared_.index, place(i));
        __syncthreads();
        return told_hit(shared_.index);
    }
    // The last gathered one of the first `limit` tokens whose weight is at least `least_weight`.
    __device__ Hit last_heavier(int limit, double least_weight) {
        const int available = min(list_count_, limit - list_before_);
        __syncthreads();
        if (thread() == 0) shared_.index = -1;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kRoomPerThread; ++i)
            if (place(i) < available && weight(place(i)) >= least_weight) atomicMax(&shared_.index, place(i));
        __syncthreads();
        if (shared_.index < 0) return {0, 0.0, -1};
        return told_hit(shared_.index);
    }

  private:
    __device__ static int thread() { return static_cast<int>(threadIdx.x); }
    __device__ static int place(int i) { return thread() * kRoomPerThread + i; }
    __device__ double weight(int place) const {
        return exp(static_cast<double>(value_of(shared_.list[place])));
    }

    // Whoever owns the bin tells the others.
    __device__ Bin told(int index) {
        if (index < 0) return {-1, 0, 0, 0.0};
        if (index / kBinsPerThread == thread()) {
#pragma unroll
            for (int i = 0; i < kBinsPerThread; ++i)
                if (index % kBinsPerThread == i)
                    shared_.bin = {index, counts_[i], before_[i], mass_before_[i]};
        }
        __syncthreads();
        return shared_.bin;
    }
    __device__ Hit told_hit(int at) {
        if (at / kRoomPerThread == thread()) {
#pragma unroll
            for (int i = 0; i < kRoomPerThread; ++i)
                if (at % kRoomPerThread == i) shared_.mass = reached_[i];
            shared_.token = id_of(shared_.list[at]);
        }
        __syncthreads();
        return {list_before_ + at, shared_.mass, shared_.token};
    }

    __device__ void gather() {
        // bin_of() as two exact comparisons.
        const float heaviest = -static_cast<float>(low_) / kBinsPerUnit;
        const float lightest = fmaxf(-static_cast<float>(high_ + 1) / kBinsPerUnit, kLightest);
        const auto take = [&](float z, int id) {
            if (!(z > lightest && z <= heaviest)) return;
            const int at = atomicAdd(&shared_.gathered, 1);
            if (at < kRoom) shared_.list[at] = packed(z, id);
        };
        const auto* quads = reinterpret_cast<const float4*>(values_);
        const int count = (vocab_ + 3) / 4;  // what lies beyond the vocabulary is -infinity
        constexpr int kFlight = 4;
        for (int first = thread(); first < count; first += kFlight * kDrawThreads) {
            float4 q[kFlight];
#pragma unroll
            for (int f = 0; f < kFlight; ++f) {
                const int i = first + f * kDrawThreads;
                q[f] = i < count ? quads[i] : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
            }
#pragma unroll
            for (int f = 0; f < kFlight; ++f) {
                const int id = 4 * (first + f * kDrawThreads);
                take(q[f].x, id);
                take(q[f].y, id + 1);
                take(q[f].z, id + 2);
                take(q[f].w, id + 3);
            }
        }
    }

    const float* values_;
    int vocab_;
    DrawShared& shared_;
    int count_ = 0;
    double mass_ = 0;
    int counts_[kBinsPerThread];
    int before_[kBinsPerThread];
    double mass_before_[kBinsPerThread];
    // The gathered tokens: those of bins low_ to high_.
    int low_ = 0;
    int high_ = -1;
    int list_before_ = 0;
    int list_count_ = 0;
    double reached_[kRoomPerThread];
};

// False: undecided.
__device__ bool draw_filtered(const SampleView& v, const SampleSettings& s, const RowWork& w,
                              DrawShared& shared) {
    Ordered tokens(w, s.vocab, shared);
    // All settings keep the beginning of the order: its length and mass.
    int kept = tokens.count();
    double mass = tokens.mass();
    if (s.top_k > 0 && s.top_k < kept) {
        const int k = s.top_k;
        if (!tokens.need(tokens.last_bin([k](int, int before, double) { return before < k; }))) return false;
        const auto hit = tokens.first(k, [k](double, int at) { return at == k - 1; });
        kept = k;
        mass = hit.mass;
    }
    const double top_p = s.top_p;
    if (top_p < 1.0 && kept > 1) {
        const double target = top_p * mass;
        const Bin bin = tokens.last_bin([=](int, int before, double mass_before) {
            return before == 0 || (mass_before < target && before < kept);
        });
        if (!tokens.need(bin)) return false;
        const auto hit = tokens.first(kept, [target](double reached, int) { return reached >= target; });
        kept = hit.before + 1;
        mass = hit.mass;
    }
    const double threshold = fmin(1.0, static_cast<double>(s.min_p));
    const double border = threshold > 0.0 ? -log(threshold) * kBinsPerUnit : kBins;
    if (border < kBins) {
        const int last = static_cast<int>(border);
        const Bin bin = tokens.last_bin([=](int b, int, double) { return b <= last; });
        if (bin.before < kept) {
            if (!tokens.need(bin)) return false;
            const auto hit = tokens.last_heavier(kept, threshold);
            kept = hit.token >= 0 ? hit.before + 1 : bin.before;
            mass = hit.token >= 0 ? hit.mass : bin.mass_before;
        }
    }
    const auto* uniforms = reinterpret_cast<const double*>(v.settings + s.uniforms_at);
    const float* logits = v.logits + static_cast<std::int64_t>(s.output) * v.width;
    for (int draw = 0; draw < s.draws; ++draw) {
        const double target = uniforms[draw] * mass;
        const Bin bin = tokens.last_bin([=](int, int before, double mass_before) {
            return before == 0 || (mass_before <= target && before < kept);
        });
        if (!tokens.need(bin)) return false;
        const auto hit = tokens.first(kept, [target](double reached, int) { return reached > target; });
        if (threadIdx.x == 0)
            drawn_of(v, s)[draw] = {
                hit.token, static_cast<float>(static_cast<double>(logits[hit.token]) - w.stats->log_total),
                1};
    }
    return true;
}

__device__ void draw_by_id(const SampleView& v, const SampleSettings& s, const RowWork& w,
                           DrawShared& shared) {
    const int thread = static_cast<int>(threadIdx.x);
    const int chunks = chunks_of(s.vocab);
    const double own = thread < chunks ? w.sums[thread] : 0.0;
    double before = 0;
    const double total = block_scan<kDrawThreads>(own, &before, shared.scan);
    const auto* uniforms = reinterpret_cast<const double*>(v.settings + s.uniforms_at);
    const float* logits = v.logits + static_cast<std::int64_t>(s.output) * v.width;
    for (int draw = 0; draw < s.draws; ++draw) {
        const double target = uniforms[draw] * total;
        __syncthreads();
        if (thread == 0) shared.index = shared.token = -1;
        __syncthreads();
        if (own > 0.0 && before <= target) atomicMax(&shared.index, thread);
        __syncthreads();
        const int chunk = shared.index;
        if (thread == chunk) shared.mass = before;
        const int id = chunk * kSampleChunk + thread;
        const double weight = id < s.vocab ? exp(static_cast<double>(w.values[id])) : 0.0;
        if (thread == 0) shared.before = kDrawThreads;
        double reached = 0;
        block_scan<kDrawThreads>(weight, &reached, shared.scan);
        reached += shared.mass + weight;
        if (weight > 0.0) atomicMax(&shared.token, thread);  // where rounding leaves nothing over the target
        if (weight > 0.0 && reached > target) atomicMin(&shared.before, thread);
        __syncthreads();
        if (thread != 0) continue;
        const int token =
            chunk * kSampleChunk + (shared.before < kDrawThreads ? shared.before : shared.token);
        drawn_of(v, s)[draw] = {
            token, static_cast<float>(static_cast<double>(logits[token]) - w.stats->log_total), 1};
    }
}

__global__ void __launch_bounds__(kDrawThreads) draw_kernel(SampleView v) {
    __shared__ DrawShared shared;
    const int row = static_cast<int>(blockIdx.x);
    const SampleSettings& s = settings_of(v, row);
    if (s.mode == SampleMode::Greedy || state_of(v, row) != static_cast<int>(SampleState::Drawn)) return;
    const RowWork w = work_of(v, row);
    if (s.mode == SampleMode::Walk) {
        draw_by_id(v, s, w, shared);
    } else if (!draw_filtered(v, s, w, shared)) {
        __syncthreads();
        if (threadIdx.x == 0) state_of(v, row) = static_cast<int>(SampleState::Undecided);
    }
}

// Ranks are 1 so far: counts what is more probable.
__global__ void __launch_bounds__(kChunkThreads) rank_kernel(SampleView v) {
    const int row = static_cast<int>(blockIdx.y);
    const int thread = static_cast<int>(threadIdx.x);
    const SampleSettings& s = settings_of(v, row);
    if (state_of(v, row) != static_cast<int>(SampleState::Drawn)) return;
    if (s.mode == SampleMode::Greedy && s.changes == 0) return;
    const float* logits = v.logits + static_cast<std::int64_t>(s.output) * v.width;
    const float maximum = work_of(v, row).stats->maximum;
    float x[kPerThread];
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        const int id = static_cast<int>(blockIdx.x) * kSampleChunk + i * kChunkThreads + thread;
        x[i] = id < s.vocab ? logits[id] : -INFINITY;
    }
    DrawnToken* drawn = drawn_of(v, s);
    for (int draw = 0; draw < s.draws; ++draw) {
        const float chosen = logits[drawn[draw].token];
        if (chosen == maximum) continue;
        int above = 0;
#pragma unroll
        for (int i = 0; i < kPerThread; ++i) above += x[i] > chosen ? 1 : 0;
        above = warp_sum(above);
        if (thread % 32 == 0 && above > 0) atomicAdd(&drawn[draw].rank, above);
    }
}

}  // namespace

bool can_draw(const SampleRow& row, std::int32_t width) {
    return width <= kSampleChunk * kMostSampleChunks && row.candidates >= 0 &&
           row.candidates <= kMostCandidates && (row.typical_p >= 1.0F || row.temperature <= 0.0F);
}

std::uint64_t sample_work_bytes(std::int32_t rows, std::int32_t width) {
    return kTicketBytes + row_bytes(width) * static_cast<std::uint64_t>(rows);
}

void draw_tokens(const SampleView& v, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(chunks_of(v.width)), static_cast<unsigned>(v.rows));
    stats_kernel<<<grid, kChunkThreads, 0, stream>>>(v);
    if (v.only_maximum) return;
    weigh_kernel<<<grid, kChunkThreads, 0, stream>>>(v);
    draw_kernel<<<static_cast<unsigned>(v.rows), kDrawThreads, 0, stream>>>(v);
    rank_kernel<<<grid, kChunkThreads, 0, stream>>>(v);
}

}  // namespace vitrine::cuda
