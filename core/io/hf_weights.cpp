#include "core/io/hf_weights.h"

#include <algorithm>
#include <set>

#include "core/io/json_reader.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kSuffix = ".safetensors";
constexpr std::uint64_t kIndexBytes = std::uint64_t{256} << 20U;
constexpr std::size_t kMaxFiles = 10'000;

bool is_vendors(std::string_view name) {
    return name.starts_with("consolidated") || name.starts_with("adapter");
}

// The .safetensors files of a folder by name. Links that lead nowhere are listed, so that they are named
// later.
std::vector<std::string> weight_files(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        const std::string name = it->path().filename().native();
        std::error_code ignored;
        if (name.ends_with(kSuffix) && name.size() > kSuffix.size() && !it->is_directory(ignored))
            names.push_back(name);
        if (names.size() == kMaxFiles) break;
    }
    std::sort(names.begin(), names.end());
    return names;
}

// "model-00002-of-00005.safetensors".
struct Part {
    std::string stem;
    std::uint64_t number = 0;
    std::uint64_t count = 0;
};

std::optional<Part> parse_part(std::string_view name) {
    constexpr std::size_t kDigits = 5;
    constexpr std::size_t kTail = 1 + kDigits + 4 + kDigits;  // -00002-of-00005
    name.remove_suffix(kSuffix.size());
    if (name.size() <= kTail) return std::nullopt;
    const std::string_view tail = name.substr(name.size() - kTail);
    const auto digits = [&](std::size_t at) -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        for (const char c : tail.substr(at, kDigits)) {
            if (c < '0' || c > '9') return std::nullopt;
            value = value * 10 + static_cast<std::uint64_t>(c - '0');
        }
        return value;
    };
    const auto number = digits(1);
    const auto count = digits(1 + kDigits + 4);
    if (tail[0] != '-' || tail.substr(1 + kDigits, 4) != "-of-" || !number || !count) return std::nullopt;
    return Part{std::string(name.substr(0, name.size() - kTail)), *number, *count};
}

std::string part_name(const Part& part, std::uint64_t number) {
    const auto padded = [](std::uint64_t n) {
        const std::string text = std::to_string(n);
        return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
    };
    return part.stem + "-" + padded(number) + "-of-" + padded(part.count) + std::string(kSuffix);
}

// Which files make the model where no index says so.
Result<std::vector<std::string>> choose_files(const fs::path& folder, const std::string& only) {
    const std::string where = display_path(folder) + ": ";
    std::vector<std::string> all = weight_files(folder);
    if (!only.empty() && !parse_part(only)) return std::vector<std::string>{only};
    const bool has_vendors =
        std::any_of(all.begin(), all.end(), [](const std::string& n) { return is_vendors(n); });
    std::erase_if(all, [](const std::string& n) { return is_vendors(n); });
    if (only.empty() && std::find(all.begin(), all.end(), "model.safetensors") != all.end())
        return std::vector<std::string>{"model.safetensors"};
    if (all.empty()) {
        std::error_code ignored;
        std::string found;
        if (has_vendors) {
            found =
                " It holds weights in the vendor's own layout (consolidated.safetensors) or of an adapter, "
                "which are "
                "not read.";
        } else if (fs::exists(folder / "pytorch_model.bin", ignored) ||
                   fs::exists(folder / "pytorch_model.bin.index.json", ignored)) {
            found =
                " It holds a PyTorch checkpoint (pytorch_model.bin), which is not read because such files "
                "can run "
                "programs.";
        }
        return Error{ErrorKind::NotFound, where + "the folder has no weights (model.safetensors)." + found +
                                              " Get the .safetensors files of this model."};
    }
    if (all.size() == 1 && !parse_part(all[0])) return all;
    const auto part = parse_part(only.empty() ? all[0] : only);
    if (!part || part->count == 0 || part->count > kMaxFiles) {
        return Error{ErrorKind::BadFile,
                     where + "there are several .safetensors files and no " + std::string(kHfIndexName) +
                         " that says which of them belong to the model: " + list_names(all) +
                         ". Open one of them by its name, or get the index."};
    }
    std::vector<std::string> set;
    std::vector<std::string> missing;
    for (std::uint64_t i = 1; i <= part->count; ++i) {
        set.push_back(part_name(*part, i));
        if (!std::binary_search(all.begin(), all.end(), set.back())) missing.push_back(set.back());
    }
    if (!missing.empty()) {
        return Error{ErrorKind::NotFound, where + "parts of the model are missing: " + list_names(missing) +
                                              ". Download them into this folder."};
    }
    for (const std::string& name : all) {
        if (std::find(set.begin(), set.end(), name) == set.end() && only.empty()) {
            return Error{ErrorKind::BadFile, where + "beside the set of " + std::to_string(set.size()) +
                                                 " parts there is " + in_quotes(name) + ", and no " +
                                                 std::string(kHfIndexName) +
                                                 " says which of them are the model."};
        }
    }
    return set;
}

}  // namespace

Status HfWeights::open_files(const fs::path& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        VITRINE_TRY(auto file, SafetensorsFile::open(folder / name));
        files_.push_back(std::move(file));
    }
    return {};
}

