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

// One value of F8_E4M3, without its scale.
float f8_to_float(std::uint8_t code);

// out[cols]; `row` has any alignment. cols is a multiple of the format's block. Types with outside scales
// come out without them: see dequantize_matrix_row.
void dequantize_row(DType type, const std::byte* row, std::int64_t cols, float* out);

// Row `row` of a matrix with everything applied that belongs to its values.
void dequantize_matrix_row(const HostTensor& tensor, std::int64_t row, float* out);

}  // namespace vitrine
