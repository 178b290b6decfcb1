#include "core/io/hf_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <xxhash.h>

#include "core/io/byte_reader.h"
#include "core/io/hf_vocabulary.h"
#include "core/io/json_reader.h"
#include "core/io/printable.h"
#include "kernels/host/half.h"

namespace vitrine {

namespace {

namespace fs = std::filesystem;

struct Naming {
    std::string_view gguf;  // behind "blk.N."
    std::string_view hf;    // behind "layers.N."
};

constexpr std::array kNames = {
    Naming{"attn_norm", "input_layernorm"},
    Naming{"attn_q", "self_attn.q_proj"},
    Naming{"attn_k", "self_attn.k_proj"},
    Naming{"attn_v", "self_attn.v_proj"},
    Naming{"attn_qkv", "self_attn.qkv_proj"},
    Naming{"attn_output", "self_attn.o_proj"},
    Naming{"attn_q_norm", "self_attn.q_norm"},
    Naming{"attn_k_norm", "self_attn.k_norm"},
    Naming{"ffn_gate", "mlp.gate_proj"},
    Naming{"ffn_up", "mlp.up_proj"},
    Naming{"ffn_down", "mlp.down_proj"},
    Naming{"post_attention_norm", "post_attention_layernorm"},
    Naming{"post_ffw_norm", "post_feedforward_layernorm"},
};

bool is_norm(std::string_view name) { return name.ends_with("norm.weight"); }
bool is_head_norm(std::string_view name) {
    return name.ends_with("attn_q_norm.weight") || name.ends_with("attn_k_norm.weight");
}
bool is_bias(std::string_view name) { return name.ends_with(".bias"); }

std::string shape_text(const std::vector<std::uint64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

std::string where_of(const HfPlace& place) {
    return display_path(place.file->path()) + ": tensor " + in_quotes(place.tensor->name);
}

// The numbers of a tensor in one of the three float types, widened.
Result<std::vector<float>> widened(const HfPlace& place) {
    const auto data = place.file->data(*place.tensor);
    const auto type = place.tensor->dtype;
    if (type != DType::F32 && type != DType::F16 && type != DType::BF16) {
        return Error{ErrorKind::Unsupported, where_of(place) + " has dtype " +
                                                 in_quotes(place.tensor->dtype_name) +
                                                 "; F32, F16 or BF16 is needed."};
    }
    std::vector<float> out(place.tensor->elements);
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (type == DType::F32) {
            out[i] = load_number<float>(data.data() + 4 * i);
        } else {
            const auto bits = load_number<std::uint16_t>(data.data() + 2 * i);
            out[i] = type == DType::F16 ? half_to_float(bits) : bfloat_to_float(bits);
        }
    }
    return out;
}

// The name for people: of the folder, or of the repository where it lies in a cache of Hugging Face
// (models--OWNER--NAME/snapshots/REVISION).
std::string folder_name(const fs::path& folder) {
    std::error_code failed;
    fs::path whole = fs::absolute(folder, failed).lexically_normal();
    if (failed) whole = folder;
    if (!whole.has_filename()) whole = whole.parent_path();
    const std::string above = whole.parent_path().filename().native();
    const std::string cache = whole.parent_path().parent_path().filename().native();
    if (above == "snapshots" && cache.starts_with("models--")) {
        const std::size_t dashes = cache.rfind("--");
        return cache.substr(dashes + 2);
    }
    return whole.filename().native();
}

}  // namespace

bool HfModel::is_file_of_folder(const fs::path& path) {
    const std::string name = path.filename().native();
    return name == "config.json" || name == kHfIndexName || name.ends_with(".safetensors");
}

Result<std::unique_ptr<ModelSource>> HfModel::open(const fs::path& path, OpenOptions options) {
    std::unique_ptr<HfModel> model(new HfModel());
    std::error_code ignored;
    std::string only;
    if (fs::is_directory(path, ignored)) {
        model->folder_ = path;
    } else {
        if (!fs::exists(path, ignored))
            return Error{ErrorKind::NotFound,
                         display_path(path) + ": The file cannot be opened: No such file or directory."};
        model->folder_ = path.has_parent_path() ? path.parent_path() : fs::path(".");
        if (path.native().ends_with(".safetensors")) only = path.filename().native();
    }
    model->path_ = path;
    VITRINE_CHECK(model->read(only, options));
    return std::unique_ptr<ModelSource>(std::move(model));
}

Error HfModel::refuse(ErrorKind kind, const std::string& message) const {
    return {kind, display_path(folder_) + ": " + message};
}

Status HfModel::read(const std::string& only, OpenOptions options) {
    const fs::path config_path = folder_ / "config.json";
    VITRINE_TRY(auto text, read_if_present(config_path, kConfigBytes));
    if (text) {
        config_text_ = std::move(*text);
        VITRINE_TRY(const auto config, read_json_if_present(config_path));
        auto read = read_hf_config(*config, display_path(config_path) + ": ");
        if (read.ok()) {
            hf_ = std::move(read).value();
        } else if (!options.vocabulary_only) {
            return read.error();
        }
    } else if (!options.vocabulary_only) {
        std::vector<std::string> ggufs;
        std::error_code failed;
        for (fs::directory_iterator it(folder_, failed), end; !failed && it != end; it.increment(failed)) {
            const std::string name = it->path().filename().native();
            if (name.ends_with(".gguf") && ggufs.size() < 1000) ggufs.push_back(name);
        }
        std::sort(ggufs.begin(), ggufs.end());
        std::error_code ignored;
        std::string advice = " Get the whole folder of the model.";
        if (!ggufs.empty()) {
            advice = " It holds GGUF files; open one of them by its name: " + list_names(ggufs) + ".";
        } else if (fs::exists(folder_ / "adapter_config.json", ignored)) {
            advice = " It holds an adapter, which changes a model but is none; open the model itself.";
        } else if (fs::exists(folder_ / "params.json", ignored)) {
            advice =
                " It holds a model in its vendor's own layout (params.json), which is not read; get the one "
                "in the "
                "layout of Hugging Face.";
        }
        return refuse(ErrorKind::NotFound, "this folder is no model: it has no config.json." + advice);
    }
    config_ = hf_.model;
    config_.name = folder_name(folder_);
    warnings_ = hf_.warnings;
    VITRINE_CHECK(read_vocabulary(options));
    if (options.vocabulary_only) {
        config_.vocab = static_cast<std::int32_t>(vocabulary_.tokens.size());
        content_hash_ =
            XXH3_64bits_withSeed(config_text_.data(), config_text_.size(), vocabulary_.tokens.size());
        return {};
    }
    VITRINE_TRY(weights_, HfWeights::open(folder_, only));
    warnings_.insert(warnings_.end(), weights_->warnings().begin(), weights_->warnings().end());
    VITRINE_CHECK(find_roots());
    VITRINE_CHECK(read_tensors());
    VITRINE_CHECK(tie_output());
    look_for_unused();
    summarise();
    return {};
}

Status HfModel::read_vocabulary(OpenOptions options) {
    VITRINE_TRY(auto text, read_hf_text(folder_, hf_.eos, hf_.bos));
    vocabulary_ = std::move(text.vocabulary);
    chat_template_ = std::move(text.chat_template);
    warnings_.insert(warnings_.end(), text.warnings.begin(), text.warnings.end());
    return options.vocabulary_only ? Status() : fit_vocabulary();
}

// Some vocabularies name a few more tokens than the model has rows (an image token beside a model of text
// alone).
Status HfModel::fit_vocabulary() {
    const auto rows = static_cast<std::size_t>(config_.vocab);
    const std::size_t tokens = vocabulary_.tokens.size();
    if (tokens <= rows) return {};
    for (std::size_t id = rows; id < tokens; ++id) {
        const TokenType type = vocabulary_.types.empty() ? TokenType::Normal : vocabulary_.types[id];
        if (type == TokenType::Control || type == TokenType::UserDefined || type == TokenType::Unused)
            continue;
        return refuse(ErrorKind::BadFile, "config.json gives the model " + std::to_string(rows) +
                                              " tokens ('vocab_size'), but the vocabulary has " +
                                              std::to_string(tokens) + "; they are not of one model.");
    }
    warnings_.push_back("The vocabulary names " + std::to_string(tokens - rows) +
                        " special tokens more than the model has rows; they are left out.");
    VocabularyData& v = vocabulary_;
    v.tokens.resize(rows);
    v.types.resize(rows);
    if (!v.scores.empty()) v.scores.resize(rows);
    const auto outside = [&](TokenId id) { return static_cast<std::size_t>(id.value) >= rows; };
    std::erase_if(v.added, [&](const AddedToken& token) { return outside(token.id); });
    std::erase_if(v.extra_eog, outside);
    for (auto* id : {&v.bos, &v.eos, &v.eot, &v.eom, &v.unk, &v.pad})
        if (*id && outside(**id)) id->reset();
    return {};
}

// Where the names begin: models of pictures and text hold the language model inside.
Status HfModel::find_roots() {
    struct Root {
        const char* layers;
        const char* head;
    };
    constexpr std::array kRoots = {
        Root{"model.", "lm_head.weight"}, Root{"language_model.model.", "language_model.lm_head.weight"},
        Root{"model.language_model.", "lm_head.weight"}, Root{"", "lm_head.weight"}};
    for (const Root& root : kRoots) {
        if (!weights_->has(std::string(root.layers) + "embed_tokens.weight")) continue;
        root_ = root.layers;
        head_ = root.head;
        return {};
    }
    root_ = kRoots[0].layers;
    head_ = kRoots[0].head;
    if (weights_->has("tok_embeddings.weight") || weights_->has("layers.0.attention.wk.weight")) {
        return refuse(
            ErrorKind::Unsupported,
            "the weights have the names of their vendor's own layout ('layers.0.attention.wk.weight'), not "
            "those "
            "of Hugging Face ('model.layers.0.self_attn.k_proj.weight'); get the other files of this model.");
    }
    return {};
}

std::string HfModel::hf_name(std::string_view name) const {
    if (name == "token_embd.weight") return root_ + "embed_tokens.weight";
    if (name == "output_norm.weight") return root_ + "norm.weight";
    if (name == "output.weight") return head_;
    const std::size_t dot = name.find('.', 4);  // behind "blk.N"
    const std::size_t last = name.rfind('.');
    const std::string_view layer = name.substr(4, dot - 4);
    const std::string_view part = name.substr(dot + 1, last - dot - 1);
    std::string_view inner = part;
    for (const Naming& naming : kNames)
        if (naming.gguf == part) inner = naming.hf;
    if (part == "ffn_norm")
        inner = hf_.architecture->post_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
    if (part == "ffn_up" && hf_.architecture->fused) inner = "mlp.gate_up_proj";
    return root_ + "layers." + std::string(layer) + "." + std::string(inner) + std::string(name.substr(last));
}

Status HfModel::read_tensors() {
    std::vector<std::string> missing;
    std::string unlisted;
    std::vector<std::string> not_announced;
    for (const TensorDemand& demand : model_tensors(config_, *hf_.architecture, true)) {
        const std::string name = hf_name(demand.name);
        bool needed = demand.required;
        bool announced = true;
        if (is_bias(demand.name)) {
            const bool input = demand.name.ends_with("attn_q.bias") || demand.name.ends_with("attn_k.bias") ||
                               demand.name.ends_with("attn_v.bias");
            announced = input                                       ? hf_.input_bias
                        : demand.name.ends_with("attn_output.bias") ? hf_.attention_bias
                                                                    : hf_.mlp_bias;
            needed = announced;
        }
        if (demand.name == "output.weight") needed = !hf_.tied;
        // Norms that transformers has no place for in this kind of model.
        if (is_head_norm(demand.name) && !hf_.architecture->head_norms) continue;
        VITRINE_TRY(const auto place, weights_->find(name));
        if (!place) {
            if (!needed) continue;
            missing.push_back(name);
            if (unlisted.empty()) unlisted = weights_->unlisted_place(name);
            continue;
        }
        used_.push_back(name);
        if (!announced) {
            VITRINE_TRY(const auto values, widened(*place));
            if (std::any_of(values.begin(), values.end(), [](float v) { return v != 0.0F; }))
                not_announced.push_back(name);
        } else if (demand.dims.size() == 1) {
            VITRINE_CHECK(read_vector(demand.name, *place, demand));
        } else {
            VITRINE_CHECK(read_matrix(demand.name, *place, demand));
        }
    }
    if (!missing.empty() && weights_->has_index()) {
        return refuse(ErrorKind::BadFile,
                      std::string(kHfIndexName) +
                          " does not list tensors that the model needs: " + list_names(missing) +
                          (unlisted.empty()
                               ? "; the folder is incomplete, or its config.json is not that of its weights."
                               : ", although " + in_quotes(unlisted) +
                                     " holds some of them: index and files are not of one download."));
    }
    if (!missing.empty()) {
        const bool head_alone = missing.size() == 1 && missing[0] == head_;
        return refuse(
            ErrorKind::BadFile,
            "the weights lack tensors that the model needs: " + list_names(missing) +
                (head_alone ? ", and config.json does not say that the embedding serves as output "
                              "('tie_word_embeddings')."
                            : ". The folder is incomplete, or its config.json is not that of its weights."));
    }
    if (!not_announced.empty())
        warnings_.push_back(
            "Biases that config.json does not announce are not used: " + list_names(not_announced) + ".");
    return {};
}

Status HfModel::read_vector(const std::string& name, const HfPlace& place, const TensorDemand& demand) {
    const std::uint64_t size = demand.dims[0];
    if (place.tensor->shape != std::vector<std::uint64_t>{size}) {
        return Error{ErrorKind::BadFile, where_of(place) + " has shape " + shape_text(place.tensor->shape) +
                                             "; [" + std::to_string(size) + "] is needed by config.json."};
    }
    VITRINE_TRY(auto values, widened(place));
    if (hf_.one_added_to_norms && is_norm(name))
        for (float& value : values) value += 1.0F;
    owned_.push_back(std::move(values));
    HostTensor view;
    view.dtype = DType::F32;
    view.rows = 1;
    view.cols = static_cast<std::int64_t>(size);
    view.data = reinterpret_cast<const std::byte*>(owned_.back().data());
    tensors_.emplace(name, view);
    return {};
}

Status HfModel::read_matrix(const std::string& name, const HfPlace& place, const TensorDemand& demand) {
    const std::vector<std::uint64_t> shape = {demand.dims[1], demand.dims[0]};
    if (place.tensor->shape != shape) {
        return Error{ErrorKind::BadFile, where_of(place) + " has shape " + shape_text(place.tensor->shape) +
                                             "; " + shape_text(shape) + " is needed by config.json."};
    }
    if (!place.tensor->dtype) {
        return Error{ErrorKind::Unsupported,
                     where_of(place) + " has dtype " + in_quotes(place.tensor->dtype_name) +
                         ", which this version cannot run; it runs F32, F16, BF16, F8_E4M3 and I8."};
    }
    HostTensor view;
    view.dtype = *place.tensor->dtype;
    view.rows = static_cast<std::int64_t>(shape[0]);
    view.cols = static_cast<std::int64_t>(shape[1]);
    view.data = place.file->data(*place.tensor).data();
    if (has_outside_scales(view.dtype)) VITRINE_CHECK(read_scales(place, view));
    tensors_.emplace(name, view);
    return {};
}

Status HfModel::read_scales(const HfPlace& place, HostTensor& view) {
    const std::string stem = place.tensor->name.substr(0, place.tensor->name.rfind('.'));
    VITRINE_TRY(const auto zero, weights_->find(stem + ".weight_zero_point"));
    if (zero) {
        return Error{ErrorKind::Unsupported,
                     where_of(*zero) +
                         ": 8-bit weights with zero points are not something that this version can run."};
    }
    VITRINE_TRY(const auto plain, weights_->find(stem + ".weight_scale"));
    VITRINE_TRY(const auto inverse, weights_->find(stem + ".weight_scale_inv"));
    if (!plain && !inverse) {
        return Error{ErrorKind::BadFile,
                     where_of(place) + " (" + place.tensor->dtype_name +
                         ") has no scale beside it: " + in_quotes(stem + ".weight_scale") + " is missing."};
    }
    if (plain && inverse) {
        return Error{ErrorKind::BadFile, where_of(place) +
                                             " has two scales, weight_scale and weight_scale_inv; which one "
                                             "counts would be chance."};
    }
    const HfPlace scale = plain ? *plain : *inverse;
    used_.push_back(scale.tensor->name);
    VITRINE_TRY(auto values, widened(scale));
    const auto tiles = [](std::int64_t n, std::int64_t tile) {
        return static_cast<std::uint64_t>((n + tile - 1) / tile);
    };
    const auto rows = static_cast<std::uint64_t>(view.rows);
    const std::vector<std::uint64_t>& shape = scale.tensor->shape;
    const std::vector<std::uint64_t> grid = {tiles(view.rows, hf_.quantization.tile_rows),
                                             tiles(view.cols, hf_.quantization.tile_cols)};
    // One for all; one for a row; a grid of blocks. The first that fits: with one row or one block they mean
    // the same.
    if (values.size() == 1 && shape.size() <= 2) {
        view.scales.tile_rows = view.rows;
        view.scales.tile_cols = view.cols;
    } else if (shape == std::vector<std::uint64_t>{rows} || shape == std::vector<std::uint64_t>{rows, 1}) {
        view.scales.tile_rows = 1;
        view.scales.tile_cols = view.cols;
    } else if (shape == grid) {
        view.scales.tile_rows = hf_.quantization.tile_rows;
        view.scales.tile_cols = hf_.quantization.tile_cols;
    } else {
        return Error{
            ErrorKind::BadFile,
            where_of(scale) + " has shape " + shape_text(shape) + "; for weights of shape " +
                shape_text(place.tensor->shape) + " one scale, one for each row ([" + std::to_string(rows) +
                ", 1]) or one for each block of " + std::to_string(hf_.quantization.tile_rows) + " × " +
                std::to_string(hf_.quantization.tile_cols) + " (" + shape_text(grid) + ") is needed."};
    }
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
        return Error{ErrorKind::BadFile, where_of(scale) +
                                             " holds a scale that is NaN or infinite, so every answer would "
                                             "be; the file is damaged: download it again."};
    }
    owned_.push_back(std::move(values));
    view.scales.values = owned_.back().data();
    return {};
}

