#include "app/common/model_location.h"

#include <array>
#include <cstdlib>
#include <pwd.h>
#include <system_error>
#include <unistd.h>

#include "core/io/printable.h"

namespace vitrine {

namespace fs = std::filesystem;

namespace {

bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

std::optional<fs::path> home_folder() {
    if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return fs::path(home);
    std::array<char, 16384> text{};
    passwd entry{};
    passwd* found = nullptr;
    if (getpwuid_r(getuid(), &entry, text.data(), text.size(), &found) == 0 && found != nullptr &&
        found->pw_dir != nullptr && found->pw_dir[0] == '/')
        return fs::path(found->pw_dir);
    return std::nullopt;
}

std::optional<fs::path> program_folder() {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (failed || !program.is_absolute()) return std::nullopt;
    return program.parent_path();
}

}  // namespace

Result<fs::path> user_data_folder() {
    if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/')
        return fs::path(data) / "vitrine";
    if (const auto home = home_folder()) return *home / ".local" / "share" / "vitrine";
    return Error{ErrorKind::NotFound,
                 "There is no home folder: neither XDG_DATA_HOME nor HOME is an absolute path, and the user "
                 "database names none. Set XDG_DATA_HOME to a folder of yours."};
}

Result<fs::path> models_folder() {
    VITRINE_TRY(fs::path data, user_data_folder());
    return data / "models";
}

std::optional<fs::path> embedded_model() {
    const auto folder = program_folder();
    if (!folder) return std::nullopt;
    const fs::path place = folder->parent_path() / "share" / "vitrine" / "models" / embedded_model_name;
    if (is_file(place)) return place;
    return std::nullopt;
}

Result<ModelLocation> find_model() {
    const auto folder = models_folder();
    std::string looked;
    if (folder.ok()) {
        const fs::path path = *folder / default_model_name;
        if (is_file(path))
            return ModelLocation{path, false, "Model: " + display_path(path) + " (the default model)."};
        looked = display_path(path);
    }
    if (const auto path = embedded_model()) {
        std::string why = folder.ok() ? "the default model is not in " + display_path(*folder)
                                      : "no folder of the user could be found";
        return ModelLocation{
            *path, true,
            "Model: " + display_path(*path) + " (the small embedded model: " + why +
                "; it is fluent but knows very little. packaging/fetch-model fetches the default one)."};
    }
    return Error{
        ErrorKind::NotFound,
        "No model was found: " + (looked.empty() ? folder.error().message : looked + " is not there") +
            ", and the small model that belongs to the program is missing from its share/vitrine/models. "
            "Name a model with --model, or fetch the default one with packaging/fetch-model."};
}

}  // namespace vitrine