Result<HfWeights> HfWeights::open(const fs::path& folder, const std::string& only) {
    HfWeights out;
    const fs::path index_path = folder / std::string(kHfIndexName);
    const std::string where = display_path(index_path) + ": ";
    VITRINE_TRY(const auto index, read_json_if_present(index_path, kIndexBytes));
    const Json* map = nullptr;
    if (index) {
        map = index->contains("weight_map") ? &(*index)["weight_map"] : nullptr;
        if (map == nullptr || !map->is_object() || map->empty())
            return Error{ErrorKind::BadFile,
                         where + "'weight_map' is missing or empty, so the index names no tensors."};
    }
    std::set<std::string> listed;
    if (map != nullptr) {
        for (const auto& [name, file] : map->items()) {
            if (!file.is_string())
                return Error{ErrorKind::BadFile, where + "the file of " + in_quotes(name) + " is " +
                                                     json_what(file) + "; a name is needed."};
            const auto& text = file.get_ref<const std::string&>();
            // A name with a path in it could lead anywhere.
            if (text.empty() || text == "." || text == ".." || text.find('/') != std::string::npos ||
                text.find('\0') != std::string::npos || text.find('\\') != std::string::npos) {
                return Error{ErrorKind::BadFile, where + "the file of " + in_quotes(name) + " is " +
                                                     in_quotes(text) +
                                                     "; the plain name of a file in this folder is needed."};
            }
            listed.insert(text);
            if (listed.size() > kMaxFiles)
                return Error{ErrorKind::BadFile,
                             where + "the index names more than " + std::to_string(kMaxFiles) + " files."};
        }
    }
    // A file that somebody names and the index does not is what they want.
    const bool by_index = map != nullptr && (only.empty() || listed.contains(only));
    if (!by_index) {
        VITRINE_TRY(const auto names, choose_files(folder, only));
        VITRINE_CHECK(out.open_files(folder, names));
        for (const auto& file : out.files_) {
            for (const SafetensorsTensor& tensor : file->tensors()) {
                const auto [place, is_new] = out.by_name_.emplace(tensor.name, file.get());
                if (is_new) continue;
                return Error{ErrorKind::BadFile, display_path(folder) + ": tensor " + in_quotes(tensor.name) +
                                                     " lies both in " +
                                                     display_path(place->second->path().filename()) +
                                                     " and in " + display_path(file->path().filename()) +
                                                     ", and no index says which one counts."};
            }
        }
        return out;
    }

    std::vector<std::string> missing;
    std::error_code ignored;
    for (const std::string& name : listed)
        if (!fs::exists(folder / name, ignored)) missing.push_back(name);
    if (!missing.empty()) {
        std::string advice = ". Download them into this folder.";
        const auto all = weight_files(folder);
        if (missing.size() == listed.size() && !all.empty())
            advice = ". The folder holds other weights (" + list_names(all) +
                     "); if they are the model, the index is a leftover: remove it.";
        return Error{ErrorKind::NotFound,
                     where + "the index names files that are missing: " + list_names(missing) + advice};
    }
    VITRINE_CHECK(out.open_files(folder, {listed.begin(), listed.end()}));
    std::map<std::string, const SafetensorsFile*, std::less<>> by_file;
    for (const auto& file : out.files_) by_file.emplace(file->path().filename().native(), file.get());
    std::vector<std::string> lost;
    for (const auto& [name, file] : map->items()) {
        const SafetensorsFile* place = by_file.find(file.get_ref<const std::string&>())->second;
        out.index_.emplace(name, place);
        if (place->find(name) == nullptr) lost.push_back(name);
    }
    if (!lost.empty())
        out.warnings_.push_back(
            "The index says of " + std::to_string(lost.size()) +
            " tensors that they lie in files that do not contain them: " + list_names(lost) + ".");
    return out;
}

Result<std::optional<HfPlace>> HfWeights::find(std::string_view name) const {
    if (!has_index()) {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) return std::optional<HfPlace>();
        return std::optional<HfPlace>(HfPlace{found->second, found->second->find(name)});
    }
    const auto found = index_.find(name);
    if (found == index_.end()) return std::optional<HfPlace>();
    const SafetensorsTensor* tensor = found->second->find(name);
    if (tensor == nullptr) {
        return Error{ErrorKind::BadFile, display_path(found->second->path()) +
                                             ": the file does not contain tensor " + in_quotes(name) +
                                             ", although " + std::string(kHfIndexName) +
                                             " says so: index and files are not of one download."};
    }
    return std::optional<HfPlace>(HfPlace{found->second, tensor});
}

bool HfWeights::has(std::string_view name) const {
    return has_index() ? index_.find(name) != index_.end() : by_name_.find(name) != by_name_.end();
}

std::string HfWeights::unlisted_place(std::string_view name) const {
    for (const auto& file : files_)
        if (file->find(name) != nullptr) return file->path().filename().native();
    return {};
}

std::vector<std::string> HfWeights::names() const {
    std::vector<std::string> out;
    for (const auto& [name, file] : has_index() ? index_ : by_name_) out.push_back(name);
    return out;
}

}  // namespace vitrine
