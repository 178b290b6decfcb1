// The same small models once as Hugging Face folders and once as GGUF files, written here by the conventions
// of published GGUF files: q and k of the llama family permuted for neighbouring pairs, Phi-3's matrices
// fused, Gemma's norms with the one already added, rope factors as tensors, keys under the architecture's
// name. Both must give the logits of the reference (tests/golden/tiny).
#include <cmath>
#include <fstream>
#include <functional>
#include <map>

#include <nlohmann/json.hpp>

#include "core/io/architecture.h"
#include "core/io/gguf_writer.h"
#include "core/io/model_source.h"
#include "kernels/host/block_formats.h"
#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

using Keys = std::function<void(GgufWriter&, const std::string& prefix)>;

struct Matrix {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<float> values;
};

Matrix read_matrix(const ModelSource& source, const std::string& name) {
    const auto tensor = source.tensor(name);
    if (!tensor) return {};
    Matrix m{tensor->rows, tensor->cols, {}};
    m.values.resize(static_cast<std::size_t>(m.rows * m.cols));
    for (std::int64_t r = 0; r < m.rows; ++r) dequantize_matrix_row(*tensor, r, m.values.data() + r * m.cols);
    return m;
}

void append(Matrix& to, const Matrix& more) {
    to.cols = more.cols;
    to.rows += more.rows;
    to.values.insert(to.values.end(), more.values.begin(), more.values.end());
}

// Rows of each head from halves to neighbours: row i and i + C/2 become 2 i and 2 i + 1. Biases (one row) by
// column.
void permute(Matrix& m, std::int32_t head_dim) {
    const bool bias = m.rows == 1;
    const std::int64_t count = bias ? m.cols : m.rows;
    const std::int64_t width = bias ? 1 : m.cols;
    std::vector<float> out(m.values.size());
    for (std::int64_t row = 0; row < count; ++row) {
        const std::int64_t head = row / head_dim;
        const std::int64_t i = row % head_dim;
        const std::int64_t half = head_dim / 2;
        const std::int64_t to = head * head_dim + (i < half ? 2 * i : 2 * (i - half) + 1);
        std::copy_n(m.values.begin() + row * width, width, out.begin() + to * width);
    }
    m.values = std::move(out);
}

void put(GgufWriter& out, const std::string& name, const Matrix& m, bool vector) {
    std::vector<std::uint64_t> dims = {static_cast<std::uint64_t>(m.cols)};
    if (!vector) dims.push_back(static_cast<std::uint64_t>(m.rows));
    const std::vector<float> values = m.values;
    out.add_tensor(name, dims, DType::F32,
                   [values](const GgufWriter::Sink& sink) { sink(std::as_bytes(std::span(values))); });
}

void put_factors(GgufWriter& out, const std::string& name, std::vector<float> factors) {
    put(out, name, {1, static_cast<std::int64_t>(factors.size()), std::move(factors)}, true);
}

void put_tensors(const ModelSource& source, GgufWriter& out) {
    const ModelConfig& c = source.config();
    const Architecture& architecture = *find_architecture(c.architecture);
    for (const TensorDemand& demand : model_tensors(c, architecture, true)) {
        Matrix m;
        if (architecture.fused && demand.name.ends_with("attn_qkv.weight")) {
            const std::string at = demand.name.substr(0, demand.name.size() - std::strlen("qkv.weight"));
            for (const char* part : {"q.weight", "k.weight", "v.weight"})
                append(m, read_matrix(source, at + part));
        } else if (architecture.fused && demand.name.ends_with("ffn_up.weight")) {
            const std::string at = demand.name.substr(0, demand.name.size() - std::strlen("up.weight"));
            for (const char* part : {"gate.weight", "up.weight"}) append(m, read_matrix(source, at + part));
        } else {
            m = read_matrix(source, demand.name);
        }
        if (m.values.empty()) continue;
        const bool turned = demand.name.find("attn_q.") != std::string::npos ||
                            demand.name.find("attn_k.") != std::string::npos;
        if (turned && architecture.gguf_rope == RopeStyle::Neighbours) permute(m, c.head_dim);
        put(out, demand.name, m, demand.dims.size() == 1);
    }
}

