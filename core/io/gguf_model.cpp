#include "core/io/gguf_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <xxhash.h>

#include "core/io/architecture.h"
#include "core/io/byte_reader.h"
#include "core/io/ggml_types.h"
#include "core/io/gguf_config.h"
#include "core/io/gguf_vocabulary.h"
#include "core/io/printable.h"
#include "kernels/host/half.h"

namespace vitrine {

namespace {

// Header, sizes, and pages spread evenly over the rest: enough to tell any two models apart that people
// have, without reading a file of many gigabytes.
std::uint64_t hash_of(const GgufFile& file, bool with_data, std::uint64_t before) {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kPages = 64;
    const auto header = file.header_bytes();
    std::uint64_t hash = XXH3_64bits_withSeed(header.data(), header.size(), file.file_size() ^ before);
    for (const GgufTensor& tensor : file.tensors()) {
        const auto data = file.data(tensor);
        if (data.empty() || !with_data) continue;
        // Of each tensor the first bytes, and of the large ones pages from inside.
        const std::uint64_t share =
            std::max<std::uint64_t>(1, kPages * data.size() / std::max<std::uint64_t>(1, file.file_size()));
        for (std::uint64_t i = 0; i < share; ++i) {
            const std::uint64_t start = data.size() / share * i;
            hash = XXH3_64bits_withSeed(data.data() + start,
                                        std::min<std::uint64_t>(kPage, data.size() - start), hash);
        }
    }
    return hash;
}

std::string shape_text(std::vector<std::uint64_t> dims) {
    std::string text = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(dims[i]);
    return text + "]";
}

// [64, 1] and [64] are the same shape.
std::vector<std::uint64_t> without_ones(std::vector<std::uint64_t> dims) {
    while (dims.size() > 1 && dims.back() == 1) dims.pop_back();
    return dims;
}

bool is_vector(const GgufTensor& tensor) { return without_ones(tensor.dims).size() <= 1; }

HostTensor view_of(const GgufTensor& tensor, const std::byte* data) {
    HostTensor view;
    view.dtype = *tensor.dtype;
    view.cols = tensor.dims.empty() ? 1 : static_cast<std::int64_t>(tensor.dims[0]);
    view.rows = static_cast<std::int64_t>(tensor.elements()) / view.cols;
    view.data = data;
    return view;
}

}  // namespace

Result<std::unique_ptr<ModelSource>> GgufModel::open(const std::filesystem::path& path, OpenOptions options) {
    VITRINE_TRY(auto parts,
                GgufParts::open(path, options.vocabulary_only ? GgufScope::MetadataOnly : GgufScope::All));
    std::unique_ptr<GgufModel> model(new GgufModel(std::move(parts)));
    model->path_ = path;
    VITRINE_CHECK(model->read(options));
    return std::unique_ptr<ModelSource>(std::move(model));
}

Status GgufModel::read(OpenOptions options) {
    if (options.vocabulary_only) {
        config_ = read_config_leniently(*file_);
    } else {
        VITRINE_CHECK(check_gguf_kind(*file_));
        GgufRopeTensors rope;
        VITRINE_TRY(rope.divisors, read_rope_factors("rope_freqs.weight"));
        VITRINE_TRY(rope.short_factors, read_rope_factors("rope_factors_short.weight"));
        VITRINE_TRY(rope.long_factors, read_rope_factors("rope_factors_long.weight"));
        VITRINE_TRY(config_, read_gguf_config(*file_, rope, warnings_));
    }
    VITRINE_TRY(vocabulary_, read_gguf_vocabulary(*file_));
    warnings_.insert(warnings_.end(), vocabulary_.warnings.begin(), vocabulary_.warnings.end());

    VITRINE_TRY(chat_template_, file_->string("tokenizer.chat_template"));
    if (chat_template_ && chat_template_->empty()) chat_template_.reset();

    if (options.vocabulary_only) {
        config_.vocab = static_cast<std::int32_t>(vocabulary_.tokens.size());
    } else {
        VITRINE_CHECK(read_tensors());
    }
    summarise(!options.vocabulary_only);
    return {};
}

Result<std::vector<double>> GgufModel::read_rope_factors(const std::string& name) const {
    const GgufPlace place = parts_.find(name);
    if (!place) return std::vector<double>();
    const std::string where = display_path(path_) + ": tensor " + in_quotes(name);
    if (place.tensor->dtype != DType::F32) {
        return Error{ErrorKind::Unsupported,
                     where + " has type " + place.tensor->type_name + "; F32 is needed."};
    }
    const auto data = place.data();
    std::vector<double> factors(data.size() / sizeof(float));
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const auto factor = load_number<float>(data.data() + i * sizeof(float));
        if (!std::isfinite(factor) || factor <= 0.0F)
            return Error{ErrorKind::BadFile,
                         where + " holds a factor that is not a number greater than 0; the file is damaged."};
        factors[i] = static_cast<double>(factor);
    }
    return factors;
}

Status GgufModel::widen_vector(const GgufPlace& place) {
    const GgufTensor& tensor = *place.tensor;
    if (tensor.dtype == DType::F32) return {};
    if (tensor.dtype != DType::F16 && tensor.dtype != DType::BF16) {
        return Error{ErrorKind::Unsupported, display_path(path_) + ": tensor " + in_quotes(tensor.name) +
                                                 " has type " + tensor.type_name +
                                                 "; norms and biases must be F32, F16 or BF16."};
    }
    const auto data = place.data();
    std::vector<float> wide(data.size() / 2);
    for (std::size_t i = 0; i < wide.size(); ++i) {
        const auto bits = load_number<std::uint16_t>(data.data() + 2 * i);
        wide[i] = tensor.dtype == DType::F16 ? half_to_float(bits) : bfloat_to_float(bits);
    }
    widened_.emplace(tensor.name, std::move(wide));
    return {};
}

