// A GGUF file, version 2 or 3, memory-mapped and checked before any number in it is used.
//
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Everything that open() returns has been
// validated: counts against the bytes left, string lengths, array element types, alignment, tensor types,
// shapes, offsets, overlaps. Strings may hold any bytes, NUL and invalid UTF-8 included. A duplicate
// metadata key or tensor name is refused, so that what is inspected is what runs.
//
// The object owns the mapping; every view it hands out lives as long as it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "kernels/tensor.h"

namespace vitrine {

enum class GgufType : std::uint32_t {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
};

struct GgufValue {
    std::string key;
    GgufType type = GgufType::U8;
    GgufType element = GgufType::U8;     // of an array
    std::uint64_t count = 1;             // elements of an array
    std::span<const std::byte> payload;  // the value as it lies in the file, after type (and element, count)
};

struct GgufTensor {
    std::string name;
    std::uint32_t type_id = 0;        // ggml type number as stored
    std::string type_name;            // "Q4_1", also for types that this program cannot run
    std::optional<DType> dtype;       // none: known, but not one that this program can run
    std::vector<std::uint64_t> dims;  // as stored: dims[0] is the contiguous one (columns)
    std::uint64_t offset = 0;         // from the start of the file
    std::uint64_t bytes = 0;
    bool valid = false;  // type, shape and place were checked; always true after GgufScope::All

    std::uint64_t elements() const {
        std::uint64_t n = 1;
        for (auto d : dims) n *= d;
        return n;
    }
};

// What open() looks at beyond header, metadata and list of tensors.
enum class GgufScope : std::uint8_t {
    All,           // tensor types, shapes, offsets and overlaps
    MetadataOnly,  // nothing is refused: for the vocabulary of a file whose tensors are missing or cannot be
                   // run
};

class GgufFile {
  public:
    // Kinds of error: NotFound, Io (cannot be opened), BadFile (format broken), Unsupported (big-endian,
    // another version, an unknown or retired tensor type). The message starts with the path.
    static Result<std::unique_ptr<GgufFile>> open(const std::filesystem::path& path,
                                                  GgufScope scope = GgufScope::All);
    ~GgufFile();
    GgufFile(const GgufFile&) = delete;
    GgufFile& operator=(const GgufFile&) = delete;

    const std::filesystem::path& path() const;
    std::uint32_t version() const;
    std::uint64_t file_size() const;
    std::uint64_t data_offset() const;
    std::uint32_t alignment() const;
    std::uint64_t unused_tail_bytes() const;  // after the last tensor and its padding
    // Io where the file on disk was shortened or rewritten since open(): ask before reading tensors, because
    // reading a mapped page that is gone ends the process (see mapped_file.h).
    Status unchanged() const;
    std::span<const GgufValue> values() const;          // in file order
    std::span<const GgufTensor> tensors() const;        // in file order
    const GgufValue* find(std::string_view key) const;  // null: absent
    const GgufTensor* find_tensor(std::string_view name) const;

    // Typed access: nothing where the key is absent; an error (naming key, wanted and found type) where it
    // has another type or does not fit. Integers of any width and sign convert when the value fits.
    Result<std::optional<std::string>> string(std::string_view key) const;
    Result<std::optional<std::uint64_t>> unsigned_integer(std::string_view key) const;
    Result<std::optional<std::int64_t>> integer(std::string_view key) const;
    Result<std::optional<double>> number(std::string_view key) const;  // floats and integers
    Result<std::optional<bool>> boolean(std::string_view key) const;
    Result<std::optional<std::vector<std::string>>> strings(std::string_view key) const;
    Result<std::optional<std::vector<std::int64_t>>> integers(
        std::string_view key) const;  // any integer or bool element
    Result<std::optional<std::vector<float>>> floats(std::string_view key) const;  // any number element

    // The bytes of a tensor inside the mapping; empty where it is not valid.
    std::span<const std::byte> data(const GgufTensor& tensor) const;
    // These bytes of it are not needed soon, see MappedFile::release().
    void release(std::span<const std::byte> range) const;
    // Header, metadata and list of tensors as they lie in the file.
    std::span<const std::byte> header_bytes() const;
    // The last `count` bytes of the file, all where it has fewer.
    std::span<const std::byte> tail_bytes(std::uint64_t count) const;

  private:
    struct Impl;
    explicit GgufFile(std::unique_ptr<Impl> impl);
    Error wrong_type(const GgufValue& value, std::string_view wanted) const;
    Error bad_value(const GgufValue& value, const std::string& problem) const;
    std::unique_ptr<Impl> impl_;
};

}  // namespace vitrine