void put_vocabulary(const ModelSource& source, GgufWriter& out) {
    const VocabularyData& v = source.vocabulary();
    out.add_string("tokenizer.ggml.model", "gpt2");
    out.add_string("tokenizer.ggml.pre", "llama-bpe");
    out.add_strings("tokenizer.ggml.tokens", v.tokens);
    std::vector<std::string> merges;
    for (const MergeIds& m : v.merge_ids)
        merges.push_back(v.tokens[static_cast<std::size_t>(m.left)] + " " +
                         v.tokens[static_cast<std::size_t>(m.right)]);
    out.add_strings("tokenizer.ggml.merges", merges);
}

Status write_gguf(const ModelSource& source, const Keys& keys, const std::filesystem::path& path) {
    const ModelConfig& c = source.config();
    GgufWriter out;
    const std::string p = c.architecture + ".";
    const auto u32 = [&](const char* key, std::int64_t v) {
        out.add_u32(p + key, static_cast<std::uint32_t>(v));
    };
    out.add_string("general.architecture", c.architecture);
    u32("context_length", c.context);
    u32("block_count", c.layers);
    u32("embedding_length", c.embedding);
    u32("feed_forward_length", c.feed_forward);
    u32("attention.head_count", c.heads);
    u32("attention.head_count_kv", c.kv_heads);
    u32("attention.key_length", c.head_dim);
    u32("attention.value_length", c.head_dim);
    out.add_f32(p + "attention.layer_norm_rms_epsilon", c.norm_eps);
    if (keys) keys(out, p);
    put_vocabulary(source, out);
    put_tensors(source, out);
    return out.write(path);
}

// Logits of every position of `tokens`.
std::vector<std::vector<float>> logits_of(const std::filesystem::path& path,
                                          const std::vector<TokenId>& tokens) {
    EngineOptions options;
    options.kv_dtype = DType::F32;
    options.token_budget = 64;
    auto engine = Engine::make(load_or_die(path, "reference"), options);
    if (!engine.ok()) qFatal("%s", engine.error().message.c_str());
    std::vector<std::vector<float>> rows;
    Request request;
    request.prompt = tokens;
    request.max_tokens = 0;
    request.on_logits = [&](std::int32_t, std::span<const float> row) {
        rows.emplace_back(row.begin(), row.end());
    };
    if (const auto id = (*engine)->submit(std::move(request)); !id.ok())
        qFatal("%s", id.error().message.c_str());
    Listener listener;
    while ((*engine)->step(listener)) {
    }
    return rows;
}

}  // namespace

class TestGgufArchitectures : public QObject {
    Q_OBJECT

  private slots:
    void same_logits_data();
    void same_logits();

  private:
    std::map<std::string, Keys> keys_;
    QTemporaryDir dir_;
};

