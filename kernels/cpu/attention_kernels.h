// Attention over paged keys and values, by pieces of 256 keys.
//
// A piece is a range of absolute positions [256 p, 256 p + 256). For a tile of query rows (tokens times the
// query heads that share a key/value head) a piece gives, per row, the largest score, the sum of exponentials
// and the weighted sum of values over the keys that the row sees. Pieces are folded in ascending order. Every
// row's arithmetic follows absolute positions alone: scores sum over the head in order, exponentials are
// added in lanes of position modulo the vector, values in order of position. So a row has the same bits
// whatever the block size, the tile, the other rows of the step and the threads, and whether pieces were
// computed apart.
//
// Keys that a row does not see are never multiplied, so what lies in unwritten slots does not matter.
//
// Layout of a panel (one block of one key/value head): values [token][head_dim]; keys in runs of W tokens,
// [run][head_dim][W], W = 16 where the block size is a multiple of 16, else 8.
//
// Tolerance against exact arithmetic on the stored keys and values, C = head size, n = visible keys,
// u = 2^-24, S = scale Σ|q||k| of the largest row: scores err by at most (C + 4) u S, exponentials by a
// relative 2^-22 more, sums by (n/16 + 24) u, so
//   |error| <= (2 ((C + 4) u S + 2^-22) + (n + 40) u) · max|v|.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ops.h"

namespace vitrine::cpu {

constexpr std::int32_t kPiece = 256;
constexpr int kMaxQueries = 12;

constexpr std::int32_t key_run(std::int32_t block_size) { return block_size % 16 == 0 ? 16 : 8; }

// One key/value head of one sequence in one layer.
struct KeyValues {
    const std::byte* keys = nullptr;  // panel of physical block 0
    const std::byte* values = nullptr;
    std::size_t block_stride = 0;  // bytes from one block's panel to the next block's
    const std::int32_t* blocks = nullptr;
    std::int32_t block_size = 0;
    std::int32_t head_dim = 0;
    DType dtype = DType::F16;
    float softcap = 0;
};

// Query rows that are served together.
struct Queries {
    int count = 0;                   // M, 1 to kMaxQueries
    const float* q = nullptr;        // [head_dim][M], already times the scale
    std::int32_t from[kMaxQueries];  // the row sees positions [from, to)
    std::int32_t to[kMaxQueries];
};

// Where a piece, or a fold of pieces, leaves its result. sum 0: the row saw none of its keys.
struct Partial {
    float* largest = nullptr;  // [M]
    float* sum = nullptr;      // [M]
    float* values = nullptr;   // [M][head_dim]
};

struct AttentionKernels {
    // scores: scratch [M][kPiece], 64-byte aligned.
    void (*piece)(const KeyValues& kv, const Queries& queries, std::int32_t piece, float* scores,
                  const Partial& out);
    // into := into and then next, per row.
    void (*fold)(const Partial& into, const Partial& next, int count, std::int32_t head_dim);
    // out[c] = values[c] / sum of one row.
    void (*finish)(const float* values, float sum, std::int32_t head_dim, float* out);
};

const AttentionKernels& attention_kernels();

}  // namespace vitrine::cpu
