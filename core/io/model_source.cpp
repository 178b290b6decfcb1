#include "core/io/model_source.h"

#include "core/io/gguf_model.h"
#include "core/io/printable.h"

namespace vitrine {

Result<std::unique_ptr<ModelSource>> ModelSource::open(const std::filesystem::path& path,
                                                       OpenOptions options) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return Error{ErrorKind::Unsupported,
                     display_path(path) +
                         ": this is a folder; this version opens GGUF files. Name the .gguf file in it."};
    }
    return GgufModel::open(path, options);
}

}  // namespace vitrine
