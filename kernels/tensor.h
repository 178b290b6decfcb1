// Data types and views that every device understands.
//
// Quantized types are the block formats of the GGUF specification
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): a row is a sequence of blocks, a block holds
// `block` weights in `bytes` bytes. Row-major throughout: the last dimension is contiguous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vitrine {

enum class DType : std::uint8_t {
    F32,
    F16,
    BF16,
    Q8_0,  // 32 weights: f16 scale d, 32 × int8;              w = d·q
    Q4_0,  // 32 weights: f16 scale d, 16 bytes of nibbles;    w = d·(q − 8); byte j holds weights j (low) and
           // j+16 (high)
    Q4_1,    // 32 weights: f16 scale d, f16 minimum m, nibbles; w = d·q + m; nibble order as Q4_0
    Q5_0,    // 32 weights: f16 d, u32 fifth bits (bit j: weight j), nibbles;        w = d·(q − 16)
    Q5_1,    // 32 weights: f16 d, f16 m, u32 fifth bits, nibbles;                   w = d·q + m
    IQ4_NL,  // 32 weights: f16 d, nibbles as Q4_0, each an index into kIq4Values; w = d·value
    // 256 weights in sub-blocks of 16 or 32 with small integer scales; block_formats.cpp has the bit layouts.
    Q2_K,    // 16 × 16: w = d·s·q − dmin·m, 2 bits, s and m of 4 bits
    Q3_K,    // 16 × 16: w = d·s·(q − 4), 3 bits, s of 6 bits, signed
    Q4_K,    // 8 × 32:  w = d·s·q − dmin·m, 4 bits, s and m of 6 bits
    Q5_K,    // 8 × 32:  as Q4_K, 5 bits
    Q6_K,    // 16 × 16: w = d·s·(q − 32), 6 bits, s int8
    IQ4_XS,  // 8 × 32:  w = d·s·value, indices into kIq4Values, s of 6 bits, signed
    // Types of Hugging Face folders: a value times the scale that HostTensor::scales has for its place.
    F8_E4M3,  // 1 sign, 4 exponent (bias 7), 3 mantissa bits; no infinities, 0x7F and 0xFF are NaN
    I8,       // int8
};
constexpr int kDTypes = static_cast<int>(DType::I8) + 1;

struct DTypeInfo {
    std::string_view name;  // as users write it: "Q4_1"
    std::int32_t block;     // weights in a block
    std::int32_t bytes;     // bytes of a block
};

constexpr DTypeInfo info_of(DType type) {
    switch (type) {
        case DType::F32: return {"F32", 1, 4};
        case DType::F16: return {"F16", 1, 2};
        case DType::BF16: return {"BF16", 1, 2};
        case DType::Q8_0: return {"Q8_0", 32, 34};
        case DType::Q4_0: return {"Q4_0", 32, 18};
        case DType::Q4_1: return {"Q4_1", 32, 20};
        case DType::Q5_0: return {"Q5_0", 32, 22};
        case DType::Q5_1: return {"Q5_1", 32, 24};
        case DType::IQ4_NL: return {"IQ4_NL", 32, 18};
        case DType::Q2_K: return {"Q2_K", 256, 84};
        case DType::Q3_K: return {"Q3_K", 256, 110};
        case DType::Q4_K: return {"Q4_K", 256, 144};
        case DType::Q5_K: return {"Q5_K", 256, 176};
        case DType::Q6_K: return {"Q6_K", 256, 210};
        case DType::IQ4_XS: return {"IQ4_XS", 256, 136};
        case DType::F8_E4M3: return {"F8_E4M3", 1, 1};
        case DType::I8: return {"I8", 1, 1};
    }
    return {"?", 1, 1};
}

// Values whose scale lies beside them and not in the row.
constexpr bool has_outside_scales(DType type) { return type == DType::F8_E4M3 || type == DType::I8; }

// Bytes of one row of `cols` weights; nothing where cols is not a multiple of the block or the product wraps.
constexpr std::optional<std::uint64_t> row_bytes(DType type, std::int64_t cols) {
    const DTypeInfo info = info_of(type);
    if (cols < 0 || cols % info.block != 0) return std::nullopt;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(cols / info.block),
                               static_cast<std::uint64_t>(info.bytes), &bytes))
        return std::nullopt;
    return bytes;
}

// Scales of an F8_E4M3 or I8 matrix: one for each tile of tile_rows × tile_cols weights, [tiles of
// rows][tiles of columns] row-major; tiles at the right and lower edge may be cut. One scale for the whole
// matrix, for a row, or for a tile of 128 × 128 are the kinds that files have.
struct ScaleGrid {
    const float* values = nullptr;  // borrowed like the matrix
    std::int64_t tile_rows = 0;
    std::int64_t tile_cols = 0;
    std::int64_t first_row = 0;  // of the matrix in the grid, for a slice of rows

    float at(std::int64_t row, std::int64_t col, std::int64_t cols) const {
        const std::int64_t across = (cols + tile_cols - 1) / tile_cols;
        return values[(first_row + row) / tile_rows * across + col / tile_cols];
    }
};

// A matrix as it lies in a file or in ordinary memory. Borrowed: the owner outlives the view.
// A vector is a matrix of one row.
struct HostTensor {
    DType dtype = DType::F32;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    const std::byte* data = nullptr;  // rows × row_bytes(dtype, cols), any alignment
    ScaleGrid scales = {};            // where has_outside_scales(dtype)

    // Rows [first, first + count), for projections that a file stores fused.
    HostTensor slice_rows(std::int64_t first, std::int64_t count) const {
        HostTensor t = *this;
        t.rows = count;
        t.data = data + static_cast<std::uint64_t>(first) * row_bytes(dtype, cols).value_or(0);
        t.scales.first_row += first;
        return t;
    }
};

}  // namespace vitrine
