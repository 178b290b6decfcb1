#include "kernels/host/block_formats.h"

#include "kernels/host/half.h"

namespace vitrine {

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
    }
}

}  // namespace vitrine
