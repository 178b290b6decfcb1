// What the kernels for a few rows are handed: up to three matrices with the same inputs, how their rows are
// cut into units, and what becomes of the sums.
#pragma once

#include <cstdint>

#include "kernels/cuda/step_ops.h"

namespace vitrine::cuda::few {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

// The panels of a unit, of which a block takes one at a time.
enum class Pairing : std::uint8_t {
    Single,   // one panel
    Next,     // panels 2 u and 2 u + 1 of a matrix
    Across,   // panel u of the first two matrices: gate and up
    Rotated,  // queries and keys: panels whose rows are rotated together (RopeStyle::Halves); values: Next
};

enum class Finish : std::uint8_t {
    Store,      // out = v
    Add,        // out += v
    Cap,        // out = cap · tanh(v / cap)
    Gate,       // out = act(v) · v of the second panel
    GateOver,   // out = act(out) · v
    GateBytes,  // as Gate, as bytes and marks behind them: what `bytes` takes
    Heads,      // queries, keys, values: rotated; to heads.q and the cache
};

struct Matrix {
    WeightView w;
    const float* bias = nullptr;
    std::int32_t place = 0;       // of its first row in a row of `out`
    std::int32_t part = 0;        // Heads: 0 queries, 1 keys, 2 values
    std::int32_t first_unit = 0;  // of the job
};

struct Job {
    Matrix matrix[3];
    std::int32_t matrices = 0;
    std::int32_t units = 0;
    std::int32_t cols = 0;
    std::int32_t rows = 0;  // of activations
    Pairing pairing = Pairing::Single;
    Finish finish = Finish::Store;
    Activation activation = Activation::SiLU;
    bool only_ask = false;  // whether it can be done, without doing it
    // Always 0, which the compiler does not know: see wait_for_set() in few_source.cuh.
    std::int32_t nothing = 0;
    // One row: nothing of what was enqueued just before is read, and that itself waited for the input. So
    // this may run beside it, and ends after it.
    bool beside = false;

    // One row of activations, normalised where `norm` is there.
    const float* x = nullptr;
    const std::int32_t* picked = nullptr;  // row of x, where not 0
    const float* norm = nullptr;
    float eps = 0;
    const std::uint8_t* bytes = nullptr;  // in place of x: [cols] signed bytes, then their marks
    // Several: as prepare() left them.
    const uint4* fragments = nullptr;
    const float* factors = nullptr;
    const float* scales = nullptr;

    float* out = nullptr;
    std::int32_t stride = 0;
    float cap = 0;
    HeadsArgs heads;
    StepView step;
};

// f16 activations in the order of the tensor cores' operands, for weights of `type`: [unit of 32 inputs]
// [eights of rows][lane] 16 bytes; unit as in few_tile.cuh. Sums of a row are multiplied by its factor and,
// up to eight rows, those of 128 inputs by their scale, [128s of inputs][8 rows]. With more rows there would
// be too many sums to do so: a row has one scale, in its factor.
struct PrepareArgs {
    DType type = DType::F16;
    const float* x = nullptr;
    const std::int32_t* picked = nullptr;
    const float* norm = nullptr;
    float eps = 0;
    std::int32_t cols = 0;
    std::int32_t rows = 0;
    uint4* fragments = nullptr;
    float* factors = nullptr;
    float* scales = nullptr;
};
void prepare(const PrepareArgs& a, cudaStream_t stream);

// Eights of rows that the kernels are made for.
constexpr std::int32_t eights_for(std::int32_t rows) {
    return rows <= 8 ? 1 : rows <= 16 ? 2 : rows <= 32 ? 4 : 8;
}
constexpr std::uint64_t fragment_bytes(std::int32_t rows, std::int64_t cols) {
    return static_cast<std::uint64_t>((cols + 127) / 128 * 4 * eights_for(rows)) * 32 * 16;
}

constexpr std::uint64_t scale_bytes_of(std::int32_t rows, std::int64_t cols) {
    return rows <= 8 ? static_cast<std::uint64_t>((cols + 127) / 128 * 8) * sizeof(float) : 0;
}

// False, having enqueued nothing, where there is no kernel or it needs more shared memory than there is. All
// matrices are of one type. One row: `x`; several: `fragments`.
bool multiply(const Job& job, cudaStream_t stream);

}  // namespace vitrine::cuda::few
