// Which model answers when nobody names one: the default model in the user's data folder, else the small one
// that comes with the program. Used by the window and by vitrine-cli. No Qt.
//
// Folders follow the XDG Base Directory specification
// (https://specifications.freedesktop.org/basedir-spec/latest/): XDG_DATA_HOME counts only where it is an
// absolute path, else $HOME/.local/share; without HOME the home folder of the user database. Paths are bytes:
// any name that the file system takes works, in any locale.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace vitrine {

// The file that packaging/fetch-model fetches.
inline constexpr std::string_view default_model_name = "SmolLM2-135M-Instruct.Q4_1.gguf";
inline constexpr std::string_view embedded_model_name = "draft16m-q8_0.gguf";

struct ModelLocation {
    std::filesystem::path path;
    bool embedded = false;  // the small model that comes with the program
    std::string sentence;   // for people: which model it is and why
};

// <data>/vitrine, which need not exist. NotFound where the system names no home folder.
Result<std::filesystem::path> user_data_folder();

// <data>/vitrine/models.
Result<std::filesystem::path> models_folder();

// The model that comes with the program: in ../share/vitrine/models from where the program lies, installed or
// in a build folder. None where it is not there.
std::optional<std::filesystem::path> embedded_model();

// The default model where it is in the user's data folder, else the embedded one. NotFound says where both
// were looked for and what to do.
Result<ModelLocation> find_model();

}  // namespace vitrine