void TestGgufArchitectures::same_logits_data() {
    QTest::addColumn<QString>("folder");
    const auto add = [&](const char* folder, Keys keys) {
        keys_[folder] = std::move(keys);
        QTest::newRow(folder) << QString(folder);
    };
    add("llama_mha_untied", nullptr);
    add("llama_gqa_tied", nullptr);
    add("llama_mqa_headdim",
        [](GgufWriter& w, const std::string& p) { w.add_f32(p + "rope.freq_base", 500000.0F); });
    add("llama_bias", nullptr);
    add("mistral_swa",
        [](GgufWriter& w, const std::string& p) { w.add_u32(p + "attention.sliding_window", 16); });
    add("llama_rope_yarn_mscale", [](GgufWriter& w, const std::string& p) {
        w.add_string(p + "rope.scaling.type", "yarn");
        w.add_f32(p + "rope.scaling.factor", 8.0F);
        w.add_u32(p + "rope.scaling.original_context_length", 64);
        w.add_f32(p + "rope.scaling.yarn_beta_fast", 16.0F);
        w.add_f32(p + "rope.scaling.yarn_beta_slow", 2.0F);
        // The reference's factor over the one that the method gives by itself.
        const double log = 0.1 * std::log(8.0);
        const double wanted = (1.5 * log + 1.0) / (0.5 * log + 1.0);
        w.add_f32(p + "rope.scaling.attn_factor", static_cast<float>(wanted / (log + 1.0)));
    });
    add("llama_rope_llama3", [](GgufWriter& w, const std::string&) {
        // Llama 3.1 files hold the resulting divisors: 16 elements turn, factor 8, low 1, high 4, length 64.
        std::vector<float> divisors;
        for (int i = 0; i < 8; ++i) {
            const double frequency = std::pow(10000.0, -2.0 * i / 16.0);
            const double wavelength = 2.0 * M_PI / frequency;
            double divisor = 1.0;
            if (wavelength > 64.0)
                divisor = 8.0;
            else if (wavelength > 16.0) {
                const double smooth = (64.0 / wavelength - 1.0) / 3.0;
                divisor = 1.0 / ((1.0 - smooth) / 8.0 + smooth);
            }
            divisors.push_back(static_cast<float>(divisor));
        }
        put_factors(w, "rope_freqs.weight", divisors);
    });
    add("qwen2_tied", [](GgufWriter& w, const std::string& p) { w.add_f32(p + "rope.freq_base", 1e6F); });
    add("qwen3", [](GgufWriter& w, const std::string& p) { w.add_f32(p + "rope.freq_base", 1e6F); });
    add("gemma2", [](GgufWriter& w, const std::string& p) {
        w.add_u32(p + "attention.sliding_window", 16);
        w.add_f32(p + "attn_logit_softcapping", 4.0F);
        w.add_f32(p + "final_logit_softcapping", 10.0F);
        w.add_f32(p + "attention.scale", 0.25F);
    });
    add("gemma3_text", [](GgufWriter& w, const std::string& p) {
        w.add_f32(p + "rope.freq_base", 1e6F);
        w.add_u32(p + "attention.sliding_window", 16);
        w.add_u32(p + "attention.sliding_window_pattern", 3);
        w.add_f32(p + "attention.scale", static_cast<float>(1.0 / std::sqrt(24.0)));
    });
    add("phi3", [](GgufWriter& w, const std::string& p) { w.add_u32(p + "rope.dimension_count", 12); });
    add("phi3_longrope", [](GgufWriter& w, const std::string& p) {
        w.add_u32(p + "rope.scaling.original_context_length", 100);
        put_factors(w, "rope_factors_short.weight", {1.0F, 1.05F, 1.1F, 1.2F, 1.3F, 1.5F, 1.7F, 2.0F});
        put_factors(w, "rope_factors_long.weight", {1.1F, 1.3F, 1.7F, 2.5F, 4.0F, 6.0F, 9.0F, 12.0F});
    });
}

void TestGgufArchitectures::same_logits() {
    QFETCH(QString, folder);
    const std::filesystem::path golden =
        std::filesystem::path(VITRINE_GOLDEN_DIR) / "tiny" / folder.toStdString();
    const auto source = ModelSource::open(golden);
    QVERIFY2(source.ok(), source.ok() ? "" : source.error().message.c_str());
    const std::filesystem::path path =
        std::filesystem::path(dir_.path().toStdString()) / (folder.toStdString() + ".gguf");
    const Status written = write_gguf(**source, keys_.at(folder.toStdString()), path);
    QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());

    std::ifstream file(golden / "golden.json");
    const auto reference = nlohmann::json::parse(file);
    for (const auto& sequence : reference["sequences"]) {
        std::vector<TokenId> tokens;
        for (const auto& id : sequence["tokens"]) tokens.push_back(TokenId(id.get<std::int32_t>()));
        const auto rows = logits_of(path, tokens);
        QCOMPARE(rows.size(), tokens.size());
        for (std::size_t k = 0; k < sequence["logits_positions"].size(); ++k) {
            const auto& wanted = sequence["logits"][k];
            const auto& row = rows[sequence["logits_positions"][k].get<std::size_t>()];
            QCOMPARE(row.size(), wanted.size());
            double largest = 0;
            for (std::size_t i = 0; i < row.size(); ++i)
                largest = std::max(largest, std::abs(static_cast<double>(row[i]) - wanted[i].get<double>()));
            // A wrong convention moves logits by 0.009 (the kind of gelu) to 70; rounding stays within 2e-4.
            QVERIFY2(largest < 1e-3, qPrintable(QString("%1 tokens: %2").arg(tokens.size()).arg(largest)));
        }
    }
}

QTEST_GUILESS_MAIN(TestGgufArchitectures)
#include "tst_gguf_architectures.moc"
