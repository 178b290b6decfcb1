#include "kernels/cpu/weight_layout.h"

#include <array>
#include <cstring>

#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"
#include "kernels/host/super_block.h"

namespace vitrine::cpu {
namespace {

using Word = std::uint32_t;  // four codes or bytes of a row

Word load(const std::byte* p) {
    Word v = 0;
    std::memcpy(&v, p, sizeof v);
    return v;
}
void store(std::byte* p, Word v) { std::memcpy(p, &v, sizeof v); }
void copy_half(std::byte* to, const std::byte* from) { std::memcpy(to, from, 2); }

// Bit 4i + j of the index goes to bit i of byte j, for the two i that a byte holds.
constexpr std::array<Word, 256> make_spread() {
    std::array<Word, 256> table{};
    for (unsigned v = 0; v < 256; ++v)
        for (unsigned bit = 0; bit < 8; ++bit) table[v] |= (v >> bit & 1U) << (bit % 4 * 8 + bit / 4);
    return table;
}
constexpr std::array<Word, 256> kSpread = make_spread();

// The high bits of a row's block, from a word that has them in the inputs' order.
Word spread_bits(Word bits) {
    return kSpread[bits & 255U] | kSpread[bits >> 8 & 255U] << 2 | kSpread[bits >> 16 & 255U] << 4 |
           kSpread[bits >> 24] << 6;
}

// Nibbles of a block from 32 bytes that have them `shift` bits up.
void put_nibbles(std::byte* codes, const std::byte* from, int shift) {
    constexpr Word kLow = 0x0F0F0F0FU;
    for (int i = 0; i < 4; ++i)
        store(codes + 64 * i, (load(from + 4 * i) >> shift & kLow) | (load(from + 16 + 4 * i) >> shift & kLow)
                                                                         << 4);
}

// Two-bit codes of a block from 32 bytes that have them `shift` bits up.
void put_pairs(std::byte* codes, const std::byte* from, int shift) {
    constexpr Word kLow = 0x03030303U;
    for (int p = 0; p < 2; ++p) {
        Word word = 0;
        for (int i = 0; i < 4; ++i) word |= (load(from + 16 * p + 4 * i) >> shift & kLow) << (2 * i);
        store(codes + 64 * p, word);
    }
}

// Single bits of a block from 32 bytes that have them `shift` bits up.
void put_bits(std::byte* codes, const std::byte* from, int shift) {
    constexpr Word kLow = 0x01010101U;
    Word word = 0;
    for (int i = 0; i < 8; ++i) word |= (load(from + 4 * i) >> shift & kLow) << i;
    store(codes, word);
}

// One block of 32 of a row: `codes` and `scales` at the row's place.
template <DType kType>
void put_block(const std::byte* from, std::byte* codes, std::byte* scales) {
    copy_half(scales, from);
    if constexpr (kType == DType::Q8_0) {
        for (int i = 0; i < 8; ++i) store(codes + 64 * i, load(from + 2 + 4 * i) ^ 0x80808080U);
    } else {
        constexpr CodeLayout kLayout = code_layout(kType);
        constexpr int kHeader = kLayout.minimum ? 4 : 2;
        constexpr int kNibbles = kHeader + 4 * kLayout.high_bits;
        if constexpr (kLayout.minimum) copy_half(scales + 2 * kGroup, from + 2);
        if constexpr (kLayout.high_bits == 1)
            store(codes + kLayout.low_bytes(), spread_bits(load(from + kHeader)));
        for (int i = 0; i < 4; ++i) store(codes + 64 * i, load(from + kNibbles + 4 * i));
    }
}

// Scales and minima of the eight blocks of a super-block, and d and dmin. super_block.cpp says where they
// are.
template <DType kType>
void put_super_scales(const std::byte* from, std::int64_t row, std::byte* scales, std::byte* unit_scales) {
    constexpr CodeLayout kLayout = code_layout(kType);
    const auto at = [&](int block, int which) -> std::byte& {
        return scales[block * kLayout.scale_bytes + which * kGroup + row];
    };
    const auto byte = [&](int i) { return static_cast<unsigned>(from[i]); };
    const auto small = [](int v) { return static_cast<std::byte>(static_cast<std::uint8_t>(v)); };
    if constexpr (kType == DType::Q4_K || kType == DType::Q5_K) {
        copy_half(unit_scales + 2 * row, from);
        copy_half(unit_scales + 2 * kGroup + 2 * row, from + 2);
        for (int i = 0; i < 4; ++i) {
            const unsigned s = byte(4 + i);
            const unsigned m = byte(8 + i);
            const unsigned low = byte(12 + i);
            at(i, 0) = static_cast<std::byte>(s & 63U);
            at(i, 1) = static_cast<std::byte>(m & 63U);
            at(i + 4, 0) = static_cast<std::byte>((low & 15U) | s >> 6 << 4);
            at(i + 4, 1) = static_cast<std::byte>(low >> 4 | m >> 6 << 4);
        }
    } else if constexpr (kType == DType::Q6_K) {
        copy_half(unit_scales + 2 * row, from + 208);
        for (int i = 0; i < 16; ++i) at(i / 2, i % 2) = from[192 + i];
    } else if constexpr (kType == DType::Q3_K) {
        copy_half(unit_scales + 2 * row, from + 108);
        for (int i = 0; i < 16; ++i) {
            const unsigned low = byte(96 + i % 8) >> (i / 8 * 4) & 15U;
            const unsigned high = byte(104 + i % 4) >> (i / 4 * 2) & 3U;
            at(i / 2, i % 2) = small(static_cast<int>(low | high << 4) - 32);
        }
    } else if constexpr (kType == DType::Q2_K) {
        copy_half(unit_scales + 2 * row, from + 80);
        copy_half(unit_scales + 2 * kGroup + 2 * row, from + 82);
        for (int i = 0; i < 16; ++i) at(i / 2, i % 2) = from[i];
    } else {
        copy_half(unit_scales + 2 * row, from);
        const unsigned high = load_u16(from + 2);
        for (int i = 0; i < 8; ++i) {
            const unsigned low = byte(4 + i / 2) >> (i % 2 * 4) & 15U;
            at(i, 0) = small(static_cast<int>(low | (high >> (2 * i) & 3U) << 4) - 32);
        }
    }
}

template <DType kType>
void put_super_codes(const std::byte* from, std::byte* codes) {
    constexpr CodeLayout kLayout = code_layout(kType);
    for (int b = 0; b < 8; ++b, codes += kLayout.code_bytes()) {
        std::byte* high = codes + kLayout.low_bytes();
        if constexpr (kType == DType::Q4_K) {
            put_nibbles(codes, from + 16 + b / 2 * 32, b % 2 * 4);
        } else if constexpr (kType == DType::Q5_K) {
            put_nibbles(codes, from + 48 + b / 2 * 32, b % 2 * 4);
            put_bits(high, from + 16, b);
        } else if constexpr (kType == DType::Q6_K) {
            put_nibbles(codes, from + b / 4 * 64 + b % 2 * 32, b % 4 / 2 * 4);
            put_pairs(high, from + 128 + b / 4 * 32, b % 4 * 2);
        } else if constexpr (kType == DType::Q3_K) {
            put_pairs(codes, from + 32 + b / 4 * 32, b % 4 * 2);
            put_bits(high, from, b);
        } else if constexpr (kType == DType::Q2_K) {
            put_pairs(codes, from + 16 + b / 4 * 32, b % 4 * 2);
        } else {
            for (int i = 0; i < 4; ++i) store(codes + 64 * i, load(from + 8 + 16 * b + 4 * i));
        }
    }
}

// A unit at a time for all rows, so that what is written stays in the first-level cache.
template <DType kType>
void regroup_codes(const std::byte* from, std::uint64_t row_stride, std::int64_t rows, std::int64_t cols,
                   std::byte* to) {
    constexpr CodeLayout kLayout = code_layout(kType);
    constexpr std::int64_t kBytes = info_of(kType).bytes;
    const std::int64_t blocks = cols / kBlock;
    if constexpr (info_of(kType).block == kSuperBlock) {
        for (std::int64_t u = 0; u < blocks / 8; ++u)
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::byte* p = from + static_cast<std::uint64_t>(r) * row_stride + u * kBytes;
                put_super_codes<kType>(p, to + kLayout.code_offset(8 * u) + 4 * r);
                put_super_scales<kType>(p, r, to + kLayout.scale_offset(8 * u),
                                        to + kLayout.unit_scale_offset(blocks, u));
            }
    } else {
        constexpr std::int64_t kStep = 8;
        for (std::int64_t first = 0; first < blocks; first += kStep)
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t b = first; b < first + kStep && b < blocks; ++b)
                    put_block<kType>(from + static_cast<std::uint64_t>(r) * row_stride + b * kBytes,
                                     to + kLayout.code_offset(b) + 4 * r,
                                     to + kLayout.scale_offset(b) + 2 * r);
    }
}

