// Models that arrive in pieces: two kinds with two different repairs, which people mix up.
//
// A *split model* is several complete GGUF files ("name-00001-of-00003.gguf", key split.count): they must
// stay separate, or be merged by a tool that rewrites the header. A *cut file* is one GGUF file chopped into
// raw pieces ("name.gguf.part1of2"): those must be joined byte by byte in order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/io/gguf_content.h"

namespace vitrine {

// A sentence (with a space in front) on what to do with a file whose content ends too early; empty where
// nothing points to pieces.
std::string advice_for_pieces(const std::filesystem::path& path, const GgufContent& content,
                              std::uint64_t file_size);

// True for names such as "x.gguf.part1of2", "x.gguf-split-a", "x.gguf.001".
bool is_named_like_a_piece(const std::filesystem::path& path);

}  // namespace vitrine
