// Attention of a few rows: keys shared out to blocks, partial softmaxes merged. Bound by reading the cache.
//
// Columns are the rows × grouped heads of one KV head, eight to a tile, so that all of them share the loads.
// A warp takes sixteen keys at a time straight from the cache into tensor-core fragments; nothing passes
// through shared memory but q, and the merge at the end: of a block's warps, of a cluster's blocks (each adds
// up a share that the others send to it), and of clusters in a second kernel where several share a sequence.
#pragma once

#include <algorithm>

#include "kernels/cuda/attention_few_tile.cuh"
#include "kernels/cuda/attention_parts.h"
#include "kernels/cuda/attention_tile.cuh"

namespace vitrine::cuda::attention {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kMostCluster = 8;
constexpr std::int32_t kMostClusters = 32;
constexpr std::int32_t kOneCluster = 1024;  // keys up to which one cluster has a sequence to itself

struct FewArgs {
    AttentionView a;
    StepView step;
    RowRange range;
    std::int32_t cluster = 1;       // blocks that merge through shared memory
    std::int32_t clusters = 1;      // that share the keys of a unit
    std::int32_t chunks = 1;        // of columns
    float4* partial = nullptr;      // [unit][cluster][items]
    float2* partial_top = nullptr;  // [unit][cluster][columns]: maximum, sum
    Divider by_group, by_chunks, by_cluster, by_splits, by_octets, by_share;
};

// What one block, or the merge of a unit, has to do. A unit is a chunk of the columns of one sequence and
// KV head.
struct Unit {
    SliceView slice;
    std::int32_t kv_head, group;
    std::int32_t first, columns;     // of the chunk's columns; columns of the whole
    std::int32_t row_low, row_high;  // rows of the sequence that the chunk touches
    std::int32_t from, to;           // keys that any of them sees
    std::int32_t first_tile, tiles, per;
    std::int32_t blocks, clusters;  // with something to do
    bool empty;
};

template <int kColumns>
__device__ Unit unit_of(const FewArgs& f) {
    Unit u;
    u.slice = f.step.slices[blockIdx.z];
    u.kv_head = f.by_chunks(blockIdx.y);
    u.group = static_cast<std::int32_t>(f.by_group.by);
    u.first = (static_cast<std::int32_t>(blockIdx.y) - u.kv_head * f.chunks) * kColumns;
    u.columns = u.slice.rows * u.group;
    u.empty = u.slice.rows < f.range.least || u.slice.rows > f.range.most || u.first >= u.columns;
    u.row_low = f.by_group(u.first);
    u.row_high = f.by_group(min(u.columns, u.first + kColumns) - 1);
    u.to = u.slice.start + u.row_high + 1;
    u.from = f.a.window > 0 ? max(0, u.slice.start + u.row_low + 1 - f.a.window) : 0;
    u.first_tile = u.from / kTile;
    u.tiles = (u.to + kTile - 1) / kTile - u.first_tile;
    const std::int32_t splits = f.cluster * f.clusters;
    u.per = max(kWarps, f.by_splits(u.tiles + splits - 1));
    u.blocks = (u.tiles + u.per - 1) / u.per;
    u.clusters = f.by_cluster(u.blocks + f.cluster - 1);
    return u;
}

__device__ inline std::int32_t unit_index() {
    return static_cast<std::int32_t>(blockIdx.z * gridDim.y + blockIdx.y);
}

// The row of [R · H] that a column stands for.
__device__ __forceinline__ std::int64_t head_of(const FewArgs& f, const Unit& u, std::int32_t column) {
    const std::int32_t row = f.by_group(column);
    return std::int64_t{u.slice.first_row + row} * f.a.heads + u.kv_head * u.group + (column - row * u.group);
}

// q's columns as B fragments in shared memory, [column tile][part][…], scaled so that the largest element of
// a column lies in [0.5, 1); `factor` undoes it. A warp has column g = warp of each tile.
template <Kind kKind, int kDim, int kTiles>
__device__ void stage_queries(const FewArgs& f, const Unit& u, std::uint8_t* shared, float* factor) {
    using S = Shape<kKind, kDim>;
    constexpr int kLoads = (kDim + 127) / 128;
    const int g = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    float4 q[kTiles][kLoads];
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
        const std::int32_t column = u.first + 8 * n + g;
        const float* from = f.a.q + head_of(f, u, column) * kDim;
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
            const int d = 4 * lane + 128 * r;
            q[n][r] = column < u.columns && d < kDim ? *reinterpret_cast<const float4*>(from + d)
                                                     : float4{0, 0, 0, 0};
        }
    }
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
        float top = 0;
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
            float4& v = q[n][r];
            v = {v.x * f.a.scale, v.y * f.a.scale, v.z * f.a.scale, v.w * f.a.scale};
            top = fmaxf(top, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
        }
