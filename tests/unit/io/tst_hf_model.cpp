// Hugging Face folders: what a good one becomes, and that every bad one is refused with a sentence.
#include <cmath>
#include <functional>

#include <QFile>

#include "core/io/printable.h"
#include "core/io/safetensors_file.h"
#include "kernels/host/block_formats.h"
#include "tests/unit/io/hf_folder.h"
#include "tests/unit/io/io_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

using Change = std::function<void(HfFolder&)>;

QJsonObject read_json(const std::filesystem::path& path) {
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

// All values of a matrix or vector with everything applied.
std::vector<float> values_of(const HostTensor& tensor) {
    std::vector<float> out(static_cast<std::size_t>(tensor.rows * tensor.cols));
    for (std::int64_t row = 0; row < tensor.rows; ++row)
        dequantize_matrix_row(tensor, row, out.data() + row * tensor.cols);
    return out;
}

std::vector<float> values_of(const SafetensorsBuilder::Tensor& tensor) {
    std::vector<float> out(tensor.data.size() / 4);
    std::memcpy(out.data(), tensor.data.data(), tensor.data.size());
    return out;
}

std::filesystem::path golden(const QString& name) {
    return std::filesystem::path(VITRINE_GOLDEN_DIR) / "tiny" / name.toStdString();
}

// The names that GGUF gives to what a folder calls NAME.
std::string gguf_name(std::string name) {
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

}  // namespace

class TestHfModel : public QObject {
    Q_OBJECT

  private slots:
    void tiny_models_data();
    void tiny_models();
    void tiny_windows_and_ropes();
    void tiny_gemma_norms();
    void tiny_fused_slices();
    void tiny_quantized_data();
    void tiny_quantized();

    void small_folder();
    void opened_by_a_file_of_it();
    void refused_data();
    void refused();
    void accepted_data();
    void accepted();
    void config_values();
    void rope_parameters_of_newer_files();
    void text_config();
    void index_decides();
    void sets_without_an_index();
    void stray_files_are_left_alone();
    void tied_heads();
    void biases();
    void scales_of_every_shape();
    void dtypes_widen();
    void vocabulary_only();
    void special_tokens();
    void chat_templates();
    void more_tokens_than_rows();
    void truncated_shards();
    void any_damage_is_a_sentence();
    void changed_on_disk();
    void content_hash_tells_models_apart();

  private:
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

void TestHfModel::tiny_models_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("architecture");
    QTest::addColumn<QList<int>>(
        "sizes");  // vocabulary, width, layers, heads, key heads, head size, feed-forward
    QTest::addColumn<bool>("tied");
    const auto row = [](const char* name, const char* architecture, const QList<int>& sizes, bool tied) {
        QTest::newRow(name) << name << architecture << sizes << tied;
    };
    row("llama_mha_untied", "llama", {320, 48, 3, 4, 4, 12, 112}, false);
    row("llama_gqa_tied", "llama", {384, 64, 3, 8, 2, 8, 144}, true);
    row("llama_mqa_headdim", "llama", {352, 64, 3, 4, 1, 24, 128}, false);
    row("llama_rope_llama3", "llama", {320, 64, 3, 4, 2, 16, 128}, false);
    row("llama_rope_yarn", "llama", {320, 64, 3, 4, 2, 16, 128}, false);
    row("llama_rope_yarn_mscale", "llama", {320, 64, 3, 2, 1, 32, 128}, false);
    row("llama_bias", "llama", {320, 64, 3, 4, 2, 16, 128}, false);
    row("mistral_swa", "llama", {352, 64, 3, 4, 2, 16, 144}, false);
    row("qwen2_tied", "qwen2", {448, 64, 3, 4, 2, 16, 160}, true);
    row("qwen3", "qwen3", {384, 64, 3, 4, 2, 32, 144}, true);
    row("gemma2", "gemma2", {384, 64, 4, 4, 2, 24, 128}, true);
    row("gemma3_text", "gemma3", {384, 64, 4, 4, 2, 16, 128}, true);
    row("phi3", "phi3", {320, 64, 3, 4, 2, 16, 128}, false);
    row("phi3_longrope", "phi3", {320, 64, 3, 4, 4, 16, 128}, false);
}

void TestHfModel::tiny_models() {
    QFETCH(QString, name);
    QFETCH(QString, architecture);
    QFETCH(QList<int>, sizes);
    QFETCH(bool, tied);
    const auto model = ModelSource::open(golden(name));
    VERIFY_OK(model);
    const ModelConfig& c = (*model)->config();
    QCOMPARE(QString::fromStdString(c.architecture), architecture);
    QCOMPARE(QString::fromStdString(c.name), name);
    QCOMPARE((QList<int>{c.vocab, c.embedding, c.layers, c.heads, c.kv_heads, c.head_dim, c.feed_forward}),
             sizes);
    QCOMPARE((*model)->tensor("output.weight").has_value(), !tied);
    QCOMPARE((*model)->vocabulary().tokens.size(), std::size_t{320});
    QVERIFY((*model)->vocabulary().bos == TokenId(315) && (*model)->vocabulary().eos == TokenId(316));
    QVERIFY((*model)->vocabulary().extra_eog == std::vector<TokenId>{TokenId(318)});
    QVERIFY((*model)->vocabulary().add_bos == true);
    QVERIFY((*model)->chat_template() && contains(*(*model)->chat_template(), "You are brief."));
    QVERIFY2((*model)->warnings().empty(),
             (*model)->warnings().empty() ? "" : (*model)->warnings()[0].c_str());
    QVERIFY((*model)->parameters() > 0 && (*model)->weights_bytes() >= 2 * (*model)->parameters());
    VERIFY_OK((*model)->unchanged());
    for (const RopeSpec& rope : c.ropes) QVERIFY(rope.style == RopeStyle::Halves);
    QCOMPARE(c.layer.size(), static_cast<std::size_t>(c.layers));

    // Every tensor that the architecture needs, in its shape.
    const auto shape = [&](const std::string& tensor) {
        const auto t = (*model)->tensor(tensor);
        return t ? QList<qint64>{t->rows, t->cols} : QList<qint64>{};
    };
    const qint64 d = c.embedding;
    const qint64 q = qint64{c.heads} * c.head_dim;
    const qint64 kv = qint64{c.kv_heads} * c.head_dim;
    QCOMPARE(shape("token_embd.weight"), (QList<qint64>{c.vocab, d}));
    QCOMPARE(shape("output_norm.weight"), (QList<qint64>{1, d}));
    const bool gemma = architecture.startsWith("gemma");
    const bool head_norms = architecture == "qwen3" || architecture == "gemma3";
    for (int i = 0; i < c.layers; ++i) {
        const std::string at = "blk." + std::to_string(i) + ".";
        QCOMPARE(shape(at + "attn_norm.weight"), (QList<qint64>{1, d}));
        QCOMPARE(shape(at + "attn_q.weight"), (QList<qint64>{q, d}));
        QCOMPARE(shape(at + "attn_k.weight"), (QList<qint64>{kv, d}));
        QCOMPARE(shape(at + "attn_v.weight"), (QList<qint64>{kv, d}));
        QCOMPARE(shape(at + "attn_output.weight"), (QList<qint64>{d, q}));
        QCOMPARE(shape(at + "ffn_norm.weight"), (QList<qint64>{1, d}));
        QCOMPARE(shape(at + "ffn_gate.weight"), (QList<qint64>{c.feed_forward, d}));
        QCOMPARE(shape(at + "ffn_up.weight"), (QList<qint64>{c.feed_forward, d}));
        QCOMPARE(shape(at + "ffn_down.weight"), (QList<qint64>{d, c.feed_forward}));
        const bool all_biases = name == "llama_bias";
        QCOMPARE(shape(at + "attn_q.bias"),
                 all_biases || architecture == "qwen2" ? (QList<qint64>{1, q}) : QList<qint64>{});
        QCOMPARE(shape(at + "attn_output.bias"), all_biases ? (QList<qint64>{1, d}) : QList<qint64>{});
        QCOMPARE(shape(at + "ffn_up.bias"),
                 all_biases ? (QList<qint64>{1, c.feed_forward}) : QList<qint64>{});
        QCOMPARE(shape(at + "attn_q_norm.weight"),
                 head_norms ? (QList<qint64>{1, c.head_dim}) : QList<qint64>{});
        QCOMPARE(shape(at + "post_attention_norm.weight"), gemma ? (QList<qint64>{1, d}) : QList<qint64>{});
        QCOMPARE(shape(at + "post_ffw_norm.weight"), gemma ? (QList<qint64>{1, d}) : QList<qint64>{});
        QVERIFY((*model)->tensor(at + "attn_norm.weight")->dtype == DType::F32);
    }
    QVERIFY(!(*model)->tensor("blk.9.attn_q.weight") && !(*model)->tensor("") && !(*model)->tensor("blk."));
}

void TestHfModel::tiny_windows_and_ropes() {
    const auto config = [](const char* name) { return ModelSource::open(golden(name)).value()->config(); };
    const auto windows = [](const ModelConfig& c) {
        QList<int> all;
        for (const auto& layer : c.layer) all << layer.window;
        return all;
    };
    const auto ropes = [](const ModelConfig& c) {
        QList<int> all;
        for (const auto& layer : c.layer) all << layer.rope;
        return all;
    };
    QCOMPARE(windows(config("llama_bias")), (QList<int>{0, 0, 0}));
    QCOMPARE(windows(config("mistral_swa")), (QList<int>{16, 16, 16}));
    QCOMPARE(windows(config("qwen2_tied")), (QList<int>{0, 0, 0}));  // use_sliding_window is false
    QCOMPARE(windows(config("gemma2")), (QList<int>{16, 0, 16, 0}));
    QCOMPARE(windows(config("gemma3_text")), (QList<int>{16, 16, 0, 16}));
    QCOMPARE(ropes(config("gemma3_text")), (QList<int>{1, 1, 0, 1}));
    QCOMPARE(ropes(config("gemma2")), (QList<int>{0, 0, 0, 0}));

    const ModelConfig gemma3 = config("gemma3_text");
    QCOMPARE(gemma3.ropes.size(), std::size_t{2});
    QCOMPARE(gemma3.ropes[0].inv_freq[1], std::pow(1e6, -2.0 / 16));
    QCOMPARE(gemma3.ropes[1].inv_freq[1], std::pow(1e4, -2.0 / 16));
    QCOMPARE(gemma3.embedding_scale, 8.0F);
    QCOMPARE(gemma3.attention_scale, static_cast<float>(1.0 / std::sqrt(24.0)));
    QVERIFY(gemma3.attention_softcap == 0.0F && gemma3.logit_softcap == 0.0F);
    QVERIFY(gemma3.activation == Activation::GeluTanh);
    const ModelConfig gemma2 = config("gemma2");
    QVERIFY(gemma2.attention_softcap == 4.0F && gemma2.logit_softcap == 10.0F);
    QCOMPARE(gemma2.attention_scale, 0.25F);
    const ModelConfig llama = config("llama_mha_untied");
    QVERIFY(llama.attention_scale == static_cast<float>(1.0 / std::sqrt(12.0)) &&
            llama.embedding_scale == 1.0F);
    QVERIFY(llama.activation == Activation::SiLU && llama.norm_eps == 1e-5F);
    const ModelConfig phi = config("phi3");
    QCOMPARE(phi.ropes[0].rotary_dim, 12);
    QCOMPARE(phi.rope_switch, 0);
    const ModelConfig longrope = config("phi3_longrope");
    QCOMPARE(longrope.rope_switch, 100);
    QCOMPARE(longrope.ropes.size(), std::size_t{2});
    QCOMPARE(longrope.ropes[0].inv_freq[7], std::pow(1e4, -14.0 / 16) / 2.0);
    QCOMPARE(longrope.ropes[1].inv_freq[7], std::pow(1e4, -14.0 / 16) / 12.0);
    QCOMPARE(longrope.ropes[0].magnitude,
             static_cast<float>(std::sqrt(1.0 + std::log(512.0 / 100.0) / std::log(100.0))));
    const ModelConfig yarn = config("llama_rope_yarn_mscale");
    QCOMPARE(yarn.ropes[0].magnitude,
             static_cast<float>((0.1 * 1.5 * std::log(8.0) + 1.0) / (0.1 * 0.5 * std::log(8.0) + 1.0)));
    const ModelConfig llama3 = config("llama_rope_llama3");
    QCOMPARE(llama3.ropes[0].inv_freq[0], 1.0);
    QCOMPARE(llama3.ropes[0].inv_freq[7], std::pow(1e4, -14.0 / 16) / 8.0);
}

void TestHfModel::tiny_gemma_norms() {
    for (const char* name : {"gemma2", "gemma3_text", "qwen3"}) {
        const auto file = SafetensorsFile::open(golden(name) / "model.safetensors");
        VERIFY_OK(file);
        const auto model = ModelSource::open(golden(name));
        VERIFY_OK(model);
        const float added = std::string(name) == "qwen3" ? 0.0F : 1.0F;
        std::vector<std::pair<const char*, const char*>> names = {
            {"model.norm.weight", "output_norm.weight"},
            {"model.layers.1.input_layernorm.weight", "blk.1.attn_norm.weight"}};
        if (added > 0.0F) {
            names.emplace_back("model.layers.1.post_attention_layernorm.weight",
                               "blk.1.post_attention_norm.weight");
            names.emplace_back("model.layers.1.pre_feedforward_layernorm.weight", "blk.1.ffn_norm.weight");
            names.emplace_back("model.layers.1.post_feedforward_layernorm.weight",
                               "blk.1.post_ffw_norm.weight");
        } else {
            names.emplace_back("model.layers.1.post_attention_layernorm.weight", "blk.1.ffn_norm.weight");
        }
        if (std::string(name) != "gemma2")
            names.emplace_back("model.layers.1.self_attn.k_norm.weight", "blk.1.attn_k_norm.weight");
        for (const auto& [stored, asked] : names) {
            const SafetensorsTensor* raw_tensor = (*file)->find(stored);
            QVERIFY2(raw_tensor != nullptr, stored);
            const auto tensor = (*model)->tensor(asked);
            QVERIFY2(tensor, asked);
            const HostTensor view{.dtype = *raw_tensor->dtype,
                                  .rows = 1,
                                  .cols = tensor->cols,
                                  .data = (*file)->data(*raw_tensor).data()};
            std::vector<float> expected = values_of(view);
            for (float& value : expected) value += added;
            QVERIFY2(values_of(*tensor) == expected, asked);
        }
    }
}

void TestHfModel::tiny_fused_slices() {
    const auto file = SafetensorsFile::open(golden("phi3") / "model.safetensors");
    const auto model = ModelSource::open(golden("phi3"));
    VERIFY_OK(file);
    VERIFY_OK(model);
    const auto check = [&](const char* stored, const char* asked, std::int64_t first, std::int64_t rows) {
        const auto tensor = (*model)->tensor(asked);
        const SafetensorsTensor* whole = (*file)->find(stored);
        const auto data = (*file)->data(*whole).subspan(static_cast<std::size_t>(first) * 64 * 2);
        return tensor && tensor->rows == rows && tensor->cols == 64 &&
               std::memcmp(tensor->data, data.data(), static_cast<std::size_t>(rows) * 64 * 2) == 0;
    };
    QVERIFY(check("model.layers.2.self_attn.qkv_proj.weight", "blk.2.attn_q.weight", 0, 64));
    QVERIFY(check("model.layers.2.self_attn.qkv_proj.weight", "blk.2.attn_k.weight", 64, 32));
    QVERIFY(check("model.layers.2.self_attn.qkv_proj.weight", "blk.2.attn_v.weight", 96, 32));
    QVERIFY(check("model.layers.2.mlp.gate_up_proj.weight", "blk.2.ffn_gate.weight", 0, 128));
    QVERIFY(check("model.layers.2.mlp.gate_up_proj.weight", "blk.2.ffn_up.weight", 128, 128));
}

void TestHfModel::tiny_quantized_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"fp8_block128", "fp8_ct_channel", "fp8_tensor_static", "ct_int8_channel"})
        QTest::newRow(name) << name;
}

