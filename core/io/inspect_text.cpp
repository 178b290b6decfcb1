// The report of the inspector for people.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "core/io/byte_reader.h"
#include "core/io/inspect_facts.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

constexpr std::size_t kShownText = 200;      // bytes of a text value
constexpr std::uint64_t kShownElements = 6;  // of an array

template <class T>
std::string to_text(T number) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    return {buffer.data(), end.ptr};
}

std::string number_text(GgufType type, const std::byte* p) {
    switch (type) {
        case GgufType::U8: return to_text(load_number<std::uint8_t>(p));
        case GgufType::I8: return to_text(static_cast<int>(load_number<std::int8_t>(p)));
        case GgufType::U16: return to_text(load_number<std::uint16_t>(p));
        case GgufType::I16: return to_text(load_number<std::int16_t>(p));
        case GgufType::U32: return to_text(load_number<std::uint32_t>(p));
        case GgufType::I32: return to_text(load_number<std::int32_t>(p));
        case GgufType::U64: return to_text(load_number<std::uint64_t>(p));
        case GgufType::I64: return to_text(load_number<std::int64_t>(p));
        case GgufType::F32: return to_text(load_number<float>(p));
        case GgufType::F64: return to_text(load_number<double>(p));
        case GgufType::Bool: {
            const auto byte = load_number<std::uint8_t>(p);
            return byte == 0 ? "false" : byte == 1 ? "true" : "bool " + to_text(byte);
        }
        case GgufType::String:
        case GgufType::Array: break;
    }
    return "";
}

// 2^20 bytes and more get a unit in parentheses.
std::string bytes_text(std::uint64_t bytes) {
    std::string text = std::to_string(bytes) + " bytes";
    constexpr std::uint64_t kMi = 1U << 20U;
    constexpr std::uint64_t kGi = 1U << 30U;
    if (bytes < kMi) return text;
    const std::uint64_t unit = bytes < kGi ? kMi : kGi;
    // Tenths, without the locale and without a product that could wrap.
    const std::uint64_t whole = bytes / unit;
    const std::uint64_t tenth = bytes % unit * 10 / unit;
    return text + " (" + std::to_string(whole) + "." + std::to_string(tenth) +
           (unit == kMi ? " MiB)" : " GiB)");
}

std::string shape_text(const GgufTensor& tensor) {
    std::string text;
    for (std::size_t i = 0; i < tensor.dims.size(); ++i)
        text += (i > 0 ? " × " : "") + std::to_string(tensor.dims[i]);
    return text.empty() ? "1" : text;
}

// Bytes of UTF-8 to columns, near enough for a table of names.
std::size_t columns(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(std::string text, std::size_t width) {
    const std::size_t used = columns(text);
    if (used < width) text.append(width - used, ' ');
    return text;
}

}  // namespace

std::string value_text(const GgufValue& value) {
    if (value.type == GgufType::String) return printable(as_text(value.payload.subspan(8)), kShownText);
    if (value.type != GgufType::Array) return number_text(value.type, value.payload.data());
    std::string text = to_text(value.count) + " elements";
    if (value.element == GgufType::Array || value.count == 0) return text;
    text += ": ";
    ByteReader reader(value.payload);
    const std::uint64_t size = gguf_fixed_size(value.element);
    for (std::uint64_t i = 0; i < std::min(value.count, kShownElements); ++i) {
        if (i > 0) text += ", ";
        if (size > 0) {
            text += number_text(value.element, value.payload.data() + i * size);
        } else {
            const auto length = reader.number<std::uint64_t>();
            const auto bytes = length ? reader.take(*length) : std::nullopt;
            if (bytes) text += in_quotes(as_text(*bytes));
        }
    }
    if (value.count > kShownElements) text += ", …";
    return text;
}

std::string inspect_text(const InspectFacts& facts) {
    const GgufContent& content = facts.content;
    std::string out = display_path(facts.path) + "\n";
    if (facts.file_size > 0) out += "  size          " + bytes_text(facts.file_size) + "\n";
    for (const InspectFacts::File& file : facts.files)
        out += "    " + printable(file.name, kShownText) + "  " + bytes_text(file.bytes) + "\n";
    if (facts.folder) out += "  format        Hugging Face folder\n";
    if (content.version > 0) {
        out += "  format        GGUF version " + std::to_string(content.version) + ", alignment " +
               std::to_string(content.alignment) + "\n";
    }
    if (!facts.name.empty()) out += "  name          " + printable(facts.name, kShownText) + "\n";
    if (!facts.architecture.empty())
        out += "  architecture  " + printable(facts.architecture, kShownText) + "\n";
    if (facts.context > 0) out += "  context       " + std::to_string(facts.context) + " tokens\n";
    if (facts.parameters > 0) {
        out += "  parameters    " + std::to_string(facts.parameters) +
               (facts.partial ? " (of the parts that are here)" : "") + "\n";
        out += "  weights       " + bytes_text(facts.tensor_bytes) +
               (facts.partial ? " (of the parts that are here)" : "") + "\n";
    }
    for (const auto& [type, share] : facts.by_type) {
        out += "    " + padded(type, 10) + std::to_string(share.tensors) + " tensors, " +
               std::to_string(share.weights) + " weights, " + bytes_text(share.bytes) + "\n";
    }
    if (facts.kv_bytes_per_token > 0) {
        out += "  KV cache      " + std::to_string(facts.kv_bytes_per_token) + " bytes a token in F16";
        if (facts.context > 0 && facts.context <= UINT64_MAX / facts.kv_bytes_per_token) {
            out += ", " + bytes_text(facts.kv_bytes_per_token * facts.context) + " for the whole context";
        }
        out += "\n";
    }
    out += facts.usable ? "  usable        yes\n" : "  usable        no: " + facts.reason + "\n";

    if (!facts.suspicious.empty()) out += "\nsuspicious\n";
    for (const std::string& sentence : facts.suspicious) out += "  - " + sentence + "\n";

    if (!content.values.empty()) out += "\nmetadata (" + std::to_string(content.values.size()) + " keys)\n";
    for (const GgufValue& value : content.values) {
        out += "  " + printable(value.key, kShownText) + "  [" + gguf_type_name(value) + "]  " +
               value_text(value) + "\n";
    }
    if (!facts.members.empty()) out += "\nmetadata (" + std::to_string(facts.members.size()) + " members)\n";
    for (const auto& [key, value] : facts.members)
        out += "  " + printable(key, kShownText) + "  " + printable(value, kShownText) + "\n";
    if (content.values.size() < content.declared_values) {
        out += "  … " + std::to_string(content.declared_values - content.values.size()) +
               " more are announced and cannot be read\n";
    }

    if (!content.tensors.empty()) out += "\ntensors (" + std::to_string(content.tensors.size()) + ")\n";
    std::size_t width = 0;
    for (const GgufTensor& tensor : content.tensors)
        width = std::max(width, columns(printable(tensor.name, 60)));
    for (const GgufTensor& tensor : content.tensors) {
        const std::string type =
            tensor.type_name.empty() ? "type id " + std::to_string(tensor.type_id) : tensor.type_name;
        out += "  " + padded(printable(tensor.name, 60), width + 2) + padded(type, 8) + "  " +
               padded(shape_text(tensor), 16) + "  ";
        out += tensor.valid ? std::to_string(tensor.bytes) + " bytes" : "not usable";
        if (tensor.valid && !tensor.dtype) out += ", cannot be run by this version";
        out += "\n";
    }
    return out;
}

}  // namespace vitrine
