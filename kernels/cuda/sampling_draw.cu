#include "kernels/cuda/sampling_draw.h"
#include "kernels/cuda/sampling_parts.cuh"

namespace vitrine::cuda {
namespace {

// A bin and what lies before it in the order of falling weights.
struct Bin {
    int index;
    int count;
    int before;
    double mass_before;
};

constexpr int kDrawThreads = 1024;
constexpr int kBinsPerThread = (kBins + kDrawThreads - 1) / kDrawThreads;
constexpr int kRoomPerThread = kRoom / kDrawThreads;
constexpr int kGladly = 1024;  // tokens that are gathered where a bin has fewer

struct DrawShared {
    unsigned long long list[kRoom];
    double scan[kDrawThreads / 32 + 1];
    int counts[kDrawThreads / 32 + 1];
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
        : values_(w.values), bins_(w.bins), vocab_(vocab), shared_(shared) {}

    // What the bins hold.
    __device__ void read_bins(const RowWork& w) {
        double mass[kBinsPerThread];
        int count = 0;
        double sum = 0;
        // Of the first bin's heaviest possible token; the next ones' by steps of exp(-1/64).
        double unit = exp(-static_cast<double>(thread() * kBinsPerThread) / kBinsPerUnit) /
                      static_cast<double>(1ULL << kMassBits);
#pragma unroll
        for (int i = 0; i < kBinsPerThread; ++i) {
            const int b = thread() * kBinsPerThread + i;
            counts_[i] = b < kBins ? static_cast<int>(w.counts[b]) : 0;
            mass[i] = counts_[i] > 0 ? static_cast<double>(w.masses[b]) * unit : 0.0;
            unit *= 0.98449643700540845;
            count += counts_[i];
            sum += mass[i];
        }
        count_ = block_scan<kDrawThreads>(count, &before_[0], shared_.counts);
        mass_ = block_scan<kDrawThreads>(sum, &mass_before_[0], shared_.scan);
#pragma unroll
        for (int i = 0; i + 1 < kBinsPerThread; ++i) {
            before_[i + 1] = before_[i] + counts_[i];
            mass_before_[i + 1] = mass_before_[i] + mass[i];
        }
    }

