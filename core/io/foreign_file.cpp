#include "core/io/foreign_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/io/byte_reader.h"

namespace vitrine {

std::optional<Error> foreign_file(std::span<const std::byte> file) {
    const auto broken = [](const char* message) { return Error{ErrorKind::BadFile, message}; };
    if (file.empty()) return broken("The file is empty (0 bytes): the download failed. Download it again.");
    const std::string_view text = as_text(file.first(std::min<std::size_t>(file.size(), 512)));
    const auto starts = [&](std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; };
    const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    const std::string_view trimmed =
        first == std::string_view::npos ? std::string_view() : text.substr(first);
    constexpr std::array<std::string_view, 5> kPages = {"<html", "<HTML", "<!DOCTYPE", "<!doctype", "<?xml"};
    for (const std::string_view page : kPages) {
        if (trimmed.substr(0, page.size()) == page) {
            return broken(
                "This is a web page, not a model: the download was answered with a page (a log-in or an "
                "error). "
                "Download the file itself.");
        }
    }
    if (starts("version https://git-lfs")) {
        return broken(
            "This is a pointer of Git LFS, not the model: run 'git lfs pull' in that folder, or download the "
            "file itself.");
    }
    if (starts("tjgg") || starts("fmgg") || starts("lmgg") || starts("algg")) {
        return Error{
            ErrorKind::Unsupported,
            "This is a GGML file from before GGUF, which is not read; get a GGUF file of this model."};
    }
    if (starts("PK\x03\x04")) {
        return broken(
            "This is a zip archive (or a PyTorch checkpoint), which is no model file that can be read: "
            "unpack it, or "
            "convert the checkpoint.");
    }
    if (starts("\x1F\x8B\x08") ||
        starts("\xFD"
               "7zXZ") ||
        starts("\x28\xB5\x2F\xFD") || starts("BZh"))
        return broken("This is a compressed file: unpack it first.");
    return std::nullopt;
}

}  // namespace vitrine