#pragma unroll
        for (int offset = kWarp / 2; offset > 0; offset /= 2)
            top = fmaxf(top, __shfl_xor_sync(kAll, top, offset));
        const PowerOfTwo power(top);
        if (lane == 0) factor[8 * n + g] = power.up * (f.a.softcap != 0.0F ? 1.0F : kLog2e);
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
            const int d = 4 * lane + 128 * r;
            if (d >= kDim) continue;
            const int left = d - kDim / 32 * 32;
            const int at = left >= 0 ? kDim / 32 * 512 + (g * 4 + left / 4) * 8
                                     : d / 32 * 512 + (g * 4 + d % 32 / 8) * 16 + d % 8 / 4 * 8;
            std::uint32_t low[S::kQueryParts];
            std::uint32_t high[S::kQueryParts];
            split<kKind>(q[n][r].x * power.down, q[n][r].y * power.down, low);
            split<kKind>(q[n][r].z * power.down, q[n][r].w * power.down, high);
#pragma unroll
            for (int p = 0; p < S::kQueryParts; ++p)
                *reinterpret_cast<uint2*>(shared + (n * S::kQueryParts + p) * kDim * 16 + at) = {low[p],
                                                                                                 high[p]};
        }
    }
}

// Partial softmaxes of two columns into one: note() the maxima and sums of weights {maximum, sum, maximum,
// sum} of all, then take() each with its sums of values. A part that saw no finite score has weight 0.
struct Merged {
    float best[2] = {-INFINITY, -INFINITY};
    float sum[2] = {0, 0};
    float4 all = {0, 0, 0, 0};

    __device__ __forceinline__ void note(const float4& top) {
        best[0] = fmaxf(best[0], top.x);
        best[1] = fmaxf(best[1], top.z);
    }
    __device__ __forceinline__ void take(const float4& top, const float4& v) {
        const float w0 = weight_of(top.x, best[0]);
        const float w1 = weight_of(top.z, best[1]);
        all.x = fmaf(v.x, w0, all.x);
        all.y = fmaf(v.y, w1, all.y);
        all.z = fmaf(v.z, w0, all.z);
        all.w = fmaf(v.w, w1, all.w);
        sum[0] = fmaf(top.y, w0, sum[0]);
        sum[1] = fmaf(top.w, w1, sum[1]);
    }
    __device__ __forceinline__ float4 tops() const { return {best[0], sum[0], best[1], sum[1]}; }
};

// Two rows' dimensions of two columns to where they belong.
template <int kDim>
__device__ __forceinline__ void write_out(const FewArgs& f, const Unit& u, int n, int tile, int lane,
                                          const Merged& m) {
    const int d = dimension_of<kDim>(tile, lane / 4);
#pragma unroll
    for (int b = 0; b < 2; ++b) {
        const std::int32_t column = u.first + 8 * n + 2 * (lane % 4) + b;
        if (column >= u.columns) continue;
        const float once = 1.0F / m.sum[b];
        float* to = f.a.out + head_of(f, u, column) * kDim;
        *reinterpret_cast<float2*>(to + d) =
            b == 0 ? float2{m.all.x * once, m.all.z * once} : float2{m.all.y * once, m.all.w * once};
    }
}

// Shared memory of a block.
template <Kind kKind, int kDim, int kTiles>
struct Room {
    using S = Shape<kKind, kDim>;
    static constexpr int kColumns = 8 * kTiles;
    static constexpr int kItems = kTiles * S::kSteps * kWarp;  // float4 of one block's Oᵀ
    static constexpr int kQueries = kTiles * S::kQueryParts * kDim * 16;
    static constexpr int kMerge = kWarps * S::kPhase * kWarp * 16;
    static constexpr int kFirst = kQueries > kMerge ? kQueries : kMerge;  // q, then the warps' sums
    static constexpr int kInbox = kItems + kMostCluster;                  // float4 from the cluster's blocks
    static constexpr int kTotal =
        kFirst + kInbox * 16 + kMostCluster * kColumns * 8 + kWarps * kColumns * 8 + kColumns * 4;
};

