// Fresh random weights in every format, for the tests and the benchmark of the kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"
#include "kernels/tensor.h"

namespace vitrine::test {

struct OwnedTensor {
    DType dtype = DType::F32;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<std::byte> bytes;
    // Of F8_E4M3 and I8.
    std::vector<float> scales = {};
    std::int64_t tile_rows = 0;
    std::int64_t tile_cols = 0;

    HostTensor view() const {
        return {dtype, rows, cols, bytes.data(), {scales.data(), tile_rows, tile_cols, 0}};
    }
    // The weights as float32, row-major.
    std::vector<float> values() const {
        std::vector<float> out(static_cast<std::size_t>(rows * cols));
        for (std::int64_t r = 0; r < rows; ++r) dequantize_matrix_row(view(), r, out.data() + r * cols);
        return out;
    }
};

inline void put_u16(std::byte* p, std::uint16_t v) { std::memcpy(p, &v, sizeof v); }

// Gives a matrix with outside scales random ones of about `size`, for tiles of rows × cols.
template <class Random>
void set_tiles(OwnedTensor& t, std::int64_t rows, std::int64_t cols, float size, Random& random) {
    std::uniform_real_distribution<float> spread(0.5F, 1.5F);
    t.tile_rows = rows;
    t.tile_cols = cols;
    t.scales.resize(static_cast<std::size_t>((t.rows + rows - 1) / rows * ((t.cols + cols - 1) / cols)));
    for (float& s : t.scales) s = size * spread(random);
}

// Where a block has its d, and its dmin or m (−1: none), and the spread of (scale times) its codes.
struct ScalePlace {
    int d;
    int m;
    float levels;
};
constexpr ScalePlace scale_place(DType type) {
    switch (type) {
        case DType::Q8_0: return {0, -1, 73.0F};
        case DType::Q4_0: return {0, -1, 4.6F};
        case DType::Q4_1: return {0, 2, 4.6F};
        case DType::Q5_0: return {0, -1, 9.2F};
        case DType::Q5_1: return {0, 2, 9.2F};
        case DType::IQ4_NL: return {0, -1, 70.0F};
        case DType::Q2_K: return {80, 82, 1.1F * 8};
        case DType::Q3_K: return {108, -1, 2.3F * 18};
        case DType::Q4_K: return {0, 2, 4.6F * 36};
        case DType::Q5_K: return {0, 2, 9.2F * 36};
        case DType::Q6_K: return {208, -1, 18.0F * 73};
        case DType::IQ4_XS: return {0, -1, 70.0F * 18};
        default: return {-1, -1, 1.0F};
    }
}

// Weights of about normal spread `sigma`; quantized formats get random codes and scales of that size. F8_E4M3
// and I8 get one scale.
template <class Random>
OwnedTensor random_tensor(DType type, std::int64_t rows, std::int64_t cols, float sigma, Random& random) {
    OwnedTensor t{type, rows, cols, {}};
    const DTypeInfo info = info_of(type);
    const ScalePlace place = scale_place(type);
    t.bytes.resize(static_cast<std::size_t>(rows) * row_bytes(type, cols).value_or(0));
    std::normal_distribution<float> normal(0.0F, sigma);
    std::uniform_real_distribution<float> spread(0.5F, 1.5F);
    const std::size_t blocks = t.bytes.size() / static_cast<std::size_t>(info.bytes);
    for (std::size_t b = 0; b < blocks; ++b) {
        std::byte* p = t.bytes.data() + b * static_cast<std::size_t>(info.bytes);
        if (type == DType::F32) {
            const float v = normal(random);
            std::memcpy(p, &v, sizeof v);
        } else if (type == DType::F16) {
            put_u16(p, float_to_half(normal(random)));
        } else if (type == DType::BF16) {
            put_u16(p, float_to_bfloat(normal(random)));
        } else {
            for (int i = 0; i < info.bytes; i += 4) {
                const auto word = static_cast<std::uint32_t>(random());
                std::memcpy(p + i, &word, static_cast<std::size_t>(std::min(4, info.bytes - i)));
            }
            if (type == DType::F8_E4M3 && (*p & std::byte{0x7F}) == std::byte{0x7F}) *p ^= std::byte{1};
            if (place.d < 0) continue;
            const float d = sigma * spread(random) / place.levels;
            put_u16(p + place.d, float_to_half(d));
            // Minima of the K formats are subtracted, the others added.
            const float m = info.block == 256
                                ? 2.0F * d
                                : -0.5F * static_cast<float>((type == DType::Q4_1 ? 15 : 31)) * d;
            if (place.m >= 0) put_u16(p + place.m, float_to_half(m * spread(random)));
        }
    }
    if (has_outside_scales(type))
        set_tiles(t, rows, cols, sigma / (type == DType::I8 ? 73.0F : 100.0F), random);
    return t;
}

template <class Random>
std::vector<float> random_floats(std::size_t count, float sigma, Random& random) {
    std::normal_distribution<float> normal(0.0F, sigma);
    std::vector<float> out(count);
    for (float& v : out) v = normal(random);
    return out;
}

inline OwnedTensor vector_tensor(const std::vector<float>& values) {
    OwnedTensor t{DType::F32, 1, static_cast<std::int64_t>(values.size()), {}};
    t.bytes.resize(values.size() * sizeof(float));
    std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
    return t;
}

}  // namespace vitrine::test
