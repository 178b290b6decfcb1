// How the matrices of a Hugging Face folder are quantized, as quantization_config says.
//
// Run are 8-bit values with a scale beside them: FP8 (E4M3; "fp8" of transformers, AutoFP8 and newer Mistral
// files, "fbgemm_fp8"), and the formats float-quantized, int-quantized and naive-quantized of
// compressed-tensors. Everything else is refused by its name.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "core/base/result.h"

namespace vitrine {

struct HfQuantization {
    std::string method;  // empty: none
    std::int64_t tile_rows =
        128;  // of a block that shares a scale, where the scale's shape is that of a grid
    std::int64_t tile_cols = 128;
};

// `config` is the whole of config.json.
Result<HfQuantization> read_hf_quantization(const nlohmann::json& config, const std::string& where);

}  // namespace vitrine
