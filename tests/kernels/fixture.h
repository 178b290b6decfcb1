// Devices and steps for the tests of the kernels.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "tests/kernels/random_tensor.h"

namespace vitrine::test {

inline std::unique_ptr<Device> make_device(const std::string& name, int threads) {
    auto device = name == "reference" ? make_reference_device(threads) : make_cpu_device(threads);
    return device.ok() ? std::move(device).value() : nullptr;
}

inline std::string name_of_type(DType type) { return std::string(info_of(type).name); }

// The rows of one step, kept alive while it runs.
struct Step {
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> positions;
    std::vector<SequenceSlice> sequences;
    std::vector<std::int32_t> outputs;
    std::vector<RopeSpec> ropes;

    void add(std::int32_t start, std::int32_t rows, std::span<const std::int32_t> blocks) {
        sequences.push_back({static_cast<std::int32_t>(tokens.size()), rows, start, blocks});
        for (std::int32_t i = 0; i < rows; ++i) {
            tokens.push_back(0);
            positions.push_back(start + i);
        }
    }
    StepInput input() const { return {tokens, positions, sequences, outputs, ropes}; }
};

inline Weight upload(Device& device, const OwnedTensor& t) {
    auto w = device.upload(t.view());
    return w.ok() ? std::move(w).value() : nullptr;
}

inline Buffer buffer_of(Device& device, const std::vector<float>& values) {
    auto b = device.allocate(values.size());
    if (!b.ok()) return nullptr;
    device.write(*b.value(), 0, values);
    return std::move(b).value();
}

inline std::vector<float> values_of(Device& device, const BufferStorage& b) {
    const auto v = device.read(b, 0, b.size);
    return {v.begin(), v.end()};
}

inline std::vector<std::int32_t> table_of(std::int32_t blocks) {
    std::vector<std::int32_t> t(static_cast<std::size_t>(blocks));
    std::iota(t.begin(), t.end(), 0);
    return t;
}

inline RopeSpec rope_of(std::int32_t dim, RopeStyle style, float base = 10000.0F) {
    RopeSpec r;
    r.style = style;
    r.rotary_dim = dim;
    for (std::int32_t i = 0; i < dim / 2; ++i)
        r.inv_freq.push_back(std::pow(static_cast<double>(base), -2.0 * i / dim));
    return r;
}

}  // namespace vitrine::test
