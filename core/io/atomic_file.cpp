#include "core/io/atomic_file.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

#include "core/io/printable.h"

namespace vitrine {

namespace {

constexpr std::size_t kBufferBytes = 1U << 20U;

Error write_error(const std::filesystem::path& path, const char* what, int code) {
    std::string message =
        display_path(path) + ": " + what + ": " + std::generic_category().message(code) + ".";
    if (code == ENOSPC || code == EDQUOT) message += " Free some space, or choose a folder on another disk.";
    if (code == EACCES || code == EROFS) message += " Choose a folder that may be written.";
    return {ErrorKind::Io, std::move(message)};
}

}  // namespace

Result<std::unique_ptr<AtomicFile>> AtomicFile::create(const std::filesystem::path& path) {
    std::unique_ptr<AtomicFile> file(new AtomicFile());
    file->path_ = path;
    if (path.filename().empty()) {
        return Error{ErrorKind::InvalidArgument,
                     display_path(path) + ": this names a folder; a file name is needed."};
    }
    const std::filesystem::path folder =
        path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    for (int attempt = 0; attempt < 100; ++attempt) {
        file->temporary_ = folder / ("." + path.filename().native() + "." + std::to_string(::getpid()) + "-" +
                                     std::to_string(attempt) + ".part");
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
        file->descriptor_ = ::open(file->temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->descriptor_ >= 0 || errno != EEXIST) break;
    }
    if (file->descriptor_ < 0) {
        const int code = errno;
        file->temporary_.clear();
        return write_error(path, "the file cannot be created", code);
    }
    file->buffer_.reserve(kBufferBytes);
    return file;
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::fail(const char* what, int code) {
    status_ = write_error(path_, what, code);
    return status_;
}

Status AtomicFile::flush() {
    std::size_t done = 0;
    while (done < buffer_.size()) {
        const ssize_t n = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail("writing failed", errno);
        done += static_cast<std::size_t>(n);
    }
    buffer_.clear();
    return {};
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
    if (!status_.ok()) return status_;
    while (!bytes.empty()) {
        const std::size_t n = std::min(bytes.size(), kBufferBytes - buffer_.size());
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
        bytes = bytes.subspan(n);
        if (buffer_.size() == kBufferBytes) VITRINE_CHECK(flush());
    }
    return {};
}

Status AtomicFile::commit() {
    VITRINE_CHECK(status_);
    VITRINE_CHECK(flush());
    // Some file systems report a full disk only here.
    if (::fsync(descriptor_) != 0) return fail("writing to the disk failed", errno);
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) return fail("closing failed", errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        return fail("the finished file cannot be given its name", errno);
    temporary_.clear();
    // The name itself is data of the folder. A folder that cannot be synced is no reason to call the file
    // bad.
    const std::filesystem::path folder =
        path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    if (const int parent = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); parent >= 0) {
        ::fsync(parent);
        ::close(parent);
    }
    return {};
}

}  // namespace vitrine