void TestHfModel::tiny_quantized() {
    QFETCH(QString, name);
    const auto model = ModelSource::open(golden(name));
    VERIFY_OK(model);
    QVERIFY((*model)->warnings().empty());
    QCOMPARE((*model)->weights_format(), std::string(name.startsWith("ct") ? "I8" : "F8_E4M3"));
    const QJsonObject dequantized = read_json(golden(name) / "golden.json")["dequantized"].toObject();
    const QJsonObject checks = dequantized["checks"].toObject();
    QCOMPARE(checks.size(), 14);
    for (auto it = checks.begin(); it != checks.end(); ++it) {
        const auto tensor = (*model)->tensor(gguf_name(it.key().toStdString()));
        QVERIFY2(tensor, qPrintable(it.key()));
        const QJsonObject wanted = it->toObject();
        double sum = 0.0;
        double abs_sum = 0.0;
        double weighted = 0.0;
        const std::vector<float> values = values_of(*tensor);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double w = static_cast<double>(values[i]);
            sum += w;
            abs_sum += std::abs(w);
            weighted +=
                w * (static_cast<double>(static_cast<std::uint32_t>(i * 2654435761U)) / 4294967296.0 - 0.5);
        }
        const double tolerance = 1e-6 * wanted["abs_sum"].toDouble();
        QVERIFY(std::abs(sum - wanted["sum"].toDouble()) < tolerance);
        QVERIFY(std::abs(abs_sum - wanted["abs_sum"].toDouble()) < tolerance);
        QVERIFY(std::abs(weighted - wanted["weighted_sum"].toDouble()) < tolerance);
        for (int i = 0; i < 4; ++i)
            QVERIFY(std::abs(static_cast<double>(values[static_cast<std::size_t>(i)]) -
                             wanted["first4"][i].toDouble()) < 1e-6);
    }
    QFile full(QString::fromStdString((golden(name) / "dequant_k_proj.f32").string()));
    QVERIFY(full.open(QIODevice::ReadOnly));
    const QByteArray bytes = full.readAll();
    std::vector<float> expected(static_cast<std::size_t>(bytes.size()) / 4);
    std::memcpy(expected.data(), bytes.constData(), expected.size() * 4);
    const std::vector<float> found = values_of(*(*model)->tensor("blk.0.attn_k.weight"));
    QCOMPARE(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        QVERIFY(std::abs(found[i] - expected[i]) <= 1e-6F * std::abs(expected[i]));
}

