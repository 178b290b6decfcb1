// What the inspector found out about a file, before it is put into words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/io/gguf_content.h"

namespace vitrine {

struct InspectFacts {
    std::filesystem::path path;
    std::uint64_t file_size = 0;  // of all files together
    struct File {
        std::string name;
        std::uint64_t bytes = 0;
    };
    std::vector<File> files;  // of a folder or a split model
    bool folder = false;      // a Hugging Face folder; then `content` has tensors alone, dims as in the file
    GgufContent content;      // payloads point into mappings that outlive these facts
    // Members of the JSON files of a folder: where, and the value as JSON.
    std::vector<std::pair<std::string, std::string>> members;
    std::string architecture;
    std::string name;
    std::uint64_t parameters = 0;
    std::uint64_t tensor_bytes = 0;
    struct Share {
        std::uint64_t tensors = 0;
        std::uint64_t weights = 0;
        std::uint64_t bytes = 0;
    };
    std::map<std::string, Share> by_type;
    std::uint64_t kv_bytes_per_token = 0;  // in half precision; 0: the file does not tell
    std::uint64_t context = 0;
    bool partial = false;  // one part of a split model: totals are of this part alone
    bool usable = false;
    std::string reason;                   // why it is not usable
    std::vector<std::string> suspicious;  // one sentence each
};

// Adds a sentence to `suspicious`, once, up to a bound.
void note(InspectFacts& facts, const std::string& sentence);

// Fills everything for a Hugging Face folder, or a file that stands for one.
void inspect_folder(InspectFacts& facts);

// Counts parameters and bytes of `content`.
void count_tensors(InspectFacts& facts);

// Numbers that are NaN or infinite in a tensor whose bytes begin at `data`; `bad` counts such tensors.
void look_at_tensor(InspectFacts& facts, const GgufTensor& tensor, const std::byte* data, std::size_t& bad);
void say_bad_tensors(InspectFacts& facts, std::size_t bad);

std::string inspect_text(const InspectFacts& facts);
std::string inspect_json(const InspectFacts& facts);

// One metadata value for people: "u32", "576"; long ones are cut.
std::string value_text(const GgufValue& value);

}  // namespace vitrine
