// The safetensors files of a Hugging Face folder that belong to one model, and what lies in which.
//
// With model.safetensors.index.json the index decides, whatever else lies there. Without one:
// model.safetensors, else the only .safetensors file, else a complete set NAME-00001-of-0000N.safetensors.
// Files of the vendor's own naming (consolidated*.safetensors), adapters and whatever the index does not name
// are left alone.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/safetensors_file.h"

namespace vitrine {

struct HfPlace {
    const SafetensorsFile* file = nullptr;
    const SafetensorsTensor* tensor = nullptr;
};

class HfWeights {
  public:
    // `only`: the name of one .safetensors file in the folder that was asked for; empty: by the rules above.
    // NotFound: no such files, or some that the index names are missing (all of them are named). BadFile: an
    // index that is none, names outside the folder, tensors in two files, files that are not sound.
    static Result<HfWeights> open(const std::filesystem::path& folder, const std::string& only);

    // None where no file (or the index) has such a tensor. BadFile where the index says that it lies in a
    // file that does not contain it.
    Result<std::optional<HfPlace>> find(std::string_view name) const;
    // Whether a tensor is there at all, whatever else may be wrong with it.
    bool has(std::string_view name) const;

    bool has_index() const { return !index_.empty(); }
    const std::vector<std::unique_ptr<SafetensorsFile>>& files() const { return files_; }
    // The name of a file that holds the tensor although the index does not say so; empty: none does.
    std::string unlisted_place(std::string_view name) const;
    // Of tensors, ascending: of the index where there is one, else of the files.
    std::vector<std::string> names() const;
    const std::vector<std::string>& warnings() const { return warnings_; }

  private:
    Status open_files(const std::filesystem::path& folder, const std::vector<std::string>& names);

    std::vector<std::unique_ptr<SafetensorsFile>> files_;
    std::map<std::string, const SafetensorsFile*, std::less<>> by_name_;  // without an index
    std::map<std::string, const SafetensorsFile*, std::less<>> index_;    // with one
    std::vector<std::string> warnings_;
};

inline constexpr std::string_view kHfIndexName = "model.safetensors.index.json";

}  // namespace vitrine
