#include "core/engine/model.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <string_view>
#include <system_error>

#include "core/engine/placement.h"
#include "kernels/gpu/cuda_module.h"
#include "kernels/split_device.h"

namespace vitrine {
namespace {

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB"; }

// Of several, the one with the most free memory.
Result<std::unique_ptr<Device>> open_gpu(bool plain) {
    VITRINE_TRY(const auto gpus, cuda_gpus());
    const auto roomiest = std::max_element(gpus.begin(), gpus.end(), [](const GpuInfo& a, const GpuInfo& b) {
        return a.memory_free < b.memory_free;
    });
    return make_cuda_device(roomiest->index, plain);
}

bool is_gpu(const Device& device) { return device.info().name.rfind("cuda", 0) == 0; }

}  // namespace

std::string Model::display_name() const {
    if (!config_.name.empty()) return config_.name;
    const auto stem = path_.stem().u8string();
    return {reinterpret_cast<const char*>(stem.data()), stem.size()};
}

// Everything but tokenizer, template and weights.
std::shared_ptr<Model> Model::described(const ModelSource& source) {
    std::shared_ptr<Model> model(new Model);
    model->path_ = source.path();
    model->config_ = source.config();
    model->file_weights_bytes_ = source.weights_bytes();
    model->parameters_ = source.parameters();
    model->weights_format_ = source.weights_format();
    model->content_hash_ = source.content_hash();
    model->warnings_ = source.warnings();
    return model;
}

Status Model::read_text_parts(const ModelSource& source) {
    auto tokenizer = Tokenizer::make(source.vocabulary());
    if (!tokenizer.ok())
        return Error{tokenizer.error().kind, source.path().string() + ": " + tokenizer.error().message};
    tokenizer_ = std::move(tokenizer).value();
    if (source.chat_template()) {
        auto parsed = ChatTemplate::parse(*source.chat_template());
        if (parsed.ok())
            template_ = std::move(parsed).value();
        else
            template_error_ = parsed.error().message;
    }
    // The source has told some of it.
    for (const std::string& w : tokenizer_->warnings())
        if (std::find(warnings_.begin(), warnings_.end(), w) == warnings_.end()) warnings_.push_back(w);
    if (!template_error_.empty())
        warnings_.push_back("The model's chat template cannot be used: " + template_error_);
    else if (!template_)
        warnings_.emplace_back(
            "The model has no chat template: it can continue a text, but not hold a conversation.");
    return {};
}

Result<std::shared_ptr<Model>> Model::load_vocabulary(const std::filesystem::path& path) {
    VITRINE_TRY(const auto source, ModelSource::open(path, {.vocabulary_only = true}));
    const std::shared_ptr<Model> model = described(*source);
    VITRINE_CHECK(model->read_text_parts(*source));
    return model;
}

Result<std::shared_ptr<Model>> Model::load(const std::filesystem::path& path, const LoadOptions& options) {
    VITRINE_TRY(const auto source, ModelSource::open(path));
    const std::shared_ptr<Model> model = described(*source);
    // Small models: the tokenizer is built beside the weights, which is a third of the time until the first
    // token. Large ones: it comes first, so that nobody waits for weights that a vocabulary makes useless.
    constexpr std::uint64_t small = std::uint64_t{1} << 30U;
    std::future<Status> text;
    if (source->weights_bytes() < small) {
        try {
            text = std::async(std::launch::async, [&] { return model->read_text_parts(*source); });
        } catch (const std::system_error&) {  // no thread to be had
        }
    }
    if (!text.valid()) VITRINE_CHECK(model->read_text_parts(*source));
    const Status weights = model->read_weights(*source, options);
    if (text.valid()) VITRINE_CHECK(text.get());
    if (!weights.ok()) return weights.error();
    return model;
}

// "auto" takes the processor where no GPU answers, and says why.
Result<std::unique_ptr<Device>> Model::open_device(const LoadOptions& options) {
    const auto gpu = [&](bool plain) { return options.open_gpu ? options.open_gpu() : open_gpu(plain); };
    if (options.open) return options.open();
    if (options.device == "auto") {
        auto opened = gpu(false);
        if (opened.ok()) return opened;
        device_note_ = opened.error().message;
        return make_cpu_device(options.threads);
    }
    if (options.device == "cpu") return make_cpu_device(options.threads);
    if (options.device == "reference") return make_reference_device(options.threads);
    if (options.device == "cuda" || options.device == "cuda-plain")
        return gpu(options.device == "cuda-plain");
    return Error{ErrorKind::Unsupported, "There is no device '" + options.device +
                                             "' in this build; it has: auto, cpu, cuda, reference."};
}

// A model that does not fit on the GPU as a whole keeps its last layers on the processor.
Status Model::split_where_needed(const ModelSource& source, const LoadOptions& options,
                                 std::unique_ptr<Device>& device) {
    if (device->info().name != "cuda") return {};
    std::uint64_t outside = 0;
    for (const char* name : {"token_embd.weight", "output.weight"}) {
        const auto tensor = source.tensor(name);
        if (tensor)
            outside +=
                static_cast<std::uint64_t>(tensor->rows) * row_bytes(tensor->dtype, tensor->cols).value_or(0);
    }
    const std::uint64_t free = device->info().memory_free;
    const Placement placement = place_layers(config_, source.weights_bytes(), outside, free);
    if (placement.all) return {};
    const std::string why = "The model needs " + mebibytes(placement.needed) + " of GPU memory, and " +
                            mebibytes(free) + " are free";
    VITRINE_TRY(auto processor, make_cpu_device(options.threads));
    if (placement.gpu_layers == 0) {
        device = std::move(processor);
        device_note_ = "No GPU is used: " + why + ", too little for a layer.";
        return {};
    }
    device = make_split_device(std::move(device), std::move(processor), placement.gpu_layers, config_.layers);
    device_note_ =
        why + ": layers from " + std::to_string(placement.gpu_layers) + " on run on the processor.";
    return {};
}

Status Model::read_weights(const ModelSource& source, const LoadOptions& options) {
    if (options.beside && options.beside->has_weights()) {
        device_ = options.beside->device_;
        return upload(source, options);
    }
    VITRINE_TRY(auto device, open_device(options));
    VITRINE_CHECK(split_where_needed(source, options, device));
    device_ = std::move(device);
    Status uploaded = upload(source, options);
    if (uploaded.ok() || options.device != "auto" || options.open || !is_gpu(*device_)) return uploaded;
    // What looked as if it had room, or worked, did not.
    const ErrorKind kind = uploaded.error().kind;
    if (kind != ErrorKind::OutOfMemory && kind != ErrorKind::Io) return uploaded;
    device_note_ = "No GPU is used: " + uploaded.error().message;
    VITRINE_TRY(device_, make_cpu_device(options.threads));
    return upload(source, options);
}

Status Model::upload(const ModelSource& source, const LoadOptions& options) {
    const std::uint64_t free = device_->info().memory_free;
    if (options.planned)
        options.planned({.config = config_,
                         .weights_bytes = source.weights_bytes(),
                         .free_bytes = free,
                         .device = device_.get()});
    if (free != 0 && source.weights_bytes() > free)
        return Error{ErrorKind::OutOfMemory, source.path().string() + " needs " +
                                                 mebibytes(source.weights_bytes()) +
                                                 " for its weights, and " + mebibytes(free) +
                                                 " of memory are free. Close other programs, or choose a "
                                                 "smaller model or quantization."};
    VITRINE_TRY(weights_, load_weights(source, *device_, options.progress));
    return {};
}

}  // namespace vitrine
