// The models in a folder, for lists that people choose from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vitrine {

struct ListedModel {
    std::filesystem::path path;  // what ModelSource::open() takes
    std::string name;            // without ending and part number
    std::uint64_t bytes = 0;     // of all its files
    std::string problem;  // why it cannot be opened, one sentence; empty: nothing was found at a glance
};

// GGUF files (a split model once, as its first part), and Hugging Face folders directly in `folder`, by name.
// What is damaged is listed with its problem and leaves the others alone. Files are looked at but not read
// through: their header, the presence of all parts, config.json. A folder that cannot be read gives an empty
// list.
std::vector<ListedModel> list_models(const std::filesystem::path& folder);

}  // namespace vitrine