void TestHfModel::small_folder() {
    const HfFolder folder;
    const auto model = open(folder);
    VERIFY_OK(model);
    QVERIFY((*model)->warnings().empty());
    QCOMPARE((*model)->config().name, std::string("model"));
    QCOMPARE((*model)->weights_format(), std::string("F32"));
    QCOMPARE((*model)->weights_bytes(), (*model)->parameters() * 4);
    for (const auto& tensor : folder.weights.tensors) {
        std::string name = gguf_name(tensor.name);
        if (name == "model.embed_tokens.weight") name = "token_embd.weight";
        if (name == "model.norm.weight") name = "output_norm.weight";
        if (name == "blk.0.input_layernorm.weight") name = "blk.0.attn_norm.weight";
        if (name == "blk.0.post_attention_layernorm.weight") name = "blk.0.ffn_norm.weight";
        const auto found = (*model)->tensor(name);
        QVERIFY2(found, name.c_str());
        QVERIFY2(values_of(*found) == values_of(tensor), name.c_str());
    }
    QVERIFY((*model)->vocabulary().bos == TokenId(257) && (*model)->vocabulary().eos == TokenId(258));
    QCOMPARE(*(*model)->chat_template(), std::string("{{ messages[0]['content'] }}"));
}

void TestHfModel::opened_by_a_file_of_it() {
    const auto path = write(HfFolder());
    for (const char* name : {"config.json", "model.safetensors", ""}) {
        const auto model = ModelSource::open(name[0] == '\0' ? path / "" : path / name);
        VERIFY_OK(model);
        QCOMPARE((*model)->config().name, std::string("model"));
    }
    VERIFY_ERROR(ModelSource::open(path / "absent.safetensors"), ErrorKind::NotFound, "absent.safetensors");
    VERIFY_ERROR(ModelSource::open(folder_.path("absent") / "config.json"), ErrorKind::NotFound,
                 "config.json");
    // As a cache lays folders out: the name is the repository's.
    const auto cached = folder_.path("models--someone--Some-Model-1B/snapshots/0123abcd");
    HfFolder().write(cached);
    QCOMPARE(ModelSource::open(cached).value()->config().name, std::string("Some-Model-1B"));
}

namespace {

std::map<std::string, std::pair<Change, std::pair<ErrorKind, const char*>>>& refusals() {
    static std::map<std::string, std::pair<Change, std::pair<ErrorKind, const char*>>> all;
    return all;
}

QJsonObject quantization(QJsonObject weights, const char* format) {
    return {{"quant_method", "compressed-tensors"},
            {"format", format},
            {"config_groups", QJsonObject{{"group_0", QJsonObject{{"weights", std::move(weights)}}}}}};
}

}  // namespace

