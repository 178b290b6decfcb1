// A model that is ready to answer: weights on a device, tokenizer, template.
//
// After load() nothing touches the file any more: it may be moved, replaced or truncated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/model_config.h"
#include "core/model/weights.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"
#include "kernels/device.h"

namespace vitrine {

// What is known of a model before its weights are read.
struct ModelFacts {
    const ModelConfig& config;
    std::uint64_t weights_bytes = 0;  // in the file
    std::uint64_t free_bytes = 0;     // on the device now; 0: not known
    const Device* device = nullptr;
};

class Model;

struct LoadOptions {
    // "auto" (a GPU where one can be used and has room for at least some layers, else the processor;
    // Model::device_note() then says why), "cpu", "reference", "cuda" (of the GPUs that can be used the one
    // with the most free memory), "cuda-plain" (its plain operations)
    std::string device = "auto";
    int threads = 0;  // 0: one for each core
    // Runs on the device of this model, which must have weights: for a draft model beside it.
    std::shared_ptr<Model> beside = {};
    // Opens a device of the caller's own instead (tests).
    std::function<Result<std::unique_ptr<Device>>()> open = {};
    // Stands in for the GPU of "auto" and "cuda" (tests).
    std::function<Result<std::unique_ptr<Device>>()> open_gpu = {};
    LoadProgress progress;
    // Called once, before the weights are read.
    std::function<void(const ModelFacts&)> planned = {};
};

class Model {
  public:
    static Result<std::shared_ptr<Model>> load(const std::filesystem::path& path, const LoadOptions& options);
    // Tokenizer and template only; weights() and device() must not be used.
    static Result<std::shared_ptr<Model>> load_vocabulary(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return path_; }
    std::string display_name() const;  // general.name, else the file's name
    const ModelConfig& config() const { return config_; }
    const Tokenizer& tokenizer() const { return *tokenizer_; }
    // Null where the file has none; template_error() says why where it has one that does not parse.
    const ChatTemplate* chat_template() const { return template_.get(); }
    const std::string& template_error() const { return template_error_; }
    // Why not everything runs on a GPU, in a sentence; empty where it does, or where the processor was asked
    // for.
    const std::string& device_note() const { return device_note_; }
    bool has_weights() const { return device_ != nullptr; }
    Device& device() { return *device_; }
    const Weights& weights() const { return weights_; }
    std::uint64_t file_weights_bytes() const { return file_weights_bytes_; }
    std::uint64_t parameters() const { return parameters_; }
    const std::string& weights_format() const { return weights_format_; }  // "Q4_1"
    std::uint64_t content_hash() const { return content_hash_; }
    const std::vector<std::string>& warnings() const { return warnings_; }

  private:
    Model() = default;
    static std::shared_ptr<Model> described(const ModelSource& source);
    Status read_text_parts(const ModelSource& source);
    Status read_weights(const ModelSource& source, const LoadOptions& options);
    Result<std::unique_ptr<Device>> open_device(const LoadOptions& options);
    Status split_where_needed(const ModelSource& source, const LoadOptions& options,
                              std::unique_ptr<Device>& device);
    Status upload(const ModelSource& source, const LoadOptions& options);
    std::filesystem::path path_;
    ModelConfig config_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::unique_ptr<ChatTemplate> template_;
    std::string template_error_;
    std::shared_ptr<Device> device_;  // before weights_: they are freed first; shared with a draft model
    Weights weights_;
    std::uint64_t file_weights_bytes_ = 0;
    std::uint64_t parameters_ = 0;
    std::string weights_format_;
    std::uint64_t content_hash_ = 0;
    std::vector<std::string> warnings_;
    std::string device_note_;
};

}  // namespace vitrine
