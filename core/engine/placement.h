// Where the layers of a model run: all on the GPU where they fit, else the first ones there and the rest on
// the processor.
#pragma once

#include <cstdint>

#include "core/io/model_config.h"

namespace vitrine {

struct Placement {
    std::int32_t gpu_layers = 0;  // the first so many
    bool all = false;             // the whole model fits
    std::uint64_t needed = 0;     // bytes of GPU memory that the whole model would take
};

// weights: bytes in the file, `outside` of them in no layer (embedding, output). free: bytes of GPU memory.
// Counted in are a KV cache in F16 for up to 4096 tokens and room for the operations' working memory.
Placement place_layers(const ModelConfig& config, std::uint64_t weights, std::uint64_t outside,
                       std::uint64_t free);

}  // namespace vitrine