void TestHfModel::refused_data() {
    QTest::addColumn<QString>("name");
    const auto row = [](const std::string& name, ErrorKind kind, const char* part, Change change) {
        refusals()[name] = {std::move(change), {kind, part}};
        QTest::newRow(name.c_str()) << QString::fromStdString(name);
    };
    const auto set = [&](const std::string& name, const char* key, const QJsonValue& value, ErrorKind kind,
                         const char* part) {
        row(name, kind, part, [key, value](HfFolder& f) { f.config[key] = value; });
    };
    const auto bad = ErrorKind::BadFile;
    const auto no = ErrorKind::Unsupported;
    const auto lost = ErrorKind::NotFound;

    row("no config.json", lost, "it has no config.json", [](HfFolder& f) { f.files["config.json"] = {}; });
    row("a folder of GGUF files", lost, "open one of them by its name: 'a.gguf'", [](HfFolder& f) {
        f.files["config.json"] = {};
        f.put("a.gguf", "x");
    });
    row("an adapter", lost, "holds an adapter", [](HfFolder& f) {
        f.files["config.json"] = {};
        f.put("adapter_config.json", "{}");
    });
    row("no weights", lost, "has no weights (model.safetensors)",
        [](HfFolder& f) { f.weights.tensors.clear(); });
    row("a PyTorch checkpoint", lost, "pytorch_model.bin", [](HfFolder& f) {
        f.weights.tensors.clear();
        f.put("pytorch_model.bin", "PK");
    });
    row("no vocabulary", lost, "no vocabulary (tokenizer.json or tokenizer.model)",
        [](HfFolder& f) { f.files["tokenizer.json"] = {}; });
    row("config no JSON", bad, "config.json", [](HfFolder& f) { f.put("config.json", "{\"model_type\":"); });
    row("config a list", bad, "config.json", [](HfFolder& f) { f.put("config.json", "[]"); });
    row("config of NaN", bad, "config.json",
        [](HfFolder& f) { f.put("config.json", "{\"model_type\":NaN}"); });
    row("config a web page", bad, "config.json",
        [](HfFolder& f) { f.put("config.json", "<!DOCTYPE html>"); });
    row("config nested", ErrorKind::TooLarge, "config.json",
        [](HfFolder& f) { f.put("config.json", "{\"a\":" + std::string(100000, '[')); });
    row("tokenizer_config no JSON", bad, "tokenizer_config.json",
        [](HfFolder& f) { f.put("tokenizer_config.json", "x"); });
    row("generation_config no JSON", bad, "generation_config.json",
        [](HfFolder& f) { f.put("generation_config.json", "x"); });
    row("tokenizer no JSON", bad, "tokenizer.json", [](HfFolder& f) { f.put("tokenizer.json", "x"); });
    row("template of a wrong kind", bad, "'chat_template' is the number 5",
        [](HfFolder& f) { f.tokenizer_config["chat_template"] = 5; });

    row("no model_type", bad, "'model_type' is missing", [](HfFolder& f) { f.config.remove("model_type"); });
    for (const char* type :
         {"mamba", "gpt2", "mixtral", "qwen2_moe", "LLAMA", "deepseek_v3", "gemma3n", "llama4", ""}) {
        const std::string shown =
            std::string("a model of type '") + type + "'; this version runs: llama, mistral, qwen2";
        row(std::string("model_type ") + type, type[0] == '\0' ? bad : no,
            type[0] == '\0' ? "'model_type' is missing" : "a model of type '",
            [type](HfFolder& f) { f.config["model_type"] = type; });
    }
    set("model_type a number", "model_type", 5, bad, "'model_type' is the number 5; a text is needed");
    row("unknown inside a text_config", no, "'some_vision' with a language model of type 'odd'",
        [](HfFolder& f) {
            f.config = {{"model_type", "some_vision"}, {"text_config", QJsonObject{{"model_type", "odd"}}}};
        });
    for (const char* key :
         {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"}) {
        row(std::string("no ") + key, bad, "is missing; the model cannot be run",
            [key](HfFolder& f) { f.config.remove(key); });
        row(std::string(key) + " null", bad, "is missing; the model cannot be run",
            [key](HfFolder& f) { f.config[key] = QJsonValue::Null; });
        set(std::string(key) + " a text", key, "64", bad, "a whole number is needed");
        set(std::string(key) + " a fraction", key, 16.5, bad, "a whole number is needed");
        set(std::string(key) + " zero", key, 0, bad, "it must be from 1");
        set(std::string(key) + " negative", key, -4, bad, "it must be from 1");
        set(std::string(key) + " a list", key, QJsonArray{16}, bad, "is a list; a whole number is needed");
        set(std::string(key) + " huge", key, 1e18, bad, "must be from 1 to ");
        set(std::string(key) + " beyond integers", key, 1e300, bad, "must be from 1 to ");
    }
    row("hidden_size beyond 64 bits", bad, "'hidden_size'", [](HfFolder& f) {
        std::string text = json_text(f.config);
        f.put("config.json",
              text.replace(text.find("\"hidden_size\":16"), 16, "\"hidden_size\":99999999999999999999999"));
    });
    set("kv heads do not divide", "num_key_value_heads", 3, bad,
        "not divisible by 'num_key_value_heads' (3)");
    set("kv heads zero", "num_key_value_heads", 0, bad, "'num_key_value_heads' is 0");
    set("more kv heads than heads", "num_key_value_heads", 8, bad, "not divisible");
    row("heads do not divide", bad, "not divisible by 'num_attention_heads' (5)", [](HfFolder& f) {
        f.config["num_attention_heads"] = 5;
        f.config["num_key_value_heads"] = 5;
    });
    set("head_dim zero", "head_dim", 0, bad, "'head_dim' is 0");
    set("head_dim huge", "head_dim", 65536 * 16, bad, "'head_dim'");
    row("heads times head_dim", bad, "all heads together", [](HfFolder& f) {
        f.config["num_attention_heads"] = 65536;
        f.config["head_dim"] = 65536;
    });
    set("head_dim odd", "head_dim", 5, bad, "must be even");
    set("context zero", "max_position_embeddings", 0, bad, "'max_position_embeddings' is 0");
    set("eps a text", "rms_norm_eps", "1e-5", bad, "'rms_norm_eps' is the text '1e-5'; a number is needed");
    set("eps negative", "rms_norm_eps", -1.0, bad, "'rms_norm_eps' must be from 0 to 1");
    set("activation", "hidden_act", "gelu", no, "the activation 'gelu' ('hidden_act')");
    set("activation relu", "hidden_act", "relu2", no, "the activation 'relu2'");
    set("tied a text", "tie_word_embeddings", "true", bad, "'tie_word_embeddings' is the text 'true'");
    set("experts", "num_local_experts", 8, no, "mixture of experts");
    set("layer_types short", "layer_types", QJsonArray{}, bad, "'layer_types' must be a list");
    set("rope_theta zero", "rope_theta", 0, bad, "rotary embedding");
    set("rope_theta a text", "rope_theta", "10000", bad, "'rope_theta' is the text");
    set("rope_theta negative", "rope_theta", -5.0, bad, "rotary embedding");
    set("part of a head", "partial_rotary_factor", 0.5, no, "'partial_rotary_factor'");
    set("more than a head", "partial_rotary_factor", 1.5, bad, "'partial_rotary_factor' must be");
    set("rope_scaling a text", "rope_scaling", "linear", bad,
        "'rope_scaling' is the text 'linear'; an object");
    for (const char* kind : {"dynamic", "mrope", "ntk", "proportional"}) {
        row(std::string("rope_scaling ") + kind, no, "the model stretches its context by the method '",
            [kind](HfFolder& f) {
                f.config["rope_scaling"] = QJsonObject{{"rope_type", kind}, {"factor", 2.0}};
            });
        row(std::string("rope_scaling, old name, ") + kind, no, "(", [kind](HfFolder& f) {
            f.config["rope_scaling"] = QJsonObject{{"type", kind}, {"factor", 2.0}};
        });
    }
    for (const char* kind : {"linear", "yarn", "llama3"}) {
        row(std::string(kind) + " without a factor", bad, "rotary embedding: the stretching",
            [kind](HfFolder& f) {
                f.config["rope_scaling"] = QJsonObject{{"rope_type", kind}};
            });
        row(std::string(kind) + " with factor 0", bad, "rotary embedding", [kind](HfFolder& f) {
            f.config["rope_scaling"] = QJsonObject{{"rope_type", kind}, {"factor", 0}};
        });
        row(std::string(kind) + " with a factor as text", bad, "'rope_scaling.factor' is the text",
            [kind](HfFolder& f) {
                f.config["rope_scaling"] = QJsonObject{{"rope_type", kind}, {"factor", "8.0"}};
            });
    }
    row("longrope without lists", bad, "short factors", [](HfFolder& f) {
        f.config["rope_scaling"] =
            QJsonObject{{"rope_type", "longrope"}, {"original_max_position_embeddings", 64}};
    });
    row("longrope with a list of texts", bad, "holds the text", [](HfFolder& f) {
        f.config["rope_scaling"] = QJsonObject{{"rope_type", "longrope"}, {"short_factor", QJsonArray{"1"}}};
    });
    row("longrope with an endless original length", bad, "original_max_position_embeddings", [](HfFolder& f) {
        f.config["original_max_position_embeddings"] = 1e18;
        f.config["rope_scaling"] = QJsonObject{
            {"rope_type", "longrope"}, {"short_factor", QJsonArray{1, 1}}, {"long_factor", QJsonArray{1, 1}}};
    });

    for (const char* method :
         {"awq", "gptq", "bitsandbytes", "hqq", "aqlm", "eetq", "torchao", "quark", "mxfp4"}) {
        row(std::string("quantized by ") + method, no, "the weights are quantized by '",
            [method](HfFolder& f) {
                f.config["quantization_config"] = QJsonObject{{"quant_method", method}, {"bits", 4}};
            });
    }
    set("old bitsandbytes", "quantization_config", QJsonObject{{"load_in_4bit", true}}, no,
        "by 'bitsandbytes'");
    set("quantized by nobody", "quantization_config", QJsonObject{{"bits", 4}}, bad,
        "does not say by which method");
    set("quantization a text", "quantization_config", "fp8", bad, "'quantization_config' is the text");
    set("packed int4", "quantization_config", quantization({{"num_bits", 4}}, "pack-quantized"), no,
        "stored as 'pack-quantized' of compressed-tensors");
    set("4 bits in 8", "quantization_config", quantization({{"num_bits", 4}}, "int-quantized"), no,
        "to 4 bits");
    set("zero points", "quantization_config",
        quantization({{"num_bits", 8}, {"symmetric", false}}, "int-quantized"), no, "with zero points");
    set("groups", "quantization_config",
        quantization({{"num_bits", 8}, {"strategy", "group"}}, "int-quantized"), no, "scales by 'group'");
    set("sparse", "quantization_config",
        QJsonObject{{"quant_method", "compressed-tensors"},
                    {"format", "float-quantized"},
                    {"sparsity_config", QJsonObject{{"format", "sparse-24-bitmask"}}}},
        no, "'sparse-24-bitmask'");
    set("E5M2", "quantization_config", QJsonObject{{"quant_method", "fp8"}, {"fmt", "e5m2"}}, no,
        "FP8 of kind 'e5m2'");
    set("block of 0", "quantization_config",
        QJsonObject{{"quant_method", "fp8"}, {"weight_block_size", QJsonArray{0, 128}}}, bad,
        "weight_block_size");
    set("block of one number", "quantization_config",
        QJsonObject{{"quant_method", "fp8"}, {"weight_block_size", QJsonArray{128}}}, bad,
        "weight_block_size");

    for (const auto& tensor : HfFolder().weights.tensors) {
        row("without " + tensor.name, bad, "the weights lack tensors that the model needs: '",
            [name = tensor.name](HfFolder& f) { f.weights.remove(name); });
        row("one row less of " + tensor.name, bad, "is needed by config.json",
            [name = tensor.name](HfFolder& f) {
                auto& t = *f.weights.find(name);
                t.data.resize(t.data.size() - (t.shape.size() > 1 ? t.shape[1] : 1) * 4);
                --t.shape[0];
            });
        row("transposed or nested " + tensor.name, bad, "is needed by config.json",
            [name = tensor.name](HfFolder& f) {
                auto& t = *f.weights.find(name);
                t.shape.push_back(1);
                std::swap(t.shape[0], t.shape[t.shape.size() - 2]);
            });
        for (const char* dtype : {"F64", "I32", "U8", "F8_E5M2", "odd"}) {
            row(tensor.name + " in " + dtype, no, "has dtype '", [name = tensor.name, dtype](HfFolder& f) {
                auto& t = *f.weights.find(name);
                t.dtype = dtype;
                const std::size_t size = std::string(dtype) == "F64"                     ? 8
                                         : std::string(dtype) == "U8" || dtype[0] == 'F' ? 1
                                                                                         : 4;
                std::size_t count = 1;
                for (const auto n : t.shape) count *= n;
                t.data.resize(count * size);
            });
        }
    }
    row("ST-11 not tied, no head", bad,
        "'lm_head.weight', and config.json does not say that the embedding serves",
        [](HfFolder& f) { f.config["tie_word_embeddings"] = false; });
    row("ST-14 the vendor's names alone", no, "the names of their vendor's own layout", [](HfFolder& f) {
        for (auto& t : f.weights.tensors) t.name = "x." + t.name;
        f.weights.find("x.model.embed_tokens.weight")->name = "tok_embeddings.weight";
    });
    row("ST-14 the vendor's files alone", lost, "the vendor's own layout (consolidated.safetensors)",
        [](HfFolder& f) {
            f.files["consolidated.safetensors"] = f.weights.bytes();
            f.weights.tensors.clear();
        });
    row("a vocabulary of another model", bad, "config.json gives the model 200 tokens",
        [](HfFolder& f) { f.config["vocab_size"] = 200; });

    const std::string q = "model.layers.0.self_attn.q_proj.weight";
    for (const char* dtype : {"I8", "F8_E4M3"}) {
        const std::string in = std::string(" of ") + dtype;
        row("no scale" + in, bad, "has no scale beside it: 'model.layers.0.self_attn.q_proj.weight_scale'",
            [q, dtype](HfFolder& f) { f.quantize(q, dtype); });
        row("two scales" + in, bad, "has two scales", [q, dtype](HfFolder& f) {
            f.quantize(q, dtype);
            f.weights.add(q + "_scale", "F32", {}, Bytes(4)).add(q + "_scale_inv", "F32", {}, Bytes(4));
        });
        row("zero points" + in, no, "zero points", [q, dtype](HfFolder& f) {
            f.quantize(q, dtype);
            f.weights.add(q + "_scale", "F32", {}, Bytes(4)).add(q + "_zero_point", "I8", {16, 1}, Bytes(16));
        });
        for (const std::vector<std::uint64_t>& shape :
             {std::vector<std::uint64_t>{2}, {15, 1}, {1, 16}, {16, 16}, {2, 2}, {16, 2}, {0}, {1, 1, 1}}) {
            std::size_t count = 1;
            std::string text;
            for (const auto n : shape) {
                count *= n;
                text += " " + std::to_string(n);
            }
            row("scales of shape" + text + in, bad, "is needed", [q, dtype, shape, count](HfFolder& f) {
                f.quantize(q, dtype);
                f.weights.add(q + "_scale", "F32", shape, Bytes(count * 4));
            });
        }
        row("scale NaN" + in, bad, "NaN or infinite", [q, dtype](HfFolder& f) {
            f.quantize(q, dtype);
            f.weights.add(q + "_scale", "F32", {1}, HfFolder::floats({std::nanf("")}));
        });
        row("one scale of many infinite" + in, bad, "NaN or infinite", [q, dtype](HfFolder& f) {
            f.quantize(q, dtype);
            std::vector<float> values(16, 1.0F);
            values[15] = -INFINITY;
            f.weights.add(q + "_scale", "F32", {16, 1}, HfFolder::floats(values));
        });
        row("scale a whole number" + in, no, "has dtype 'I32'; F32, F16 or BF16", [q, dtype](HfFolder& f) {
            f.quantize(q, dtype);
            f.weights.add(q + "_scale", "I32", {1}, Bytes(4));
        });
    }
    row("a damaged shard", bad, "no sound safetensors file", [](HfFolder& f) {
        Bytes bytes = f.weights.bytes();
        bytes.resize(bytes.size() - 1);
        f.files["model.safetensors"] = bytes;
    });
    row("a shard that is a pointer", bad, "Git LFS", [](HfFolder& f) {
        f.put("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    });
}

void TestHfModel::refused() {
    QFETCH(QString, name);
    const auto& [change, expected] = refusals().at(name.toStdString());
    HfFolder folder;
    change(folder);
    const auto model = open(folder);
    VERIFY_ERROR(model, expected.first, expected.second);
    const std::string& message = model.error().message;
    QVERIFY(contains(message, folder_.path("model").string()) && is_valid_utf8(message));
    QVERIFY2(message.find('\n') == std::string::npos && message.size() < 1200 && message.back() == '.',
             message.c_str());
}

void TestHfModel::accepted_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("warning");
    const auto row = [](const std::string& name, const char* warning, Change change) {
        refusals()["ok " + name] = {std::move(change), {ErrorKind::Internal, ""}};
        QTest::newRow(name.c_str()) << QString::fromStdString("ok " + name) << QString::fromUtf8(warning);
    };
    row("whole numbers as fractions", "", [](HfFolder& f) {
        std::string text = json_text(f.config);
        f.put("config.json", text.replace(text.find("\"hidden_size\":16"), 16, "\"hidden_size\":16.0"));
    });
    row("no tokenizer_config.json", "", [](HfFolder& f) { f.files["tokenizer_config.json"] = {}; });
    row("no head size given", "", [](HfFolder& f) { f.config["head_dim"] = QJsonValue::Null; });
    row("rope_scaling null", "", [](HfFolder& f) { f.config["rope_scaling"] = QJsonValue::Null; });
    row("rope_scaling default", "", [](HfFolder& f) {
        f.config["rope_scaling"] = QJsonObject{{"rope_type", "default"}};
    });
    row("quantization null", "", [](HfFolder& f) { f.config["quantization_config"] = QJsonValue::Null; });
    row("not quantized by compressed-tensors", "", [](HfFolder& f) {
        f.config["quantization_config"] =
            QJsonObject{{"quant_method", "compressed-tensors"}, {"format", "dense"}};
    });
    row("frequencies of the rotary embedding", "", [](HfFolder& f) {
        f.weights.add("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {2}, Bytes(8));
    });
    row("GGUF-26 unknown tensors", "'vision.weight'",
        [](HfFolder& f) { f.weights.add("vision.weight", "F64", {2}, Bytes(16)); });
    row("ST-07 unknown dtype, not needed", "'odd'",
        [](HfFolder& f) { f.weights.add("odd", "F7", {2}, Bytes(16)); });
    row("ends outside the vocabulary", "names token 5000 as an end",
        [](HfFolder& f) { f.put("generation_config.json", "{\"eos_token_id\":[258,5000]}"); });
    row("no end", "", [](HfFolder& f) { f.put("generation_config.json", "{\"eos_token_id\":-1}"); });
    row("ends of odd kinds", "",
        [](HfFolder& f) { f.put("generation_config.json", "{\"eos_token_id\":[\"a\",null,1.5]}"); });
    row("a template of the wrong name", "'tool' is used", [](HfFolder& f) {
        f.tokenizer_config["chat_template"] = QJsonArray{QJsonObject{{"name", "tool"}, {"template", "x"}}};
    });
}

void TestHfModel::accepted() {
    QFETCH(QString, name);
    QFETCH(QString, warning);
    HfFolder folder;
    refusals().at(name.toStdString()).first(folder);
    const auto model = open(folder);
    VERIFY_OK(model);
    if (warning.isEmpty()) {
        QVERIFY2((*model)->warnings().empty(),
                 (*model)->warnings().empty() ? "" : (*model)->warnings()[0].c_str());
    } else {
        QVERIFY(any_contains((*model)->warnings(), warning.toStdString()));
    }
}

void TestHfModel::config_values() {
    HfFolder folder;
    folder.config.remove("num_key_value_heads");
    folder.config["head_dim"] = 4;
    for (const char* name : {"k", "v"}) {
        auto& t = *folder.weights.find(std::string("model.layers.0.self_attn.") + name + "_proj.weight");
        t.shape[0] = 16;
        t.data.resize(16 * 16 * 4);
    }
    QCOMPARE(open(folder).value()->config().kv_heads, 4);

    HfFolder mistral;
    mistral.config["model_type"] = "mistral";
    QCOMPARE(open(mistral).value()->config().layer[0].window, 0);  // 4096, wider than the context
    mistral.config["max_position_embeddings"] = 8192;
    QCOMPARE(open(mistral).value()->config().layer[0].window, 4096);
    mistral.config["sliding_window"] = QJsonValue::Null;
    QCOMPARE(open(mistral).value()->config().layer[0].window, 0);
    mistral.config["sliding_window"] = 100;
    QCOMPARE(open(mistral).value()->config().layer[0].window, 100);
    mistral.config["layer_types"] = QJsonArray{"full_attention"};
    QCOMPARE(open(mistral).value()->config().layer[0].window, 0);
    mistral.config["layer_types"] = QJsonArray{"linear_attention"};
    VERIFY_ERROR(open(mistral), ErrorKind::Unsupported, "layer 0 is of kind the text 'linear_attention'");

    // Where the base is absent, it is the family's; a stored one counts (GGUF-25).
    HfFolder plain;
    const double first = open(plain).value()->config().ropes[0].inv_freq[1];
    plain.config.remove("rope_theta");
    QCOMPARE(open(plain).value()->config().ropes[0].inv_freq[1], first);
    plain.config["rope_theta"] = 1000000;
    QCOMPARE(open(plain).value()->config().ropes[0].inv_freq[1], std::pow(1e6, -0.5));
}

void TestHfModel::rope_parameters_of_newer_files() {
    const auto ropes = [&](const QJsonObject& changes, const char* remove = nullptr) {
        HfFolder folder;
        if (remove != nullptr) folder.config.remove(remove);
        for (auto it = changes.begin(); it != changes.end(); ++it) folder.config[it.key()] = *it;
        const auto model = open(folder);
        return model.ok() ? (*model)->config().ropes : std::vector<RopeSpec>();
    };
    const QJsonObject scalings[] = {{{"rope_type", "linear"}, {"factor", 4.0}},
                                    {{"rope_type", "yarn"},
                                     {"factor", 4.0},
                                     {"original_max_position_embeddings", 64},
                                     {"beta_fast", 16.0}},
                                    {{"rope_type", "llama3"},
                                     {"factor", 8.0},
                                     {"low_freq_factor", 1.0},
                                     {"high_freq_factor", 4.0},
                                     {"original_max_position_embeddings", 64}},
                                    {{"rope_type", "longrope"},
                                     {"short_factor", QJsonArray{1.0, 1.5}},
                                     {"long_factor", QJsonArray{2.0, 3.0}},
                                     {"original_max_position_embeddings", 64}}};
    for (const QJsonObject& scaling : scalings) {
        const auto old = ropes({{"rope_theta", 5000.0}, {"rope_scaling", scaling}});
        QVERIFY(!old.empty());
        // Both names of the kind, and the newer place of all of it, mean the same.
        QJsonObject renamed = scaling;
        renamed["type"] = renamed.take("rope_type");
        QJsonObject parameters = scaling;
        parameters["rope_theta"] = 5000.0;
        for (const auto& other : {ropes({{"rope_theta", 5000.0}, {"rope_scaling", renamed}}),
                                  ropes({{"rope_parameters", parameters}}, "rope_theta")}) {
            QCOMPARE(other.size(), old.size());
            for (std::size_t i = 0; i < old.size(); ++i) {
                QVERIFY(other[i].inv_freq == old[i].inv_freq);
                QCOMPARE(other[i].magnitude, old[i].magnitude);
            }
        }
        QVERIFY(old[0].inv_freq != ropes({{"rope_theta", 5000.0}})[0].inv_freq);
    }
}

void TestHfModel::text_config() {
    // The language model inside a model of pictures and text: another prefix, and its own configuration.
    for (const auto& [prefix, head] :
         {std::pair{"language_model.model.", "language_model.lm_head.weight"},
          std::pair{"model.language_model.", "lm_head.weight"}, std::pair{"", "lm_head.weight"}}) {
        for (const bool own_head : {false, true}) {
            HfFolder folder;
            for (auto& t : folder.weights.tensors) t.name = prefix + t.name.substr(6);
            folder.weights.add("vision_tower.x.weight", "F32", {2, 2}, Bytes(16));
            Noise noise(9);
            if (own_head) folder.matrix(noise, head, 260, 16);
            QJsonObject inner = folder.config;
            inner.remove("eos_token_id");
            inner["tie_word_embeddings"] = !own_head;
            folder.config = {{"model_type", "some_vision"},
                             {"text_config", inner},
                             {"eos_token_id", QJsonArray{258, 259}}};
            const auto model = open(folder);
            VERIFY_OK(model);
            QCOMPARE((*model)->tensor("output.weight").has_value(), own_head);
            QVERIFY((*model)->vocabulary().extra_eog == std::vector<TokenId>{TokenId(259)});
            QVERIFY(any_contains((*model)->warnings(), "'vision_tower.x.weight'"));
        }
    }
    // Gemma 3 of pictures and text leaves out what it does not change.
    const auto gemma = ModelSource::open(golden("gemma3_text"));
    VERIFY_OK(gemma);
}

void TestHfModel::index_decides() {
    const HfFolder whole;
    const auto shard = [&](bool first) {
        SafetensorsBuilder b;
        for (const auto& t : whole.weights.tensors)
            if ((t.name.find("mlp") == std::string::npos) == first) b.tensors.push_back(t);
        return b;
    };
    const auto folder_with = [&](const std::function<void(QJsonObject&)>& change) {
        HfFolder f;
        f.weights.tensors.clear();
        f.files["part-a.safetensors"] = shard(true).bytes();
        f.files["part-b.safetensors"] = shard(false).bytes();
        QJsonObject map;
        for (const auto& t : whole.weights.tensors)
            map[QString::fromStdString(t.name)] =
                t.name.find("mlp") == std::string::npos ? "part-a.safetensors" : "part-b.safetensors";
        change(map);
        f.put("model.safetensors.index.json",
              QJsonObject{{"metadata", QJsonObject{{"total_size", 1}}}, {"weight_map", map}});
        return f;
    };
    const auto nothing = [](QJsonObject&) {};
    const QString up = "model.layers.0.mlp.up_proj.weight";

    const auto good = open(folder_with(nothing));
    VERIFY_OK(good);
    QVERIFY((*good)->warnings().empty());
    for (const char* name : {"model.safetensors.index.json", "config.json", "part-b.safetensors"})
        VERIFY_OK(ModelSource::open(folder_.path("model") / name));

    // ST-10: three different messages.
    VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map.remove(up); })), ErrorKind::BadFile,
                 "does not list tensors that the model needs: 'model.layers.0.mlp.up_proj.weight', although "
                 "'part-b.safetensors' holds some of them");
    VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map[up] = "part-c.safetensors"; })),
                 ErrorKind::NotFound,
                 "the index names files that are missing: 'part-c.safetensors'. Download");
    VERIFY_ERROR(
        open(folder_with([&](QJsonObject& map) { map[up] = "part-a.safetensors"; })), ErrorKind::BadFile,
        "part-a.safetensors: the file does not contain tensor 'model.layers.0.mlp.up_proj.weight', although");

    // A whole model of another precision beside the set is not mixed in.
    HfFolder stray = folder_with(nothing);
    SafetensorsBuilder other = whole.weights;
    for (auto& t : other.tensors) {
        t.dtype = "F16";
        t.data.resize(t.data.size() / 2);
    }
    stray.files["model.safetensors"] = other.bytes();
    const auto indexed = open(stray);
    VERIFY_OK(indexed);
    QCOMPARE((*indexed)->weights_format(), std::string("F32"));
    // Unless somebody names it.
    const auto named = ModelSource::open(folder_.path("model") / "model.safetensors");
    VERIFY_OK(named);
    QCOMPARE((*named)->weights_format(), std::string("F16"));
    // An index left over from files that are gone.
    stray.files["part-a.safetensors"] = {};
    stray.files["part-b.safetensors"] = {};
    VERIFY_ERROR(open(stray), ErrorKind::NotFound,
                 "if they are the model, the index is a leftover: remove it");

    // What the index does not list is not used, even if it is there.
    HfFolder more = folder_with(nothing);
    SafetensorsBuilder b = shard(false);
    b.add("extra.weight", "F32", {1}, Bytes(4));
    more.files["part-b.safetensors"] = b.bytes();
    const auto unlisted = open(more);
    VERIFY_OK(unlisted);
    QVERIFY(
        any_contains((*unlisted)->warnings(), "1 tensors that model.safetensors.index.json does not list"));
    const auto lost =
        open(folder_with([](QJsonObject& map) { map["vision.weight"] = "part-a.safetensors"; }));
    VERIFY_OK(lost);
    QVERIFY(any_contains((*lost)->warnings(), "in files that do not contain them: 'vision.weight'"));

    for (const char* name :
         {"../model/part-b.safetensors", "/etc/passwd", "..", ".", "", "a/b.safetensors", "a\\b"})
        VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map[up] = name; })), ErrorKind::BadFile,
                     "the plain name of a file in this folder is needed");
    VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map[up] = 5; })), ErrorKind::BadFile,
                 "a name is needed");
    VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map = {}; })), ErrorKind::BadFile,
                 "'weight_map' is missing");
    HfFolder broken = folder_with(nothing);
    broken.put("model.safetensors.index.json", "{\"weight_map\":[]}");
    VERIFY_ERROR(open(broken), ErrorKind::BadFile, "'weight_map' is missing");
    broken.put("model.safetensors.index.json", "not JSON");
    VERIFY_ERROR(open(broken), ErrorKind::BadFile, "model.safetensors.index.json");
}

