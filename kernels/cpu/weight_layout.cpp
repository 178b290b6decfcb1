#include "kernels/cpu/weight_layout.h"

#include <cstring>

#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"

namespace vitrine::cpu {
namespace {

void put(std::byte* p, std::uint16_t v) { std::memcpy(p, &v, sizeof v); }

void regroup_row(DType type, const std::byte* from, std::int64_t row, std::int64_t cols, std::byte* to) {
    if (!is_quantized(type)) {
        const auto size = static_cast<std::size_t>(info_of(type).bytes);
        for (std::int64_t k = 0; k < cols; ++k)
            std::memcpy(to + static_cast<std::size_t>(k * kGroup + row) * size,
                        from + static_cast<std::size_t>(k) * size, size);
        return;
    }
    for (std::int64_t b = 0; b < cols / kBlock; ++b, from += info_of(type).bytes) {
        std::byte* codes = to + code_offset(type, b) + 4 * row;
        std::byte* scales = to + scale_offset(type, b) + 2 * row;
        put(scales, load_u16(from));
        if (type == DType::Q8_0) {
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 4; ++j) codes[i * 64 + j] = from[2 + 4 * i + j] ^ std::byte{0x80};
            continue;
        }
        const int header = type == DType::Q4_1 ? 4 : 2;
        if (type == DType::Q4_1) put(scales + scale_bytes, load_u16(from + 2));
        for (int i = 0; i < 4; ++i) std::memcpy(codes + i * 64, from + header + 4 * i, 4);
    }
}

}  // namespace

void regroup(DType type, const std::byte* from, std::uint64_t row_stride, std::int64_t rows,
             std::int64_t cols, std::byte* to) {
    std::memset(to, 0, static_cast<std::size_t>(group_bytes(type, cols)));
    for (std::int64_t r = 0; r < rows; ++r)
        regroup_row(type, from + static_cast<std::uint64_t>(r) * row_stride, r, cols, to);
}

void read_grouped_row(DType type, const std::byte* group, std::int64_t row, std::int64_t cols, float* out) {
    if (!is_quantized(type)) {
        const std::byte* p = group + row * info_of(type).bytes;
        const std::int64_t step = kGroup * info_of(type).bytes;
        for (std::int64_t k = 0; k < cols; ++k, p += step) {
            if (type == DType::F32)
                std::memcpy(out + k, p, sizeof(float));
            else
                out[k] = type == DType::F16 ? half_to_float(load_u16(p)) : bfloat_to_float(load_u16(p));
        }
        return;
    }
    for (std::int64_t b = 0; b < cols / kBlock; ++b, out += kBlock) {
        const std::byte* codes = group + code_offset(type, b) + 4 * row;
        const std::byte* scales = group + scale_offset(type, b) + 2 * row;
        const float d = half_to_float(load_u16(scales));
        if (type == DType::Q8_0) {
            for (int i = 0; i < 32; ++i)
                out[i] = d * static_cast<float>(
                                 static_cast<std::int8_t>(codes[i / 4 * 64 + i % 4] ^ std::byte{0x80}));
            continue;
        }
        const float m = type == DType::Q4_1 ? half_to_float(load_u16(scales + scale_bytes)) : 0.0F;
        const int offset = type == DType::Q4_0 ? 8 : 0;
        for (int i = 0; i < 16; ++i) {
            const int pair = static_cast<int>(codes[i / 4 * 64 + i % 4]);
            out[i] = d * static_cast<float>((pair & 15) - offset) + m;
            out[i + 16] = d * static_cast<float>((pair >> 4) - offset) + m;
        }
    }
}

}  // namespace vitrine::cpu
