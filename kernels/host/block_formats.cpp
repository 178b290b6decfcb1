#include "kernels/host/block_formats.h"

#include <bit>

#include "kernels/host/half.h"
#include "kernels/host/super_block.h"

namespace vitrine {
namespace {

// d · (q − offset) + m for 32 five-bit codes: low four bits as in Q4_0, the fifth of code i in bit i of
// `high`.
void dequantize_five_bits(const std::byte* nibbles, std::uint32_t high, float d, int offset, float m,
                          float* out) {
    for (int i = 0; i < 16; ++i) {
        const int pair = static_cast<int>(nibbles[i]);
        const int low = (pair & 15) | static_cast<int>((high >> i) & 1U) << 4;
        const int upper = (pair >> 4) | static_cast<int>((high >> (i + 16)) & 1U) << 4;
        out[i] = d * static_cast<float>(low - offset) + m;
        out[i + 16] = d * static_cast<float>(upper - offset) + m;
    }
}

std::uint32_t load_u32(const std::byte* p) {
    std::uint32_t v = 0;
    std::memcpy(&v, p, sizeof v);
    return v;
}

void dequantize_super_block(DType type, const std::byte* block, float* out) {
    const SuperBlockShape shape = super_block_shape(type);
    SuperBlock b;
    unpack_super_block(type, block, b);
    for (int i = 0; i < kSuperBlock; ++i) {
        const int sub = i / shape.width;
        const int value = type == DType::IQ4_XS ? kIq4Values[b.code[i]] : b.code[i] - shape.offset;
        const float product = b.d * static_cast<float>(b.scale[sub]) * static_cast<float>(value);
        out[i] = shape.minimum ? product - b.dmin * static_cast<float>(b.minimum[sub]) : product;
    }
}

}  // namespace

// Micikevicius et al. 2022, "FP8 formats for deep learning".
float f8_to_float(std::uint8_t code) {
    const std::uint32_t sign = (code & 0x80U) << 24U;
    const std::uint32_t exponent = (code >> 3U) & 15U;
    const std::uint32_t mantissa = code & 7U;
    if ((code & 0x7FU) == 0x7FU) return std::bit_cast<float>(sign | 0x7FC00000U);
    if (exponent == 0) {  // zero and subnormals: an integer times 2^-9
        const float value = static_cast<float>(mantissa) * 0x1p-9F;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
    }
    return std::bit_cast<float>(sign | ((exponent + 120U) << 23U) | (mantissa << 20U));
}

void dequantize_row(DType type, const std::byte* row, std::int64_t cols, float* out) {
    const std::int64_t blocks = cols / info_of(type).block;
    switch (type) {
        case DType::F32: std::memcpy(out, row, static_cast<std::size_t>(cols) * sizeof(float)); return;
        case DType::F16:
            for (std::int64_t i = 0; i < cols; ++i) out[i] = half_to_float(load_u16(row + 2 * i));
            return;
        case DType::BF16:
            for (std::int64_t i = 0; i < cols; ++i) out[i] = bfloat_to_float(load_u16(row + 2 * i));
            return;
        case DType::Q8_0:
            for (std::int64_t b = 0; b < blocks; ++b, row += 34, out += 32) {
                const float d = half_to_float(load_u16(row));
                for (int i = 0; i < 32; ++i)
                    out[i] = d * static_cast<float>(static_cast<std::int8_t>(row[2 + i]));
            }
            return;
        case DType::Q4_0:
            for (std::int64_t b = 0; b < blocks; ++b, row += 18, out += 32) {
                const float d = half_to_float(load_u16(row));
                for (int i = 0; i < 16; ++i) {
                    const int pair = static_cast<int>(row[2 + i]);
                    out[i] = d * static_cast<float>((pair & 15) - 8);
                    out[i + 16] = d * static_cast<float>((pair >> 4) - 8);
                }
            }
            return;
        case DType::Q4_1:
            for (std::int64_t b = 0; b < blocks; ++b, row += 20, out += 32) {
                const float d = half_to_float(load_u16(row));
                const float m = half_to_float(load_u16(row + 2));
                for (int i = 0; i < 16; ++i) {
                    const int pair = static_cast<int>(row[4 + i]);
                    out[i] = d * static_cast<float>(pair & 15) + m;
                    out[i + 16] = d * static_cast<float>(pair >> 4) + m;
                }
            }
            return;
        case DType::Q5_0:
            for (std::int64_t b = 0; b < blocks; ++b, row += 22, out += 32)
                dequantize_five_bits(row + 6, load_u32(row + 2), half_to_float(load_u16(row)), 16, 0.0F, out);
            return;
        case DType::Q5_1:
            for (std::int64_t b = 0; b < blocks; ++b, row += 24, out += 32)
                dequantize_five_bits(row + 8, load_u32(row + 4), half_to_float(load_u16(row)), 0,
                                     half_to_float(load_u16(row + 2)), out);
            return;
        case DType::IQ4_NL:
            for (std::int64_t b = 0; b < blocks; ++b, row += 18, out += 32) {
                const float d = half_to_float(load_u16(row));
                for (int i = 0; i < 16; ++i) {
                    const auto pair = static_cast<unsigned>(row[2 + i]);
                    out[i] = d * static_cast<float>(kIq4Values[pair & 15U]);
                    out[i + 16] = d * static_cast<float>(kIq4Values[pair >> 4U]);
                }
            }
            return;
        case DType::Q2_K:
        case DType::Q3_K:
        case DType::Q4_K:
        case DType::Q5_K:
        case DType::Q6_K:
        case DType::IQ4_XS:
            for (std::int64_t b = 0; b < blocks; ++b, row += info_of(type).bytes, out += kSuperBlock)
                dequantize_super_block(type, row, out);
            return;
        case DType::F8_E4M3:
            for (std::int64_t i = 0; i < cols; ++i) out[i] = f8_to_float(static_cast<std::uint8_t>(row[i]));
            return;
        case DType::I8:
            for (std::int64_t i = 0; i < cols; ++i)
                out[i] = static_cast<float>(static_cast<std::int8_t>(row[i]));
            return;
    }
}

void dequantize_matrix_row(const HostTensor& t, std::int64_t row, float* out) {
    dequantize_row(t.dtype, t.data + static_cast<std::uint64_t>(row) * row_bytes(t.dtype, t.cols).value_or(0),
                   t.cols, out);
    if (!has_outside_scales(t.dtype)) return;
    for (std::int64_t c = 0; c < t.cols; ++c) out[c] *= t.scales.at(row, c, t.cols);
}

}  // namespace vitrine