template <Kind kKind, int kDim, int kTiles>
constexpr int blocks_at_once() {
    return kTiles == 1 && kDim <= 128 && kKind != Kind::F32 ? 2 : 1;
}

template <Kind kKind, int kDim, int kTiles>
__global__ void __launch_bounds__(kThreads, blocks_at_once<kKind, kDim, kTiles>()) few_kernel(FewArgs f) {
    using S = Shape<kKind, kDim>;
    using R = Room<kKind, kDim, kTiles>;
    constexpr int kColumns = R::kColumns;
    // Values are loaded when the keys' registers are free, where there are not enough for both.
    constexpr bool kLate = kDim * S::kBytes * (kTiles == 4 ? 2 : 1) > 256;
    // So are the next keys, where their registers can be filled while these values' are in use.
    constexpr bool kAhead = S::kSteps * (4 * kTiles + 8 * S::kWords) <= 192;
    extern __shared__ __align__(16) std::uint8_t memory[];
    auto* const merge = reinterpret_cast<float4*>(memory);
    auto* const inbox = reinterpret_cast<float4*>(memory + R::kFirst);     // [block of the cluster][share]
    auto* const inbox_top = reinterpret_cast<float2*>(inbox + R::kInbox);  // [block][column]: maximum, sum
    float2* const warp_top = inbox_top + kMostCluster * kColumns;          // [warp][column]
    auto* const factor = reinterpret_cast<float*>(warp_top + kWarps * kColumns);

    let_next_start();
    const Unit u = unit_of<kColumns>(f);
    const auto split_index = static_cast<std::int32_t>(blockIdx.x);
    const std::int32_t cluster = f.by_cluster(split_index);
    const std::int32_t rank = split_index - cluster * f.cluster;
    const bool direct = u.blocks == 1;
    if (u.empty || cluster >= u.clusters || (direct && split_index > 0)) {
        // The next kernel counts on this one to have waited for the one before.
        wait_for_previous();
        return;
    }
    if (!direct) cluster_arrive();
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const int g = lane / 4;
    const int t = lane % 4;
    const std::int32_t first_tile = split_index * u.per;
    const std::int32_t end_tile = min(u.tiles, first_tile + u.per);

    const std::int64_t plane =
        std::int64_t{f.a.kv.blocks} * f.a.kv.kv_heads * f.a.kv.block_size * (kDim * S::kBytes);
    const std::uint8_t* const keys = f.a.kv.base + std::int64_t{f.a.layer} * 2 * plane;
    const std::uint8_t* const values = keys + plane;
    const std::int32_t* const table = f.step.tables + u.slice.first_block;
    // Eight keys that start at a multiple of eight lie in one block of the cache. Places count in eights.
    const auto place_of = [&](std::int32_t key) -> std::int32_t {
        if (key >= u.to || key + 8 <= u.from) return 0;
        const std::int32_t octets = static_cast<std::int32_t>(f.by_octets.by);
        const std::int32_t block = f.by_octets(key / 8);
        return (table[block] * f.a.kv.kv_heads + u.kv_head) * octets + key / 8 - block * octets;
    };

    Tile<kKind, kDim> tile;
    std::int32_t octet[2];
    float acc[S::kSteps][kTiles][4] = {};
    float top[kTiles][2];
    float sum[kTiles][2] = {};
#pragma unroll
    for (int n = 0; n < kTiles; ++n) top[n][0] = top[n][1] = -INFINITY;

    std::int32_t i = first_tile + warp;
    std::int32_t first = (u.first_tile + i) * kTile;
    // Keys of earlier steps can be read while the kernel before this one still runs.
    if (i >= end_tile || first + kTile > u.slice.start) wait_for_previous();
    if (i < end_tile) {
        octet[0] = place_of(first);
        octet[1] = place_of(first + 8);
        tile.load_keys(keys, octet, first, u.from, u.to, g, t);
        if constexpr (!kLate) tile.load_values(values, octet, first, u.from, u.to, g, t);
    }
    wait_for_previous();
    stage_queries<kKind, kDim, kTiles>(f, u, memory, factor);
    __syncthreads();

    while (i < end_tile) {
        i += kWarps;
        const bool more = i < end_tile;
        const std::int32_t next = (u.first_tile + i) * kTile;
        std::int32_t next_octet[2] = {0, 0};
        if (more) {
            next_octet[0] = place_of(next);
            next_octet[1] = place_of(next + 8);
        }
        // Scores, [keys g, g + 8][columns 2t, 2t + 1].
        float s[kTiles][4] = {};
        float small[kTiles][4] = {};
        float other[kTiles][4] = {};  // of odd steps, where one chain of products would be waited for
#pragma unroll
        for (int step = 0; step < S::kSteps; ++step) {
            std::uint32_t a[S::kKeyParts][4];
            tile.key_fragment(step, a);
#pragma unroll
            for (int n = 0; n < kTiles; ++n) {
#pragma unroll
                for (int p = 0; p < S::kQueryParts; ++p) {
                    const std::uint8_t* q = memory + (n * S::kQueryParts + p) * kDim * 16;
                    const uint2 b = *reinterpret_cast<const uint2*>(
                        step < kDim / 32 * 2 ? q + step / 2 * 512 + lane * 16 + step % 2 * 8
                                             : q + kDim / 32 * 512 + lane * 8);
#pragma unroll
                    for (int r = 0; r < S::kKeyParts && r + p < S::kOrder; ++r)
                        mma<kKind>(r + p != 0                     ? small[n]
                                   : kTiles == 1 && step % 2 == 1 ? other[n]
                                                                  : s[n],
                                   a[r], b.x, b.y);
                }
            }
        }
        // Each load starts as soon as its registers are free.
        if constexpr (kLate) tile.load_values(values, octet, first, u.from, u.to, g, t);
        if constexpr (kAhead) {
            if (more) tile.load_keys(keys, next_octet, next, u.from, u.to, g, t);
        }
        const bool masked = first + kTile > u.slice.start + u.row_low + 1 ||
                            (f.a.window > 0 && first < u.slice.start + u.row_high + 1 - f.a.window);
        std::uint32_t unfit_keys = 0;
        if (masked && u.row_low < u.row_high) unfit_keys = tile.take_unfit(t);
        bool higher = false;
        float weight[kTiles][2];  // of what was summed before
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
#pragma unroll
            for (int b = 0; b < 2; ++b) {
                const float up = factor[8 * n + 2 * t + b];
                float best = top[n][b];
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    float& v = s[n][2 * h + b];
                    v = (v + other[n][2 * h + b] + small[n][2 * h + b]) * up;
                    if (f.a.softcap != 0.0F) v = f.a.softcap * kLog2e * tanhf(v / f.a.softcap);
                    if (masked) {
                        const std::int32_t last =
                            u.slice.start + f.by_group(min(u.first + 8 * n + 2 * t + b, u.columns - 1));
                        const std::int32_t before = f.a.window > 0 ? last - f.a.window : -1;
                        const std::int32_t key = first + 8 * h + g;
                        if (key > last || key <= before)
                            v = -INFINITY;
                        else if ((unfit_keys >> (8 * h + g) & 1U) != 0)
                            sum[n][b] = NAN;
                    }
                    best = fmaxf(best, v);
                }
#pragma unroll
                for (int offset = 4; offset < kWarp; offset *= 2)
                    best = fmaxf(best, __shfl_xor_sync(kAll, best, offset));
                weight[n][b] = weight_of(top[n][b], best);
                higher = higher || best > top[n][b];
                top[n][b] = best;
                // A NaN score does not show in the maximum; the exponential keeps it.
                const float less = best == -INFINITY ? 0.0F : best;
                sum[n][b] *= weight[n][b];
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    float& v = s[n][2 * h + b];
                    v = exp2_fast(v - less);
                    sum[n][b] += v;
                }
            }
        }
        if (__any_sync(kAll, higher)) {
#pragma unroll
            for (int j = 0; j < S::kSteps; ++j)
#pragma unroll
                for (int n = 0; n < kTiles; ++n)
#pragma unroll
                    for (int k = 0; k < 4; ++k) acc[j][n][k] *= weight[n][k % 2];
        }
        std::uint32_t p[kTiles][S::kWeightParts][2];
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                std::uint32_t parts[S::kWeightParts];
                split<kKind>(s[n][2 * h], s[n][2 * h + 1], parts);
