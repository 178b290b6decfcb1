#include "core/io/hf_quantization.h"

#include <array>
#include <string_view>

#include "core/io/json_reader.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxTile = 1 << 20;

Error cannot(const std::string& where, const std::string& what) {
    return {ErrorKind::Unsupported, where + what +
                                        ", which this version cannot run; it runs FP8 (E4M3) and 8-bit "
                                        "integers with a scale for each matrix, "
                                        "row or block, and folders that are not quantized."};
}

// [rows, columns] of a block.
void read_tile(JsonReader& reader, const char* name, HfQuantization& out) {
    const std::vector<double> tile = reader.reals(name);
    if (!reader.has(name) || !reader.status().ok()) return;
    const auto fits = [](double n) { return n >= 1.0 && n <= static_cast<double>(kMaxTile); };
    if (tile.size() != 2 || !fits(tile[0]) || !fits(tile[1])) {
        reader.fail(ErrorKind::BadFile, reader.key(name) + " must be two whole numbers from 1 to " +
                                            std::to_string(kMaxTile) + ", rows and columns of a block.");
        return;
    }
    out.tile_rows = static_cast<std::int64_t>(tile[0]);
    out.tile_cols = static_cast<std::int64_t>(tile[1]);
}

Status read_compressed_tensors(JsonReader& reader, const std::string& where, HfQuantization& out) {
    const std::string format = reader.text("format").value_or("dense");
    constexpr std::array<std::string_view, 4> kFormats = {"float-quantized", "int-quantized",
                                                          "naive-quantized", "dense"};
    bool known = false;
    for (const std::string_view name : kFormats) known = known || name == format;
    if (!known)
        return cannot(where, "the weights are stored as " + in_quotes(format) + " of compressed-tensors");
    if (const Json* sparsity = reader.object("sparsity_config")) {
        JsonReader sparse(*sparsity, where, "quantization_config.sparsity_config.");
        const std::string kind = sparse.text("format").value_or("dense");
        if (kind != "dense")
            return cannot(where, "the weights are stored as " + in_quotes(kind) + " of compressed-tensors");
        VITRINE_CHECK(sparse.status());
    }
    const Json* groups = reader.object("config_groups");
    if (groups == nullptr) return reader.status();
    for (const auto& [name, group] : groups->items()) {
        const std::string inside = "quantization_config.config_groups." + printable(name, 40) + ".";
        JsonReader in_group(group, where, inside);
        if (!group.is_object()) in_group.fail(ErrorKind::BadFile, in_quotes(inside) + " is no object.");
        const Json* weights = in_group.status().ok() ? in_group.object("weights") : nullptr;
        VITRINE_CHECK(in_group.status());
        if (weights == nullptr) continue;
        JsonReader w(*weights, where, inside + "weights.");
        const std::int64_t bits = w.integer("num_bits", 1, 64, 8);
        const std::string strategy = w.text("strategy").value_or("tensor");
        const bool symmetric = w.flag("symmetric", true);
        read_tile(w, "block_structure", out);
        VITRINE_CHECK(w.status());
        if (bits != 8) return cannot(where, "the weights are quantized to " + std::to_string(bits) + " bits");
        if (!symmetric)
            return cannot(where, "the weights are quantized with zero points (symmetric is false)");
        if (strategy != "tensor" && strategy != "channel" && strategy != "block")
            return cannot(where, "the weights have scales by " + in_quotes(strategy));
    }
    return {};
}

}  // namespace

Result<HfQuantization> read_hf_quantization(const Json& config, const std::string& where) {
    HfQuantization out;
    JsonReader root(config, where);
    const char* name = root.has("quantization_config") ? "quantization_config" : "compression_config";
    const Json* object = root.object(name);
    VITRINE_CHECK(root.status());
    if (object == nullptr) return out;
    JsonReader reader(*object, where, std::string(name) + ".");
    out.method = reader.text("quant_method").value_or("");
    // Its oldest files do not say so.
    if (out.method.empty() && (reader.flag("load_in_4bit", false) || reader.flag("load_in_8bit", false)))
        out.method = "bitsandbytes";
    VITRINE_CHECK(reader.status());
    if (out.method == "fp8" || out.method == "fbgemm_fp8") {
        const std::string format = reader.text("fmt").value_or("e4m3");
        if (format != "e4m3" && format != "float8_e4m3fn")
            return cannot(where, "the weights are FP8 of kind " + in_quotes(format));
        read_tile(reader, "weight_block_size", out);
        VITRINE_CHECK(reader.status());
        return out;
    }
    if (out.method == "compressed-tensors" || out.method == "compressed_tensors") {
        VITRINE_CHECK(read_compressed_tensors(reader, where, out));
        VITRINE_CHECK(reader.status());
        return out;
    }
    if (out.method.empty())
        return Error{ErrorKind::BadFile,
                     where + in_quotes(std::string(name)) + " does not say by which method (quant_method)."};
    return cannot(where, "the weights are quantized by " + in_quotes(out.method));
}

}  // namespace vitrine
