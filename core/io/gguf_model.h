// A GGUF file as a ModelSource.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/gguf_file.h"
#include "core/io/model_source.h"

namespace vitrine {

class GgufModel final : public ModelSource {
  public:
    static Result<std::unique_ptr<ModelSource>> open(const std::filesystem::path& path, OpenOptions options);

    std::optional<HostTensor> tensor(std::string_view name) const override;
    Status unchanged() const override { return file_->unchanged(); }

  private:
    explicit GgufModel(std::unique_ptr<GgufFile> file) : file_(std::move(file)) {}
    Status read(OpenOptions options);
    Status read_tensors();
    Result<std::vector<double>> read_rope_factors(const std::string& name) const;
    std::optional<HostTensor> stored_tensor(std::string_view name) const;
    Status widen_vector(const GgufTensor& tensor);
    void summarise(bool with_data);

    std::unique_ptr<GgufFile> file_;
    bool fused_ = false;  // q, k, v and gate, up lie in one tensor each
    // Norms and biases that the file stores in 16 bits: the operations want them in float32.
    std::map<std::string, std::vector<float>, std::less<>> widened_;
};

}  // namespace vitrine
