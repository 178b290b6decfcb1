// How the bits of the 256-wide block formats lie, as constant expressions: the same code serves the processor
// and the kernels of other devices. Use super_block.h unless you write such a kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/host/super_block.h"

namespace vitrine::super_block_bits {

using Bytes = const std::byte*;

constexpr unsigned at(Bytes p, int i) { return static_cast<unsigned>(p[i]); }
constexpr std::uint8_t small(unsigned v) { return static_cast<std::uint8_t>(v); }
constexpr std::uint16_t word(Bytes p) { return static_cast<std::uint16_t>(at(p, 0) | at(p, 1) << 8U); }

// Code i of a format that stacks its 2-bit parts: 128 codes share 32 bytes, four to a byte.
constexpr unsigned two_bits(Bytes p, int i) {
    return (at(p, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2)) & 3U;
}

// [16 scales, low nibble: scale, high: minimum][64 codes][d][dmin]
constexpr void unpack_q2(Bytes p, SuperBlock& out) {
    for (int i = 0; i < 16; ++i) {
        out.scale[i] = static_cast<std::int16_t>(at(p, i) & 15U);
        out.minimum[i] = small(at(p, i) >> 4U);
    }
    for (int i = 0; i < kSuperBlock; ++i) out.code[i] = small(two_bits(p + 16, i));
}

// [32 bytes of third bits][64 codes][12 bytes of scales][d]. Bit i / 32 of byte i % 32 is the third bit of
// code i. Scale i: low four bits in byte i % 8 (upper half of it for i >= 8), high two in byte 8 + i % 4.
constexpr void unpack_q3(Bytes p, SuperBlock& out) {
    for (int i = 0; i < kSuperBlock; ++i)
        out.code[i] = small(two_bits(p + 32, i) | ((at(p, i % 32) >> (i / 32)) & 1U) << 2U);
    const Bytes scales = p + 96;
    for (int i = 0; i < 16; ++i) {
        const unsigned low = (at(scales, i % 8) >> (i / 8 * 4)) & 15U;
        const unsigned high = (at(scales, 8 + i % 4) >> (i / 4 * 2)) & 3U;
        out.scale[i] = static_cast<std::int16_t>(static_cast<int>(low | high << 4U) - 32);
    }
}

// Eight scales and eight minima of 6 bits in 12 bytes: the first four of each lie in bytes 0 to 3 and 4 to 7;
// the others have their low four bits in bytes 8 to 11 and their high two on top of the first ones.
constexpr void unpack_scales_of_4_and_5(Bytes p, SuperBlock& out) {
    for (int i = 0; i < 4; ++i) {
        out.scale[i] = static_cast<std::int16_t>(at(p, i) & 63U);
        out.minimum[i] = small(at(p, i + 4) & 63U);
        out.scale[i + 4] = static_cast<std::int16_t>((at(p, i + 8) & 15U) | (at(p, i) >> 6U) << 4U);
        out.minimum[i + 4] = small(at(p, i + 8) >> 4U | (at(p, i + 4) >> 6U) << 4U);
    }
}

// Code i of a nibble format in which 64 codes share 32 bytes.
constexpr unsigned nibble_of_64(Bytes p, int i) {
    return (at(p, i / 64 * 32 + i % 32) >> (i % 64 / 32 * 4)) & 15U;
}

// [d][dmin][12 bytes of scales][128 bytes of nibbles]
constexpr void unpack_q4(Bytes p, SuperBlock& out) {
    unpack_scales_of_4_and_5(p + 4, out);
    for (int i = 0; i < kSuperBlock; ++i) out.code[i] = small(nibble_of_64(p + 16, i));
}

// As Q4_K with 32 bytes of fifth bits before the nibbles: bit i / 32 of byte i % 32.
constexpr void unpack_q5(Bytes p, SuperBlock& out) {
    unpack_scales_of_4_and_5(p + 4, out);
    for (int i = 0; i < kSuperBlock; ++i)
        out.code[i] = small(nibble_of_64(p + 48, i) | ((at(p + 16, i % 32) >> (i / 32)) & 1U) << 4U);
}

// [128 bytes of low nibbles][64 bytes of high 2 bits][16 scales, int8][d]. 128 codes share 64 bytes of
// nibbles.
constexpr void unpack_q6(Bytes p, SuperBlock& out) {
    for (int i = 0; i < kSuperBlock; ++i) {
        const unsigned low = (at(p, i / 128 * 64 + i % 64) >> (i % 128 / 64 * 4)) & 15U;
        out.code[i] = small(low | two_bits(p + 128, i) << 4U);
    }
    for (int i = 0; i < 16; ++i) out.scale[i] = static_cast<std::int8_t>(p[192 + i]);
}

// [d][u16: high two bits of eight scales][4 bytes: low four bits][128 bytes of nibbles, as Q4_0 in blocks of
// 32]
constexpr void unpack_iq4_xs(Bytes p, SuperBlock& out) {
    const unsigned high = word(p + 2);
    for (int i = 0; i < 8; ++i) {
        const unsigned low = (at(p, 4 + i / 2) >> (i % 2 * 4)) & 15U;
        out.scale[i] = static_cast<std::int16_t>(static_cast<int>(low | ((high >> (2 * i)) & 3U) << 4U) - 32);
    }
    for (int i = 0; i < kSuperBlock; ++i)
        out.code[i] = small((at(p + 8, i / 32 * 16 + i % 16) >> (i % 32 / 16 * 4)) & 15U);
}

// Where d lies, as f16; dmin, in formats with minima, is behind it.
constexpr int place_of_d(DType type) {
    switch (type) {
        case DType::Q2_K: return 80;
        case DType::Q3_K: return 108;
        case DType::Q6_K: return 208;
        default: return 0;
    }
}

// Everything but d and dmin: in code for a GPU, half_to_float() is not to be had.
constexpr void unpack_integers(DType type, Bytes block, SuperBlock& out) {
    switch (type) {
        case DType::Q2_K: unpack_q2(block, out); return;
        case DType::Q3_K: unpack_q3(block, out); return;
        case DType::Q4_K: unpack_q4(block, out); return;
        case DType::Q5_K: unpack_q5(block, out); return;
        case DType::Q6_K: unpack_q6(block, out); return;
        case DType::IQ4_XS: unpack_iq4_xs(block, out); return;
        default: return;
    }
}

}  // namespace vitrine::super_block_bits
