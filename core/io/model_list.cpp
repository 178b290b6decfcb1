#include "core/io/model_list.h"

#include <algorithm>
#include <set>

#include "core/io/gguf_parts.h"
#include "core/io/hf_config.h"
#include "core/io/hf_weights.h"
#include "core/io/json_reader.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 100'000;

std::uint64_t size_of(const fs::path& path) {
    std::error_code failed;
    const auto size = fs::file_size(path, failed);
    return failed ? 0 : size;
}

void look_at_gguf(ListedModel& model, std::set<fs::path>& of_sets) {
    std::error_code failed;
    if (!fs::exists(model.path, failed)) {
        model.problem = display_path(model.path) + ": this link leads nowhere.";
        return;
    }
    if (const auto file = GgufFile::open(model.path, GgufScope::MetadataOnly); !file.ok()) {
        model.problem = file.error().message;
        return;
    }
    const auto name = parse_gguf_part_name(model.path);
    if (!name || name->count < 2 || name->count > kMaxEntries) return;
    model.bytes = 0;
    for (std::uint64_t i = 1; i <= name->count; ++i) {
        const fs::path part = gguf_part_path(model.path, *name, i);
        of_sets.insert(part);
        model.bytes += size_of(part);
        if (!fs::exists(part, failed) && model.problem.empty())
            model.problem = display_path(model.path) + ": " + display_path(part.filename()) +
                            " is missing; all parts of a split model are needed.";
    }
}

// False where the folder does not look like a model.
bool look_at_folder(ListedModel& model) {
    std::error_code failed;
    bool has_weights = false;
    std::size_t entries = 0;
    for (fs::directory_iterator it(model.path, failed), end; !failed && it != end; it.increment(failed)) {
        if (++entries > kMaxEntries) break;
        if (!it->path().native().ends_with(".safetensors")) continue;
        has_weights = true;
        model.bytes += size_of(it->path());
    }
    const bool named = model.path.native().ends_with(".gguf");
    const auto config = read_json_if_present(model.path / "config.json");
    if (config.ok() && !*config) {
        if (named) model.problem = display_path(model.path) + ": this is a folder, not a GGUF file.";
        return named;
    }
    if (!config.ok()) {
        model.problem = config.error().message;
    } else if (!has_weights) {
        return false;
    } else if (const auto read = read_hf_config(**config, display_path(model.path / "config.json") + ": ");
               !read.ok()) {
        model.problem = read.error().message;
    }
    return true;
}

}  // namespace

std::vector<ListedModel> list_models(const fs::path& folder) {
    std::vector<ListedModel> out;
    std::vector<fs::path> entries;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        if (entries.size() == kMaxEntries) break;
        entries.push_back(it->path());
    }
    std::sort(entries.begin(), entries.end());
    std::set<fs::path> of_sets;
    for (const fs::path& path : entries) {
        if (of_sets.contains(path)) continue;
        ListedModel model;
        model.path = path;
        model.name = path.filename().native();
        std::error_code ignored;
        if (fs::is_directory(path, ignored)) {
            if (look_at_folder(model)) out.push_back(std::move(model));
            continue;
        }
        if (!path.native().ends_with(".gguf")) continue;
        model.name = path.stem().native();
        model.bytes = size_of(path);
        if (const auto part = parse_gguf_part_name(path)) model.name = part->stem;
        look_at_gguf(model, of_sets);
        out.push_back(std::move(model));
    }
    return out;
}

}  // namespace vitrine
