// The tensors of a model of the llama family, by the names that GGUF gives them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/model_config.h"

namespace vitrine {

struct TensorDemand {
    std::string name;
    std::vector<std::uint64_t> dims;  // contiguous first; one dimension: a norm or a bias
    bool required = true;
};

// Everything that forward() may use: output.weight (tied to the embedding where absent), biases and head
// norms are optional. Needs vocab and all sizes of the configuration.
std::vector<TensorDemand> llama_tensors(const ModelConfig& config);

}  // namespace vitrine
