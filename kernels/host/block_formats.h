// The block formats of GGUF as they lie in a file, one row at a time. Portable and exact: each weight is the
// float32 value of its formula in tensor.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/tensor.h"

namespace vitrine {

inline std::uint16_t load_u16(const std::byte* p) {
    std::uint16_t v = 0;
    std::memcpy(&v, p, sizeof v);
    return v;
}

// out[cols]; `row` has any alignment. cols is a multiple of the format's block.
void dequantize_row(DType type, const std::byte* row, std::int64_t cols, float* out);

}  // namespace vitrine