void TestHfModel::sets_without_an_index() {
    const HfFolder whole;
    const auto with = [&](const std::vector<std::string>& names) {
        HfFolder f;
        f.weights.tensors.clear();
        for (std::size_t i = 0; i < names.size(); ++i) {
            SafetensorsBuilder b;
            for (std::size_t t = 0; t < whole.weights.tensors.size(); ++t)
                if (t % names.size() == i) b.tensors.push_back(whole.weights.tensors[t]);
            f.files[names[i]] = b.bytes();
        }
        return f;
    };
    VERIFY_OK(open(with({"other-name.safetensors"})));
    const HfFolder set = with(
        {"m-00001-of-00003.safetensors", "m-00002-of-00003.safetensors", "m-00003-of-00003.safetensors"});
    VERIFY_OK(open(set));
    VERIFY_OK(ModelSource::open(folder_.path("model") / "m-00002-of-00003.safetensors"));
    HfFolder gap = set;
    gap.files["m-00002-of-00003.safetensors"] = {};
    VERIFY_ERROR(open(gap), ErrorKind::NotFound,
                 "parts of the model are missing: 'm-00002-of-00003.safetensors'");
    HfFolder beside = set;
    beside.files["z.safetensors"] = whole.weights.bytes();
    VERIFY_ERROR(open(beside), ErrorKind::BadFile,
                 "there is 'z.safetensors', and no model.safetensors.index.json");
    VERIFY_ERROR(open(with({"a.safetensors", "b.safetensors"})), ErrorKind::BadFile,
                 "several .safetensors files and no model.safetensors.index.json");
    HfFolder twice = set;
    SafetensorsBuilder b;
    b.tensors = whole.weights.tensors;
    twice.files["m-00003-of-00003.safetensors"] = b.bytes();
    VERIFY_ERROR(open(twice), ErrorKind::BadFile, "lies both in m-00001-of-00003.safetensors and in");
}

