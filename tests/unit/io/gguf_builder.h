// GGUF files made in memory, good and hostile: every number can be set to what a test needs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vitrine::test {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes le(T value) {
    Bytes out(sizeof value);
    std::memcpy(out.data(), &value, sizeof value);
    return out;
}

inline Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

inline Bytes raw(std::string_view text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
}

// A string as GGUF stores it.
inline Bytes str(std::string_view text) { return le(static_cast<std::uint64_t>(text.size())) + raw(text); }

// An array value: element type, count, elements.
inline Bytes arr(std::uint32_t element, std::uint64_t count, const Bytes& data) {
    return le(element) + le(count) + data;
}

inline Bytes str_array(const std::vector<std::string>& texts) {
    Bytes data;
    for (const std::string& text : texts) {
        const Bytes one = str(text);
        data.insert(data.end(), one.begin(), one.end());
    }
    return arr(8, texts.size(), data);
}

template <class T>
Bytes number_array(std::uint32_t element, const std::vector<T>& numbers) {
    Bytes data;
    for (const T number : numbers) {
        const Bytes one = le(number);
        data.insert(data.end(), one.begin(), one.end());
    }
    return arr(element, numbers.size(), data);
}

class GgufBuilder {
  public:
    struct Value {
        std::string key;
        std::uint32_t type = 0;
        Bytes payload;  // for arrays with element type and count in front
    };
    struct Tensor {
        std::string name;
        std::vector<std::uint64_t> dims;
        std::uint32_t type = 0;
        Bytes data;
        std::optional<std::uint64_t> offset;      // stored instead of the right one
        std::optional<std::uint32_t> dimensions;  // stored instead of dims.size()
    };

    std::uint32_t version = 3;
    std::uint64_t alignment = 32;                  // of what is written; the key is the caller's affair
    std::optional<std::uint64_t> declared_values;  // instead of the right numbers
    std::optional<std::uint64_t> declared_tensors;
    std::vector<Value> values;
    std::vector<Tensor> tensors;
    Bytes tail;  // behind everything

    // Replaces the value of a key, or adds it at the end.
    GgufBuilder& set(std::string_view key, std::uint32_t type, Bytes payload) {
        for (Value& value : values) {
            if (value.key == key) {
                value.type = type;
                value.payload = std::move(payload);
                return *this;
            }
        }
        return add(key, type, std::move(payload));
    }
    // Adds it even where the key is there.
    GgufBuilder& add(std::string_view key, std::uint32_t type, Bytes payload) {
        values.push_back({std::string(key), type, std::move(payload)});
        return *this;
    }
    GgufBuilder& set_u32(std::string_view key, std::uint32_t value) { return set(key, 4, le(value)); }
    GgufBuilder& set_i32(std::string_view key, std::int32_t value) { return set(key, 5, le(value)); }
    GgufBuilder& set_u64(std::string_view key, std::uint64_t value) { return set(key, 10, le(value)); }
    GgufBuilder& set_f32(std::string_view key, float value) { return set(key, 6, le(value)); }
    GgufBuilder& set_bool(std::string_view key, bool value) {
        return set(key, 7, le(static_cast<std::uint8_t>(value)));
    }
    GgufBuilder& set_string(std::string_view key, std::string_view text) { return set(key, 8, str(text)); }

    GgufBuilder& remove(std::string_view key) {
        std::erase_if(values, [key](const Value& value) { return value.key == key; });
        return *this;
    }
    GgufBuilder& add_tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                            Bytes data) {
        tensors.push_back({std::string(name), std::move(dims), type, std::move(data), {}, {}});
        return *this;
    }
    GgufBuilder& remove_tensor(std::string_view name) {
        std::erase_if(tensors, [name](const Tensor& tensor) { return tensor.name == name; });
        return *this;
    }
    // The tensor of that name, which must be there.
    Tensor& tensor(std::string_view name) {
        return *std::find_if(tensors.begin(), tensors.end(),
                             [name](const Tensor& tensor) { return tensor.name == name; });
    }

    Bytes bytes() const {
        Bytes out = raw("GGUF") + le(version) + le(declared_tensors.value_or(tensors.size())) +
                    le(declared_values.value_or(values.size()));
        const auto append = [&out](const Bytes& more) { out.insert(out.end(), more.begin(), more.end()); };
        for (const Value& value : values) {
            append(str(value.key));
            append(le(value.type));
            append(value.payload);
        }
        std::uint64_t offset = 0;
        std::vector<std::uint64_t> offsets;
        for (const Tensor& tensor : tensors) {
            append(str(tensor.name));
            append(le(tensor.dimensions.value_or(static_cast<std::uint32_t>(tensor.dims.size()))));
            for (const std::uint64_t dimension : tensor.dims) append(le(dimension));
            append(le(tensor.type));
            append(le(tensor.offset.value_or(offset)));
            offsets.push_back(offset);
            offset += (tensor.data.size() + alignment - 1) / alignment * alignment;
        }
        if (!tensors.empty()) out.resize((out.size() + alignment - 1) / alignment * alignment);
        const std::size_t start = out.size();
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            out.resize(start + offsets[i]);
            append(tensors[i].data);
        }
        if (!tensors.empty()) out.resize(start + offset);
        append(tail);
        return out;
    }
};

}  // namespace vitrine::test
