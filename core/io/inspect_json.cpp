// The report of the inspector for scripts.
#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "core/io/byte_reader.h"
#include "core/io/inspect_facts.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownBytes = 65536;    // of a text; a template fits, a bomb does not
constexpr std::uint64_t kShownElements = 16;  // of an array

// Valid UTF-8 as it is (JSON escapes control characters), invalid sequences as U+FFFD.
std::string clean(std::string_view bytes) {
    std::string out;
    while (!bytes.empty()) {
        const Utf8Step step = utf8_step(bytes.substr(0, 4));
        if (step.valid) {
            out.append(bytes, 0, step.length);
        } else {
            out += "\xEF\xBF\xBD";
        }
        bytes.remove_prefix(step.length);
    }
    return out;
}

Json number_json(GgufType type, const std::byte* p) {
    switch (type) {
        case GgufType::U8: return load_number<std::uint8_t>(p);
        case GgufType::I8: return load_number<std::int8_t>(p);
        case GgufType::U16: return load_number<std::uint16_t>(p);
        case GgufType::I16: return load_number<std::int16_t>(p);
        case GgufType::U32: return load_number<std::uint32_t>(p);
        case GgufType::I32: return load_number<std::int32_t>(p);
        case GgufType::U64: return load_number<std::uint64_t>(p);
        case GgufType::I64: return load_number<std::int64_t>(p);
        case GgufType::F32: return load_number<float>(p);  // not finite: null, as JSON has no such number
        case GgufType::F64: return load_number<double>(p);
        case GgufType::Bool: {
            const auto byte = load_number<std::uint8_t>(p);
            if (byte > 1) return byte;
            return byte == 1;
        }
        case GgufType::String:
        case GgufType::Array: break;
    }
    return nullptr;
}

Json value_json(const GgufValue& value) {
    Json out = {{"key", clean(value.key)}, {"type", gguf_type_name(value.type)}};
    if (value.type == GgufType::String) {
        const std::string_view text = as_text(value.payload.subspan(8));
        out["value"] = clean(text.substr(0, kShownBytes));
        if (text.size() > kShownBytes) {
            out["bytes"] = text.size();
            out["cut"] = true;
        }
        return out;
    }
    if (value.type != GgufType::Array) {
        out["value"] = number_json(value.type, value.payload.data());
        return out;
    }
    out["element"] = gguf_type_name(value.element);
    out["count"] = value.count;
    Json first = Json::array();
    ByteReader reader(value.payload);
    const std::uint64_t size = gguf_fixed_size(value.element);
    for (std::uint64_t i = 0; i < std::min(value.count, kShownElements) && value.element != GgufType::Array;
         ++i) {
        if (size > 0) {
            first.push_back(number_json(value.element, value.payload.data() + i * size));
            continue;
        }
        const auto length = reader.number<std::uint64_t>();
        const auto bytes = length ? reader.take(*length) : std::nullopt;
        if (bytes) first.push_back(clean(as_text(*bytes).substr(0, 256)));
    }
    out["first"] = std::move(first);
    return out;
}

Json tensor_json(const GgufTensor& tensor, bool folder) {
    Json out = {{"name", clean(tensor.name)}, {"type", clean(tensor.type_name)}};
    if (!folder) out["type_id"] = tensor.type_id;
    out["shape"] = tensor.dims;
    out["valid"] = tensor.valid;
    out["runnable"] = tensor.dtype.has_value();
    if (tensor.valid) {
        out["offset"] = tensor.offset;
        out["bytes"] = tensor.bytes;
    }
    return out;
}

}  // namespace

std::string inspect_json(const InspectFacts& facts) {
    const auto text_or_null = [](const std::string& text) {
        return text.empty() ? Json() : Json(clean(std::string_view(text).substr(0, kShownBytes)));
    };
    Json out;
    out["path"] = clean(facts.path.native());
    out["usable"] = facts.usable;
    out["reason"] = text_or_null(facts.reason);
    out["file_size"] = facts.file_size;
    out["format"] = facts.folder ? Json("huggingface") : facts.content.version > 0 ? Json("gguf") : Json();
    Json files = Json::array();
    for (const InspectFacts::File& file : facts.files)
        files.push_back({{"name", clean(file.name)}, {"bytes", file.bytes}});
    out["files"] = std::move(files);
    out["version"] = facts.content.version > 0 ? Json(facts.content.version) : Json();
    out["alignment"] = facts.content.alignment;
    out["name"] = text_or_null(facts.name);
    out["architecture"] = text_or_null(facts.architecture);
    out["context"] = facts.context > 0 ? Json(facts.context) : Json();
    out["parameters"] = facts.parameters;
    out["weights_bytes"] = facts.tensor_bytes;
    out["partial"] = facts.partial;
    Json types = Json::object();
    for (const auto& [type, share] : facts.by_type) {
        types[type] = {{"tensors", share.tensors}, {"weights", share.weights}, {"bytes", share.bytes}};
    }
    out["by_type"] = std::move(types);
    out["kv_bytes_per_token"] = facts.kv_bytes_per_token > 0 ? Json(facts.kv_bytes_per_token) : Json();
    out["unused_bytes"] = facts.content.unused_tail + facts.content.unused_gaps;
    Json suspicious = Json::array();
    for (const std::string& sentence : facts.suspicious) suspicious.push_back(clean(sentence));
    out["suspicious"] = std::move(suspicious);
    Json metadata = Json::array();
    for (const GgufValue& value : facts.content.values) metadata.push_back(value_json(value));
    for (const auto& [key, value] : facts.members) {
        Json entry = {{"key", clean(key)}};
        if (value.size() <= kShownBytes) {
            entry["value"] = Json::parse(value, nullptr, false);
        } else {
            entry["bytes"] = value.size();
            entry["cut"] = true;
        }
        metadata.push_back(std::move(entry));
    }
    out["metadata"] = std::move(metadata);
    Json tensors = Json::array();
    for (const GgufTensor& tensor : facts.content.tensors)
        tensors.push_back(tensor_json(tensor, facts.folder));
    out["tensors"] = std::move(tensors);
    // ASCII only: a terminal that shows the output is not turned around by what a file says.
    return out.dump(1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace vitrine
