// The configuration of a Hugging Face folder: config.json, as transformers writes and reads it, checked
// member by member and against itself. Conventions: those of transformers (which of its versions wrote the
// file does not matter: rope_theta and rope_scaling, or rope_parameters).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "core/io/architecture.h"
#include "core/io/hf_quantization.h"
#include "core/io/model_config.h"

namespace vitrine {

struct HfConfig {
    ModelConfig model;  // name is left empty
    const Architecture* architecture = nullptr;
    bool tied = false;            // the output matrix is the embedding
    bool attention_bias = false;  // q, k, v and output projections have biases
    bool input_bias = false;      // q, k and v have
    bool mlp_bias = false;
    bool one_added_to_norms = false;  // norms multiply by 1 + weight
    HfQuantization quantization;
    std::vector<std::int64_t> eos;  // as stored, unchecked
    std::optional<std::int64_t> bos;
    std::vector<std::string> warnings;
};

// `where` stands in front of messages: "DIR/config.json: ". Unsupported names the kind of model that was
// found.
Result<HfConfig> read_hf_config(const nlohmann::json& config, const std::string& where);

// "llama, mistral, …": the values of model_type that can be run.
std::string hf_model_types();

// A member that is one id or a list of them ("eos_token_id"); nothing where it is neither.
std::vector<std::int64_t> read_hf_ids(const nlohmann::json& config, const char* name);

}  // namespace vitrine
