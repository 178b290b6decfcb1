// Rotary embeddings (Su et al. 2021, "RoFormer") and the ways in which models stretch them beyond the context
// they were first trained for:
//   Linear    position interpolation, Chen et al. 2023
//   Llama3    by wavelength, Llama 3.1 (files in GGUF hold the resulting divisors as rope_freqs.weight)
//   Yarn      Peng et al. 2023, "YaRN"
//   LongRope  Ding et al. 2024, "LongRoPE": one list of divisors for short sequences, one for long ones
// The conventions are those of Hugging Face transformers. Everything is computed in double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/model_config.h"

namespace vitrine {

struct RopeBase {
    RopeStyle style = RopeStyle::Halves;
    double theta = 10000.0;
    std::int32_t rotary_dim = 0;
};

struct RopeScaling {
    enum class Kind : std::uint8_t { None, Linear, Llama3, Yarn, LongRope };
    Kind kind = Kind::None;
    std::optional<double> factor;  // needed by Linear, Llama3 and Yarn
    double original_context = 0;   // tokens; needed by all but Linear
    double low_freq_factor = 1.0;  // Llama3
    double high_freq_factor = 4.0;
    double beta_fast = 32.0;  // Yarn
    double beta_slow = 1.0;
    bool truncate = true;  // Yarn: the range of dimensions is rounded outwards to whole ones
    std::optional<double> mscale;
    std::optional<double> mscale_all_dim;
    std::optional<double> attention_factor;  // Yarn and LongRope: wins over what would be computed
    std::vector<double> short_factors;       // LongRope: [rotary_dim / 2]
    std::vector<double> long_factors;
    std::vector<double> divisors;  // any kind: further divisors, [rotary_dim / 2], empty: none
};

// The name in configurations ("linear", "llama3", "yarn", "longrope", "su", "none", "default"); nothing where
// it is not known.
std::optional<RopeScaling::Kind> rope_scaling_kind(std::string_view name);

// For sequences of up to original_context tokens and, with LongRope, for longer ones.
enum class RopeSet : std::uint8_t { Short, Long };

// max_context: what the model's configuration says it can hold (LongRope derives its magnitude from it).
// InvalidArgument with a sentence (without the file's name) where a number is missing or out of range.
Result<RopeSpec> make_rope(const RopeBase& base, const RopeScaling& scaling, double max_context,
                           RopeSet set = RopeSet::Short);

// Fills config.ropes and rope_switch: one set of the given embeddings, or two where one of them is LongRope.
struct RopeRequest {
    RopeBase base;
    RopeScaling scaling;
};
Status set_ropes(const std::vector<RopeRequest>& requests, double max_context, ModelConfig& config);

}  // namespace vitrine
