// The rotary embeddings that a config.json describes.
#pragma once

#include <nlohmann/json.hpp>

#include "core/io/json_reader.h"
#include "core/io/model_config.h"

namespace vitrine {

struct HfRopeDefaults {
    double theta = 10000.0;
    double local_theta = 0.0;  // of sliding layers; 0: they have no embedding of their own
    std::int64_t rotary_dim = 0;
};

// Fills ropes and rope_switch from rope_theta, rope_scaling, rope_local_base_freq or from rope_parameters.
// Needs out.context. Errors are kept by the reader.
void read_hf_ropes(JsonReader& config, const std::string& where, const HfRopeDefaults& defaults,
                   ModelConfig& out);

}  // namespace vitrine