// int8 rows of any length; inputs beyond the row are zero.
void regroup_bytes(const std::byte* from, std::uint64_t row_stride, std::int64_t rows, std::int64_t cols,
                   std::byte* to) {
    for (std::int64_t r = 0; r < kGroup; ++r) {
        const std::byte* row = from + static_cast<std::uint64_t>(r < rows ? r : 0) * row_stride;
        for (std::int64_t k = 0; k < blocks_of(cols) * kBlock; k += 4) {
            Word word = 0;
            const std::int64_t count = r >= rows ? 0 : (cols - k < 4 ? cols - k : 4);
            if (count == 4)
                word = load(row + k);
            else if (count > 0)
                std::memcpy(&word, row + k, static_cast<std::size_t>(count));
            store(to + k / 4 * 64 + 4 * r, word ^ 0x80808080U);
        }
    }
}

template <class Element>
void regroup_elements(const std::byte* from, std::uint64_t row_stride, std::int64_t rows, std::int64_t cols,
                      std::byte* to) {
    constexpr std::int64_t kStep = 64;  // inputs: a cache line or more of every row, and of the group a few
    for (std::int64_t first = 0; first < cols; first += kStep) {
        const std::int64_t last = first + kStep < cols ? first + kStep : cols;
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::byte* p = from + static_cast<std::uint64_t>(r) * row_stride;
            for (std::int64_t k = first; k < last; ++k)
                std::memcpy(to + (k * kGroup + r) * static_cast<std::int64_t>(sizeof(Element)),
                            p + k * static_cast<std::int64_t>(sizeof(Element)), sizeof(Element));
        }
    }
}

