// Tokens drawn on the device from rows of logits (Ops::sample).
//
// Probabilities are computed in double and added up as integers or in a fixed order, so that a row gives the
// same token whatever else is in the step. Nothing is sorted but what is needed. A small top-k, and
// candidates, are among the tokens that come no later than the k-th largest of the chunks' maxima: few,
// listed at once. Otherwise weights are counted and added up in bins of 1/64 in the logarithm, which tell in
// which bin top-k, top-p, min-p and the drawn number end; the tokens of such a bin, and some of those above
// it, are gathered and sorted. Where a list or a bin holds more tokens than there is room for (equal logits,
// very high temperatures), the row is left undecided for the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/ops.h"

namespace vitrine::cuda {

inline constexpr std::int32_t kSampleChunk = 1024;  // logits that a block looks at
inline constexpr std::int32_t kMostSampleChunks = 256;
inline constexpr std::int32_t kMostCandidates = 64;
inline constexpr std::int32_t kMostSampleRows = 4096;

enum class SampleMode : std::int32_t {
    Greedy,
    Walk,    // nothing is filtered: the first token, by id, at which the sum of weights exceeds u
    Listed,  // few are kept by top-k: no token beyond the k-th largest maximum of a chunk can be among them
    Filter,  // all else: bins
};

// One row. Places are bytes from the beginning of the settings or of the results.
struct SampleSettings {
    std::int32_t output, vocab;
    SampleMode mode;
    std::int32_t changes, changes_at;  // LogitChange
    float repetition_penalty, frequency_penalty, presence_penalty;
    float temperature;
    std::int32_t top_k;
    float top_p, min_p;
    std::int32_t draws, uniforms_at, drawn_at;  // double, DrawnToken
    std::int32_t candidates, candidates_at;     // TokenChance
    bool lists_candidates;                      // like Listed; else the chunks are sorted and merged
    bool ranks;                                 // by a pass over the row
};

// Fixed addresses: the launches depend on nothing else, what changes from step to step is behind them.
struct SampleView {
    const float* logits = nullptr;  // [outputs, width]
    std::int32_t width = 0;
    std::int32_t rows = 0;
    bool weighs = false;                  // some row wants more than its largest logit
    bool ranks = false;                   // some row has `ranks`
    const std::byte* settings = nullptr;  // [rows] SampleSettings, then what their places say
    std::byte* results = nullptr;         // [rows] SampleState as int32, then what the settings' places say
    std::byte* work = nullptr;            // sample_work_bytes(rows, width), zeroed once
    friend bool operator==(const SampleView&, const SampleView&) = default;
};

bool can_draw(const SampleRow& row, std::int32_t width);
std::uint64_t sample_work_bytes(std::int32_t rows, std::int32_t width);
void draw_tokens(const SampleView& view, cudaStream_t stream);

}  // namespace vitrine::cuda
