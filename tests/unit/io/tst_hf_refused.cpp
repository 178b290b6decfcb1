// Hugging Face folders that are refused with a sentence, and odd ones that are not.
#include "tests/unit/io/hf_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

class TestHfRefused : public QObject, private HfOpener {
    Q_OBJECT

  private slots:
    void refused_data();
    void refused();
    void accepted_data();
    void accepted();
};

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

void TestHfRefused::refused_data() {
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

void TestHfRefused::refused() {
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

void TestHfRefused::accepted_data() {
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

void TestHfRefused::accepted() {
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

QTEST_GUILESS_MAIN(TestHfRefused)
#include "tst_hf_refused.moc"