float float_at(const std::byte* p) {
    float v = 0;
    std::memcpy(&v, p, sizeof v);
    return v;
}

void read_floats(DType type, const std::byte* group, std::int64_t row, std::int64_t cols, float* out) {
    const std::byte* p = group + row * info_of(type).bytes;
    const std::int64_t step = kGroup * info_of(type).bytes;
    for (std::int64_t k = 0; k < cols; ++k, p += step) {
        switch (type) {
            case DType::F32: out[k] = float_at(p); break;
            case DType::F16: out[k] = half_to_float(load_u16(p)); break;
            case DType::BF16: out[k] = bfloat_to_float(load_u16(p)); break;
            default: out[k] = f8_to_float(static_cast<std::uint8_t>(*p)); break;
        }
    }
}

int offset_of(DType type) {
    switch (type) {
        case DType::Q8_0:
        case DType::I8: return 128;
        case DType::Q4_0: return 8;
        case DType::Q5_0: return 16;
        default: return super_block_shape(type).offset;
    }
}

// The same arithmetic as in block_formats.cpp, so that rows come back bit for bit.
void read_codes(DType type, const std::byte* group, std::int64_t row, std::int64_t cols, float* out) {
    const CodeLayout layout = code_layout(type);
    const std::int64_t blocks = blocks_of(cols);
    const bool super = is_super_block(type);
    const int offset = layout.minimum || is_iq4(type) ? 0 : offset_of(type);
    for (std::int64_t k = 0; k < cols; ++k) {
        const std::int64_t b = k / kBlock;
        const int i = static_cast<int>(k % kBlock);
        const std::byte* scales = group + layout.scale_offset(b);
        const unsigned code = code_at(layout, group + layout.code_offset(b) + 4 * row, i);
        const auto value =
            static_cast<float>(is_iq4(type) ? kIq4Values[code] : static_cast<int>(code) - offset);
        if (type == DType::I8) {
            out[k] = value;
        } else if (!super) {
            const float d = half_to_float(load_u16(scales + 2 * row));
            out[k] = d * value;
            if (type == DType::Q5_0) out[k] += 0.0F;  // no negative zeros
            if (layout.minimum) out[k] += half_to_float(load_u16(scales + 2 * kGroup + 2 * row));
        } else {
            const std::byte* unit = group + layout.unit_scale_offset(blocks, b / layout.unit);
            const float d = half_to_float(load_u16(unit + 2 * row));
            const auto packed = static_cast<std::uint8_t>(scales[i / layout.width * kGroup + row]);
            if (!layout.minimum) {
                out[k] = d * static_cast<float>(static_cast<std::int8_t>(packed)) * value;
                continue;
            }
            const float dmin = half_to_float(load_u16(unit + 2 * kGroup + 2 * row));
            const bool nibbles = type == DType::Q2_K;
            const unsigned scale = nibbles ? packed & 15U : packed;
            const unsigned minimum = nibbles ? packed >> 4U : static_cast<unsigned>(scales[kGroup + row]);
            out[k] = d * static_cast<float>(scale) * value - dmin * static_cast<float>(minimum);
        }
    }
}

}  // namespace

