#include <algorithm>
#include <cfloat>

#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_draw.h"
#include "kernels/cuda/sampling_parts.cuh"

namespace vitrine::cuda {
namespace {

constexpr int kWarps = kChunkThreads / 32;
constexpr int kWeighThreads = 1024;
constexpr int kWeighChunks = 4;  // that a block weighs
constexpr int kLowBits = 20;     // of a mass, in the lower of two words

// ---- one pass over the logits: changes, largest values, total, candidates ---------------------------------

struct StatsShared {
    float tile[kSampleChunk];
    unsigned long long keys[kSampleChunk];
    unsigned long long top[kWarps];
    unsigned long long altered[kWarps];
    float maximum[kWarps];
    float sum[kWarps];
    double total[kWarps];
    int odd[kWarps];
    unsigned long long bound[2];
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

// The sorted lists of few chunks, merged: a thread holds the head of each.
__device__ void merge_candidates(const SampleView& v, const SampleSettings& s, const RowWork& w, int chunks,
                                 double log_total, StatsShared& shared) {
    auto* out = reinterpret_cast<TokenChance*>(v.results + s.candidates_at);
    const int chunk = static_cast<int>(threadIdx.x);
    const bool holds = chunk < min(chunks, kMostCandidates);
    const unsigned long long* list = w.chunk_lists + chunk * kMostCandidates;
    const int size = min(s.candidates, kMostCandidates);
    int at = 0;
    unsigned long long head = holds ? __ldcg(list) : kNothing;
    unsigned long long next = holds && size > 1 ? __ldcg(list + 1) : kNothing;
    for (int n = 0; n < size; ++n) {
        const unsigned long long own = warp_least(head);
        // Two places in turn: nobody overtakes a reader.
        unsigned long long* room = n % 2 == 0 ? shared.top : shared.altered;
        if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = own;
        __syncthreads();
        unsigned long long best = room[0];
        for (int i = 1; i < kWarps; ++i) best = least(best, room[i]);
        if (head != best) continue;
        out[n] = {id_of(best), static_cast<float>(static_cast<double>(value_of(best)) - log_total)};
        ++at;
        head = next;
        next = at + 1 < size ? __ldcg(list + at + 1) : kNothing;
    }
}

// The k-th least of the block's numbers, of which all but kNothing differ; kNothing: there are fewer.
__device__ void find_bound(unsigned long long own, int k, unsigned long long* room,
                           unsigned long long* bound) {
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    room[thread] = own;
    if (thread == 0) *bound = kNothing;
    __syncthreads();
    int before = 0;
#pragma unroll 16
    for (int i = 0; i < kChunkThreads; ++i) before += room[i] < own ? 1 : 0;
    if (before == k - 1 && own != kNothing) *bound = own;
    __syncthreads();
}

// What this thread wrote before is seen by whoever takes a later ticket.
__device__ unsigned take_ticket(unsigned* ticket) {
    unsigned number;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(number) : "l"(ticket) : "memory");
    return number;
}

__global__ void __launch_bounds__(kChunkThreads) stats_kernel(SampleView v) {
    __shared__ StatsShared shared;
    const int row = static_cast<int>(blockIdx.y);
    const int chunk = static_cast<int>(blockIdx.x);
    const int chunks = static_cast<int>(gridDim.x);
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    const SampleSettings s = settings_of(v, row);  // all at once: each sector on its own would be waited for
    const RowWork w = work_of(v, row);
    const float* logits = logits_of(v, s);
    const int base = chunk * kSampleChunk;
    const int vocab = s.vocab;

    float x[kPerThread];
    float maximum = -INFINITY;
    unsigned long long top = kNothing;
    bool odd = false;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        const int id = base + i * kChunkThreads + thread;
        x[i] = id < vocab ? logits[id] : -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        const int id = base + i * kChunkThreads + thread;
        odd = odd || !(x[i] <= FLT_MAX);
        maximum = fmaxf(maximum, x[i]);
        if (id < vocab) top = least(top, packed(x[i], id));
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
            const float y = shared.tile[i * kChunkThreads + thread];
            odd = odd || !(y <= FLT_MAX);
            if (id < vocab) altered = least(altered, packed(y, id));
            w.values[id] = y;
        }
    }
    if (s.mode == SampleMode::Filter)
        for (int b = chunk * kChunkThreads + thread; b < kBins; b += chunks * kChunkThreads) {
            w.counts[b] = 0;
            w.masses[b] = 0;
        }
    const bool merges = s.candidates > 0 && !s.lists_candidates;
    if (merges && chunk < kMostCandidates) {
#pragma unroll
        for (int i = 0; i < kPerThread; ++i) {
            const int id = base + i * kChunkThreads + thread;
            shared.keys[i * kChunkThreads + thread] = id < vocab ? packed(x[i], id) : kNothing;
        }
        sort_shared<kChunkThreads>(shared.keys, kSampleChunk);
        if (thread < kMostCandidates) w.chunk_lists[chunk * kMostCandidates + thread] = shared.keys[thread];
        __threadfence();
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
    odd = __any_sync(kAll, odd);
    if (lane == 0) {
        shared.top[warp] = top;
        shared.altered[warp] = altered;
        shared.maximum[warp] = maximum;
        shared.sum[warp] = sum;
        shared.odd[warp] = odd ? 1 : 0;
    }
    __syncthreads();
    auto* tickets = reinterpret_cast<unsigned*>(v.work);
    if (warp == 0) {
        ChunkStats c{kNothing, kNothing, -INFINITY, 0.0F, 0, 0};
        if (lane < kWarps)
            c = {shared.top[lane],     shared.altered[lane], shared.maximum[lane],
                 shared.sum[lane], shared.odd[lane],     0};
        const float warp_maximum = c.maximum;
        for (int d = kWarps / 2; d > 0; d /= 2) {
            c.top = least(c.top, __shfl_xor_sync(kAll, c.top, d));
            c.altered = least(c.altered, __shfl_xor_sync(kAll, c.altered, d));
            c.maximum = fmaxf(c.maximum, __shfl_xor_sync(kAll, c.maximum, d));
            c.odd |= __shfl_xor_sync(kAll, c.odd, d);
        }
        if (warp_maximum > -INFINITY) c.sum *= expf(warp_maximum - c.maximum);
        for (int d = kWarps / 2; d > 0; d /= 2) c.sum += __shfl_xor_sync(kAll, c.sum, d);
        if (lane == 0) {
            w.chunks[chunk] = c;
            shared.last = take_ticket(tickets + row) == static_cast<unsigned>(chunks - 1) ? 1 : 0;
        }
    }
    __syncthreads();
    if (shared.last == 0) return;

    // The row's last block puts the chunks together.
    if (thread == 0) tickets[row] = 0;
    ChunkStats c{kNothing, kNothing, -INFINITY, 0.0F, 0, 0};
    if (thread < chunks) {
        const auto first = __ldcg(reinterpret_cast<const ulonglong2*>(&w.chunks[thread].top));
        const auto second = __ldcg(reinterpret_cast<const float4*>(&w.chunks[thread].maximum));
        c = {first.x, first.y, second.x, second.y, __float_as_int(second.z), 0};
    }
    top = warp_least(c.top);
    altered = warp_least(c.altered);
    odd = __any_sync(kAll, c.odd != 0);
    if (lane == 0) {
        shared.top[warp] = top;
        shared.altered[warp] = altered;
        shared.odd[warp] = odd ? 1 : 0;
    }
    __syncthreads();
    for (int i = 0; i < kWarps; ++i) {
        top = least(top, shared.top[i]);
        altered = least(altered, shared.altered[i]);
        odd = odd || shared.odd[i] != 0;
    }
    const float highest = value_of(top);
    double total = c.maximum > -INFINITY ? static_cast<double>(c.sum * expf(c.maximum - highest)) : 0.0;
    total = warp_sum(total);
    if (lane == 0) shared.total[warp] = total;
    const bool lists = s.mode == SampleMode::Listed;
    if (lists) find_bound(c.altered, s.top_k, shared.keys, &shared.bound[0]);
    if (s.lists_candidates) find_bound(c.top, s.candidates, shared.keys, &shared.bound[1]);
    __syncthreads();
    total = 0;
    for (int i = 0; i < kWarps; ++i) total += shared.total[i];
    const double log_total = static_cast<double>(highest) + log(total);
    const bool usable = !odd && highest > -INFINITY && value_of(altered) > -INFINITY;
    if (thread == 0) {
        *w.stats = {log_total,
                    lists ? shared.bound[0] : kNothing,
                    s.lists_candidates ? shared.bound[1] : kNothing,
                    highest,
                    value_of(altered),
                    0,
                    0};
        state_of(v, row) = static_cast<int>(usable ? SampleState::Drawn : SampleState::NotFinite);
    }
    if (!usable) return;
    if (s.mode == SampleMode::Greedy) {
        const int token = id_of(altered);
        const float l = logits[token];
        for (int i = thread; i < s.draws; i += kChunkThreads)
            drawn_of(v, s)[i] = {token, static_cast<float>(static_cast<double>(l) - log_total), 1};
    }
    if (merges) merge_candidates(v, s, w, chunks, log_total, shared);
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

struct WeighShared {
    unsigned counts[kBins];
    unsigned low[kBins];
    unsigned high[kBins];
    double sums[kWeighChunks][kWeighThreads / 32];
};

__device__ void count_in_bin(float z, WeighShared& shared) {
    const bool counts = z > kLightest;
    const int bin = counts ? bin_of(z) : -1;
    unsigned count = counts ? 1 : 0;
    unsigned low = 0;
    unsigned high = 0;
    if (counts) {
        const double share =
            exponential_of_share(static_cast<double>(z) + static_cast<double>(bin) / kBinsPerUnit);
        const auto mass =
            static_cast<unsigned long long>(share * static_cast<double>(1ULL << kMassBits) + 0.5);
        low = static_cast<unsigned>(mass & ((1U << kLowBits) - 1));
        high = static_cast<unsigned>(mass >> kLowBits);
    }
    // Equal logits would queue at one address.
    if (__all_sync(kAll, bin == __shfl_sync(kAll, bin, 0))) {
        count = warp_sum(count);
        low = warp_sum(low);
        high = warp_sum(high);
        if (threadIdx.x % 32 != 0) return;
    }
    if (bin < 0) return;
    atomicAdd(&shared.counts[bin], count);
    atomicAdd(&shared.low[bin], low);
    atomicAdd(&shared.high[bin], high);
}

__device__ void append(unsigned long long pack, unsigned* count, unsigned long long* list) {
    const unsigned at = atomicAdd(count, 1U);
    if (at < kRoom) list[at] = pack;
}

// Log-weights (logit - maximum) / temperature, rounded like the host's: in bins, sums or a list.
__global__ void __launch_bounds__(kWeighThreads) weigh_kernel(SampleView v) {
    __shared__ WeighShared shared;
    const int row = static_cast<int>(blockIdx.y);
    const int thread = static_cast<int>(threadIdx.x);
    const SampleSettings s = settings_of(v, row);
    const SampleMode mode = s.mode;
    if (!is_drawn(v, row) || (mode == SampleMode::Greedy && !s.lists_candidates)) return;
    const RowWork w = work_of(v, row);
    RowStats& stats = *w.stats;
    const float* logits = logits_of(v, s);
    const int base = static_cast<int>(blockIdx.x) * kWeighChunks * kSampleChunk;
    const int vocab = s.vocab;
    if (s.lists_candidates) {
        const unsigned long long bound = stats.candidate_bound;
#pragma unroll
        for (int i = 0; i < kWeighChunks; ++i) {
            const int id = base + i * kSampleChunk + thread;
            if (id >= vocab) continue;
            const unsigned long long pack = packed(logits[id], id);
            if (pack <= bound) append(pack, &stats.candidates_listed, w.candidate_list);
        }
    }
    if (mode == SampleMode::Greedy) return;
    const float* from = s.changes > 0 ? w.values : logits;
    const double maximum = stats.altered;
    const double temperature = s.temperature;
    float z[kWeighChunks];
#pragma unroll
    for (int i = 0; i < kWeighChunks; ++i) {
        const int id = base + i * kSampleChunk + thread;
        z[i] = id < vocab ? log_weight(from[id], maximum, temperature) : -INFINITY;
    }
    if (mode == SampleMode::Listed) {
        // By weight, not by logit: different logits may round to one weight, of which the lowest id comes
        // first.
        const unsigned long long bound = stats.bound;
        const float least_z =
            bound == kNothing ? -INFINITY : log_weight(value_of(bound), maximum, temperature);
#pragma unroll
        for (int i = 0; i < kWeighChunks; ++i)
            if (z[i] > kLightest && z[i] >= least_z)
                append(packed(z[i], base + i * kSampleChunk + thread), &stats.listed, w.list);
        return;
    }
    const int chunks = chunks_of(v.width);
    if (mode == SampleMode::Filter)
        for (int b = thread; b < kBins; b += kWeighThreads)
            shared.counts[b] = shared.low[b] = shared.high[b] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kWeighChunks; ++i) {
        if (base + i * kSampleChunk < chunks * kSampleChunk) {
            w.values[base + i * kSampleChunk + thread] = z[i];
            if (mode == SampleMode::Filter)
                w.bins[base + i * kSampleChunk + thread] =
                    z[i] > kLightest ? static_cast<std::uint16_t>(bin_of(z[i])) : kNoBin;
        }
        if (mode == SampleMode::Walk) {
            const double sum = warp_sum(exp(static_cast<double>(z[i])));
            if (thread % 32 == 0) shared.sums[i][thread / 32] = sum;
        } else {
            count_in_bin(z[i], shared);
        }
    }
    __syncthreads();
    if (mode == SampleMode::Walk) {
        const int i = thread / 32;
        const int chunk = static_cast<int>(blockIdx.x) * kWeighChunks + i;
        if (i >= kWeighChunks || chunk >= chunks) return;
        const double sum = warp_sum(shared.sums[i][thread % 32]);
        if (thread % 32 == 0) w.sums[chunk] = sum;
        return;
    }
    for (int b = thread; b < kBins; b += kWeighThreads) {
        if (shared.counts[b] == 0) continue;
        atomicAdd(w.counts + b, shared.counts[b]);
        atomicAdd(w.masses + b,
                  (static_cast<unsigned long long>(shared.high[b]) << kLowBits) + shared.low[b]);
    }
}

// Ranks are 1 so far: counts what is more probable.
__global__ void __launch_bounds__(kChunkThreads) rank_kernel(SampleView v) {
    const int row = static_cast<int>(blockIdx.y);
    const int thread = static_cast<int>(threadIdx.x);
    const SampleSettings s = settings_of(v, row);
    if (!s.ranks || !is_drawn(v, row)) return;
    const float* logits = logits_of(v, s);
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
    const auto rows = static_cast<unsigned>(v.rows);
    const auto chunks = static_cast<unsigned>(chunks_of(v.width));
    stats_kernel<<<dim3(chunks, rows), kChunkThreads, 0, stream>>>(v);
    if (v.weighs) {
        weigh_kernel<<<dim3((chunks + kWeighChunks - 1) / kWeighChunks, rows), kWeighThreads, 0, stream>>>(v);
        draw_weighed(v, stream);
    }
    if (v.ranks) rank_kernel<<<dim3(chunks, rows), kChunkThreads, 0, stream>>>(v);
}

}  // namespace vitrine::cuda
