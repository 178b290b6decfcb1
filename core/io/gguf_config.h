// The configuration of a GGUF model: its keys, checked one by one and against each other.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/gguf_file.h"
#include "core/io/model_config.h"

namespace vitrine {

// "llama" and nothing else, for now.
bool is_supported_architecture(std::string_view architecture);

// Refuses what is no runnable model of a supported architecture: adapters, projectors, parts of a split
// model, other architectures. The message names what was found.
Status check_gguf_kind(const GgufFile& file);

// A complete configuration of the llama architecture, or the first thing that is wrong with it. vocab is
// left 0: it comes from the tensors. `rope_factors` are those of rope_freqs.weight, empty where absent.
Result<ModelConfig> read_llama_config(const GgufFile& file, const std::vector<float>& rope_factors,
                                      std::vector<std::string>& warnings);

// What can be read of any architecture, without an error: absent or odd numbers stay 0.
ModelConfig read_config_leniently(const GgufFile& file);

}  // namespace vitrine
