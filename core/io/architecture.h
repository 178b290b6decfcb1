// What tells the architectures apart that forward() can run. All are decoder-only transformers with
// root-mean- square norms, rotary embeddings, grouped-query attention and a gated feed-forward part; they
// differ in the points below. One row of a table each, used for GGUF files and Hugging Face folders alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/model_config.h"

namespace vitrine {

struct Architecture {
    std::string_view name;  // general.architecture of GGUF, ModelConfig::architecture
    // q and k of llama's GGUF files are permuted so that neighbouring elements turn together.
    RopeStyle gguf_rope = RopeStyle::Halves;
    Activation activation = Activation::SiLU;
    bool scaled_embedding = false;  // times sqrt(D)
    bool head_norms = false;        // q and k of each head are normalised
    bool post_norms = false;        // attention and feed-forward results are normalised before they are added
    bool input_biases = false;      // q, k and v have biases
    bool fused = false;             // q, k, v in one matrix; gate and up in one
};

// Null where this program cannot run it.
const Architecture* find_architecture(std::string_view name);
std::string architecture_names();  // "llama, qwen2, …" for messages

// Layers that slide see the last `window` tokens, the others all. Of every `pattern` layers the last one sees
// all (gemma2: 2, gemma3: 6); pattern 1: all slide.
struct WindowPattern {
    std::int32_t window = 0;  // 0: nothing is cut, whatever slides
    std::int32_t pattern = 1;
    bool slides(std::int32_t layer) const { return pattern <= 1 || (layer + 1) % pattern != 0; }
};

struct TensorDemand {
    std::string name;
    std::vector<std::uint64_t> dims;  // contiguous first; one dimension: a norm or a bias
    bool required = true;
};

// The tensors that forward() uses, under the names that GGUF gives them: required ones and those that a model
// may have (an output matrix of its own, biases). Needs all sizes of the configuration. Fused matrices are
// demanded as fused where `as_stored`, else as the parts that loading asks for.
std::vector<TensorDemand> model_tensors(const ModelConfig& config, const Architecture& architecture,
                                        bool as_stored);

// Where a tensor that loading asks for lies in a fused one.
struct FusedPlace {
    std::string name;  // of the fused tensor
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
};
// Empty name: it lies alone.
FusedPlace fused_place(const ModelConfig& config, std::string_view name);

}  // namespace vitrine
