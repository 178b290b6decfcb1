// How weights lie in memory for the CPU kernels: sixteen rows side by side, so that one vector holds the same
// inputs of sixteen rows and nothing is ever summed across its lanes. A permutation of the file's bytes (Q8_0
// with the sign bit flipped, because the integer dot product takes weights unsigned), made once at upload.
//
// A group is sixteen rows; missing rows of the last group are zero. Inside a group, for every 32-wide block:
//   Q8_0   8 vectors of 64 bytes; byte 4r + j of vector i is q(row r, input 4i + j) + 128
//   Q4_x   4 vectors of 64 bytes; byte 4r + j of vector i holds input 4i + j (low nibble) and 16 + 4i + j
//   (high)
// Scales follow as sixteen f16. Q8_0 and Q4_0 keep two blocks together, [codes 0][codes 1][scales 0][scales
// 1], so that vectors do not straddle cache lines; an odd last block has an unused partner. Q4_1 has
// [codes][16 scales][16 minima] per block. Float formats: for every input the sixteen rows' weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor.h"

namespace vitrine::cpu {

constexpr std::int64_t kGroup = 16;  // rows side by side
constexpr std::int64_t kBlock = 32;  // inputs that share a scale

constexpr bool is_quantized(DType type) { return info_of(type).block > 1; }
constexpr std::int64_t groups_of(std::int64_t rows) { return (rows + kGroup - 1) / kGroup; }

// Bytes of the codes of one block of a group.
constexpr std::int64_t code_bytes(DType type) { return type == DType::Q8_0 ? 512 : 256; }
constexpr std::int64_t scale_bytes = kGroup * 2;

// Bytes of a group of rows with `cols` inputs; cols is bounded by the caller so that nothing wraps.
constexpr std::int64_t group_bytes(DType type, std::int64_t cols) {
    const std::int64_t blocks = cols / kBlock;
    switch (type) {
        case DType::F32: return cols * kGroup * 4;
        case DType::F16:
        case DType::BF16: return cols * kGroup * 2;
        case DType::Q8_0:
        case DType::Q4_0: return (blocks + 1) / 2 * 2 * (code_bytes(type) + scale_bytes);
        case DType::Q4_1: return blocks * (code_bytes(type) + 2 * scale_bytes);
        default: return 0;  // no layout
    }
}

// Offsets of a block's codes and scales in its group.
constexpr std::int64_t code_offset(DType type, std::int64_t block) {
    if (type == DType::Q4_1) return block * (code_bytes(type) + 2 * scale_bytes);
    return block / 2 * 2 * (code_bytes(type) + scale_bytes) + block % 2 * code_bytes(type);
}
constexpr std::int64_t scale_offset(DType type, std::int64_t block) {
    if (type == DType::Q4_1) return code_offset(type, block) + code_bytes(type);
    return block / 2 * 2 * (code_bytes(type) + scale_bytes) + 2 * code_bytes(type) + block % 2 * scale_bytes;
}

// Writes one group: `rows` (1 to 16) rows of the file at `from`, row_stride bytes apart, to group_bytes at
// `to`.
void regroup(DType type, const std::byte* from, std::uint64_t row_stride, std::int64_t rows,
             std::int64_t cols, std::byte* to);

// Row `row` (0 to 15) of a group as float32.
void read_grouped_row(DType type, const std::byte* group, std::int64_t row, std::int64_t cols, float* out);

}  // namespace vitrine::cpu