    // Only the listed tokens, which come first in the order. False: no room.
    __device__ bool read_list(const unsigned long long* list, unsigned listed) {
        if (listed > kRoom) return false;
        list_before_ = 0;
        list_count_ = static_cast<int>(listed);
        high_ = kBins;
        for (int i = thread(); i < list_count_; i += kDrawThreads) shared_.list[i] = list[i];
        sort_and_sum(0.0);
        count_ = list_count_;
        if (thread() == kDrawThreads - 1) shared_.mass = reached_[kRoomPerThread - 1];
        __syncthreads();
        mass_ = shared_.mass;
        return true;
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

    // The first `kept` tokens are gathered: no bin need be asked for.
    __device__ bool has(int kept) const { return list_before_ == 0 && list_count_ >= kept; }

    // Gathers and sorts the bin's tokens, with those of bins above it while they are few. False: no room.
    __device__ bool need(const Bin& bin) {
        if (bin.index < 0 || bin.count > kRoom) return false;
        if (bin.index >= low_ && bin.index <= high_) return true;
        const int end = bin.before + bin.count;
        const int begin = end - max(kGladly, bin.count);
        __syncthreads();
        if (thread() == 0) {
            shared_.index = kBins;
            shared_.gathered = 0;
        }
        __syncthreads();
#pragma unroll
        for (int i = kBinsPerThread - 1; i >= 0; --i)
            if (counts_[i] > 0 && before_[i] >= begin && before_[i] < end)
                atomicMin(&shared_.index, thread() * kBinsPerThread + i);
        __syncthreads();
        const Bin first = told(shared_.index);
        low_ = first.index;
        high_ = bin.index;
        list_before_ = first.before;
        list_count_ = end - first.before;
        gather();
        sort_and_sum(first.mass_before);
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

    // How many of the gathered tokens have a larger logit.
    __device__ int count_above(const float* logits, float chosen) {
        __syncthreads();
        if (thread() == 0) shared_.gathered = 0;
        __syncthreads();
        int above = 0;
        for (int i = thread(); i < list_count_; i += kDrawThreads)
            above += logits[id_of(shared_.list[i])] > chosen ? 1 : 0;
        if (above > 0) atomicAdd(&shared_.gathered, above);
        __syncthreads();
        return shared_.gathered;
    }

  private:
    __device__ static int thread() { return static_cast<int>(threadIdx.x); }
    // A thread has in_thread_ tokens in a row: as few as possible, since exponentials take long.
    __device__ int place(int i) const { return i < in_thread_ ? thread() * in_thread_ + i : kRoom; }
    __device__ double weight(int place) const {
        return exp(static_cast<double>(value_of(shared_.list[place])));
    }

    __device__ void sort_and_sum(double mass_before) {
        int padded = 64;
        while (padded < list_count_) padded *= 2;
        for (int i = list_count_ + thread(); i < padded; i += kDrawThreads) shared_.list[i] = kNothing;
        sort_shared<kDrawThreads>(shared_.list, padded);
        in_thread_ = (list_count_ + kDrawThreads - 1) / kDrawThreads;
        double own[kRoomPerThread];
        double sum = 0;
#pragma unroll
        for (int i = 0; i < kRoomPerThread; ++i) {
            own[i] = place(i) < list_count_ ? weight(place(i)) : 0.0;
            sum += own[i];
        }
        double before = 0;
        block_scan<kDrawThreads>(sum, &before, shared_.scan);
        before += mass_before;
#pragma unroll
        for (int i = 0; i < kRoomPerThread; ++i) {
            before += own[i];
            reached_[i] = before;
        }
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
        if (at / in_thread_ == thread()) {
#pragma unroll
            for (int i = 0; i < kRoomPerThread; ++i)
                if (at % in_thread_ == i) shared_.mass = reached_[i];
            shared_.token = id_of(shared_.list[at]);
        }
        __syncthreads();
        return {list_before_ + at, shared_.mass, shared_.token};
    }

    // Looks at half as many bytes in bins as in weights.
    __device__ void gather() {
        const auto* packs = reinterpret_cast<const uint4*>(bins_);
        const int count = (vocab_ + 7) / 8;  // what lies beyond the vocabulary is in no bin
        const auto low = static_cast<unsigned>(low_);
        const auto width = static_cast<unsigned>(high_ - low_);
        const int lane = thread() % 32;
        for (int first = 0; first < count; first += 4 * kDrawThreads) {
            uint4 pack[4];
#pragma unroll
            for (int f = 0; f < 4; ++f) {
                const int i = first + f * kDrawThreads + thread();
                pack[f] = i < count ? packs[i] : uint4{~0U, ~0U, ~0U, ~0U};
            }
            unsigned hits = 0;
#pragma unroll
            for (int f = 0; f < 4; ++f) {
                const unsigned words[4] = {pack[f].x, pack[f].y, pack[f].z, pack[f].w};
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    hits |= ((words[k] & 0xFFFFU) - low <= width ? 1U : 0U) << (8 * f + 2 * k);
                    hits |= ((words[k] >> 16U) - low <= width ? 1U : 0U) << (8 * f + 2 * k + 1);
                }
            }
            if (__all_sync(kAll, hits == 0)) continue;
            int before = __popc(hits);
            const int own = before;
            for (int d = 1; d < 32; d *= 2) {
                const int other = __shfl_up_sync(kAll, before, d);
                if (lane >= d) before += other;
            }
            int place = 0;
            if (lane == 31) place = atomicAdd(&shared_.gathered, before);
            place = __shfl_sync(kAll, place, 31) + before - own;
            for (; hits != 0; hits &= hits - 1) {
                const int bit = __ffs(static_cast<int>(hits)) - 1;
                const int id = 8 * (first + bit / 8 * kDrawThreads + thread()) + bit % 8;
                if (place < kRoom) shared_.list[place] = packed(values_[id], id);
                ++place;
            }
        }
    }

    const float* values_;
    const std::uint16_t* bins_;
    int vocab_;
    DrawShared& shared_;
    int count_ = 0;
    double mass_ = 0;
    int counts_[kBinsPerThread] = {};
    int before_[kBinsPerThread] = {};
    double mass_before_[kBinsPerThread] = {};
    // The gathered tokens: those of bins low_ to high_.
    int low_ = 0;
    int high_ = -1;
    int list_before_ = 0;
    int list_count_ = 0;
    int in_thread_ = 1;
    double reached_[kRoomPerThread];
};

// Draws from the first tokens of the order. False: undecided.
__device__ bool draw_filtered(const SampleView& v, const SampleSettings& s, const RowWork& w,
                              DrawShared& shared) {
    Ordered tokens(w, s.vocab, shared);
    if (s.mode == SampleMode::Listed) {
        if (!tokens.read_list(w.list, w.stats->listed)) return false;
    } else {
        tokens.read_bins(w);
    }
    // All settings keep the beginning of the order: its length and mass.
    int kept = tokens.count();
    double mass = tokens.mass();
    if (s.top_k > 0 && s.top_k < kept) {
        const int k = s.top_k;
        if (!tokens.has(k) &&
            !tokens.need(tokens.last_bin([k](int, int before, double) { return before < k; })))
            return false;
        mass = tokens.first(k, [k](double, int at) { return at == k - 1; }).mass;
        kept = k;
    }
    const double top_p = s.top_p;
    if (top_p < 1.0 && kept > 1) {
        const double target = top_p * mass;
        if (!tokens.has(kept) && !tokens.need(tokens.last_bin([=](int, int before, double mass_before) {
                return before == 0 || (mass_before < target && before < kept);
            })))
            return false;
        const auto hit = tokens.first(kept, [target](double reached, int) { return reached >= target; });
        kept = hit.before + 1;
        mass = hit.mass;
    }
    const double threshold = fmin(1.0, static_cast<double>(s.min_p));
    const double border = threshold > 0.0 ? -log(threshold) * kBinsPerUnit : kBins;
    if (border < kBins) {
        const int last = static_cast<int>(border);
        Bin bin{};
        if (!tokens.has(kept)) {
            bin = tokens.last_bin([last](int b, int, double) { return b <= last; });
            if (bin.before < kept && !tokens.need(bin)) return false;
        }
        if (bin.before < kept) {
            const auto hit = tokens.last_heavier(kept, threshold);
            kept = hit.token >= 0 ? hit.before + 1 : bin.before;
            mass = hit.token >= 0 ? hit.mass : bin.mass_before;
        }
    }
    const auto* uniforms = reinterpret_cast<const double*>(v.settings + s.uniforms_at);
    const float* logits = logits_of(v, s);
    for (int draw = 0; draw < s.draws; ++draw) {
        const double target = uniforms[draw] * mass;
        if (!tokens.has(kept) && !tokens.need(tokens.last_bin([=](int, int before, double mass_before) {
                return before == 0 || (mass_before <= target && before < kept);
            })))
            return false;
        const auto hit = tokens.first(kept, [target](double reached, int) { return reached > target; });
        const float chosen = logits[hit.token];
        // All that is more probable is listed, unless changes stand between.
        const int above = s.ranks ? 0 : tokens.count_above(logits, chosen);
        if (threadIdx.x == 0)
            drawn_of(v, s)[draw] = {
                hit.token, static_cast<float>(static_cast<double>(chosen) - w.stats->log_total), 1 + above};
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
    const float* logits = logits_of(v, s);
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

// False: there are more than there is room for.
__device__ bool tell_candidates(const SampleView& v, const SampleSettings& s, const RowWork& w,
                                DrawShared& shared) {
    const unsigned listed = w.stats->candidates_listed;
    if (listed > kRoom) return false;
    const int count = static_cast<int>(listed);
    const int thread = static_cast<int>(threadIdx.x);
    int padded = 64;
    while (padded < count) padded *= 2;
    __syncthreads();
    for (int i = thread; i < padded; i += kDrawThreads)
        shared.list[i] = i < count ? w.candidate_list[i] : kNothing;
    sort_shared<kDrawThreads>(shared.list, padded);
    auto* out = reinterpret_cast<TokenChance*>(v.results + s.candidates_at);
    if (thread < s.candidates)
        out[thread] = {
            id_of(shared.list[thread]),
            static_cast<float>(static_cast<double>(value_of(shared.list[thread])) - w.stats->log_total)};
    return true;
}

__global__ void __launch_bounds__(kDrawThreads) draw_kernel(SampleView v) {
    __shared__ DrawShared shared;
    const int row = static_cast<int>(blockIdx.x);
    const SampleSettings& s = settings_of(v, row);
    if ((s.mode == SampleMode::Greedy && !s.lists_candidates) || !is_drawn(v, row)) return;
    const RowWork w = work_of(v, row);
    bool decided = true;
    if (s.mode == SampleMode::Walk) {
        draw_by_id(v, s, w, shared);
    } else if (s.mode != SampleMode::Greedy) {
        decided = draw_filtered(v, s, w, shared);
    }
    if (decided && s.lists_candidates) decided = tell_candidates(v, s, w, shared);
    if (decided) return;
    __syncthreads();
    if (threadIdx.x == 0) state_of(v, row) = static_cast<int>(SampleState::Undecided);
}

}  // namespace

void draw_weighed(const SampleView& v, cudaStream_t stream) {
    draw_kernel<<<static_cast<unsigned>(v.rows), kDrawThreads, 0, stream>>>(v);
}

}  // namespace vitrine::cuda
