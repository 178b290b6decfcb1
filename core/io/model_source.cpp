#include "core/io/model_source.h"

#include "core/io/gguf_model.h"
#include "core/io/hf_model.h"

namespace vitrine {

Result<std::unique_ptr<ModelSource>> ModelSource::open(const std::filesystem::path& path,
                                                       OpenOptions options) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored) || HfModel::is_file_of_folder(path))
        return HfModel::open(path, options);
    return GgufModel::open(path, options);
}

}  // namespace vitrine