#pragma unroll
                for (int r = 0; r < S::kWeightParts; ++r) p[n][r][h] = transposed(parts[r]);
            }
        }
#pragma unroll
        for (int j = 0; j < S::kSteps; ++j) {
            std::uint32_t a[S::kKeyParts][4];
            tile.value_fragment(j, a);
#pragma unroll
            for (int n = 0; n < kTiles; ++n)
#pragma unroll
                for (int w = 0; w < S::kWeightParts; ++w)
#pragma unroll
                    for (int r = 0; r < S::kKeyParts && r + w < 3; ++r)
                        mma<kKind>(acc[j][n], a[r], p[n][w][0], p[n][w][1]);
        }
        if (!more) break;
        if constexpr (!kAhead) tile.load_keys(keys, next_octet, next, u.from, u.to, g, t);
        if constexpr (!kLate) tile.load_values(values, next_octet, next, u.from, u.to, g, t);
        first = next;
        octet[0] = next_octet[0];
        octet[1] = next_octet[1];
    }

    // The warps' softmaxes into one.
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int b = 0; b < 2; ++b) {
#pragma unroll
            for (int offset = 4; offset < kWarp; offset *= 2)
                sum[n][b] += __shfl_xor_sync(kAll, sum[n][b], offset);
            if (g == 0) warp_top[warp * kColumns + 8 * n + 2 * t + b] = {top[n][b], sum[n][b]};
        }
    }
    if (!direct) cluster_wait();  // all its blocks run: their shared memory can be written
    const std::int32_t blocks = min(f.cluster, u.blocks - cluster * f.cluster);
    const auto share = static_cast<std::int32_t>(f.by_share.by);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int phase = 0; phase < S::kSteps / S::kPhase; ++phase) {
            __syncthreads();
#pragma unroll
            for (int j = 0; j < S::kPhase; ++j) {
                const float(&v)[4] = acc[phase * S::kPhase + j][n];
                merge[(warp * S::kPhase + j) * kWarp + lane] = {v[0], v[1], v[2], v[3]};
            }
            __syncthreads();
            if (warp >= S::kPhase || rank >= blocks) continue;
            const int column = 8 * n + 2 * t;
            Merged m;
#pragma unroll
            for (int w = 0; w < kWarps; ++w)
                m.note(*reinterpret_cast<const float4*>(warp_top + w * kColumns + column));
#pragma unroll
            for (int w = 0; w < kWarps; ++w)
                m.take(*reinterpret_cast<const float4*>(warp_top + w * kColumns + column),
                       merge[(w * S::kPhase + warp) * kWarp + lane]);
            const int row_tile = phase * S::kPhase + warp;
            if (direct) {
                write_out<kDim>(f, u, n, row_tile, lane, m);
                continue;
            }
            // To the block that has this share of the sums; maxima and sums of weights to all.
            const std::int32_t item = (n * S::kSteps + row_tile) * kWarp + lane;
            const std::int32_t owner = f.by_share(item);
            store_shared(in_block(inbox + rank * share + item - owner * share, owner), m.all);
            if (row_tile == 0 && g < f.cluster)
                store_shared(in_block(inbox_top + rank * kColumns + column, g), m.tops());
        }
    }
    if (direct) return;

    // The cluster's blocks into one.
    __syncthreads();
    cluster_arrive();
    cluster_wait();
    const std::int32_t end = min(share, R::kItems - rank * share);
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < end; i += kThreads) {
        const std::int32_t item = rank * share + i;
        const int row_tile = item / kWarp % S::kSteps;
        const int n = item / kWarp / S::kSteps;
        const int column = 8 * n + 2 * (item % 4);
        Merged m;
#pragma unroll
        for (int b = 0; b < kMostCluster; ++b)
            if (b < blocks) m.note(*reinterpret_cast<const float4*>(inbox_top + b * kColumns + column));
#pragma unroll
        for (int b = 0; b < kMostCluster; ++b)
            if (b < blocks)
                m.take(*reinterpret_cast<const float4*>(inbox_top + b * kColumns + column),
                       inbox[b * share + i]);
        if (u.clusters == 1) {
            write_out<kDim>(f, u, n, row_tile, item % kWarp, m);
        } else {
            const std::int64_t place = std::int64_t{unit_index()} * f.clusters + cluster;
            f.partial[place * R::kItems + item] = m.all;
            if (row_tile == 0 && item % kWarp < 4)
                *reinterpret_cast<float4*>(f.partial_top + place * kColumns + column) = m.tops();
        }
    }
}

