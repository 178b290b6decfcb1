// safetensors files made in memory, good and hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/io/gguf_builder.h"

namespace vitrine::test {

// The header's length, the header, the data.
inline Bytes safetensors_bytes(std::string_view header, std::size_t data) {
    return le(static_cast<std::uint64_t>(header.size())) + raw(header) + Bytes(data);
}

class SafetensorsBuilder {
  public:
    struct Tensor {
        std::string name;  // as it stands in the JSON, escapes included
        std::string dtype;
        std::vector<std::uint64_t> shape;
        Bytes data;
    };
    std::vector<Tensor> tensors;
    std::string metadata = R"({"format":"pt"})";  // empty: none

    SafetensorsBuilder& add(std::string_view name, std::string_view dtype, std::vector<std::uint64_t> shape,
                            Bytes data) {
        tensors.push_back({std::string(name), std::string(dtype), std::move(shape), std::move(data)});
        return *this;
    }
    SafetensorsBuilder& remove(std::string_view name) {
        std::erase_if(tensors, [&](const Tensor& t) { return t.name == name; });
        return *this;
    }
    // Null where there is none.
    Tensor* find(std::string_view name) {
        for (Tensor& tensor : tensors)
            if (tensor.name == name) return &tensor;
        return nullptr;
    }

    Bytes bytes() const {
        std::string header = "{";
        Bytes data;
        const auto next = [&] { return header.size() > 1 ? "," : ""; };
        if (!metadata.empty()) header += "\"__metadata__\":" + metadata;
        for (const Tensor& tensor : tensors) {
            std::string shape;
            for (const std::uint64_t n : tensor.shape)
                shape += (shape.empty() ? "" : ",") + std::to_string(n);
            header += std::string(next()) + "\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype +
                      "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
                      std::to_string(data.size() + tensor.data.size()) + "]}";
            data.insert(data.end(), tensor.data.begin(), tensor.data.end());
        }
        header += "}";
        header.resize((header.size() + 7) / 8 * 8, ' ');
        return le(static_cast<std::uint64_t>(header.size())) + raw(header) + data;
    }
};

}  // namespace vitrine::test
