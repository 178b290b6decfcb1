#include "kernels/cuda/formats.cuh"
#include "kernels/cuda/regroup.h"
#include "kernels/host/super_block_bits.h"

namespace vitrine::cuda {
namespace {

// Packs the 32 codes of a group into its planes. `codes` holds them as they are, 0 to 63.
__device__ void store_codes(const WeightView& w, std::int64_t row, int g, const std::uint8_t* codes) {
    const std::int64_t group = code_place(row, g, w.cols / 32);
    if (w.low != nullptr) {
        auto* out = const_cast<std::uint8_t*>(w.low) + group * 16;
        for (int j = 0; j < 16; ++j)
            out[j] = static_cast<std::uint8_t>((codes[j] & 15U) | (codes[j + 16] & 15U) << 4U);
    }
    if (w.two != nullptr) {
        const int shift = w.type == DType::Q6_K ? 4 : 0;
        auto* out = const_cast<std::uint8_t*>(w.two) + group * 8;
        for (int j = 0; j < 2; ++j)
            for (int b = 0; b < 4; ++b) {
                unsigned v = 0;
                for (int f = 0; f < 4; ++f) v |= ((codes[4 * (4 * j + f) + b] >> shift) & 3U) << (2 * f);
                out[4 * j + b] = static_cast<std::uint8_t>(v);
            }
    }
    if (w.one != nullptr) {
        const int shift = w.type == DType::Q3_K ? 2 : 4;
        auto* out = const_cast<std::uint8_t*>(w.one) + group * 4;
        for (int b = 0; b < 4; ++b) {
            unsigned v = 0;
            for (int f = 0; f < 8; ++f) v |= ((codes[4 * f + b] >> shift) & 1U) << f;
            out[b] = static_cast<std::uint8_t>(v);
        }
    }
}

__device__ std::uint16_t word_at(const std::byte* p) { return super_block_bits::word(p); }

// Formats of 32 weights: [d][m, where it has one][fifth bits, where it has them][codes].
__global__ void regroup_32(WeightView w, std::int64_t first_row, std::int64_t blocks, const std::byte* source,
                           int block_bytes) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= blocks) return;
    const int groups = w.cols / 32;
    const std::int64_t row = first_row + i / groups;
    const auto g = static_cast<int>(i % groups);
    const std::byte* p = source + i * block_bytes;
    const int numbers = has_minimum(w.type) ? 2 : 1;
    auto* scale = reinterpret_cast<std::uint16_t*>(const_cast<std::uint8_t*>(w.scale)) +
                  scale_place(row, g, groups) * numbers;
    for (int j = 0; j < numbers; ++j, p += 2) scale[j] = word_at(p);
    if (w.type == DType::Q8_0) {
        for (int j = 0; j < 32; ++j)
            const_cast<std::uint8_t*>(w.bytes)[byte_place(row, g, j / 16, groups) * 16 + j % 16] =
                static_cast<std::uint8_t>(p[j]);
        return;
    }
    unsigned fifth = 0;
    if (w.one != nullptr) {
        fifth = word_at(p) | static_cast<unsigned>(word_at(p + 2)) << 16U;
        p += 4;
    }
    std::uint8_t codes[32];
    for (int j = 0; j < 16; ++j) {
        const auto pair = static_cast<unsigned>(p[j]);
        codes[j] = static_cast<std::uint8_t>((pair & 15U) | ((fifth >> j) & 1U) << 4U);
        codes[j + 16] = static_cast<std::uint8_t>(pair >> 4U | ((fifth >> (j + 16)) & 1U) << 4U);
    }
    store_codes(w, row, g, codes);
}

template <DType kType>
__global__ void regroup_256(WeightView w, std::int64_t first_row, std::int64_t blocks,
                            const std::byte* source) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= blocks) return;
    const int in_row = w.cols / kSuperBlock;
    const std::int64_t row = first_row + i / in_row;
    const auto block = static_cast<int>(i % in_row);
    constexpr SuperBlockShape kShape = super_block_shape(kType);
    // A constant: called here, info_of() would build a string_view, which ends the kernel without a word.
    constexpr int kBytes = info_of(kType).bytes;
    SuperBlock b;
    super_block_bits::unpack_integers(kType, source + i * kBytes, b);
    auto* super =
        const_cast<std::uint16_t*>(w.super) + super_place(row, block, in_row) * (kShape.minimum ? 2 : 1);
    const std::byte* d = source + i * kBytes + super_block_bits::place_of_d(kType);
    super[0] = word_at(d);
    if (kShape.minimum) super[1] = word_at(d + 2);
    for (int g = 0; g < 8; ++g) {
        const int group = block * 8 + g;
        store_codes(w, row, group, b.code + 32 * g);
        auto* small =
            const_cast<std::uint8_t*>(w.scale) + scale_place(row, group, w.cols / 32) * scale_bytes(kType);
        if constexpr (kShape.width == 32) {
            small[0] = static_cast<std::uint8_t>(b.scale[g]);
            if (kShape.minimum) small[1] = b.minimum[g];
        } else {
            for (int i = 0; i < 2; ++i) {
                const auto s = static_cast<std::uint8_t>(b.scale[2 * g + i]);
                small[i] = kShape.minimum ? static_cast<std::uint8_t>(s | b.minimum[2 * g + i] << 4U) : s;
            }
        }
    }
}

