// The GGUF files of one model: one file, or the parts of a split model ("NAME-00001-of-00003.gguf" …), which
// any of them opens.
//
// Keys of the format: split.count (parts), split.no (from 0), split.tensors.count (in all parts together).
// The first part holds the metadata. Everything is checked before a weight is read: that all parts are there,
// say what their names say, belong to one architecture, and that no tensor lies in two of them.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/gguf_file.h"

namespace vitrine {

struct GgufPlace {
    const GgufFile* file = nullptr;
    const GgufTensor* tensor = nullptr;
    explicit operator bool() const { return tensor != nullptr; }
    std::span<const std::byte> data() const { return file->data(*tensor); }
};

class GgufParts {
  public:
    // `scope` MetadataOnly: the first part alone, whichever was named. Kinds of error: those of GgufFile;
    // NotFound names all parts that are missing; BadFile: parts that contradict each other, or were joined
    // byte by byte.
    static Result<GgufParts> open(const std::filesystem::path& path, GgufScope scope = GgufScope::All);

    const GgufFile& first() const { return *files_.front(); }
    std::span<const std::unique_ptr<GgufFile>> files() const { return files_; }
    GgufPlace find(std::string_view name) const;
    Status unchanged() const;

  private:
    std::vector<std::unique_ptr<GgufFile>> files_;
};

// What a file's name says: "NAME-00002-of-00003.gguf" is part 2 of 3.
struct GgufPartName {
    std::string stem;
    std::uint64_t number = 0;  // from 1
    std::uint64_t count = 0;
};
std::optional<GgufPartName> parse_gguf_part_name(const std::filesystem::path& path);
// The name of part `number` beside that file.
std::filesystem::path gguf_part_path(const std::filesystem::path& path, const GgufPartName& name,
                                     std::uint64_t number);

}  // namespace vitrine
