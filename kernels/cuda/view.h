// What the kernels of this device are handed: plain views of device memory. Everything here is passed by
// value.
//
// Weights are regrouped once at upload into planes, so that a thread reads sixteen aligned bytes at a time
// and groups of 32 inputs look alike in every quantized format:
//   low    nibbles, 16 bytes a group: byte j holds code j (low half) and j + 16 (high half)   Q4 Q5 Q6 IQ4
//   bytes  one byte a code, 32 a group                                                        Q8_0
//   two    2 bits a code, 8 bytes a group: word j, byte b, bits 2f: code 4 (4 j + f) + b       Q2_K Q3_K Q6_K
//   one    1 bit a code, 4 bytes a group: byte b, bit f: code 4 f + b                          Q3_K Q5
//   scale  of a group: f16 d (and f16 m) in the 32-wide formats; one byte s, or s and m, where sub-blocks are
//          32 wide; two bytes s, or s + 16 m, where they are 16 wide
//   super  f16 d (and dmin) for 256 inputs
// The groups of a matrix lie in panels of 16 rows; in a panel, quads of four groups (128 inputs) follow one
// another; a quad has the four groups of its first row, then those of the second, … A warp in which lane
// 4 r + t takes group t of rows r and r + 8, which is how a tensor core wants it, so reads 512 adjacent bytes
// at a time. places.cuh has the formulas. Other types lie row by row as in the file.
// The bytes of a matrix are those of the file, at most 3 % more (Q3_K: 4 %), and rows are filled up to 16.
#pragma once

#include <cstdint>

#include "kernels/tensor.h"

namespace vitrine::cuda {

struct WeightView {
    DType type = DType::F32;
    std::int32_t rows = 0;
    std::int32_t cols = 0;
    const std::uint8_t* low = nullptr;
    const std::uint8_t* bytes = nullptr;  // also the plain rows of other types
    const std::uint8_t* two = nullptr;
    const std::uint8_t* one = nullptr;
    const std::uint8_t* scale = nullptr;
    const std::uint16_t* super = nullptr;  // d, then dmin where the format has minima
    // Outside scales (F8_E4M3, I8).
    const float* grid = nullptr;
    std::int32_t tile_rows = 1, tile_cols = 1, first_row = 0;
};

struct KvView {
    std::uint8_t* base = nullptr;  // [layers][keys, values][blocks][kv_heads][block_size][head_dim]
    DType dtype = DType::F16;
    std::int32_t layers = 0, blocks = 0, kv_heads = 0, head_dim = 0, block_size = 0;
};

// One sequence of the step, in device memory. Its block table is `tables + first_block`.
struct SliceView {
    std::int32_t first_row, rows, start, first_block, rope_set;
};

// What changes from step to step, in device memory.
struct StepView {
    const std::int32_t* tokens = nullptr;
    const std::int32_t* positions = nullptr;
    const std::int32_t* row_slice = nullptr;  // [R] index into slices
    const SliceView* slices = nullptr;
    const std::int32_t* tables = nullptr;
    const std::int32_t* output_rows = nullptr;
    std::int32_t rows = 0;
    std::int32_t outputs = 0;
};

}  // namespace vitrine::cuda
