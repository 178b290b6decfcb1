// The CPU device's way from the projections to the attended values: heads are normalised, rotated and written
// into the cache, then tiles of query rows walk their keys.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/cpu_device.h"

namespace vitrine::cpu {

std::size_t CpuDevice::kv_index(const KvShape& shape, bool value, std::int32_t token, std::int32_t c) const {
    if (value)
        return static_cast<std::size_t>(token) * static_cast<std::size_t>(shape.head_dim) +
               static_cast<std::size_t>(c);
    const auto run = static_cast<std::size_t>(key_run(shape.block_size));
    const auto t = static_cast<std::size_t>(token);
    return (t / run * static_cast<std::size_t>(shape.head_dim) + static_cast<std::size_t>(c)) * run + t % run;
}

void CpuDevice::run_qkv(const QkvArgs& a) {
    const KvShape& s = a.kv->shape;
    const std::int64_t n = rows();
    const std::int64_t kv_width = std::int64_t{s.kv_heads} * s.head_dim;
    const WeightStorage* const users[] = {a.wq, a.wk, a.wv};
    if (!shape_panels(input_, n, a.norm->cols, users) ||
        !reserve(k_.reserve(static_cast<std::size_t>(n * kv_width)) &&
                 v_.reserve(static_cast<std::size_t>(n * kv_width))))
        return;
    fill_panels(input_, data_of(a.x), nullptr, vector_of(a.norm), a.eps);
    const Product products[] = {{a.wq, vector_of(a.bq), data_of(a.q)},
                                {a.wk, vector_of(a.bk), k_.data()},
                                {a.wv, vector_of(a.bv), v_.data()}};
    multiply(products, input_);
    share(n <= 2, n, 4, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t r = first; r < last; ++r)
            finish_heads(a, r, k_.data() + r * kv_width, v_.data() + r * kv_width);
    });
}

void CpuDevice::finish_heads(const QkvArgs& a, std::int64_t row, float* k, const float* v) {
    const KvShape& s = a.kv->shape;
    const std::int32_t c = s.head_dim;
    const RopeTable& rope = ropes_[static_cast<std::size_t>(a.rope)];
    float* q = data_of(a.q) + row * a.heads * c;
    for (std::int32_t h = 0; h < a.heads; ++h) {
        float* head = q + std::int64_t{h} * c;
        if (a.q_norm != nullptr) row_.normalise(head, c, vector_of(a.q_norm), a.eps, head);
        rotate(rope, row, head);
    }
    const RowPlace place = places_[static_cast<std::size_t>(row)];
    const SequenceSlice& slice = step_.sequences[static_cast<std::size_t>(place.sequence)];
    const std::int32_t block = slice.blocks[static_cast<std::size_t>(place.slot / s.block_size)];
    const std::int32_t token = place.slot % s.block_size;
    const HostKv& kv = host_kv(a.kv);
    const auto size = static_cast<std::size_t>(info_of(s.dtype).bytes);
    const auto run = static_cast<std::size_t>(key_run(s.block_size));
    for (std::int32_t g = 0; g < s.kv_heads; ++g) {
        float* head = k + std::int64_t{g} * c;
        if (a.k_norm != nullptr) row_.normalise(head, c, vector_of(a.k_norm), a.eps, head);
        rotate(rope, row, head);
        row_.convert(s.dtype, v + std::int64_t{g} * c, c,
                     kv.panel(a.layer, true, block, g) + kv_index(s, true, token, 0) * size);
        std::byte* keys = kv.panel(a.layer, false, block, g) + kv_index(s, false, token, 0) * size;
        if (s.dtype == DType::F32) {
            for (std::int32_t i = 0; i < c; ++i, keys += run * size)
                std::memcpy(keys, head + i, sizeof(float));
            continue;
        }
        // In place: the halves are written over floats that were read before.
        auto* halves = reinterpret_cast<std::byte*>(head);
        row_.convert(s.dtype, head, c, halves);
        for (std::int32_t i = 0; i < c; ++i, keys += run * size) std::memcpy(keys, halves + 2 * i, 2);
    }
}

