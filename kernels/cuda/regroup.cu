#include "kernels/cuda/formats.cuh"
#include "kernels/cuda/regroup.h"
#include "kernels/host/super_block_bits.h"

namespace vitrine::cuda {
namespace {

constexpr bool has_low(DType t) {
    return t == DType::Q4_0 || t == DType::Q4_1 || t == DType::Q5_0 || t == DType::Q5_1 ||
           t == DType::IQ4_NL || t == DType::Q4_K || t == DType::Q5_K || t == DType::Q6_K ||
           t == DType::IQ4_XS;
}
constexpr bool has_two(DType t) { return t == DType::Q2_K || t == DType::Q3_K || t == DType::Q6_K; }
constexpr bool has_one(DType t) {
    return t == DType::Q3_K || t == DType::Q5_0 || t == DType::Q5_1 || t == DType::Q5_K;
}
constexpr bool has_minimum(DType t) {
    return t == DType::Q4_1 || t == DType::Q5_1 || t == DType::Q2_K || t == DType::Q4_K || t == DType::Q5_K;
}

// Packs the 32 codes of a group into its planes. `codes` holds them as they are, 0 to 63.
__device__ void store_codes(const WeightView& w, std::int64_t group, const std::uint8_t* codes) {
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
__global__ void regroup_32(WeightView w, std::int64_t first_group, std::int64_t groups,
                           const std::byte* source, int block_bytes) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= groups) return;
    const std::int64_t group = first_group + i;
    const std::byte* p = source + i * block_bytes;
    reinterpret_cast<std::uint16_t*>(const_cast<std::uint8_t*>(w.scale))[group] = word_at(p);
    p += 2;
    if (w.minimum != nullptr) {
        reinterpret_cast<std::uint16_t*>(const_cast<std::uint8_t*>(w.minimum))[group] = word_at(p);
        p += 2;
    }
    if (w.type == DType::Q8_0) {
        for (int j = 0; j < 32; ++j)
            const_cast<std::uint8_t*>(w.bytes)[group * 32 + j] = static_cast<std::uint8_t>(p[j]);
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
    store_codes(w, group, codes);
}

template <DType kType>
__global__ void regroup_256(WeightView w, std::int64_t first_block, std::int64_t blocks,
                            const std::byte* source) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= blocks) return;
    const std::int64_t block = first_block + i;
    constexpr SuperBlockShape kShape = super_block_shape(kType);
    constexpr int kSubs = kSuperBlock / kShape.width;
    // A constant: called here, info_of() would build a string_view, which ends the kernel without a word.
    constexpr int kBytes = info_of(kType).bytes;
    SuperBlock b;
    super_block_bits::unpack_integers(kType, source + i * kBytes, b);
    auto* super = const_cast<std::uint16_t*>(w.super) + block * (kShape.minimum ? 2 : 1);
    const std::byte* d = source + i * kBytes + super_block_bits::place_of_d(kType);
    super[0] = word_at(d);
    if (kShape.minimum) super[1] = word_at(d + 2);
    for (int s = 0; s < kSubs; ++s) {
        const_cast<std::uint8_t*>(w.scale)[block * kSubs + s] = static_cast<std::uint8_t>(b.scale[s]);
        if (kShape.minimum) const_cast<std::uint8_t*>(w.minimum)[block * kSubs + s] = b.minimum[s];
    }
    for (int g = 0; g < 8; ++g) store_codes(w, block * 8 + g, b.code + 32 * g);
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
    const std::uint64_t groups = weights / 32;
    const bool super = info.block == kSuperBlock;
    const std::uint64_t subs =
        super ? weights / static_cast<std::uint64_t>(super_block_shape(type).width) : groups;
    const std::uint64_t scale_bytes = super ? 1 : 2;
    place(l.low, has_low(type), groups * 16);
    place(l.bytes, type == DType::Q8_0, weights);
    place(l.two, has_two(type), groups * 8);
    place(l.one, has_one(type), groups * 4);
    place(l.scale, true, subs * scale_bytes);
    place(l.minimum, has_minimum(type), subs * scale_bytes);
    place(l.super, super, weights / kSuperBlock * (has_minimum(type) ? 4 : 2));
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
    if (has_minimum(type)) v.minimum = p + l.minimum;
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
        regroup_32<<<grid, kThreads, 0, stream>>>(w, first * in_row, blocks, source, info.bytes);
        return;
    }
    const std::int64_t first_block = first * in_row;
    switch (w.type) {
        case DType::Q2_K: return launch_256<DType::Q2_K>(w, first_block, blocks, source, stream);
        case DType::Q3_K: return launch_256<DType::Q3_K>(w, first_block, blocks, source, stream);
        case DType::Q4_K: return launch_256<DType::Q4_K>(w, first_block, blocks, source, stream);
        case DType::Q5_K: return launch_256<DType::Q5_K>(w, first_block, blocks, source, stream);
        case DType::Q6_K: return launch_256<DType::Q6_K>(w, first_block, blocks, source, stream);
        default: return launch_256<DType::IQ4_XS>(w, first_block, blocks, source, stream);
    }
}

}  // namespace vitrine::cuda
