// Products of regrouped weights (weight_layout.h) with the rows of a step.
//
// Activations are gathered in panels of up to max_tile rows. For float weights a panel is float32 [cols][T].
// For codes it is a record of a cache line for every 32-wide block and row, [blocks][T]:
//   int8 codes [32], each x rounded to a multiple of `scale`
//   float scale, float sum (of the codes), int32 1.5·2^23's bits − 128·sum,
//   float sum of the first 16, int32 bits − 128·(that sum), int32 bits − 128·(sum of the last 16)
//
// Batch invariance. Every output is accumulated block by block (float weights: input by input) in ascending
// order with the same operations in every tile shape; integer sums are exact; and a row is quantized on its
// own. So an output row has the same bits however rows are gathered into steps and panels and however threads
// share the work. It differs between instruction sets at most where a multiply-add rounds twice, and from the
// reference within the tolerance below.
//
// Tolerance against exact arithmetic on the same weights, for y = Σ w_k x_k over K inputs in blocks b of 32:
//   rounding activations:  |x - scale·code| <= scale_b/2 (1 + 2^-13), scale_b = max|x|/127 in the block (the
//                          scale, its inverse and the product round once each, and codes go to 127), so
//                          E1 = Σ_b scale_b/2 (1 + 2^-13) · Σ_{k in b} |w_k|
//   floating point:        n roundings at most follow one another on the way of a product to the sum,
//                          E2 = n · 2^-24 · 1.01 · Σ_k (|d q_k| + M_k)(|x_k| + scale_b/2), where w = d q + m,
//                          scale_b is left out for float weights, and n and M_k are:
//                          floats: n = K + 8, and one more for an outside scale. Codes: the integer sum of a
//                          block is exact, and so is d, a float16 times an integer of at most 7 bits; the
//                          product of both is rounded once (a multiply-add takes 1.5·2^23·d away, which has
//                          at most 20 bits), then the sum of two halves once, minima twice at most, and once
//                          in every block the sum of blocks: n = K/32 + 6. I8 rounds once more, its scale has
//                          24 bits. M_k = |m_k|; in Q2_K |m_k| + 2|m'|, m' the minimum of the block's other
//                          half, because its minima count as (m_0 - m_1)·(sum of the first half) + m_1·sum.
//   blocks whose max|x| is below 2^-100 count as zero: E3 = 2^-100 Σ |w_k|
// |error| <= E1 + E2 + E3, with E1 = E3 = 0 for float weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor.h"

namespace vitrine::cpu {

constexpr int kMaxTile = 12;

// A row's part of a record of codes, in bytes.
constexpr std::int64_t kRecord = 64;
constexpr std::int64_t kRecordScale = 32;
constexpr std::int64_t kRecordSum = 36;
constexpr std::int64_t kRecordStart = 40;
constexpr std::int64_t kRecordSumLow = 44;
constexpr std::int64_t kRecordStartLow = 48;
constexpr std::int64_t kRecordStartHigh = 52;

// out[t · out_stride + 16 g + r] for groups of weights and the rows t of a panel.
struct GroupProduct {
    const std::byte* groups = nullptr;
    std::int64_t group_stride = 0;  // bytes
    std::int64_t count = 0;         // groups
    std::int64_t cols = 0;
    std::int64_t tile = 0;             // inputs that share an outside scale
    const std::byte* panel = nullptr;  // of codes, or of floats where the format is multiplied as floats
    int rows = 0;                      // in the panel
    bool cold = true;                  // the weights are in memory and not in a cache
    float* out = nullptr;
    std::int64_t out_stride = 0;
};

struct MatrixKernels {
    const char* name;  // the instruction set, as shown to people
    int max_tile;      // rows in a panel that the registers hold, at most kMaxTile

    // Row t of T in a panel of codes, from blocks · 32 floats. A block with an infinity or NaN gets scale
    // NaN.
    void (*quantize)(const float* x, std::int64_t blocks, std::byte* panel, int T, int t);

    // F32, F16 and BF16: [DType][T], T from 1 to max_tile; n counts inputs.
    using Multiply = void (*)(const std::byte* groups, std::int64_t group_bytes, std::int64_t count,
                              const std::byte* panel, std::int64_t n, float* out, std::int64_t out_stride);
    Multiply multiply[3][kMaxTile + 1];

    // All others: [DType][rows], rows from 1 to max_tile. A kernel may be made for more rows than it is asked
    // for: then it reads up to kMaxTile records of codes beyond the panel's end, which must be memory.
    using MultiplyGroups = void (*)(const GroupProduct& product);
    MultiplyGroups multiply_groups[kDTypes][kMaxTile + 1];
};

// The kernels for this machine. Cheap to call.
MatrixKernels matrix_kernels();

}  // namespace vitrine::cpu