void CpuDevice::run_attention(const AttentionArgs& a) {
    const KvShape& s = a.kv->shape;
    const std::int32_t shared = a.heads / s.kv_heads;
    // Query heads are split evenly where they are more than a tile holds.
    const std::int32_t parts = (shared + kMaxQueries - 1) / kMaxQueries;
    tiles_.clear();
    for (const SequenceSlice& slice : step_.sequences) {
        for (std::int32_t g = 0; g < s.kv_heads; ++g) {
            for (std::int32_t part = 0; part < parts; ++part) {
                AttentionTile tile;
                tile.slice = &slice;
                tile.kv_head = g;
                tile.first_head = g * shared + shared * part / parts;
                tile.heads = g * shared + shared * (part + 1) / parts - tile.first_head;
                const std::int32_t tokens = kMaxQueries / tile.heads;
                for (tile.first = 0; tile.first < slice.rows; tile.first += tokens) {
                    tile.count = std::min(tokens, slice.rows - tile.first);
                    const std::int32_t start = slice.start + tile.first;
                    const std::int32_t oldest = a.window == 0 ? 0 : std::max(0, start - a.window + 1);
                    tile.first_piece = oldest / kPiece;
                    tile.pieces = (start + tile.count - 1) / kPiece - tile.first_piece + 1;
                    tiles_.push_back(tile);
                }
            }
        }
    }
    const std::size_t floats =
        static_cast<std::size_t>(kMaxQueries) * (static_cast<std::size_t>(s.head_dim) * 3 + 4);
    for (Worker& worker : workers_)
        if (worker.attention.size() < floats) worker.attention.resize(floats);

    const auto count = static_cast<std::int64_t>(tiles_.size());
    std::int64_t tasks = 0;
    for (AttentionTile& tile : tiles_) {
        tile.first_task = tasks;
        tasks += tile.pieces;
    }
    if (count >= 4 * pool_.threads() || tasks == count) {
        pool_.parallel_for(count, 1, [&](std::int64_t first, std::int64_t last, int thread) {
            for (std::int64_t i = first; i < last; ++i)
                attend(a, tiles_[static_cast<std::size_t>(i)], workers_[static_cast<std::size_t>(thread)]);
        });
        return;
    }
    // Few rows over many keys: pieces are shared out, and whoever finishes a tile's last piece folds them.
    const std::size_t partial =
        static_cast<std::size_t>(kMaxQueries) * (static_cast<std::size_t>(s.head_dim) + 2);
    if (!reserve(partials_.reserve(static_cast<std::size_t>(tasks) * partial))) return;
    if (pieces_left_count_ < tiles_.size()) {
        pieces_left_ = std::make_unique<std::atomic<std::int32_t>[]>(tiles_.size());
        pieces_left_count_ = tiles_.size();
    }
    for (std::size_t i = 0; i < tiles_.size(); ++i)
        pieces_left_[i].store(tiles_[i].pieces, std::memory_order_relaxed);
    pool_.parallel_for(tasks, 1, [&](std::int64_t first, std::int64_t last, int thread) {
        for (std::int64_t task = first; task < last; ++task) {
            const auto tile =
                std::upper_bound(tiles_.begin(), tiles_.end(), task,
                                 [](std::int64_t t, const AttentionTile& x) { return t < x.first_task; }) -
                1;
            attend_piece(a, *tile, static_cast<std::int32_t>(task - tile->first_task),
                         workers_[static_cast<std::size_t>(thread)]);
        }
    });
}

namespace {

// A partial result of M rows in one run of floats.
Partial partial_at(float* p, int count) { return {p, p + count, p + 2 * count}; }

KeyValues key_values(const AttentionArgs& a, const SequenceSlice& slice, std::int32_t kv_head) {
    const HostKv& kv = host_kv(a.kv);
    KeyValues v;
    v.keys = kv.panel(a.layer, false, 0, kv_head);
    v.values = kv.panel(a.layer, true, 0, kv_head);
    v.block_stride = kv.block_bytes();
    v.blocks = slice.blocks.data();
    v.block_size = kv.shape.block_size;
    v.head_dim = kv.shape.head_dim;
    v.dtype = kv.shape.dtype;
    v.softcap = a.softcap;
    return v;
}

}  // namespace

