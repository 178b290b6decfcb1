// Small Hugging Face folders, good and broken: every file can be changed before it is written.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "tests/unit/io/safetensors_builder.h"
#include "tests/unit/io/small_model.h"

namespace vitrine::test {

inline std::string json_text(const QJsonObject& object) {
    return QJsonDocument(object).toJson(QJsonDocument::Compact).toStdString();
}

// A llama of one layer: 16 wide, 4 heads of 4, 2 for keys, 24 in the feed-forward part, 260 tokens, tied.
class HfFolder {
  public:
    QJsonObject config;
    QJsonObject tokenizer;
    QJsonObject tokenizer_config;
    SafetensorsBuilder weights;          // model.safetensors, where it has tensors
    std::map<std::string, Bytes> files;  // further files, written last

    HfFolder() {
        config = {{"architectures", QJsonArray{"LlamaForCausalLM"}},
                  {"model_type", "llama"},
                  {"vocab_size", 260},
                  {"hidden_size", 16},
                  {"intermediate_size", 24},
                  {"num_hidden_layers", 1},
                  {"num_attention_heads", 4},
                  {"num_key_value_heads", 2},
                  {"hidden_act", "silu"},
                  {"max_position_embeddings", 256},
                  {"rms_norm_eps", 1e-5},
                  {"rope_theta", 10000.0},
                  {"tie_word_embeddings", true},
                  {"eos_token_id", 258},
                  {"torch_dtype", "float32"}};
        make_tokenizer();
        Noise noise(3);
        matrix(noise, "model.embed_tokens.weight", 260, 16);
        vector(noise, "model.norm.weight", 16);
        const std::string layer = "model.layers.0.";
        vector(noise, layer + "input_layernorm.weight", 16);
        matrix(noise, layer + "self_attn.q_proj.weight", 16, 16);
        matrix(noise, layer + "self_attn.k_proj.weight", 8, 16);
        matrix(noise, layer + "self_attn.v_proj.weight", 8, 16);
        matrix(noise, layer + "self_attn.o_proj.weight", 16, 16);
        vector(noise, layer + "post_attention_layernorm.weight", 16);
        matrix(noise, layer + "mlp.gate_proj.weight", 24, 16);
        matrix(noise, layer + "mlp.up_proj.weight", 24, 16);
        matrix(noise, layer + "mlp.down_proj.weight", 16, 24);
    }

    static Bytes floats(std::size_t count, Noise& noise) {
        Bytes out;
        for (std::size_t i = 0; i < count; ++i) {
            const Bytes one = le(noise.uniform());
            out.insert(out.end(), one.begin(), one.end());
        }
        return out;
    }
    static Bytes floats(const std::vector<float>& values) {
        Bytes out;
        for (const float value : values) {
            const Bytes one = le(value);
            out.insert(out.end(), one.begin(), one.end());
        }
        return out;
    }
    void matrix(Noise& noise, const std::string& name, std::uint64_t rows, std::uint64_t cols) {
        weights.add(name, "F32", {rows, cols}, floats(rows * cols, noise));
    }
    void vector(Noise& noise, const std::string& name, std::uint64_t size) {
        weights.add(name, "F32", {size}, floats(size, noise));
    }
    void put(const std::string& name, const QJsonObject& object) { files[name] = raw(json_text(object)); }
    void put(const std::string& name, const std::string& text) { files[name] = raw(text); }

    // Replaces a matrix by 8-bit codes 0, 1, 2 … (only such as are numbers in both types).
    void quantize(const std::string& name, const std::string& dtype) {
        SafetensorsBuilder::Tensor& tensor = *weights.find(name);
        tensor.dtype = dtype;
        tensor.data.resize(tensor.shape[0] * tensor.shape[1]);
        for (std::size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] = static_cast<std::byte>(i % 120);
    }

    // Writes everything; a file of `files` that is empty is left out.
    void write(const std::filesystem::path& folder) const {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder);
        std::map<std::string, Bytes> all = {{"config.json", raw(json_text(config))},
                                            {"tokenizer.json", raw(json_text(tokenizer))},
                                            {"tokenizer_config.json", raw(json_text(tokenizer_config))}};
        if (!weights.tensors.empty()) all["model.safetensors"] = weights.bytes();
        for (const auto& [name, bytes] : files) all[name] = bytes;
        for (const auto& [name, bytes] : all)
            if (!bytes.empty() && !write_file(folder / name, bytes)) std::abort();
    }

  private:
    // Byte-level BPE: 256 bytes, "he", "<|begin|>" 257, "<|end|>" 258, "<|turn|>" 259.
    void make_tokenizer() {
        QJsonObject vocab;
        int id = 0;
        char32_t next = 0x100;
        for (char32_t byte = 0; byte < 256; ++byte) {
            const bool itself =
                (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
            vocab[QString::fromUcs4(
                [&] {
                    static char32_t c[1];
                    c[0] = itself ? byte : next++;
                    return c;
                }(),
                1)] = id++;
        }
        vocab["he"] = 256;
        QJsonArray added;
        const auto add = [&](int token, const char* text) {
            added.append(QJsonObject{{"id", token},
                                     {"content", text},
                                     {"single_word", false},
                                     {"lstrip", false},
                                     {"rstrip", false},
                                     {"normalized", false},
                                     {"special", true}});
        };
        add(257, "<|begin|>");
        add(258, "<|end|>");
        add(259, "<|turn|>");
        const QJsonObject level = {
            {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
        tokenizer = {
            {"version", "1.0"},
            {"added_tokens", added},
            {"normalizer", QJsonValue::Null},
            {"pre_tokenizer", level},
            {"post_processor", QJsonValue::Null},
            {"decoder", level},
            {"model", QJsonObject{{"type", "BPE"}, {"vocab", vocab}, {"merges", QJsonArray{"h e"}}}}};
        tokenizer_config = {{"bos_token", "<|begin|>"},
                            {"eos_token", "<|end|>"},
                            {"chat_template", "{{ messages[0]['content'] }}"},
                            {"tokenizer_class", "PreTrainedTokenizerFast"}};
    }
};

}  // namespace vitrine::test