template <DType kType>
void launch_256(const WeightView& w, std::int64_t first, std::int64_t blocks, const std::byte* source,
                cudaStream_t stream) {
    constexpr unsigned kThreads = 128;
    regroup_256<kType><<<static_cast<unsigned>((blocks + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        w, first, blocks, source);
}

}  // namespace

PlaneLayout plane_layout(DType type, std::int64_t rows, std::int64_t cols, std::int64_t grid_values) {
    PlaneLayout l;
    const auto place = [&](std::uint64_t& offset, bool there, std::uint64_t bytes) {
        offset = l.total;
        if (there) l.total += (bytes + 255) / 256 * 256;
    };
    const DTypeInfo info = info_of(type);
    const auto weights = static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols);
    if (info.block == 1) {
        place(l.bytes, true, weights * static_cast<std::uint64_t>(info.bytes));
        place(l.grid, grid_values > 0, static_cast<std::uint64_t>(grid_values) * sizeof(float));
        return l;
    }
    const std::uint64_t filled = static_cast<std::uint64_t>(panels_of(rows) * kPanelRows * cols);
    const std::uint64_t groups = filled / 32;
    place(l.low, has_low(type), groups * 16);
    place(l.bytes, type == DType::Q8_0, filled);
    place(l.two, has_two(type), groups * 8);
    place(l.one, has_one(type), groups * 4);
    place(l.scale, true, groups * static_cast<std::uint64_t>(scale_bytes(type)));
    place(l.super, has_super(type), filled / kSuperBlock * (has_minimum(type) ? 4 : 2));
    return l;
}

WeightView view_planes(DType type, std::int64_t rows, std::int64_t cols, const PlaneLayout& l,
                       std::byte* base) {
    auto* p = reinterpret_cast<std::uint8_t*>(base);
    WeightView v;
    v.type = type;
    v.rows = static_cast<std::int32_t>(rows);
    v.cols = static_cast<std::int32_t>(cols);
    if (info_of(type).block == 1) {
        v.bytes = p + l.bytes;
        if (has_outside_scales(type)) v.grid = reinterpret_cast<const float*>(p + l.grid);
        return v;
    }
    if (has_low(type)) v.low = p + l.low;
    if (type == DType::Q8_0) v.bytes = p + l.bytes;
    if (has_two(type)) v.two = p + l.two;
    if (has_one(type)) v.one = p + l.one;
    v.scale = p + l.scale;
    if (is_super_block(type)) v.super = reinterpret_cast<const std::uint16_t*>(p + l.super);
    return v;
}

void regroup(const WeightView& w, std::int64_t first, std::int64_t count, const std::byte* source,
             cudaStream_t stream) {
    const DTypeInfo info = info_of(w.type);
    constexpr unsigned kThreads = 128;
    if (info.block == 1) {
        const std::uint64_t row = static_cast<std::uint64_t>(w.cols) * static_cast<std::uint64_t>(info.bytes);
        cudaMemcpyAsync(const_cast<std::uint8_t*>(w.bytes) + static_cast<std::uint64_t>(first) * row, source,
                        static_cast<std::uint64_t>(count) * row, cudaMemcpyDeviceToDevice, stream);
        return;
    }
    const std::int64_t in_row = w.cols / info.block;
    const std::int64_t blocks = count * in_row;
    const auto grid = static_cast<unsigned>((blocks + kThreads - 1) / kThreads);
    if (info.block == 32) {
        regroup_32<<<grid, kThreads, 0, stream>>>(w, first, blocks, source, info.bytes);
        return;
    }
    switch (w.type) {
        case DType::Q2_K: return launch_256<DType::Q2_K>(w, first, blocks, source, stream);
        case DType::Q3_K: return launch_256<DType::Q3_K>(w, first, blocks, source, stream);
        case DType::Q4_K: return launch_256<DType::Q4_K>(w, first, blocks, source, stream);
        case DType::Q5_K: return launch_256<DType::Q5_K>(w, first, blocks, source, stream);
        case DType::Q6_K: return launch_256<DType::Q6_K>(w, first, blocks, source, stream);
        default: return launch_256<DType::IQ4_XS>(w, first, blocks, source, stream);
    }
}

}  // namespace vitrine::cuda
