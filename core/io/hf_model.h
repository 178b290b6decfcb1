// A Hugging Face folder as a ModelSource: config.json, *.safetensors, tokenizer files.
//
// Tensors come out under the names that GGUF gives them and mean the same: Gemma's norms already contain the
// one that is added to them, vectors are float32, fused projections are handed out as slices. Queries and
// keys are as they lie in the folder, so rotary embeddings turn halves.
//
// Decided here, because readers differ:
//   * Tied weights with an output matrix in the file: equal to the embedding, it is the embedding; different,
//   a warning,
//     and the file's matrix is used, as what lies in the file was trained.
//   * Biases that config.json does not announce: not used, as in transformers; a warning where they are not
//   zero.
//   * More tokens than rows of the embedding: left out with a warning where no ordinary token is among them.
//   * input_scale and activation_scale: not used, because activations are not quantized here.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/hf_config.h"
#include "core/io/hf_weights.h"
#include "core/io/model_source.h"

namespace vitrine {

class HfModel final : public ModelSource {
  public:
    // `path`: the folder, or a file in it (config.json, *.safetensors, model.safetensors.index.json).
    static Result<std::unique_ptr<ModelSource>> open(const std::filesystem::path& path, OpenOptions options);
    // A file that stands for its folder.
    static bool is_file_of_folder(const std::filesystem::path& path);

    std::optional<HostTensor> tensor(std::string_view name) const override;
    Status unchanged() const override;
    void release(std::span<const std::byte> bytes) const override;

    // For the inspector; null with vocabulary_only.
    const HfWeights* weights() const { return weights_ ? &*weights_ : nullptr; }

  private:
    HfModel() = default;
    Status read(const std::string& only, OpenOptions options);
    Status read_vocabulary(OpenOptions options);
    Status fit_vocabulary();
    Status read_tensors();
    Status read_matrix(const std::string& name, const HfPlace& place, const TensorDemand& demand);
    Status read_vector(const std::string& name, const HfPlace& place, const TensorDemand& demand);
    Status read_scales(const HfPlace& place, HostTensor& view);
    Status find_roots();
    Status tie_output();
    void look_for_unused();
    void summarise();
    Error refuse(ErrorKind kind, const std::string& message) const;
    std::string hf_name(std::string_view name) const;

    std::filesystem::path folder_;
    HfConfig hf_;
    std::string config_text_;
    std::optional<HfWeights> weights_;
    std::string root_;  // in front of "embed_tokens.weight"
    std::string head_;  // the name of the output matrix
    std::map<std::string, HostTensor, std::less<>> tensors_;
    std::deque<std::vector<float>> owned_;  // widened vectors and scales
    std::vector<std::string> used_;         // names in the files
};

}  // namespace vitrine
