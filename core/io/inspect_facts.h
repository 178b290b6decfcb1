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
    std::uint64_t file_size = 0;
    GgufContent content;  // payloads point into a mapping that outlives these facts
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

std::string inspect_text(const InspectFacts& facts);
std::string inspect_json(const InspectFacts& facts);

// One metadata value for people: "u32", "576"; long ones are cut.
std::string value_text(const GgufValue& value);

}  // namespace vitrine