Status HfModel::tie_output() {
    const auto head = tensors_.find("output.weight");
    if (!hf_.tied || head == tensors_.end()) return {};
    const HostTensor& embedding = tensors_.find("token_embd.weight")->second;
    const HostTensor& output = head->second;
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(output.rows) * row_bytes(output.dtype, output.cols).value_or(0);
    if (embedding.dtype == output.dtype && !has_outside_scales(output.dtype) &&
        (bytes == 0 || std::memcmp(embedding.data, output.data, bytes) == 0)) {
        tensors_.erase(head);
        return {};
    }
    warnings_.push_back(
        "config.json ties the output matrix to the embedding ('tie_word_embeddings'), but the folder has " +
        in_quotes(head_) + " with other values; the one in the folder is used.");
    return {};
}

void HfModel::look_for_unused() {
    std::sort(used_.begin(), used_.end());
    std::vector<std::string> unused;
    for (const std::string& name : weights_->names()) {
        if (std::binary_search(used_.begin(), used_.end(), name)) continue;
        if (name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".input_scale") ||
            name.ends_with(".activation_scale"))
            continue;
        unused.push_back(name);
    }
    if (!unused.empty())
        warnings_.push_back("The folder has " + std::to_string(unused.size()) +
                            " tensors that are not used: " + list_names(unused) + ".");
    if (!weights_->has_index()) return;
    std::size_t unlisted = 0;
    for (const auto& file : weights_->files())
        for (const SafetensorsTensor& tensor : file->tensors())
            if (!weights_->has(tensor.name)) ++unlisted;
    if (unlisted > 0)
        warnings_.push_back("The files hold " + std::to_string(unlisted) + " tensors that " +
                            std::string(kHfIndexName) + " does not list; they are not used.");
}

