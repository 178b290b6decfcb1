#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "app/cli/commands.h"
#include "core/io/printable.h"

namespace vitrine::cli {

Result<std::string> read_text(const std::string& path, std::size_t limit) {
    const bool standard = path.empty() || path == "-";
    const std::string name = standard ? "Standard input" : display_path(path);
    const int fd = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return Error{ErrorKind::Io, name + " cannot be opened: " + std::strerror(errno) + "."};
    std::string text;
    std::array<char, 65536> bytes{};
    int failed = 0;
    for (;;) {
        const ssize_t got = ::read(fd, bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) failed = errno;
        if (got <= 0) break;
        text.append(bytes.data(), static_cast<std::size_t>(got));
        if (text.size() > limit) break;
    }
    if (!standard) ::close(fd);
    if (failed != 0) return Error{ErrorKind::Io, name + " cannot be read: " + std::strerror(failed) + "."};
    if (text.size() > limit)
        return Error{ErrorKind::TooLarge, name + " is longer than " + std::to_string(limit >> 20) + " MiB."};
    return text;
}

}  // namespace vitrine::cli
