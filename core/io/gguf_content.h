// Inside of GgufFile: what the bytes of a GGUF file say, read in three steps so that the inspector can show
// a file that open() refuses. Messages here carry no path; the caller puts it in front.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/gguf_file.h"

namespace vitrine {

struct GgufContent {
    std::uint32_t version = 0;
    std::uint64_t declared_values = 0;  // as the header says
    std::uint64_t declared_tensors = 0;
    std::uint64_t directory_end = 0;  // first byte after the list of tensors
    std::uint64_t data_offset = 0;
    std::uint32_t alignment = 32;
    std::uint64_t needed_size = 0;  // the end of the tensor that reaches furthest, inside the file or not
    std::uint64_t unused_tail = 0;
    std::uint64_t unused_gaps = 0;  // bytes between tensors beyond what alignment needs
    std::vector<GgufValue> values;
    std::vector<GgufTensor> tensors;
    std::vector<std::uint32_t> values_by_key;  // indices, sorted
    std::vector<std::uint32_t> tensors_by_name;
};

// Header, metadata and list of tensors. Where it stops, `out` keeps everything that was read until then.
Status read_gguf_directory(std::span<const std::byte> file, GgufContent& out);

// What is wrong with a file that does not start with the letters GGUF: it may be a web page, a pointer left
// by a version control system, a compressed or an older file.
Error not_gguf(std::span<const std::byte> file);

// Sizes, offsets and overlaps of the tensors; fills bytes, offset (turned into one from the start of the
// file), type names and unused_tail. Every problem that was found, the first one first, at most 100.
std::vector<Error> check_gguf_layout(std::uint64_t file_size, GgufContent& content);

const GgufValue* find_value(const GgufContent& content, std::string_view key);
const GgufTensor* find_tensor(const GgufContent& content, std::string_view name);

// "u32", "string", "array of f32".
std::string gguf_type_name(GgufType type);
std::string gguf_type_name(const GgufValue& value);

// Bytes of a number or bool; 0 for strings, arrays and unknown types.
std::uint64_t gguf_fixed_size(GgufType type);

}  // namespace vitrine
