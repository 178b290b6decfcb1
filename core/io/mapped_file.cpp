#include "core/io/mapped_file.h"

#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace vitrine {

namespace {

Error system_error(const std::string& what, int code) {
    return {code == ENOENT ? ErrorKind::NotFound : ErrorKind::Io,
            what + ": " + std::generic_category().message(code) + "."};
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
    std::unique_ptr<MappedFile> file(new MappedFile());
    // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    file->descriptor_ =
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (file->descriptor_ < 0) return system_error("The file cannot be opened", errno);

    struct stat info {};
    if (::fstat(file->descriptor_, &info) != 0) return system_error("The file cannot be examined", errno);
    if (S_ISDIR(info.st_mode)) return Error{ErrorKind::Io, "This is a folder; a model file is needed."};
    if (!S_ISREG(info.st_mode)) {
        return Error{
            ErrorKind::Io,
            "This is a pipe or a device; a regular file is needed, because it is mapped into memory."};
    }
    file->size_ = static_cast<std::size_t>(info.st_size);
    file->modified_seconds_ = info.st_mtim.tv_sec;
    file->modified_nanoseconds_ = info.st_mtim.tv_nsec;
    if (file->size_ == 0) return file;

    void* data = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, file->descriptor_, 0);
    if (data == MAP_FAILED) return system_error("The file cannot be mapped into memory", errno);
    file->data_ = static_cast<const std::byte*>(data);
    return file;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
    if (descriptor_ >= 0) ::close(descriptor_);
}

Status MappedFile::unchanged() const {
    struct stat info {};
    if (::fstat(descriptor_, &info) != 0) return system_error("The file cannot be examined again", errno);
    const bool same = static_cast<std::size_t>(info.st_size) == size_ &&
                      info.st_mtim.tv_sec == modified_seconds_ &&
                      info.st_mtim.tv_nsec == modified_nanoseconds_;
    if (same) return {};
    return Error{ErrorKind::Io, "The file was changed by another program while it was being read (it had " +
                                    std::to_string(size_) + " bytes and now has " +
                                    std::to_string(info.st_size) +
                                    "). Let that program finish, then open the file again."};
}

void MappedFile::release(std::span<const std::byte> range) const {
    const auto mapping = reinterpret_cast<std::uintptr_t>(data_);
    const auto begin = reinterpret_cast<std::uintptr_t>(range.data());
    if (range.empty() || begin < mapping || begin - mapping > size_ ||
        range.size() > size_ - (begin - mapping))
        return;
    // Whole pages: what shares one with a neighbour stays until that is released too.
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t first = begin / page * page;
    const std::uintptr_t last = (begin + range.size()) / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace vitrine
