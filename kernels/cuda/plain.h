// The device's own plain operations: dequantized weights times float32 activations, every output in an order
// of additions that depends on its own row alone. The yardstick for the fast kernels of this device
// (`--exact`), and what runs where no faster kernel is written.
//
// Launchers enqueue on `stream`; errors show at the end of the step. Shapes as in kernels/ops.h.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/view.h"
#include "kernels/ops.h"

namespace vitrine::cuda {

// x[r] = scale · table[tokens[r]].
void embed(const WeightView& table, const StepView& step, float scale, float* x, cudaStream_t stream);

// out[i] = norm of x[picked[i]] (picked null: of x[i]); out may be x.
void normalise(const float* x, const std::int32_t* picked, std::int32_t rows, std::int32_t n,
               const float* weight, float eps, float* out, cudaStream_t stream);

// out[t · stride + r] (+)= w[r] · x[t] + bias[r].
void multiply_plain(const WeightView& w, const float* x, std::int32_t tokens, const float* bias, bool add,
                    float* out, std::int32_t stride, cudaStream_t stream);

// cos and sin times magnitude, [rows][half] each, for the set that each row's sequence names. inv_freq is
// [sets][half], magnitudes [sets], in device memory.
struct RopeView {
    const double* inv_freq = nullptr;
    const float* magnitude = nullptr;
    float* cosine = nullptr;
    float* sine = nullptr;
    std::int32_t half = 0;
    RopeStyle style = RopeStyle::Halves;
};
void fill_rope(const RopeView& rope, const StepView& step, cudaStream_t stream);

// From projections y [R][(H + 2 G) C] (q, k, v side by side): head norms, rotation; q to `q`, k and v into
// the cache.
struct HeadsArgs {
    const float* y = nullptr;
    std::int32_t heads = 0;
    const float* q_norm = nullptr;
    const float* k_norm = nullptr;
    float eps = 0;
    RopeView rope;
    KvView kv;
    std::int32_t layer = 0;
    float* q = nullptr;
};
void finish_heads(const HeadsArgs& a, const StepView& step, cudaStream_t stream);

struct AttentionView {
    const float* q = nullptr;
    KvView kv;
    std::int32_t layer = 0, heads = 0, window = 0;
    float scale = 0, softcap = 0;
    float* out = nullptr;
};
void attention_plain(const AttentionView& a, const StepView& step, cudaStream_t stream);

// gate = act(gate) · up.
void gate(Activation activation, float* gate, const float* up, std::int64_t count, cudaStream_t stream);
// x += y.
void add(float* x, const float* y, std::int64_t count, cudaStream_t stream);
// x = cap · tanh(x / cap).
void soft_cap(float* x, std::int64_t count, float cap, cudaStream_t stream);
// Test hook: every element of the cache.
void fill_cache(const KvView& kv, float value, cudaStream_t stream);
// One row as float32.
void dequantize_row(const WeightView& w, std::int32_t row, float* out, cudaStream_t stream);

}  // namespace vitrine::cuda