void TestHfModel::stray_files_are_left_alone() {
    // ST-14, and whatever else lies in folders.
    HfFolder folder;
    SafetensorsBuilder vendor;
    vendor.add("layers.0.attention.wk.weight", "BF16", {8, 16}, Bytes(256));
    folder.files["consolidated.safetensors"] = vendor.bytes();
    folder.files["consolidated.00.pth"] = raw("PK");
    folder.files["adapter_model.safetensors"] = raw("damaged");
    folder.put("params.json", "{}");
    folder.files["other.safetensors"] = raw("damaged");
    std::filesystem::path path = write(folder);
    std::filesystem::create_directory(path / "x.safetensors");
    std::filesystem::create_symlink("nowhere", path / "y.safetensors");
    const auto model = ModelSource::open(path);
    VERIFY_OK(model);
    QVERIFY((*model)->warnings().empty());
    // Without model.safetensors the vendor's file does not take its place.
    folder.files["other.safetensors"] = {};
    folder.files["hf.safetensors"] = folder.weights.bytes();
    folder.weights.tensors.clear();
    VERIFY_OK(open(folder));
}

void TestHfModel::tied_heads() {
    HfFolder folder;
    const Bytes same = folder.weights.find("model.embed_tokens.weight")->data;
    folder.weights.add("lm_head.weight", "F32", {260, 16}, same);
    const auto identical = open(folder);  // ST-13
    VERIFY_OK(identical);
    QVERIFY(!(*identical)->tensor("output.weight") && (*identical)->warnings().empty());

    Bytes other = same;
    other[5] ^= std::byte{0x40};
    folder.weights.find("lm_head.weight")->data = other;
    const auto different = open(folder);
    VERIFY_OK(different);
    QVERIFY((*different)->tensor("output.weight"));
    QVERIFY(values_of(*(*different)->tensor("output.weight")) ==
            values_of(*folder.weights.find("lm_head.weight")));
    QVERIFY(any_contains((*different)->warnings(),
                         "'lm_head.weight' with other values; the one in the folder is used"));

    folder.config["tie_word_embeddings"] = false;
    const auto untied = open(folder);
    VERIFY_OK(untied);
    QVERIFY((*untied)->tensor("output.weight") && (*untied)->warnings().empty());
    // An equal head that the configuration does not tie is a head of its own.
    folder.weights.find("lm_head.weight")->data = same;
    QVERIFY(open(folder).value()->tensor("output.weight"));
}

