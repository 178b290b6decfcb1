// Any bytes as a safetensors file, and as the config.json of a folder: an error with a sentence, or content
// whose every view lies inside the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "core/io/hf_config.h"
#include "core/io/printable.h"
#include "core/io/safetensors_file.h"
#include "core/io/tokenizer_config.h"

namespace {

using namespace vitrine;

void check_error(const Error& error) {
    if (error.message.empty() || !is_valid_utf8(error.message)) std::abort();
}

void fuzz_file(std::span<const std::byte> file) {
    const auto content = read_safetensors(file);
    if (!content.ok()) return check_error(content.error());
    std::uint64_t total = content->data_offset;
    for (const SafetensorsTensor& tensor : content->tensors) {
        if (tensor.offset > file.size() || tensor.bytes > file.size() - tensor.offset) std::abort();
        if (content->find(tensor.name) != &tensor) std::abort();
        total += tensor.bytes;
    }
    // The data are covered exactly.
    if (total != file.size()) std::abort();
}

void fuzz_config(std::string_view text) {
    const auto json = parse_tokenizer_json(text, "config.json");
    if (!json.ok()) return;
    const auto config = read_hf_config(*json, "config.json: ");
    if (!config.ok()) return check_error(config.error());
    const ModelConfig& model = config->model;
    const bool sound = model.layers > 0 && model.embedding > 0 && model.heads > 0 && model.kv_heads > 0 &&
                       model.head_dim > 0 && model.heads % model.kv_heads == 0 && !model.ropes.empty() &&
                       model.layer.size() == static_cast<std::size_t>(model.layers);
    if (!sound) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    if (size > 0 && data[0] == '{') {
        fuzz_config({reinterpret_cast<const char*>(data), size});
    } else {
        fuzz_file(bytes);
    }
    return 0;
}
