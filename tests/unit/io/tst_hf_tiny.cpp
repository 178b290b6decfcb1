// The reference folders: configuration, tensors and scales of every kind.
#include "tests/unit/io/hf_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

class TestHfTiny : public QObject, private HfOpener {
    Q_OBJECT

  private slots:
    void tiny_models_data();
    void tiny_models();
    void tiny_windows_and_ropes();
    void tiny_gemma_norms();
    void tiny_fused_slices();
    void tiny_quantized_data();
    void tiny_quantized();
};

void TestHfTiny::tiny_models_data() {
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

void TestHfTiny::tiny_models() {
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

void TestHfTiny::tiny_windows_and_ropes() {
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

void TestHfTiny::tiny_gemma_norms() {
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

void TestHfTiny::tiny_fused_slices() {
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

void TestHfTiny::tiny_quantized_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"fp8_block128", "fp8_ct_channel", "fp8_tensor_static", "ct_int8_channel"})
        QTest::newRow(name) << name;
}

void TestHfTiny::tiny_quantized() {
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

QTEST_GUILESS_MAIN(TestHfTiny)
#include "tst_hf_tiny.moc"