// The clusters' softmaxes into one: a block a row tile of a unit, its warps deal out the clusters.
template <Kind kKind, int kDim, int kTiles>
__global__ void __launch_bounds__(kThreads) merge_kernel(FewArgs f) {
    using S = Shape<kKind, kDim>;
    using R = Room<kKind, kDim, kTiles>;
    constexpr int kMost = kMostClusters / kWarps;
    __shared__ float4 parts[kWarps][kWarp];
    __shared__ float4 tops[kWarps][kWarp];
    let_next_start();
    const Unit u = unit_of<R::kColumns>(f);
    wait_for_previous();
    if (u.empty || u.clusters == 1) return;
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const auto item = static_cast<int>(blockIdx.x * kWarp) + lane;
    const int n = item / kWarp / S::kSteps;
    const int column = 8 * n + 2 * (item % 4);
    const std::int64_t place = std::int64_t{unit_index()} * f.clusters;
    float4 part[kMost];
    float4 top[kMost];
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
        const int c = warp + i * kWarps;
        top[i] = {-INFINITY, 0, -INFINITY, 0};
        part[i] = {0, 0, 0, 0};
        if (c >= u.clusters) continue;
        top[i] = *reinterpret_cast<const float4*>(f.partial_top + (place + c) * R::kColumns + column);
        part[i] = f.partial[(place + c) * R::kItems + item];
    }
    Merged m;
