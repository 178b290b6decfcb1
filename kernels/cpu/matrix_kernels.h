// Products of regrouped weights (weight_layout.h) with the rows of a step.
//
// Activations are gathered in panels of up to max_tile rows, stored so that a kernel walks one pointer:
//   quantized weights: for every 32-wide block a record of T rows:
//       int8 codes [T][32], float scale [T], float sum [T], int32 −8·sum [T], int32 −128·sum [T]
//     where sum is the sum of the block's 32 codes; 48 bytes a row and block
//   float weights: float32 [cols][T]
//
// Batch invariance. Every output is accumulated block by block (float weights: input by input) in ascending
// order with the same operations in every tile shape; integer sums are exact; and a row is quantized on its
// own. So an output row has the same bits however rows are gathered into steps and panels and however threads
// share the work. It differs between instruction sets, and from the reference within the tolerance below.
//
// Tolerance against exact arithmetic on the same weights, for y = Σ w_k x_k over K inputs in blocks b of 32:
//   rounding activations:  |x - scale·code| <= scale_b/2 (1 + 2^-13), scale_b = max|x|/127 in the block (the
//                          scale, its inverse and the product round once each, and codes go to 127), so
//                          E1 = Σ_b scale_b/2 (1 + 2^-13) · Σ_{k in b} |w_k|
//   floating point:        n roundings at most follow one another on the way of a product to the sum,
//                          n = K/32 + 4 for codes (a block's integer sum is exact) and K + 8 for floats,
//                          E2 = n · 2^-24 · 1.01 · Σ_k (|d q_k| + |m|)(|x_k| + scale_b/2), where w = d q + m
//                          (Q4_1 alone has m), and without scale_b for float weights
//   blocks whose max|x| is below 2^-100 count as zero: E3 = 2^-100 Σ |w_k|
// |error| <= E1 + E2 + E3, with E1 = E3 = 0 for float weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor.h"

namespace vitrine::cpu {

constexpr int kMaxTile = 12;
constexpr std::int64_t kPanelBytes = 48;  // of one row and block

struct MatrixKernels {
    const char* name;  // the instruction set, as shown to people
    int max_tile;      // rows in a panel that the registers hold, at most kMaxTile

    // Row t of T in a panel of codes, from blocks · 32 floats. A block with an infinity or NaN gets scale
    // NaN.
    void (*quantize)(const float* x, std::int64_t blocks, std::byte* panel, int T, int t);

    // out[t · out_stride + 16 g + r] for `count` groups g, group_bytes apart, and the T rows of a panel.
    // n counts blocks for quantized weights, inputs for float weights.
    using Multiply = void (*)(const std::byte* groups, std::int64_t group_bytes, std::int64_t count,
                              const std::byte* panel, std::int64_t n, float* out, std::int64_t out_stride);
    Multiply multiply[kDTypes][kMaxTile + 1];  // [DType][T], T from 1 to max_tile; null: no kernel
};

// The kernels for this machine. Cheap to call.
MatrixKernels matrix_kernels();

}  // namespace vitrine::cpu
