#include "core/engine/model.h"

#include <cstdio>
#include <string_view>

namespace vitrine {
namespace {

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB"; }

Result<std::unique_ptr<Device>> open_device(const LoadOptions& options) {
    if (options.device == "auto" || options.device == "cpu") return make_cpu_device(options.threads);
    if (options.device == "reference") return make_reference_device(options.threads);
    return Error{ErrorKind::Unsupported,
                 "There is no device '" + options.device + "' in this build; it has: auto, cpu, reference."};
}

}  // namespace

std::string Model::display_name() const {
    if (!config_.name.empty()) return config_.name;
    const auto stem = path_.stem().u8string();
    return {reinterpret_cast<const char*>(stem.data()), stem.size()};
}

// Everything but the weights.
Result<std::shared_ptr<Model>> Model::from_source(const ModelSource& source) {
    std::shared_ptr<Model> model(new Model);
    model->path_ = source.path();
    model->config_ = source.config();
    VITRINE_TRY(model->tokenizer_, Tokenizer::make(source.vocabulary()));
    if (source.chat_template()) {
        auto parsed = ChatTemplate::parse(*source.chat_template());
        if (parsed.ok())
            model->template_ = std::move(parsed).value();
        else
            model->template_error_ = parsed.error().message;
    }
    model->file_weights_bytes_ = source.weights_bytes();
    model->parameters_ = source.parameters();
    model->weights_format_ = source.weights_format();
    model->content_hash_ = source.content_hash();
    model->warnings_ = source.warnings();
    for (const std::string& w : model->tokenizer_->warnings()) model->warnings_.push_back(w);
    if (!model->template_error_.empty())
        model->warnings_.push_back("The model's chat template cannot be used: " + model->template_error_);
    else if (!model->template_)
        model->warnings_.emplace_back(
            "The model has no chat template: it can continue a text, but not hold a conversation.");
    return model;
}

Result<std::shared_ptr<Model>> Model::load_vocabulary(const std::filesystem::path& path) {
    VITRINE_TRY(const auto source, ModelSource::open(path, {.vocabulary_only = true}));
    return from_source(*source);
}

Result<std::shared_ptr<Model>> Model::load(const std::filesystem::path& path, const LoadOptions& options) {
    VITRINE_TRY(const auto source, ModelSource::open(path));
    VITRINE_TRY(const auto model, from_source(*source));
    VITRINE_TRY(model->device_, open_device(options));
    const std::uint64_t free = model->device_->info().memory_free;
    if (options.planned)
        options.planned(
            {.config = model->config_, .weights_bytes = source->weights_bytes(), .free_bytes = free});
    if (free != 0 && source->weights_bytes() > free)
        return Error{ErrorKind::OutOfMemory, path.string() + " needs " + mebibytes(source->weights_bytes()) +
                                                 " for its weights, and " + mebibytes(free) +
                                                 " of memory are free. Close other programs, or choose a "
                                                 "smaller model or quantization."};
    VITRINE_TRY(model->weights_, load_weights(*source, *model->device_, options.progress));
    return model;
}

}  // namespace vitrine