void CpuDevice::pack_queries(const AttentionArgs& a, const AttentionTile& tile, float* q) const {
    const std::int64_t c = a.kv->shape.head_dim;
    const int count = tile.count * tile.heads;
    for (int m = 0; m < count; ++m) {
        const std::int64_t row = tile.slice->first_row + tile.first + m / tile.heads;
        const float* from = data_of(a.q) + (row * a.heads + tile.first_head + m % tile.heads) * c;
        for (std::int64_t i = 0; i < c; ++i) q[i * count + m] = from[i] * a.scale;
    }
}

namespace {

Queries visible(const AttentionArgs& a, const SequenceSlice& slice, std::int32_t first, int count,
                std::int32_t heads, const float* q) {
    Queries queries;
    queries.count = count;
    queries.q = q;
    for (int m = 0; m < count; ++m) {
        const std::int32_t position = slice.start + first + m / heads;
        queries.from[m] = a.window == 0 ? 0 : std::max(0, position - a.window + 1);
        queries.to[m] = position + 1;
    }
    return queries;
}

}  // namespace

void CpuDevice::attend(const AttentionArgs& a, const AttentionTile& tile, Worker& worker) const {
    const std::int32_t c = a.kv->shape.head_dim;
    const int count = tile.count * tile.heads;
    float* q = worker.attention.data();
    const Partial sum = partial_at(q + std::int64_t{count} * c, count);
    const Partial next = partial_at(sum.values + std::int64_t{count} * c, count);
    pack_queries(a, tile, q);
    const KeyValues kv = key_values(a, *tile.slice, tile.kv_head);
    const Queries queries = visible(a, *tile.slice, tile.first, count, tile.heads, q);
    attention_.piece(kv, queries, tile.first_piece, worker.scores.get(), sum);
    for (std::int32_t i = 1; i < tile.pieces; ++i) {
        attention_.piece(kv, queries, tile.first_piece + i, worker.scores.get(), next);
        attention_.fold(sum, next, count, c);
    }
    store_attention(a, tile, sum);
}

void CpuDevice::attend_piece(const AttentionArgs& a, const AttentionTile& tile, std::int32_t index,
                             Worker& worker) {
    const std::int32_t c = a.kv->shape.head_dim;
    const int count = tile.count * tile.heads;
    const std::int64_t stride = std::int64_t{kMaxQueries} * (c + 2);
    float* partials = partials_.data() + tile.first_task * stride;
    float* q = worker.attention.data();
    pack_queries(a, tile, q);
    attention_.piece(key_values(a, *tile.slice, tile.kv_head),
                     visible(a, *tile.slice, tile.first, count, tile.heads, q), tile.first_piece + index,
                     worker.scores.get(), partial_at(partials + index * stride, count));
    std::atomic<std::int32_t>& left = pieces_left_[static_cast<std::size_t>(&tile - tiles_.data())];
    if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const Partial sum = partial_at(partials, count);
    for (std::int32_t i = 1; i < tile.pieces; ++i)
        attention_.fold(sum, partial_at(partials + i * stride, count), count, c);
    store_attention(a, tile, sum);
}

void CpuDevice::store_attention(const AttentionArgs& a, const AttentionTile& tile, const Partial& p) const {
    const std::int32_t c = a.kv->shape.head_dim;
    for (int m = 0; m < tile.count * tile.heads; ++m) {
        const std::int64_t row = tile.slice->first_row + tile.first + m / tile.heads;
        attention_.finish(p.values + std::int64_t{m} * c, p.sum[m], c,
                          data_of(a.out) + (row * a.heads + tile.first_head + m % tile.heads) * c);
    }
}

}  // namespace vitrine::cpu
