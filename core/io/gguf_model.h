// A GGUF file, or all parts of a split one, as a ModelSource.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/gguf_parts.h"
#include "core/io/model_source.h"

namespace vitrine {

class GgufModel final : public ModelSource {
  public:
    static Result<std::unique_ptr<ModelSource>> open(const std::filesystem::path& path, OpenOptions options);

    std::optional<HostTensor> tensor(std::string_view name) const override;
    Status unchanged() const override { return parts_.unchanged(); }
    void release(std::span<const std::byte> bytes) const override {
        for (const auto& file : parts_.files()) file->release(bytes);
    }

  private:
    explicit GgufModel(GgufParts parts) : parts_(std::move(parts)), file_(&parts_.first()) {}
    Status read(OpenOptions options);
    Status read_tensors();
    Result<std::vector<double>> read_rope_factors(const std::string& name) const;
    std::optional<HostTensor> stored_tensor(std::string_view name) const;
    Status widen_vector(const GgufPlace& place);
    void summarise(bool with_data);

    GgufParts parts_;
    const GgufFile* file_;  // the part with the metadata
    bool fused_ = false;    // q, k, v and gate, up lie in one tensor each
    // Norms and biases that the file stores in 16 bits: the operations want them in float32.
    std::map<std::string, std::vector<float>, std::less<>> widened_;
};

}  // namespace vitrine
