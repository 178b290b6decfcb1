// How weights lie in memory for the CPU kernels: sixteen rows side by side, so that one vector holds the same
// inputs of sixteen rows and nothing is ever summed across its lanes. A permutation of the file's bits, made
// once at upload; weights stay in their own precision.
//
// A group is sixteen rows; missing rows of the last group are zero. Float formats (F32, F16, BF16, F8_E4M3):
// for every input the sixteen rows' weights. Formats of codes: for every 32-wide block, in vectors of 64
// bytes of which byte 4r + j belongs to row r:
//   8-bit codes      vector i has input 4i + j, as code + 128 (the integer dot product takes weights
//   unsigned) low 4 bits       vector i (of 4) has input 4i + j in its low and 16 + 4i + j in its high nibble
//   low 2 bits       vector p (of 2) has input 16p + 4i + j in bits 2i and 2i + 1
//   a high bit       one vector has the bit of input 4i + j in bit i
//   two high bits    as low 2 bits
// High bits follow the low ones. Scales follow the codes:
//   Q8_0, Q4_0, Q5_0, IQ4_NL   sixteen f16 d
//   Q4_1, Q5_1                 sixteen f16 d, sixteen f16 m
//   Q4_K, Q5_K                 sixteen u8 scales, sixteen u8 minima
//   IQ4_XS                     sixteen i8 scales
//   Q3_K, Q6_K                 sixteen i8 scales of the inputs 0 to 15, sixteen of the inputs 16 to 31
//   Q2_K                       the same, a scale in the low and a minimum in the high nibble of a byte
// Some blocks make a unit, [codes 0][codes 1]…[scales 0][scales 1]…, so that vectors do not straddle cache
// lines; blocks that are missing in the last unit are unused. After all units come, in the K formats and
// IQ4_XS, for every unit sixteen f16 d and, where there are minima, sixteen f16 dmin; and for F8_E4M3 and I8
// sixteen float32 scales for every tile of columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor.h"

namespace vitrine::cpu {

constexpr std::int64_t kGroup = 16;  // rows side by side
constexpr std::int64_t kBlock = 32;  // inputs that share a scale of activations

struct CodeLayout {
    int low_bits = 0;          // 8, 4 or 2; 0: not a format of codes
    int high_bits = 0;         // 0, 1 or 2
    int width = 32;            // inputs that share a scale, 16 or 32
    int unit = 1;              // blocks
    int scale_bytes = 0;       // of a block of the group
    int unit_scale_bytes = 0;  // of a unit of the group, after all units
    bool minimum = false;      // w = d q - m, not d (q - offset)

    constexpr std::int64_t low_bytes() const { return 64 * low_bits; }
    constexpr std::int64_t code_bytes() const { return 64 * (low_bits + high_bits); }
    constexpr std::int64_t unit_bytes() const { return unit * (code_bytes() + scale_bytes); }
    constexpr std::int64_t units(std::int64_t blocks) const { return (blocks + unit - 1) / unit; }
    // Where things are in a group.
    constexpr std::int64_t code_offset(std::int64_t block) const {
        return block / unit * unit_bytes() + block % unit * code_bytes();
    }
    constexpr std::int64_t scale_offset(std::int64_t block) const {
        return block / unit * unit_bytes() + unit * code_bytes() + block % unit * scale_bytes;
    }
    constexpr std::int64_t unit_scale_offset(std::int64_t blocks, std::int64_t u) const {
        return units(blocks) * unit_bytes() + u * unit_scale_bytes;
    }
};

constexpr CodeLayout code_layout(DType type) {
    switch (type) {
        case DType::Q8_0: return {8, 0, 32, 2, 32, 0, false};
        case DType::I8: return {8, 0, 32, 1, 0, 0, false};
        case DType::Q4_0:
        case DType::IQ4_NL: return {4, 0, 32, 2, 32, 0, false};
        case DType::Q4_1: return {4, 0, 32, 1, 64, 0, true};
        case DType::Q5_0: return {4, 1, 32, 2, 32, 0, false};
        case DType::Q5_1: return {4, 1, 32, 1, 64, 0, true};
        case DType::Q2_K: return {2, 0, 16, 8, 32, 64, true};
        case DType::Q3_K: return {2, 1, 16, 8, 32, 32, false};
        case DType::Q4_K: return {4, 0, 32, 8, 32, 64, true};
        case DType::Q5_K: return {4, 1, 32, 8, 32, 64, true};
        case DType::Q6_K: return {4, 2, 16, 8, 32, 32, false};
        case DType::IQ4_XS: return {4, 0, 32, 8, 16, 32, false};
        case DType::F32:
        case DType::F16:
        case DType::BF16:
        case DType::F8_E4M3: break;
    }
    return {};
}

// Formats that are multiplied as integers, with activations rounded to 8 bits.
constexpr bool is_quantized(DType type) { return code_layout(type).low_bits != 0; }
constexpr bool is_iq4(DType type) { return type == DType::IQ4_NL || type == DType::IQ4_XS; }
constexpr std::int64_t groups_of(std::int64_t rows) { return (rows + kGroup - 1) / kGroup; }
constexpr std::int64_t blocks_of(std::int64_t cols) { return (cols + kBlock - 1) / kBlock; }

// Where a group's outside scales are; the end of everything else.
constexpr std::int64_t outside_scale_offset(DType type, std::int64_t cols) {
    const CodeLayout layout = code_layout(type);
    const std::int64_t blocks = blocks_of(cols);
    const std::int64_t bytes = layout.low_bits == 0 ? cols * kGroup * info_of(type).bytes
                                                    : layout.unit_scale_offset(blocks, layout.units(blocks));
    return (bytes + 63) / 64 * 64;
}

// Bytes of a group of rows with `cols` inputs and, for outside scales, `tiles` of columns; both are bounded
// by the caller so that nothing wraps.
constexpr std::int64_t group_bytes(DType type, std::int64_t cols, std::int64_t tiles = 0) {
    return outside_scale_offset(type, cols) + tiles * kGroup * 4;
}

// Code of input i (0 to 31) of a row in a block, `codes` at the row's first byte. 8-bit codes as they lie.
constexpr unsigned code_at(const CodeLayout& layout, const std::byte* codes, int i) {
    const int j = i % 4;
    const auto byte = [&](std::int64_t at) { return static_cast<unsigned>(codes[at]); };
    if (layout.low_bits == 8) return byte(i / 4 * 64 + j);
    unsigned code = layout.low_bits == 4 ? byte(i % 16 / 4 * 64 + j) >> (i < 16 ? 0 : 4) & 15U
                                         : byte(i / 16 * 64 + j) >> (i % 16 / 4 * 2) & 3U;
    if (layout.high_bits == 1) code |= (byte(layout.low_bytes() + j) >> (i / 4) & 1U) << layout.low_bits;
    if (layout.high_bits == 2)
        code |= (byte(layout.low_bytes() + i / 16 * 64 + j) >> (i % 16 / 4 * 2) & 3U) << layout.low_bits;
    return code;
}

// Writes one group: `rows` (1 to 16) rows of the file at `from`, row_stride bytes apart, to group_bytes at
// `to`. Outside scales are left alone.
void regroup(DType type, const std::byte* from, std::uint64_t row_stride, std::int64_t rows,
             std::int64_t cols, std::byte* to);

// Row `row` (0 to 15) of a group as float32; outside scales, one for every `tile` columns, are applied.
void read_grouped_row(DType type, const std::byte* group, std::int64_t row, std::int64_t cols,
                      std::int64_t tile, float* out);

}  // namespace vitrine::cpu
