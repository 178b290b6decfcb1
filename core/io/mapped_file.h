// A regular file mapped read-only into memory.
//
// A mapping shows the file as it is on disk: where another process shortens the file, reading the lost pages
// raises SIGBUS. Two rules keep that away from a running model. Everything that is needed later (metadata,
// vocabulary, template) is copied out when the file is opened, and weights are copied to the device at load,
// so that nothing touches the mapping afterwards. While it loads, the loader calls unchanged() before each
// tensor, which turns a file that was replaced or shortened into an error; only a file cut in the very
// moment between that question and the copy still ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/base/result.h"

namespace vitrine {

class MappedFile {
  public:
    // Io: the path is absent, is no regular file (a folder, a pipe, a device), may not be read, or cannot be
    // mapped. An empty file gives an empty span. The message is one sentence without the path.
    static Result<std::unique_ptr<MappedFile>> open(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return {data_, size_}; }

    // Io where the file on disk is no longer as long, or no longer as old, as it was when it was opened.
    Status unchanged() const;

    // What lies here is not needed soon: it no longer counts as this process's memory. Reading it again is
    // right, and slower. Ranges that are not of this file are left alone.
    void release(std::span<const std::byte> range) const;

  private:
    MappedFile() = default;
    int descriptor_ = -1;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::int64_t modified_seconds_ = 0;
    std::int64_t modified_nanoseconds_ = 0;
};

}  // namespace vitrine
