// What the inspector finds in a Hugging Face folder.
#include <algorithm>

#include "core/io/finite.h"
#include "core/io/hf_config.h"
#include "core/io/hf_model.h"
#include "core/io/hf_weights.h"
#include "core/io/inspect_facts.h"
#include "core/io/json_reader.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kMaxMembers = 2000;

// The members of a JSON file, one level of objects opened.
void list_members(InspectFacts& facts, const std::string& file, const Json& object) {
    const auto add = [&](const std::string& key, const Json& value) {
        if (facts.members.size() < kMaxMembers)
            facts.members.emplace_back(key, value.dump(-1, ' ', false, Json::error_handler_t::replace));
    };
    for (const auto& [key, value] : object.items()) {
        if (!value.is_object() || value.empty()) {
            add(file + ": " + key, value);
            continue;
        }
        for (const auto& [inner, one] : value.items()) add(file + ": " + key + "." + inner, one);
    }
}

void list_tensors(InspectFacts& facts, const SafetensorsFile& file, std::size_t& bad) {
    for (const SafetensorsTensor& stored : file.tensors()) {
        GgufTensor tensor;
        tensor.name = stored.name;
        tensor.type_name = stored.dtype_name;
        tensor.dtype = stored.dtype;
        tensor.dims = stored.shape;
        tensor.offset = stored.offset;
        tensor.bytes = stored.bytes;
        tensor.valid = true;
        look_at_tensor(facts, tensor, file.data(stored).data(), bad);
        facts.content.tensors.push_back(std::move(tensor));
    }
}

}  // namespace

void inspect_folder(InspectFacts& facts) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(facts.path, ignored);
    const fs::path folder = is_folder                      ? facts.path
                            : facts.path.has_parent_path() ? facts.path.parent_path()
                                                           : fs::path(".");
    facts.folder = true;
    const fs::path config_path = folder / "config.json";
    const auto config = read_json_if_present(config_path);
    if (config.ok() && *config) {
        list_members(facts, "config.json", **config);
        // Also of a model that cannot be run, as far as it goes.
        if (const auto read = read_hf_config(**config, ""); read.ok()) {
            const ModelConfig& model = read->model;
            facts.context = static_cast<std::uint64_t>(model.context);
            constexpr std::uint64_t kHalfBytes = 2;
            facts.kv_bytes_per_token = 2 * static_cast<std::uint64_t>(model.layers) *
                                       static_cast<std::uint64_t>(model.kv_heads) *
                                       static_cast<std::uint64_t>(model.head_dim) * kHalfBytes;
            facts.architecture = model.architecture;
        } else if ((*config)->contains("model_type") && (**config)["model_type"].is_string()) {
            facts.architecture = (**config)["model_type"].get<std::string>();
        }
    }
    if (const auto generation = read_json_if_present(folder / "generation_config.json");
        generation.ok() && *generation)
        list_members(facts, "generation_config.json", **generation);

    std::size_t bad = 0;
    const bool one_file = !is_folder && facts.path.native().ends_with(".safetensors");
    const auto weights = HfWeights::open(folder, one_file ? facts.path.filename().native() : std::string());
    if (weights.ok()) {
        for (const auto& file : weights->files()) {
            const std::string name = file->path().filename().native();
            facts.files.push_back({name, file->file_size()});
            facts.file_size += file->file_size();
            for (const auto& [key, value] : file->content().metadata)
                if (facts.members.size() < kMaxMembers)
                    facts.members.emplace_back(
                        name + ": " + key, Json(value).dump(-1, ' ', false, Json::error_handler_t::replace));
            list_tensors(facts, *file, bad);
        }
        for (const std::string& warning : weights->warnings()) note(facts, warning);
    }
    count_tensors(facts);

    const auto source = ModelSource::open(facts.path);
    facts.usable = source.ok();
    if (source.ok()) {
        facts.name = (*source)->config().name;
        facts.parameters = (*source)->parameters();
        for (const std::string& warning : (*source)->warnings()) note(facts, warning);
        if (!(*source)->chat_template()) note(facts, "The folder has no chat template.");
    } else {
        facts.reason = source.error().message;
        if (!weights.ok() && weights.error().message != facts.reason) note(facts, weights.error().message);
    }
    say_bad_tensors(facts, bad);
}

}  // namespace vitrine
