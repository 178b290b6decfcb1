// Fresh random weights in every format, for the tests and the benchmark of the kernels.
#pragma once

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

    HostTensor view() const { return {dtype, rows, cols, bytes.data()}; }
    // The weights as float32, row-major.
    std::vector<float> values() const {
        std::vector<float> out(static_cast<std::size_t>(rows * cols));
        const std::uint64_t stride = row_bytes(dtype, cols).value_or(0);
        for (std::int64_t r = 0; r < rows; ++r)
            dequantize_row(dtype, bytes.data() + static_cast<std::uint64_t>(r) * stride, cols,
                           out.data() + r * cols);
        return out;
    }
};

inline void put_u16(std::byte* p, std::uint16_t v) { std::memcpy(p, &v, sizeof v); }

// Weights of about normal spread `sigma`; quantized formats get random codes and scales of that size.
template <class Random>
OwnedTensor random_tensor(DType type, std::int64_t rows, std::int64_t cols, float sigma, Random& random) {
    OwnedTensor t{type, rows, cols, {}};
    const DTypeInfo info = info_of(type);
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
            const float levels = type == DType::Q8_0 ? 73.0F : 4.6F;  // standard deviation of the codes
            const float d = sigma * spread(random) / levels;
            put_u16(p, float_to_half(d));
            if (type == DType::Q4_1) put_u16(p + 2, float_to_half(-7.5F * d * spread(random)));
        }
    }
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
