// The configuration of a GGUF model: its keys, checked one by one and against each other.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/gguf_file.h"
#include "core/io/model_config.h"

namespace vitrine {

// What files store as tensors that belongs to the rotary embedding; empty where absent.
struct GgufRopeTensors {
    std::vector<double> divisors;       // rope_freqs.weight (Llama 3.1)
    std::vector<double> short_factors;  // rope_factors_short.weight (longrope)
    std::vector<double> long_factors;   // rope_factors_long.weight
};

// Refuses what is no runnable model of a supported architecture: adapters, projectors, other
// architectures. The message names what was found.
Status check_gguf_kind(const GgufFile& file);

// A complete configuration, or the first thing that is wrong with it. vocab is left 0: it comes from the
// tensors.
Result<ModelConfig> read_gguf_config(const GgufFile& file, const GgufRopeTensors& rope_tensors,
                                     std::vector<std::string>& warnings);

// What can be read of any architecture, without an error: absent or odd numbers stay 0.
ModelConfig read_config_leniently(const GgufFile& file);

}  // namespace vitrine
