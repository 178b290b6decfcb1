// What the tests of Hugging Face folders share: values of tensors, names of both worlds, a folder to open.
#pragma once

#include <cmath>
#include <functional>

#include <QFile>

#include "core/io/printable.h"
#include "core/io/safetensors_file.h"
#include "kernels/host/block_formats.h"
#include "tests/unit/io/hf_folder.h"
#include "tests/unit/io/io_test_tools.h"

namespace vitrine::test {

using Change = std::function<void(HfFolder&)>;

inline QJsonObject read_json(const std::filesystem::path& path) {
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

// All values of a matrix or vector with everything applied.
inline std::vector<float> values_of(const HostTensor& tensor) {
    std::vector<float> out(static_cast<std::size_t>(tensor.rows * tensor.cols));
    for (std::int64_t row = 0; row < tensor.rows; ++row)
        dequantize_matrix_row(tensor, row, out.data() + row * tensor.cols);
    return out;
}

inline std::vector<float> values_of(const SafetensorsBuilder::Tensor& tensor) {
    std::vector<float> out(tensor.data.size() / 4);
    std::memcpy(out.data(), tensor.data.data(), tensor.data.size());
    return out;
}

inline std::filesystem::path golden(const QString& name) {
    return std::filesystem::path(VITRINE_GOLDEN_DIR) / "tiny" / name.toStdString();
}

// The names that GGUF gives to what a folder calls NAME.
inline std::string gguf_name(std::string name) {
    const std::pair<const char*, const char*> parts[] = {{"model.layers.", "blk."},
                                                         {".self_attn.q_proj.", ".attn_q."},
                                                         {".self_attn.k_proj.", ".attn_k."},
                                                         {".self_attn.v_proj.", ".attn_v."},
                                                         {".self_attn.o_proj.", ".attn_output."},
                                                         {".mlp.gate_proj.", ".ffn_gate."},
                                                         {".mlp.up_proj.", ".ffn_up."},
                                                         {".mlp.down_proj.", ".ffn_down."}};
    for (const auto& [from, to] : parts)
        if (const std::size_t at = name.find(from); at != std::string::npos)
            name.replace(at, std::strlen(from), to);
    return name;
}

// Writes a folder and opens it as a model.
class HfOpener {
  protected:
    std::filesystem::path write(const HfFolder& folder) {
        const auto path = folder_.path("model");
        folder.write(path);
        return path;
    }
    Result<std::unique_ptr<ModelSource>> open(const HfFolder& folder) {
        return ModelSource::open(write(folder));
    }

    TestFolder folder_;
};

}  // namespace vitrine::test
