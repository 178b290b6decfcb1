// Where the group of 32 inputs `g` of a row lies in the planes of view.h. Places count groups, unless another
// unit is named; `groups` are those of a row.
#pragma once

#include <cstdint>

#include "kernels/tensor.h"

namespace vitrine::cuda {

constexpr int kPanelRows = 16;
constexpr int kQuadGroups = 4;

constexpr std::int64_t panels_of(std::int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

// Groups of the quad of `g`: the last one of a row may be narrower.
constexpr int quad_width(int g, int groups) {
    const int left = groups - g / kQuadGroups * kQuadGroups;
    return left < kQuadGroups ? left : kQuadGroups;
}

constexpr std::int64_t quad_place(std::int64_t panel, int quad, int groups) {
    return panel * kPanelRows * groups + quad * (kPanelRows * kQuadGroups);
}

// In low, two and one.
constexpr std::int64_t code_place(std::int64_t row, int g, int groups) {
    return quad_place(row / kPanelRows, g / kQuadGroups, groups) + row % kPanelRows * quad_width(g, groups) +
           g % kQuadGroups;
}

// In bytes, in units of 16 bytes: the first and the second halves of all groups of a quad lie together.
constexpr std::int64_t byte_place(std::int64_t row, int g, int half, int groups) {
    const int width = quad_width(g, groups);
    return 2 * quad_place(row / kPanelRows, g / kQuadGroups, groups) + half * kPanelRows * width +
           row % kPanelRows * width + g % kQuadGroups;
}

// In scale: rows r and r + 8 side by side, so that one load brings both.
constexpr std::int64_t scale_place(std::int64_t row, int g, int groups) {
    return quad_place(row / kPanelRows, g / kQuadGroups, groups) +
           (row % 8 * quad_width(g, groups) + g % kQuadGroups) * 2 + row % kPanelRows / 8;
}

// In super, in units of 256 inputs.
constexpr std::int64_t super_place(std::int64_t row, int block, int blocks) {
    return (row / kPanelRows * blocks + block) * kPanelRows + row % 8 * 2 + row % kPanelRows / 8;
}

constexpr bool has_low(DType t) {
    return t == DType::Q4_0 || t == DType::Q4_1 || t == DType::Q5_0 || t == DType::Q5_1 ||
           t == DType::IQ4_NL || t == DType::Q4_K || t == DType::Q5_K || t == DType::Q6_K ||
           t == DType::IQ4_XS;
}
constexpr bool has_two(DType t) { return t == DType::Q2_K || t == DType::Q3_K || t == DType::Q6_K; }
constexpr bool has_one(DType t) {
    return t == DType::Q3_K || t == DType::Q5_0 || t == DType::Q5_1 || t == DType::Q5_K;
}
constexpr bool has_super(DType t) {
    return t == DType::Q2_K || t == DType::Q3_K || t == DType::Q4_K || t == DType::Q5_K || t == DType::Q6_K ||
           t == DType::IQ4_XS;
}
constexpr bool has_minimum(DType t) {
    return t == DType::Q4_1 || t == DType::Q5_1 || t == DType::Q2_K || t == DType::Q4_K || t == DType::Q5_K;
}
// Sixteen inputs share a scale.
constexpr bool has_halves(DType t) { return t == DType::Q2_K || t == DType::Q3_K || t == DType::Q6_K; }
constexpr bool is_quantized(DType t) { return has_low(t) || has_two(t) || t == DType::Q8_0; }

// Bytes of a group's entry in scale.
constexpr int scale_bytes(DType t) {
    if (t == DType::Q4_1 || t == DType::Q5_1) return 4;
    return t == DType::IQ4_XS ? 1 : 2;
}

// What is subtracted from a code; IQ4 goes through its table instead.
constexpr int code_offset(DType type) {
    switch (type) {
        case DType::Q4_0: return 8;
        case DType::Q5_0: return 16;
        case DType::Q3_K: return 4;
        case DType::Q6_K: return 32;
        default: return 0;
    }
}

}  // namespace vitrine::cuda
