// What forward() needs to know of a model, whatever file it came from. Filled and checked by ModelSource.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ops.h"

namespace vitrine {

struct ModelConfig {
    std::string architecture;  // "llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"
    std::string name;          // general.name, may be empty
    std::int32_t vocab = 0;    // V, rows of the output matrix
    std::int32_t context = 0;  // trained context length in tokens
    std::int32_t layers = 0;
    std::int32_t embedding = 0;     // D
    std::int32_t heads = 0;         // H
    std::int32_t kv_heads = 0;      // G
    std::int32_t head_dim = 0;      // C
    std::int32_t feed_forward = 0;  // F
    float norm_eps = 1e-5F;
    float embedding_scale = 1.0F;
    float attention_scale = 0.0F;  // 1/sqrt(C) unless the architecture says otherwise
    float attention_softcap = 0.0F;
    float logit_softcap = 0.0F;
    Activation activation = Activation::SiLU;
    // Distinct rotary embeddings; with rope_switch a second set of as many follows, for sequences of more
    // than rope_switch tokens (longrope, Ding et al. 2024). Crossing it means other keys: they are
    // recomputed.
    std::vector<RopeSpec> ropes;
    std::int32_t rope_switch = 0;  // 0: one set whatever the length
    struct Layer {
        std::int32_t rope = 0;    // index into a set of ropes
        std::int32_t window = 0;  // sliding window in tokens, 0: all
    };
    std::vector<Layer> layer;  // [layers]

    std::int32_t rope_sets() const { return rope_switch > 0 ? 2 : 1; }
    // The set for a sequence of `length` tokens.
    std::int32_t rope_set(std::int64_t length) const {
        return rope_switch > 0 && length > rope_switch ? 1 : 0;
    }
};

}  // namespace vitrine
