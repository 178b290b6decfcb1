// A GGUF file in another precision.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/gguf_file.h"

namespace vitrine {

struct QuantizeOptions {
    DType type = DType::Q8_0;
    DType fallback = DType::F16;  // where rows are no multiple of the block of `type`
    std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // weights; may be empty
    const std::atomic<bool>* cancel = nullptr;
};

struct QuantizeReport {
    struct Tensor {
        std::string name;
        std::string from;  // type names
        std::string to;
        std::uint64_t weights = 0;
        std::uint64_t bytes = 0;  // in the new file
        bool fallback = false;    // did not get the type that was asked for, because its rows do not fit
    };
    std::vector<Tensor> tensors;  // in file order
    std::uint64_t weights = 0;
    std::uint64_t bytes_before = 0;
    std::uint64_t bytes_after = 0;

    // Of the whole file, norms included.
    double bits_per_weight() const {
        return weights == 0 ? 0.0 : 8.0 * static_cast<double>(bytes_after) / static_cast<double>(weights);
    }
    std::string text() const;  // a table for people, ends with a newline
};

// Writes `in` to `out`: metadata as it is (general.file_type tells the new precision), matrices in
// options.type, vectors (norms, biases) in F32. Rounds to nearest; the same input gives the same file.
// A tensor that has its type already is copied unchanged.
//
// Unsupported: a tensor of a type that cannot be read, or a part of a split model. BadFile: a weight that is
// NaN or infinite. InvalidArgument: `out` is the file that is read. On any error `out` stays as it was.
Result<QuantizeReport> quantize_file(const GgufFile& in, const std::filesystem::path& out,
                                     const QuantizeOptions& options);

// "q8_0" or "Q8_0"; nothing where it is not a type.
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace vitrine
