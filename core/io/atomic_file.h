// A file that appears under its name only when it is whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace vitrine {

// Writes to a temporary file in the same folder. commit() puts it on the disk and under its final name, in
// one step for whoever looks; without commit(), and after any error (a full disk), the temporary file is
// removed and what stood under the name before stays untouched.
class AtomicFile {
  public:
    static Result<std::unique_ptr<AtomicFile>> create(const std::filesystem::path& path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    // After the first failure nothing more is written, and the same error comes back from every call.
    Status write(std::span<const std::byte> bytes);
    Status commit();

  private:
    AtomicFile() = default;
    Status flush();
    Status fail(const char* what, int code);

    std::filesystem::path path_;
    std::filesystem::path temporary_;
    int descriptor_ = -1;
    std::vector<std::byte> buffer_;
    Status status_;
};

}  // namespace vitrine