#pragma unroll
    for (int i = 0; i < kMost; ++i) m.note(top[i]);
#pragma unroll
    for (int i = 0; i < kMost; ++i) m.take(top[i], part[i]);
    parts[warp][lane] = m.all;
    tops[warp][lane] = m.tops();
    __syncthreads();
    if (warp != 0) return;
    Merged all;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) all.note(tops[w][lane]);
#pragma unroll
    for (int w = 0; w < kWarps; ++w) all.take(tops[w][lane], parts[w][lane]);
    write_out<kDim>(f, u, n, item / kWarp % S::kSteps, lane, all);
}

// Keys that a row can see.
inline std::int64_t visible_keys(const AttentionView& a, const AttentionPlan& plan) {
    const std::int64_t all = plan.longest;
    return a.window > 0 ? std::min(all, std::int64_t{a.window} + plan.most_rows) : all;
}

template <Kind kKind, int kDim, int kTiles>
bool launch(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
            WorkView work, cudaStream_t stream) {
    using R = Room<kKind, kDim, kTiles>;
    const Gpu& gpu = current_gpu();
    if (R::kTotal > gpu.shared) return false;
    // Eights of keys in a plane are counted in 32 bits.
    if (std::int64_t{a.kv.blocks} * a.kv.kv_heads * (a.kv.block_size / 8) > INT32_MAX) return false;
    FewArgs f{a, step, range};
    const std::int32_t group = a.heads / a.kv.kv_heads;
    const std::int32_t columns = std::min(plan.most_rows, range.most) * group;
    f.chunks = (columns + R::kColumns - 1) / R::kColumns;
    const std::int64_t units = std::int64_t{plan.sequences} * a.kv.kv_heads * f.chunks;
    if (plan.sequences > 65535 || std::int64_t{a.kv.kv_heads} * f.chunks > 65535) return false;

    // As many blocks as run at once, and none without a tile for each of its warps. Clusters of two find room
    // on all multiprocessors, of larger ones only nine tenths as many blocks run; those do without the second
    // kernel, which counts for short sequences.
    const std::int64_t at_once = blocks_at_once<kKind, kDim, kTiles>() * std::int64_t{gpu.multiprocessors};
    const std::int64_t longest = visible_keys(a, plan);
    const std::int64_t useful = longest / (kTile * kWarps) + 1;
    const auto blocks_a_unit = [&](std::int64_t blocks) {
        return static_cast<std::int32_t>(std::max<std::int64_t>(1, std::min(blocks / units, useful)));
    };
    constexpr std::uint64_t kUnitBytes = R::kItems * sizeof(float4) + R::kColumns * sizeof(float2);
    const auto room = static_cast<std::int32_t>(
        std::min<std::uint64_t>(kMostClusters, work.size / (static_cast<std::uint64_t>(units) * kUnitBytes)));
    std::int32_t splits = blocks_a_unit(at_once);
    if (gpu.clusters) {
        const bool pairs = longest > 2048 && splits <= 2 * kMostClusters + 8;
        if (!pairs) splits = blocks_a_unit(at_once * 9 / 10);
        f.cluster = std::min(splits, pairs ? 2 : longest <= kOneCluster ? kMostCluster : 4);
    }
    if (f.cluster == 1 || longest > kOneCluster) f.clusters = std::max(1, std::min(splits / f.cluster, room));
    f.by_group = Divider(group);
    f.by_chunks = Divider(f.chunks);
    f.by_cluster = Divider(f.cluster);
    f.by_splits = Divider(f.cluster * f.clusters);
    f.by_octets = Divider(a.kv.block_size / 8);
    f.by_share = Divider((R::kItems + f.cluster - 1) / f.cluster);
    f.partial = reinterpret_cast<float4*>(work.data);
    f.partial_top = reinterpret_cast<float2*>(f.partial + units * f.clusters * R::kItems);

    if constexpr (R::kTotal > 48 * 1024) {
        if (cudaFuncSetAttribute(few_kernel<kKind, kDim, kTiles>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 R::kTotal) != cudaSuccess)
            return false;
    }
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config{};
    config.blockDim = dim3(kThreads);
    config.stream = stream;
    config.attrs = attributes;
    if (gpu.clusters) {
        attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[0].val.programmaticStreamSerializationAllowed = 1;
        config.numAttrs = 1;
        if (f.cluster > 1) {
            attributes[1].id = cudaLaunchAttributeClusterDimension;
            attributes[1].val.clusterDim = {static_cast<unsigned>(f.cluster), 1, 1};
            config.numAttrs = 2;
        }
    }
    const auto heads = static_cast<unsigned>(a.kv.kv_heads * f.chunks);
    const auto sequences = static_cast<unsigned>(plan.sequences);
    config.gridDim = dim3(static_cast<unsigned>(f.cluster * f.clusters), heads, sequences);
    config.dynamicSmemBytes = R::kTotal;
    cudaLaunchKernelEx(&config, few_kernel<kKind, kDim, kTiles>, f);
    if (f.clusters > 1) {
        config.gridDim = dim3(R::kItems / kWarp, heads, sequences);
        config.dynamicSmemBytes = 0;
        config.numAttrs = std::min(config.numAttrs, 1U);
        cudaLaunchKernelEx(&config, merge_kernel<kKind, kDim, kTiles>, f);
    }
    return true;
}

