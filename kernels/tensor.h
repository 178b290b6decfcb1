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
    Q4_1,  // 32 weights: f16 scale d, f16 minimum m, nibbles; w = d·q + m; nibble order as Q4_0
};

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
    }
    return {"?", 1, 1};
}

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

// A matrix as it lies in a file or in ordinary memory. Borrowed: the owner outlives the view.
// A vector is a matrix of one row.
struct HostTensor {
    DType dtype = DType::F32;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    const std::byte* data = nullptr;  // rows × row_bytes(dtype, cols), any alignment

    // Rows [first, first + count), for projections that a file stores fused.
    HostTensor slice_rows(std::int64_t first, std::int64_t count) const {
        HostTensor t = *this;
        t.rows = count;
        t.data = data + static_cast<std::uint64_t>(first) * row_bytes(dtype, cols).value_or(0);
        return t;
    }
};

}  // namespace vitrine
