// A model on disk, opened and checked: configuration, vocabulary, template and tensors under one naming
// (that of GGUF, "blk.0.attn_q.weight"), whatever the file format.
//
// open() returns an object only when everything that forward() will use is there and fits together: each
// required tensor is present with the shape that the configuration demands. With vocabulary_only no tensor
// is looked at, and files without any are fine; then config() holds what could be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/model_config.h"
#include "core/io/vocabulary.h"
#include "kernels/tensor.h"

namespace vitrine {

struct OpenOptions {
    bool vocabulary_only = false;
};

class ModelSource {
  public:
    static Result<std::unique_ptr<ModelSource>> open(const std::filesystem::path& path,
                                                     OpenOptions options = {});
    virtual ~ModelSource() = default;

    const std::filesystem::path& path() const { return path_; }
    const ModelConfig& config() const { return config_; }
    const VocabularyData& vocabulary() const { return vocabulary_; }
    const std::optional<std::string>& chat_template() const { return chat_template_; }
    std::uint64_t weights_bytes() const { return weights_bytes_; }  // bytes of all tensors in the file
    std::uint64_t parameters() const { return parameters_; }
    const std::string& weights_format() const {
        return weights_format_;
    }  // for people, the type most weights have: "Q4_1"
    std::uint64_t content_hash() const {
        return content_hash_;
    }  // tells models apart: header and sizes, not all data
    const std::vector<std::string>& warnings() const { return warnings_; }

    // None where the model has no such tensor. The view lives as long as this object.
    virtual std::optional<HostTensor> tensor(std::string_view name) const = 0;

    // Io where the file was shortened or rewritten since open(). The loader asks before it copies each
    // tensor: reading a mapped page that is gone would end the process. After load nothing touches the file.
    virtual Status unchanged() const = 0;

    // The loader has copied these bytes of a tensor: where they lie in a mapped file, they need not count as
    // this process's memory any more. They may still be read.
    virtual void release(std::span<const std::byte> /*bytes*/) const {}

  protected:
    std::filesystem::path path_;
    ModelConfig config_;
    VocabularyData vocabulary_;
    std::optional<std::string> chat_template_;
    std::uint64_t weights_bytes_ = 0;
    std::uint64_t parameters_ = 0;
    std::string weights_format_;
    std::uint64_t content_hash_ = 0;
    std::vector<std::string> warnings_;
};

}  // namespace vitrine
