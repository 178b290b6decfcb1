#include "core/io/split_files.h"

#include <algorithm>
#include <optional>

#include "core/io/byte_reader.h"

namespace vitrine {

namespace {

bool all_of_class(std::string_view text, bool letters) {
    return std::all_of(text.begin(), text.end(), [letters](char c) {
        return letters ? (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') : c >= '0' && c <= '9';
    });
}

std::optional<std::uint64_t> split_count(const GgufContent& content) {
    // The index may not be built where reading stopped early: look through the list.
    for (const GgufValue& value : content.values) {
        if (value.key != "split.count") continue;
        if (value.type == GgufType::U16) return load_number<std::uint16_t>(value.payload.data());
        if (value.type == GgufType::U32) return load_number<std::uint32_t>(value.payload.data());
    }
    return std::nullopt;
}

}  // namespace

bool is_named_like_a_piece(const std::filesystem::path& path) {
    const std::string name = path.filename().native();
    const std::size_t gguf = name.rfind(".gguf");
    if (gguf == std::string::npos) return name.find(".part") != std::string::npos;
    const std::string_view tail = std::string_view(name).substr(gguf + 5);
    if (tail.empty()) return false;
    if (tail.find("part") != std::string_view::npos || tail.find("split") != std::string_view::npos)
        return true;
    const std::string_view suffix = tail.substr(1);
    if (tail[0] != '.' && tail[0] != '-' && tail[0] != '_') return false;
    return (suffix.size() >= 2 && suffix.size() <= 4 && all_of_class(suffix, false)) ||  // .001
           (suffix.size() == 2 && all_of_class(suffix, true));                           // .aa
}

std::string advice_for_pieces(const std::filesystem::path& path, const GgufContent& content,
                              std::uint64_t file_size) {
    if (is_named_like_a_piece(path)) {
        return " Its name looks like one piece of a file that was cut: join all pieces byte by byte in order "
               "(cat NAME.part1of2 NAME.part2of2 > NAME) and open the result.";
    }
    if (const auto count = split_count(content); count && *count > 1) {
        return " It belongs to a model split into " + std::to_string(*count) +
               " complete GGUF files; such files must not be joined byte by byte: download each of them "
               "whole again.";
    }
    if (content.needed_size > file_size) {
        return " The file seems to be cut off: download it again, or, if it came in raw pieces, join them in "
               "order.";
    }
    return "";
}

}  // namespace vitrine