void TestHfModel::biases() {
    const std::string name = "model.layers.0.self_attn.q_proj.bias";
    HfFolder folder;
    folder.weights.add(name, "F32", {16}, Bytes(64));
    const auto zero = open(folder);  // as older quantizers write them
    VERIFY_OK(zero);
    QVERIFY(!(*zero)->tensor("blk.0.attn_q.bias") && (*zero)->warnings().empty());
    folder.weights.find(name)->data = HfFolder::floats(std::vector<float>(16, 0.5F));
    const auto unannounced = open(folder);
    VERIFY_OK(unannounced);
    QVERIFY(!(*unannounced)->tensor("blk.0.attn_q.bias"));
    QVERIFY(any_contains((*unannounced)->warnings(),
                         "Biases that config.json does not announce are not used: '" + name));
    folder.config["attention_bias"] = true;
    VERIFY_ERROR(open(folder), ErrorKind::BadFile, "'model.layers.0.self_attn.k_proj.bias'");
    for (const char* part : {"k", "v"})
        folder.weights.add(std::string("model.layers.0.self_attn.") + part + "_proj.bias", "BF16", {8},
                           Bytes(16));
    folder.weights.add("model.layers.0.self_attn.o_proj.bias", "F16", {16}, Bytes(32));
    const auto all = open(folder);
    VERIFY_OK(all);
    QVERIFY(values_of(*(*all)->tensor("blk.0.attn_q.bias")) == std::vector<float>(16, 0.5F));
    QVERIFY((*all)->tensor("blk.0.attn_output.bias")->dtype == DType::F32);
}

void TestHfModel::scales_of_every_shape() {
    const std::string q = "model.layers.0.self_attn.q_proj.weight";
    struct Case {
        std::vector<std::uint64_t> shape;
        std::vector<float> values;
        std::function<float(int, int)> at;
        QJsonArray block;
    };
    std::vector<float> rows;
    std::vector<float> tiles;
    for (int i = 0; i < 16; ++i) rows.push_back(0.5F * static_cast<float>(i + 1));
    for (int i = 0; i < 12; ++i) tiles.push_back(0.25F * static_cast<float>(i + 1));
    const Case cases[] = {
        {{}, {0.75F}, [](int, int) { return 0.75F; }, {}},
        {{1}, {0.75F}, [](int, int) { return 0.75F; }, {}},
        {{1, 1}, {0.75F}, [](int, int) { return 0.75F; }, {128, 128}},
        {{16, 1}, rows, [&](int r, int) { return rows[static_cast<std::size_t>(r)]; }, {}},
        {{16}, rows, [&](int r, int) { return rows[static_cast<std::size_t>(r)]; }, {}},
        // Blocks of 6 × 4: the last row of blocks is cut.
        {{3, 4},
         tiles,
         [&](int r, int c) { return tiles[static_cast<std::size_t>(r / 6 * 4 + c / 4)]; },
         {6, 4}},
    };
    for (const Case& one : cases) {
        for (const char* dtype : {"F8_E4M3", "I8"}) {
            for (const char* suffix : {"_scale", "_scale_inv"}) {
                HfFolder folder;
                folder.quantize(q, dtype);
                folder.weights.add(q + suffix, "F32", one.shape, HfFolder::floats(one.values));
                folder.weights.add("model.layers.0.self_attn.q_proj.input_scale", "F32", {}, Bytes(4));
                folder.weights.add("model.layers.0.self_attn.q_proj.activation_scale", "BF16", {1}, Bytes(2));
                QJsonObject settings = {{"quant_method", "fp8"}};
                if (!one.block.isEmpty()) settings["weight_block_size"] = one.block;
                folder.config["quantization_config"] = settings;
                const auto model = open(folder);
                VERIFY_OK(model);
                QVERIFY((*model)->warnings().empty());
                const auto tensor = (*model)->tensor("blk.0.attn_q.weight");
                const auto values = values_of(*tensor);
                for (int r = 0; r < 16; ++r) {
                    for (int c = 0; c < 16; ++c) {
                        const auto code = static_cast<std::uint8_t>((r * 16 + c) % 120);
                        const float plain =
                            std::string(dtype) == "I8" ? static_cast<float>(code) : f8_to_float(code);
                        QCOMPARE(values[static_cast<std::size_t>(r * 16 + c)], plain * one.at(r, c));
                    }
                }
            }
        }
    }
}

