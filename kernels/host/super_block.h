// The 256-wide block formats of GGUF (Q2_K to Q6_K, IQ4_XS) as plain integers: the one place that knows their
// bit layouts. https://github.com/ggml-org/llama.cpp/pull/1684 describes the K formats, pull/5747 IQ4_XS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor.h"

namespace vitrine {

// The values of IQ4_NL and IQ4_XS by code.
constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};

constexpr int kSuperBlock = 256;  // weights

// Weight i is d · scale[i / width] · (value(code[i])) − dmin · minimum[i / width], where value(c) is c −
// offset or, for IQ4_XS, kIq4Values[c]. d · scale is exact in float32.
struct SuperBlock {
    float d = 0;
    float dmin = 0;
    std::int16_t scale[16] = {};    // [256 / width]
    std::uint8_t minimum[16] = {};  // zero in formats without
    std::uint8_t code[kSuperBlock] = {};
};

struct SuperBlockShape {
    int width;     // weights that share a scale, 16 or 32
    int offset;    // subtracted from a code
    int bits;      // of a code
    bool minimum;  // has minima
};

constexpr bool is_super_block(DType type) { return info_of(type).block == kSuperBlock; }

constexpr SuperBlockShape super_block_shape(DType type) {
    switch (type) {
        case DType::Q2_K: return {16, 0, 2, true};
        case DType::Q3_K: return {16, 4, 3, false};
        case DType::Q4_K: return {32, 0, 4, true};
        case DType::Q5_K: return {32, 0, 5, true};
        case DType::Q6_K: return {16, 32, 6, false};
        default: return {32, 0, 4, false};  // IQ4_XS
    }
}

// `block` has info_of(type).bytes bytes of any alignment.
void unpack_super_block(DType type, const std::byte* block, SuperBlock& out);

}  // namespace vitrine