template <Kind kKind, int kDim>
bool for_columns(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
                 WorkView work, cudaStream_t stream) {
    const std::int32_t columns = std::min(plan.most_rows, range.most) * (a.heads / a.kv.kv_heads);
    // More tiles in a block read the cache once for more columns. Short sequences come out of the cache of
    // the GPU; there more blocks of one tile are done earlier, while all run at once.
    const std::int64_t keys = visible_keys(a, plan);
    const std::int64_t blocks = std::int64_t{plan.sequences} * a.kv.kv_heads * ((columns + 7) / 8) *
                                std::clamp<std::int64_t>(keys / (kTile * kWarps), 1, 3);
    const bool narrow = keys <= 2048 && blocks * 10 <= blocks_at_once<kKind, kDim, 1>() * 9 *
                                                           std::int64_t{current_gpu().multiprocessors};
    constexpr bool kWide = kDim * Shape<kKind, kDim>::kBytes > 256;  // too many registers for four tiles
    if constexpr (!kWide) {
        if (!narrow && columns > 16 && launch<kKind, kDim, 4>(a, step, plan, range, work, stream))
            return true;
    }
    if constexpr (!(kKind == Kind::F32 && kDim == 256)) {
        if (!narrow && columns > 8 && launch<kKind, kDim, 2>(a, step, plan, range, work, stream)) return true;
    }
    return launch<kKind, kDim, 1>(a, step, plan, range, work, stream);
}

template <Kind kKind>
bool few_of(const AttentionView& a, const StepView& step, const AttentionPlan& plan, RowRange range,
            WorkView work, cudaStream_t stream) {
    switch (a.kv.head_dim) {
        case 64: return for_columns<kKind, 64>(a, step, plan, range, work, stream);
        case 80: return for_columns<kKind, 80>(a, step, plan, range, work, stream);
        case 96: return for_columns<kKind, 96>(a, step, plan, range, work, stream);
        case 128: return for_columns<kKind, 128>(a, step, plan, range, work, stream);
        case 256: return for_columns<kKind, 256>(a, step, plan, range, work, stream);
        default: return false;
    }
}

}  // namespace vitrine::cuda::attention