// Headers, sizes, and pages spread evenly over the rest: enough to tell any two models apart that people
// have.
void HfModel::summarise() {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kPages = 64;
    std::map<std::string, std::uint64_t> weights_of;
    std::uint64_t hash = XXH3_64bits(config_text_.data(), config_text_.size());
    for (const auto& file : weights_->files()) {
        const auto header = file->header_bytes();
        hash = XXH3_64bits_withSeed(header.data(), header.size(), hash);
        for (const SafetensorsTensor& tensor : file->tensors()) {
            weights_bytes_ += tensor.bytes;
            const bool counts = tensor.name.ends_with(".weight") || tensor.name.ends_with(".bias");
            if (counts) parameters_ += tensor.elements;
            if (counts && tensor.shape.size() > 1) weights_of[tensor.dtype_name] += tensor.elements;
            const auto data = file->data(tensor);
            if (data.empty()) continue;
            const std::uint64_t share = std::max<std::uint64_t>(
                1, kPages * data.size() / std::max<std::uint64_t>(1, file->file_size()));
            for (std::uint64_t i = 0; i < share; ++i) {
                const std::uint64_t start = data.size() / share * i;
                hash = XXH3_64bits_withSeed(data.data() + start,
                                            std::min<std::uint64_t>(kPage, data.size() - start), hash);
            }
        }
    }
    content_hash_ = hash;
    const auto most = std::max_element(weights_of.begin(), weights_of.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != weights_of.end()) weights_format_ = most->first;
}

std::optional<HostTensor> HfModel::tensor(std::string_view name) const {
    if (hf_.architecture != nullptr && hf_.architecture->fused) {
        if (const FusedPlace place = fused_place(config_, name); !place.name.empty()) {
            const auto whole = tensors_.find(place.name);
            if (whole == tensors_.end()) return std::nullopt;
            return whole->second.slice_rows(place.first_row, place.rows);
        }
    }
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return std::nullopt;
    return found->second;
}

void HfModel::release(std::span<const std::byte> bytes) const {
    if (!weights_) return;
    for (const auto& file : weights_->files()) file->release(bytes);
}

Status HfModel::unchanged() const {
    if (!weights_) return {};
    for (const auto& file : weights_->files()) VITRINE_CHECK(file->unchanged());
    return {};
}

}  // namespace vitrine