void regroup(DType type, const std::byte* from, std::uint64_t row_stride, std::int64_t rows,
             std::int64_t cols, std::byte* to) {
    const CodeLayout layout = code_layout(type);
    const bool whole = rows == kGroup && (layout.low_bits == 0 || blocks_of(cols) % layout.unit == 0);
    if (!whole) std::memset(to, 0, static_cast<std::size_t>(outside_scale_offset(type, cols)));
    switch (type) {
        case DType::F32: regroup_elements<std::uint32_t>(from, row_stride, rows, cols, to); return;
        case DType::F16:
        case DType::BF16: regroup_elements<std::uint16_t>(from, row_stride, rows, cols, to); return;
        case DType::F8_E4M3: regroup_elements<std::uint8_t>(from, row_stride, rows, cols, to); return;
        case DType::I8: regroup_bytes(from, row_stride, rows, cols, to); return;
        case DType::Q8_0: regroup_codes<DType::Q8_0>(from, row_stride, rows, cols, to); return;
        case DType::Q4_0:
        case DType::IQ4_NL: regroup_codes<DType::Q4_0>(from, row_stride, rows, cols, to); return;
        case DType::Q4_1: regroup_codes<DType::Q4_1>(from, row_stride, rows, cols, to); return;
        case DType::Q5_0: regroup_codes<DType::Q5_0>(from, row_stride, rows, cols, to); return;
        case DType::Q5_1: regroup_codes<DType::Q5_1>(from, row_stride, rows, cols, to); return;
        case DType::Q2_K: regroup_codes<DType::Q2_K>(from, row_stride, rows, cols, to); return;
        case DType::Q3_K: regroup_codes<DType::Q3_K>(from, row_stride, rows, cols, to); return;
        case DType::Q4_K: regroup_codes<DType::Q4_K>(from, row_stride, rows, cols, to); return;
        case DType::Q5_K: regroup_codes<DType::Q5_K>(from, row_stride, rows, cols, to); return;
        case DType::Q6_K: regroup_codes<DType::Q6_K>(from, row_stride, rows, cols, to); return;
        case DType::IQ4_XS: regroup_codes<DType::IQ4_XS>(from, row_stride, rows, cols, to); return;
    }
}

void read_grouped_row(DType type, const std::byte* group, std::int64_t row, std::int64_t cols,
                      std::int64_t tile, float* out) {
    if (is_quantized(type))
        read_codes(type, group, row, cols, out);
    else
        read_floats(type, group, row, cols, out);
    if (!has_outside_scales(type)) return;
    const std::byte* scales = group + outside_scale_offset(type, cols) + 4 * row;
    for (std::int64_t k = 0; k < cols; ++k) out[k] *= float_at(scales + k / tile * kGroup * 4);
}

}  // namespace vitrine::cpu
