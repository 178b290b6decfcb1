// A safetensors file, memory-mapped and checked before any number in it is used.
//
// Format: https://github.com/huggingface/safetensors#format. Eight bytes of header length, a JSON object that
// gives each tensor a dtype, a shape and two offsets, then the data. Everything that open() returns has been
// validated: the header's length against the file before anything else, offsets as exact 64-bit integers (a
// fraction, an exponent or a sign is an error), product of shape and element size against the offsets, and
// that the tensors cover the data without overlap, gap or rest, as the format demands; all of these are
// errors. So are keys that occur twice, as readers differ on which one counts. Names may be of any length and
// hold any characters.
//
// A dtype that this program does not know keeps all these checks but the one of the size, and is an error
// only for who needs the tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/io/mapped_file.h"
#include "kernels/tensor.h"

namespace vitrine {

// A header of a million tensors takes about 100 MB.
inline constexpr std::uint64_t kSafetensorsHeaderLimit = std::uint64_t{512} << 20U;

struct SafetensorsTensor {
    std::string name;
    std::string dtype_name;            // as stored: "BF16"
    std::optional<DType> dtype;        // none: not one that this program can run
    std::vector<std::uint64_t> shape;  // row-major: the last one is contiguous
    std::uint64_t offset = 0;          // from the start of the file
    std::uint64_t bytes = 0;
    std::uint64_t elements = 1;  // 0 where a dimension is 0
};

struct SafetensorsContent {
    std::uint64_t data_offset = 0;
    std::vector<SafetensorsTensor> tensors;                     // in the order of the header
    std::vector<std::pair<std::string, std::string>> metadata;  // "__metadata__"
    std::vector<std::uint32_t> by_name;                         // indices, sorted

    const SafetensorsTensor* find(std::string_view name) const;
};

// The bytes of a whole file. Messages carry no path. BadFile; TooLarge for a header above the limit.
Result<SafetensorsContent> read_safetensors(std::span<const std::byte> file,
                                            std::uint64_t header_limit = kSafetensorsHeaderLimit);

class SafetensorsFile {
  public:
    // Kinds of error: NotFound, Io, BadFile, TooLarge. The message starts with the path.
    static Result<std::unique_ptr<SafetensorsFile>> open(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return path_; }
    std::uint64_t file_size() const { return file_->bytes().size(); }
    std::span<const SafetensorsTensor> tensors() const { return content_.tensors; }
    const SafetensorsContent& content() const { return content_; }
    const SafetensorsTensor* find(std::string_view name) const { return content_.find(name); }
    std::span<const std::byte> data(const SafetensorsTensor& tensor) const {
        return file_->bytes().subspan(tensor.offset, tensor.bytes);
    }
    std::span<const std::byte> header_bytes() const { return file_->bytes().first(content_.data_offset); }
    // Io where the file was shortened or rewritten since open(), see mapped_file.h. The message starts with
    // the path.
    Status unchanged() const;
    // These bytes are not needed soon, see MappedFile::release().
    void release(std::span<const std::byte> range) const { file_->release(range); }

  private:
    std::filesystem::path path_;
    std::unique_ptr<MappedFile> file_;
    SafetensorsContent content_;
};

}  // namespace vitrine