void TestHfModel::dtypes_widen() {
    HfFolder folder;
    auto& norm = *folder.weights.find("model.norm.weight");
    norm.dtype = "BF16";
    norm.data.clear();
    for (int i = 0; i < 16; ++i) norm.data = norm.data + le(static_cast<std::uint16_t>(0x3F80 + i));
    auto& k = *folder.weights.find("model.layers.0.self_attn.k_proj.weight");
    k.dtype = "F16";
    k.data.resize(8 * 16 * 2);
    const auto model = open(folder);
    VERIFY_OK(model);
    const auto widened = (*model)->tensor("output_norm.weight");
    QVERIFY(widened->dtype == DType::F32);
    QCOMPARE(values_of(*widened)[0], 1.0F);
    QCOMPARE(values_of(*widened)[15], 1.0F + 15.0F / 128.0F);
    QVERIFY((*model)->tensor("blk.0.attn_k.weight")->dtype == DType::F16);
}

void TestHfModel::vocabulary_only() {
    HfFolder folder;
    folder.weights.tensors.clear();
    const auto path = write(folder);
    const auto model = ModelSource::open(path, {.vocabulary_only = true});
    VERIFY_OK(model);
    QCOMPARE((*model)->config().vocab, 260);
    QCOMPARE((*model)->config().architecture, std::string("llama"));
    QVERIFY(!(*model)->tensor("token_embd.weight"));
    VERIFY_OK((*model)->unchanged());
    // A tokenizer alone, or beside a model that cannot be run.
    folder.config["model_type"] = "mamba";
    VERIFY_OK(ModelSource::open(write(folder), {.vocabulary_only = true}));
    folder.files["config.json"] = {};
    VERIFY_OK(ModelSource::open(write(folder), {.vocabulary_only = true}));
    folder.files["tokenizer.json"] = {};
    VERIFY_ERROR(ModelSource::open(write(folder), {.vocabulary_only = true}), ErrorKind::NotFound,
                 "no vocabulary");
}

void TestHfModel::special_tokens() {
    HfFolder folder;
    folder.tokenizer_config.remove("bos_token");
    folder.tokenizer_config["eos_token"] = QJsonObject{{"content", "<|turn|>"}, {"lstrip", false}};
    folder.put("special_tokens_map.json",
               QJsonObject{{"bos_token", QJsonObject{{"content", "<|begin|>"}}}, {"eos_token", "<|end|>"}});
    folder.put("generation_config.json", "{\"eos_token_id\":[258,259,258]}");
    const auto model = open(folder);
    VERIFY_OK(model);
    const VocabularyData& v = (*model)->vocabulary();
    QVERIFY(v.bos == TokenId(257));  // only the map names it
    QVERIFY(v.eos == TokenId(259));  // tokenizer_config.json comes first
    QVERIFY(v.extra_eog == std::vector<TokenId>{TokenId(258)});

    // Without any of these files config.json has the ids.
    HfFolder bare;
    bare.files["tokenizer_config.json"] = {};
    bare.config["bos_token_id"] = 257;
    bare.config["eos_token_id"] = QJsonArray{258, 259};
    const auto by_id = open(bare);
    VERIFY_OK(by_id);
    QVERIFY((*by_id)->vocabulary().bos == TokenId(257) && (*by_id)->vocabulary().eos == TokenId(258));
    QVERIFY((*by_id)->vocabulary().extra_eog == std::vector<TokenId>{TokenId(259)});
}

void TestHfModel::chat_templates() {
    const auto shown = [&](const HfFolder& folder) {
        const auto model = open(folder);
        return model.ok() ? (*model)->chat_template().value_or("none") : model.error().message;
    };
    HfFolder folder;
    folder.tokenizer_config["chat_template"] =
        QJsonArray{QJsonObject{{"name", "tool_use"}, {"template", "T"}},
                   QJsonObject{{"name", "default"}, {"template", "D"}}};
    QCOMPARE(shown(folder), std::string("D"));
    folder.put("chat_template.json", "{\"chat_template\":\"J\"}");
    QCOMPARE(shown(folder), std::string("J"));
    folder.put("chat_template.jinja", "▁｜");
    QCOMPARE(shown(folder), std::string("▁｜"));
    HfFolder none;
    none.tokenizer_config.remove("chat_template");
    QCOMPARE(shown(none), std::string("none"));
    none.tokenizer_config["chat_template"] = "";
    QCOMPARE(shown(none), std::string("none"));
}

void TestHfModel::more_tokens_than_rows() {
    HfFolder folder;
    folder.config["vocab_size"] = 259;
    auto& embedding = *folder.weights.find("model.embed_tokens.weight");
    embedding.shape[0] = 259;
    embedding.data.resize(259 * 16 * 4);
    folder.put("generation_config.json", "{\"eos_token_id\":[258,259]}");
    const auto model = open(folder);
    VERIFY_OK(model);
    QCOMPARE((*model)->vocabulary().tokens.size(), std::size_t{259});
    QVERIFY((*model)->vocabulary().extra_eog.empty());
    QVERIFY(any_contains((*model)->warnings(), "1 special tokens more than the model has rows"));
    // Rows without a token are ordinary padding.
    folder = {};
    folder.config["vocab_size"] = 300;
    auto& wide = *folder.weights.find("model.embed_tokens.weight");
    wide.shape[0] = 300;
    wide.data.resize(300 * 16 * 4);
    const auto padded = open(folder);
    VERIFY_OK(padded);
    QVERIFY((*padded)->config().vocab == 300 && (*padded)->vocabulary().tokens.size() == 260);
}

void TestHfModel::truncated_shards() {
    const HfFolder folder;
    const Bytes whole = folder.weights.bytes();
    const auto path = write(folder);
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 7) {
        Bytes cut = whole;
        cut.resize(size);
        std::filesystem::remove(path / "model.safetensors");
        QVERIFY(write_file(path / "model.safetensors", cut));
        const auto model = ModelSource::open(path);
        QVERIFY(!model.ok() && contains(model.error().message, "model.safetensors"));
    }
}

void TestHfModel::any_damage_is_a_sentence() {
    const HfFolder folder;
    const auto path = write(folder);
    const std::pair<const char*, Bytes> files[] = {
        {"config.json", raw(json_text(folder.config))},
        {"tokenizer_config.json", raw(json_text(folder.tokenizer_config))},
        {"tokenizer.json", raw(json_text(folder.tokenizer))},
        {"model.safetensors", folder.weights.bytes()}};
    Noise noise(21);
    int opened = 0;
    for (int i = 0; i < 600; ++i) {
        const auto& [name, whole] = files[static_cast<std::size_t>(i) % 4];
        Bytes changed = whole;
        const std::size_t reach = std::min<std::size_t>(changed.size(), 1200);
        for (int k = 0; k < 2; ++k) {
            static constexpr std::string_view kLikely = "0123456789[]{},:\"\\ .-etn";
            changed[noise.next() % reach] =
                noise.next() % 4 != 0 ? static_cast<std::byte>(kLikely[noise.next() % kLikely.size()])
                                      : static_cast<std::byte>(noise.next());
        }
        std::filesystem::remove(path / name);
        QVERIFY(write_file(path / name, changed));
        const auto model = ModelSource::open(path);
        if (model.ok())
            ++opened;
        else
            QVERIFY2(!model.error().message.empty() && is_valid_utf8(model.error().message),
                     model.error().message.c_str());
        std::filesystem::remove(path / name);
        QVERIFY(write_file(path / name, whole));
    }
    QVERIFY(opened > 0 && opened < 500);
    VERIFY_OK(ModelSource::open(path));
}

void TestHfModel::changed_on_disk() {
    const auto path = write(HfFolder());
    const auto model = ModelSource::open(path);
    VERIFY_OK(model);
    VERIFY_OK((*model)->unchanged());
    std::filesystem::resize_file(path / "model.safetensors", 100);
    VERIFY_ERROR((*model)->unchanged(), ErrorKind::Io, "was changed by another program");
}

void TestHfModel::content_hash_tells_models_apart() {
    HfFolder folder;
    const std::uint64_t first = open(folder).value()->content_hash();
    QCOMPARE(open(folder).value()->content_hash(), first);
    folder.weights.find("model.layers.0.mlp.down_proj.weight")->data[8] ^= std::byte{1};
    const std::uint64_t other = open(folder).value()->content_hash();
    QVERIFY(other != first);
    folder.config["rope_theta"] = 20000.0;
    QVERIFY(open(folder).value()->content_hash() != other);
}

QTEST_GUILESS_MAIN(TestHfModel)
#include "tst_hf_model.moc"
