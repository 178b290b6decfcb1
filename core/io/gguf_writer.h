// Writes GGUF version 3 files: metadata, then tensors, aligned to 32 bytes. The file appears under its name
// only when it is whole (temporary file, fsync, rename).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/gguf_file.h"

namespace vitrine {

class GgufWriter {
  public:
    void add_string(std::string_view key, std::string_view value);
    void add_u32(std::string_view key, std::uint32_t value);
    void add_u64(std::string_view key, std::uint64_t value);
    void add_i32(std::string_view key, std::int32_t value);
    void add_f32(std::string_view key, float value);
    void add_bool(std::string_view key, bool value);
    void add_strings(std::string_view key, std::span<const std::string> values);
    void add_i32s(std::string_view key, std::span<const std::int32_t> values);
    void add_f32s(std::string_view key, std::span<const float> values);
    void add_raw(const GgufValue& value);  // copied from another file as it is

    // dims as GGUF stores them (contiguous first). `fill` is called during write() and must return the
    // tensor's bytes in pieces by calling its sink; their total is checked.
    using Sink = std::function<void(std::span<const std::byte>)>;
    void add_tensor(std::string_view name, std::vector<std::uint64_t> dims, DType dtype,
                    std::function<void(const Sink&)> fill);

    Status write(const std::filesystem::path& path) const;

  private:
    struct Entry {
        std::string name;
        std::vector<std::uint64_t> dims;
        DType dtype;
        std::function<void(const Sink&)> fill;
    };
    std::vector<std::byte> metadata_;
    std::uint64_t values_ = 0;
    std::vector<Entry> tensors_;
};

}  // namespace vitrine