Status GgufModel::read_tensors() {
    const auto refuse = [&](ErrorKind kind, const std::string& message) {
        return Error{kind, display_path(path_) + ": " + message};
    };
    const auto files = parts_.files();
    if (std::all_of(files.begin(), files.end(), [](const auto& file) { return file->tensors().empty(); })) {
        return refuse(ErrorKind::BadFile,
                      "the file holds no weights, only metadata (a vocabulary): it cannot answer; get the "
                      "whole model.");
    }
    const GgufTensor* embedding = parts_.find("token_embd.weight").tensor;
    const std::uint64_t rows =
        embedding != nullptr && embedding->dims.size() == 2 ? embedding->dims[1] : vocabulary_.tokens.size();
    if (rows < vocabulary_.tokens.size() ||
        rows > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
        return refuse(ErrorKind::BadFile, "tensor 'token_embd.weight' has " + std::to_string(rows) +
                                              " rows, but the vocabulary has " +
                                              std::to_string(vocabulary_.tokens.size()) +
                                              " tokens; each token needs a row.");
    }
    config_.vocab = static_cast<std::int32_t>(rows);
    VITRINE_TRY(const auto stored_size, file_->unsigned_integer(config_.architecture + ".vocab_size"));
    if (stored_size && *stored_size != rows && *stored_size != vocabulary_.tokens.size()) {
        warnings_.push_back("Key " + in_quotes(config_.architecture + ".vocab_size") + " is " +
                            std::to_string(*stored_size) + ", but the file has " +
                            std::to_string(vocabulary_.tokens.size()) + " tokens and " +
                            std::to_string(rows) + " rows in its embedding; the key is ignored.");
    }

    std::vector<std::string> missing;
    std::vector<std::string> cannot_run;
    std::string cannot_run_type;
    std::vector<std::string> expected = {"rope_freqs.weight", "rope_factors_short.weight",
                                         "rope_factors_long.weight"};
    const Architecture& architecture = *find_architecture(config_.architecture);
    fused_ = architecture.fused;
    for (const TensorDemand& demand : model_tensors(config_, architecture, true)) {
        expected.push_back(demand.name);
        const GgufPlace place = parts_.find(demand.name);
        const GgufTensor* tensor = place.tensor;
        if (tensor == nullptr) {
            if (demand.required) missing.push_back(demand.name);
            continue;
        }
        if (without_ones(tensor->dims) != without_ones(demand.dims)) {
            return refuse(ErrorKind::BadFile, "tensor " + in_quotes(demand.name) + " has shape " +
                                                  shape_text(tensor->dims) + "; " + shape_text(demand.dims) +
                                                  " is needed by the configuration of the file.");
        }
        if (!tensor->dtype) {
            cannot_run.push_back(demand.name);
            cannot_run_type = tensor->type_name;
        } else if (demand.dims.size() == 1) {
            VITRINE_CHECK(widen_vector(place));
        }
    }
    if (!missing.empty()) {
        return refuse(ErrorKind::BadFile,
                      "the file lacks tensors that the model needs: " + list_names(missing) +
                          ". The file is incomplete, or its configuration is not that of its weights.");
    }
    if (!cannot_run.empty()) {
        return refuse(ErrorKind::Unsupported,
                      "tensors of type " + cannot_run_type +
                          " cannot be run by this version: " + list_names(cannot_run) + ". It runs " +
                          std::string(runnable_type_names()) + "; get the model in one of these.");
    }

    std::sort(expected.begin(), expected.end());
    std::vector<std::string> unknown;
    std::uint64_t unused = 0;
    for (const auto& file : files) {
        unused += file->unused_tail_bytes();
        for (const GgufTensor& tensor : file->tensors())
            if (!std::binary_search(expected.begin(), expected.end(), tensor.name))
                unknown.push_back(tensor.name);
    }
    if (!unknown.empty()) {
        warnings_.push_back("The file has " + std::to_string(unknown.size()) +
                            " tensors that are not used: " + list_names(unknown) + ".");
    }
    if (unused > 0) {
        warnings_.push_back("The file has " + std::to_string(unused) +
                            " unused bytes behind its last tensor.");
    }
    return {};
}

void GgufModel::summarise(bool with_data) {
    std::map<std::string, std::uint64_t> weights_of;
    for (const auto& file : parts_.files()) {
        for (const GgufTensor& tensor : file->tensors()) {
            if (!tensor.valid) continue;
            weights_bytes_ += tensor.bytes;
            parameters_ += tensor.elements();
            if (!is_vector(tensor)) weights_of[tensor.type_name] += tensor.elements();
        }
        content_hash_ = hash_of(*file, with_data, content_hash_);
    }
    const auto most = std::max_element(weights_of.begin(), weights_of.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != weights_of.end()) weights_format_ = most->first;
}

std::optional<HostTensor> GgufModel::tensor(std::string_view name) const {
    if (fused_) {
        if (const FusedPlace place = fused_place(config_, name); !place.name.empty()) {
            const auto whole = stored_tensor(place.name);
            if (!whole) return std::nullopt;
            return whole->slice_rows(place.first_row, place.rows);
        }
    }
    return stored_tensor(name);
}

std::optional<HostTensor> GgufModel::stored_tensor(std::string_view name) const {
    const GgufPlace place = parts_.find(name);
    if (!place || !place.tensor->valid || !place.tensor->dtype) return std::nullopt;
    HostTensor view = view_of(*place.tensor, place.data().data());
    if (const auto wide = widened_.find(name); wide != widened_.end()) {
        view.dtype = DType::F32;
        view.data = reinterpret_cast<const std::byte*>(wide->second.data());
    }
    return view;
}

}  // namespace vitrine
