// From a GGUF file to a model: configuration, vocabulary and tensors that fit together, or a sentence why
// not.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <tuple>
#include <vector>

#include "core/io/finite.h"
#include "kernels/host/half.h"
#include "tests/unit/io/changed_model.h"

using namespace vitrine;
using namespace vitrine::test;

class TestModelSource : public QObject {
    Q_OBJECT

  private slots:
    void small_model_opens();
    void embedded_model_opens();
    void released_weights_can_be_read_again();
    void metadata_order_does_not_matter();
    void rope_frequencies();
    void rope_scaling();
    void rope_factors();
    void head_length();
    void key_value_heads_default_to_heads();
    void context_lengths();
    void sliding_window();
    void tied_and_untied();
    void padded_rows();
    void biases_and_narrow_norms();
    void missing_tensors_are_named();
    void shapes_say_found_and_needed();
    void special_ids();
    void side_arrays_widen();
    void duplicate_tokens();
    void vocabulary_only();
    void content_hash_tells_models_apart();
    void weights_format_is_the_common_one();
    void not_finite_data();
    void not_finite();

  private:
    TestFolder folder_;
};

void TestModelSource::small_model_opens() {
    const auto model = folder_.model(small_model_bytes());
    VERIFY_OK(model);
    const ModelConfig& c = (*model)->config();
    QCOMPARE(c.architecture, std::string("llama"));
    QCOMPARE(c.name, std::string("small test model"));
    QCOMPARE(c.vocab, 260);
    QCOMPARE(c.layers, 1);
    QCOMPARE(c.embedding, 64);
    QCOMPARE(c.heads, 4);
    QCOMPARE(c.kv_heads, 2);
    QCOMPARE(c.head_dim, 16);
    QCOMPARE(c.feed_forward, 96);
    QCOMPARE(c.context, 256);
    QCOMPARE(c.norm_eps, 1e-5F);
    QCOMPARE(c.attention_scale, 0.25F);
    QCOMPARE(c.ropes.size(), std::size_t{1});
    QCOMPARE(c.ropes[0].style, RopeStyle::Neighbours);
    QCOMPARE(c.layer.size(), std::size_t{1});
    QCOMPARE((*model)->vocabulary().tokens.size(), std::size_t{260});
    QCOMPARE((*model)->vocabulary().eos, std::optional<TokenId>(TokenId(2)));
    QVERIFY((*model)->chat_template().has_value());
    QVERIFY((*model)->warnings().empty());
    QCOMPARE((*model)->parameters(),
             std::uint64_t{260 * 64 + 64 + 64 * (3 + 96 * 3) + 64 * 64 * 2 + 64 * 32 * 2 - 64});
    const auto embedding = (*model)->tensor("token_embd.weight");
    QVERIFY(embedding && embedding->rows == 260 && embedding->cols == 64 && embedding->dtype == DType::F32);
    const auto norm = (*model)->tensor("blk.0.attn_norm.weight");
    QVERIFY(norm && norm->rows == 1 && norm->cols == 64);
    QVERIFY(!(*model)->tensor("output.weight"));
    QVERIFY(!(*model)->tensor(""));
    // The same options, the same bytes.
    QVERIFY(small_model_bytes() == small_model_bytes());
}

void TestModelSource::embedded_model_opens() {
    const auto model = ModelSource::open(VITRINE_EMBEDDED_MODEL);
    VERIFY_OK(model);
    const ModelConfig& c = (*model)->config();
    QCOMPARE(c.vocab, 49152);
    QCOMPARE(c.layers, 4);
    QCOMPARE(c.head_dim, 64);
    QCOMPARE(c.context, 8192);
    // Small on purpose, and not to be rounded: 1e-5 divided by the width.
    QVERIFY(std::abs(static_cast<double>(c.norm_eps) * 256.0 - 1e-5) < 1e-10);
    QCOMPARE((*model)->weights_format(), std::string("Q8_0"));
    QCOMPARE((*model)->vocabulary().pre, std::optional<std::string>("smollm"));
    QVERIFY((*model)->warnings().empty());
    for (const char* name : {"token_embd.weight", "blk.3.ffn_down.weight", "output_norm.weight"}) {
        const auto tensor = (*model)->tensor(name);
        QVERIFY(tensor.has_value());
        VERIFY_OK(check_finite(*tensor, name));
    }
}

// Giving pages back changes no byte, neither of the tensor nor of its neighbours; ranges of other memory are
// left alone.
void TestModelSource::released_weights_can_be_read_again() {
    const auto model = ModelSource::open(VITRINE_EMBEDDED_MODEL);
    VERIFY_OK(model);
    const auto bytes_of = [&](const char* name) {
        const HostTensor t = *(*model)->tensor(name);
        return std::span<const std::byte>(
            t.data, static_cast<std::size_t>(t.rows) * static_cast<std::size_t>(*row_bytes(t.dtype, t.cols)));
    };
    const auto copy = [&](const char* name) {
        const auto bytes = bytes_of(name);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    const char* const names[] = {"token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"};
    std::vector<std::vector<std::byte>> before;
    for (const char* name : names) before.push_back(copy(name));
    (*model)->release(bytes_of(names[1]));
    (*model)->release({});
    const std::vector<std::byte> foreign(1U << 16U, std::byte{7});
    (*model)->release(foreign);
    QVERIFY(foreign == std::vector<std::byte>(1U << 16U, std::byte{7}));
    for (std::size_t i = 0; i < std::size(names); ++i) QVERIFY(copy(names[i]) == before[i]);
}

void TestModelSource::metadata_order_does_not_matter() {
    const auto first = folder_.model(small_model_bytes());
    VERIFY_OK(first);
    const auto reversed = folder_.model(changed([](GgufBuilder& b) {
        std::reverse(b.values.begin(), b.values.end());
        std::reverse(b.tensors.begin(), b.tensors.end());
    }));
    VERIFY_OK(reversed);
    QCOMPARE((*reversed)->config().layers, 1);
    QCOMPARE((*reversed)->vocabulary().tokens, (*first)->vocabulary().tokens);
    const auto a = (*first)->tensor("blk.0.ffn_up.weight");
    const auto b = (*reversed)->tensor("blk.0.ffn_up.weight");
    QVERIFY(std::equal(a->data, a->data + 64 * 96 * 4, b->data));
}

void TestModelSource::rope_frequencies() {
    // GGUF-25: absent is 10000, bit for bit; another base differs. CTX-05: against double precision.
    const auto frequencies = [&](const Change& change) {
        const auto model = folder_.model(changed(change));
        return model.ok() ? (*model)->config().ropes[0].inv_freq : std::vector<double>();
    };
    const auto absent = frequencies(
        [](GgufBuilder& b) { b.remove("llama.rope.freq_base").remove("llama.rope.dimension_count"); });
    const auto stored = frequencies([](GgufBuilder& b) { b.set_f32("llama.rope.freq_base", 10000.0F); });
    const auto other = frequencies([](GgufBuilder& b) { b.set_f32("llama.rope.freq_base", 1e6F); });
    QCOMPARE(absent.size(), std::size_t{8});
    QVERIFY(absent == stored);
    QVERIFY(absent != other);
    for (std::size_t i = 0; i < other.size(); ++i) {
        const double exact = std::exp(-std::log(1e6) * static_cast<double>(i) / 8.0);
        QVERIFY(std::abs(other[i] - exact) <= 1e-12 * exact);
    }
    const auto partial = frequencies([](GgufBuilder& b) { b.set_u32("llama.rope.dimension_count", 8); });
    QCOMPARE(partial.size(), std::size_t{4});
    QVERIFY(std::abs(partial[1] - 0.1) < 1e-12);
}

void TestModelSource::rope_scaling() {
    const auto first = [&](const Change& change) {
        const auto model = folder_.model(changed(change));
        return model.ok() ? (*model)->config().ropes[0].inv_freq[0] : -1.0;
    };
    QCOMPARE(first([](GgufBuilder& b) {
                 b.set_string("llama.rope.scaling.type", "none").set_f32("llama.rope.scaling.factor", 4.0F);
             }),
             1.0);
    QCOMPARE(first([](GgufBuilder& b) {
                 b.set_string("llama.rope.scaling.type", "linear").set_f32("llama.rope.scaling.factor", 4.0F);
             }),
             0.25);
    // Without the type the factor speaks for itself, by its name of today and by its first one.
    QCOMPARE(first([](GgufBuilder& b) { b.set_f32("llama.rope.scale_linear", 2.0F); }), 0.5);
    QCOMPARE(first([](GgufBuilder& b) { b.set_f32("llama.rope.scaling.factor", 4.0F); }), 0.25);
    QCOMPARE(first([](GgufBuilder& b) {
                 b.set_f32("llama.rope.scaling.factor", 4.0F).set_f32("llama.rope.scale_linear", 2.0F);
             }),
             0.25);
    QCOMPARE(first([](GgufBuilder& b) {
                 b.set_string("llama.rope.scaling.type", "linear").set_f32("llama.rope.scale_linear", 4.0F);
             }),
             0.25);
    QCOMPARE(first([](GgufBuilder& b) {
                 b.set_string("llama.rope.scaling.type", "none").set_f32("llama.rope.scale_linear", 4.0F);
             }),
             1.0);
}

void TestModelSource::rope_factors() {
    // Llama 3.1: rope_freqs.weight divides each frequency.
    const std::vector<float> factors = {1, 1, 1, 1.5F, 2, 4, 8, 32};
    const auto plain = folder_.model(small_model_bytes());
    VERIFY_OK(plain);
    const auto base = (*plain)->config().ropes[0].inv_freq;
    const auto model = folder_.model(
        changed([&](GgufBuilder& b) { b.add_tensor("rope_freqs.weight", {8}, 0, floats(factors)); }));
    VERIFY_OK(model);
    QVERIFY((*model)->warnings().empty());
    const auto& scaled = (*model)->config().ropes[0].inv_freq;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        QVERIFY(std::abs(scaled[i] * static_cast<double>(factors[i]) - base[i]) <= 1e-12 * base[i]);
    }
}

void TestModelSource::head_length() {
    // Heads that are not embedding / heads long.
    SmallModelOptions o;
    const auto model = folder_.model(changed([](GgufBuilder& b) {
        b.set_u32("llama.attention.key_length", 32)
            .set_u32("llama.attention.value_length", 32)
            .set_u32("llama.rope.dimension_count", 32);
        for (const auto& [name, cols, rows] :
             std::vector<std::tuple<const char*, std::uint64_t, std::uint64_t>>{
                 {"blk.0.attn_q.weight", 64, 128},
                 {"blk.0.attn_k.weight", 64, 64},
                 {"blk.0.attn_v.weight", 64, 64},
                 {"blk.0.attn_output.weight", 128, 64}}) {
            b.tensor(name) = {name, {cols, rows}, 0, Bytes(cols * rows * 4), {}, {}};
        }
    }));
    VERIFY_OK(model);
    QCOMPARE((*model)->config().head_dim, 32);
    QCOMPARE((*model)->config().attention_scale, static_cast<float>(1.0 / std::sqrt(32.0)));
    QCOMPARE((*model)->tensor("blk.0.attn_output.weight")->cols, std::int64_t{128});
}

void TestModelSource::key_value_heads_default_to_heads() {
    SmallModelOptions o;
    o.kv_heads = o.heads;
    const auto model =
        folder_.model(changed([](GgufBuilder& b) { b.remove("llama.attention.head_count_kv"); }, o));
    VERIFY_OK(model);
    QCOMPARE((*model)->config().kv_heads, 4);
    const auto list = folder_.model(changed([](GgufBuilder& b) {
        b.set("llama.attention.head_count_kv", 9, number_array<std::int32_t>(5, {2}));
    }));
    VERIFY_OK(list);
    QCOMPARE((*list)->config().kv_heads, 2);
}

void TestModelSource::context_lengths() {
    // CTX-16
    const auto context = [&](std::uint32_t stored) {
        const auto model =
            folder_.model(changed([stored](GgufBuilder& b) { b.set_u32("llama.context_length", stored); }));
        return model.ok() ? (*model)->config().context : -1;
    };
    QCOMPARE(context(1), 1);
    QCOMPARE(context(131072), 131072);
    QCOMPARE(context(0x7FFFFFFF), 0x7FFFFFFF);
    QCOMPARE(context(0x80000000U), 0x7FFFFFFF);
    QCOMPARE(context(0xFFFFFFFFU), 0x7FFFFFFF);
    QVERIFY(context(0) > 0);
    const auto absent = folder_.model(changed([](GgufBuilder& b) { b.remove("llama.context_length"); }));
    VERIFY_OK(absent);
    QVERIFY((*absent)->config().context > 0);
}

void TestModelSource::sliding_window() {
    const auto window = [&](std::uint32_t stored) {
        const auto model = folder_.model(
            changed([stored](GgufBuilder& b) { b.set_u32("llama.attention.sliding_window", stored); }));
        return model.ok() ? (*model)->config().layer[0].window : -1;
    };
    QCOMPARE(window(0), 0);
    QCOMPARE(window(64), 64);
    QCOMPARE(window(256), 0);  // the whole context
    QCOMPARE(window(0xFFFFFFFFU), 0);
}

void TestModelSource::tied_and_untied() {
    SmallModelOptions o;
    o.tied = false;
    const auto model = folder_.model(small_model_bytes(o));
    VERIFY_OK(model);
    QCOMPARE((*model)->tensor("output.weight")->rows, std::int64_t{260});
    const auto tied = folder_.model(changed([](GgufBuilder& b) { b.remove_tensor("output.weight"); }, o));
    VERIFY_OK(tied);
    QVERIFY(!(*tied)->tensor("output.weight"));
    const auto other = folder_.model(changed(
        [](GgufBuilder& b) {
            b.tensor("output.weight").dims = {64, 259};
        },
        o));
    VERIFY_ERROR(other, ErrorKind::BadFile,
                 "tensor 'output.weight' has shape [64, 259]; [64, 260] is needed");
}

void TestModelSource::padded_rows() {
    // TOK-16: the matrix may be larger than the vocabulary
    SmallModelOptions o;
    o.padding_rows = 4;
    const auto model = folder_.model(small_model_bytes(o));
    VERIFY_OK(model);
    QCOMPARE((*model)->config().vocab, 264);
    QCOMPARE((*model)->vocabulary().tokens.size(), std::size_t{260});
}

void TestModelSource::biases_and_narrow_norms() {
    const auto model = folder_.model(changed([](GgufBuilder& b) {
        b.add_tensor("blk.0.attn_q.bias", {64}, 0, Bytes(256))
            .add_tensor("blk.0.ffn_down.bias", {64, 1}, 0, Bytes(256));
        Bytes half;
        Bytes brain;
        for (int i = 0; i < 64; ++i) {
            half = half + le(float_to_half(1.0F + static_cast<float>(i) / 64.0F));
            brain = brain + le(float_to_bfloat(2.0F));
        }
        b.tensor("output_norm.weight") = {"output_norm.weight", {64}, 1, half, {}, {}};
        b.tensor("blk.0.attn_norm.weight") = {"blk.0.attn_norm.weight", {64}, 30, brain, {}, {}};
    }));
    VERIFY_OK(model);
    QVERIFY((*model)->warnings().empty());
    QVERIFY((*model)->tensor("blk.0.attn_q.bias").has_value());
    const auto norm = (*model)->tensor("output_norm.weight");
    QCOMPARE(norm->dtype, DType::F32);
    QCOMPARE(norm->cols, std::int64_t{64});
    float values[64];
    std::memcpy(values, norm->data, sizeof values);
    for (int i = 0; i < 64; ++i) QCOMPARE(values[i], 1.0F + static_cast<float>(i) / 64.0F);
    std::memcpy(values, (*model)->tensor("blk.0.attn_norm.weight")->data, sizeof values);
    QCOMPARE(values[63], 2.0F);
    const auto wrong = folder_.model(
        changed([](GgufBuilder& b) { b.add_tensor("blk.0.attn_q.bias", {32}, 0, Bytes(128)); }));
    VERIFY_ERROR(wrong, ErrorKind::BadFile, "tensor 'blk.0.attn_q.bias' has shape [32]; [64] is needed");
}

void TestModelSource::missing_tensors_are_named() {
    // GGUF-26, and rule 6: anything absent is an error, for every tensor that there is
    const GgufBuilder whole = small_model();
    for (const auto& tensor : whole.tensors) {
        const auto model = folder_.model(changed([&](GgufBuilder& b) { b.remove_tensor(tensor.name); }));
        VERIFY_ERROR(model, ErrorKind::BadFile, "lacks tensors that the model needs: '" + tensor.name + "'");
    }
    const auto layers = folder_.model(changed([](GgufBuilder& b) { b.set_u32("llama.block_count", 3); }));
    VERIFY_ERROR(layers, ErrorKind::BadFile, "'blk.1.attn_norm.weight'");
    QVERIFY(contains(layers.error().message, "and 10 more"));
    const auto fewer = folder_.model(small_model_bytes([] {
        SmallModelOptions o;
        o.layers = 2;
        return o;
    }()));
    VERIFY_OK(fewer);
}

void TestModelSource::shapes_say_found_and_needed() {
    const GgufBuilder whole = small_model();
    for (const auto& tensor : whole.tensors) {
        if (tensor.name == "token_embd.weight") continue;
        const auto model =
            folder_.model(changed([&](GgufBuilder& b) { b.tensor(tensor.name).dims[0] /= 2; }));
        VERIFY_ERROR(model, ErrorKind::BadFile,
                     "tensor '" + tensor.name + "' has shape [" + std::to_string(tensor.dims[0] / 2));
        QVERIFY(contains(model.error().message, "is needed by the configuration"));
    }
    const auto flat =
        folder_.model(changed([](GgufBuilder& b) { b.tensor("token_embd.weight").dims = {64 * 260}; }));
    VERIFY_ERROR(flat, ErrorKind::BadFile, "'token_embd.weight' has shape [16640]");
    const auto deep = folder_.model(changed([](GgufBuilder& b) {
        b.tensor("blk.0.ffn_up.weight").dims = {64, 48, 2};
    }));
    VERIFY_ERROR(deep, ErrorKind::BadFile, "has shape [64, 48, 2]; [64, 96] is needed");
}

void TestModelSource::special_ids() {
    const auto model = folder_.model(changed([](GgufBuilder& b) {
        b.set_i32("tokenizer.ggml.eot_token_id", 5)
            .set_u64("tokenizer.ggml.eom_token_id", 6)
            .set("tokenizer.ggml.bos_token_id", 0, le<std::uint8_t>(7));
        b.set_u32("tokenizer.ggml.eos_token_id", 0xFFFFFFFF)
            .set_bool("tokenizer.ggml.add_space_prefix", false)
            .remove("tokenizer.ggml.padding_token_id");
    }));
    VERIFY_OK(model);
    const VocabularyData& v = (*model)->vocabulary();
    QCOMPARE(v.eot, std::optional<TokenId>(TokenId(5)));
    QCOMPARE(v.eom, std::optional<TokenId>(TokenId(6)));
    QCOMPARE(v.bos, std::optional<TokenId>(TokenId(7)));
    QVERIFY(!v.eos && !v.pad);
    QCOMPARE(v.add_space_prefix, std::optional<bool>(false));
    QCOMPARE(v.add_bos, std::optional<bool>(false));
    QVERIFY(!v.add_eos);

    // TOK-20: one token, no id keys, and no built-in default that lies outside
    const auto one = folder_.model(changed([](GgufBuilder& b) {
        for (const char* key : {"bos", "eos", "unknown", "padding"})
            b.remove(std::string("tokenizer.ggml.") + key + "_token_id");
        b.set("tokenizer.ggml.tokens", 9, str_array({"a"})).remove("tokenizer.ggml.token_type");
    }));
    VERIFY_OK(one);
    const VocabularyData& w = (*one)->vocabulary();
    QVERIFY(!w.bos && !w.eos && !w.unk && !w.pad && !w.eot && !w.eom);
}

void TestModelSource::side_arrays_widen() {
    // TOK-19: scores and types in other number types convert, instead of being read as something else
    for (const std::uint32_t element : {0U, 1U}) {
        const auto model = folder_.model(changed([element](GgufBuilder& b) {
            b.set("tokenizer.ggml.scores", 9, number_array(element, std::vector<std::uint8_t>(260, 3)));
            b.set("tokenizer.ggml.token_type", 9, number_array(element, std::vector<std::uint8_t>(260, 3)));
        }));
        VERIFY_OK(model);
        QCOMPARE((*model)->vocabulary().scores, std::vector<float>(260, 3.0F));
        QCOMPARE((*model)->vocabulary().types, std::vector<TokenType>(260, TokenType::Control));
    }
}

void TestModelSource::duplicate_tokens() {
    // TOK-22, TOK-26
    std::vector<std::string> tokens(260);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = "t" + std::to_string(i);
    tokens[10] = tokens[20] = "x";
    tokens[30] = std::string(1, '\0');
    tokens[31] = std::string("\0\0", 2);
    tokens[32] = "\xC3";
    const auto model =
        folder_.model(changed([&](GgufBuilder& b) { b.set("tokenizer.ggml.tokens", 9, str_array(tokens)); }));
    VERIFY_OK(model);
    QCOMPARE((*model)->vocabulary().tokens, tokens);
    QVERIFY(any_contains((*model)->warnings(),
                         "1 token texts occur more than once (the first: 'x', ids 10 and 20)"));
}

void TestModelSource::vocabulary_only() {
    const auto strip = [](GgufBuilder& b) {
        b.set_string("general.architecture", "gemma3")
            .remove("llama.block_count")
            .remove("llama.attention.layer_norm_rms_epsilon");
    };
    const auto other = folder_.model(changed(strip), true);
    VERIFY_OK(other);
    QCOMPARE((*other)->config().architecture, std::string("gemma3"));
    QCOMPARE((*other)->config().vocab, 260);
    const auto none = folder_.model(changed([](GgufBuilder& b) { b.tensors.clear(); }), true);
    VERIFY_OK(none);
    QCOMPARE((*none)->config().layers, 1);
    QCOMPARE((*none)->config().context, 256);
    QCOMPARE((*none)->vocabulary().tokens.size(), std::size_t{260});
    QVERIFY((*none)->chat_template().has_value());
    const auto odd =
        folder_.model(changed([](GgufBuilder& b) {
                          b.set_string("llama.block_count", "many").tensor("output_norm.weight").type = 77;
                      }),
                      true);
    VERIFY_OK(odd);
    QCOMPARE((*odd)->config().layers, 0);
    VERIFY_ERROR(folder_.model(changed([](GgufBuilder& b) { b.remove("tokenizer.ggml.tokens"); }), true),
                 ErrorKind::NotFound, "no vocabulary");
}

void TestModelSource::content_hash_tells_models_apart() {
    const auto hash = [&](const Bytes& bytes) {
        const auto model = folder_.model(bytes);
        return model.ok() ? (*model)->content_hash() : 0;
    };
    SmallModelOptions other;
    other.seed = 2;
    const std::uint64_t first = hash(small_model_bytes());
    QVERIFY(first != 0);
    QCOMPARE(hash(small_model_bytes()), first);
    QVERIFY(hash(small_model_bytes(other)) != first);
    other.seed = 1;
    other.rope_base = 20000.0F;
    QVERIFY(hash(small_model_bytes(other)) != first);
    GgufBuilder padded = small_model();
    padded.tail = Bytes(1);
    QVERIFY(hash(padded.bytes()) != first);
}

void TestModelSource::weights_format_is_the_common_one() {
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1}) {
        SmallModelOptions o;
        o.dtype = dtype;
        o.layers = 2;
        const auto model = folder_.model(small_model_bytes(o));
        VERIFY_OK(model);
        QCOMPARE((*model)->weights_format(), std::string(info_of(dtype).name));
        QCOMPARE((*model)->tensor("blk.1.ffn_down.weight")->dtype, dtype);
        QCOMPARE((*model)->tensor("blk.1.ffn_norm.weight")->dtype, DType::F32);
    }
}

void TestModelSource::not_finite_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("offset");  // of the bad number inside the block
    QTest::addColumn<quint32>("bits");
    QTest::addColumn<int>("size");
    QTest::addColumn<QString>("what");
    const auto row = [](const char* name, DType type, int offset, quint32 bits, int size, const char* what) {
        QTest::newRow(name) << static_cast<int>(type) << offset << bits << size << QString(what);
    };
    row("QNT-14 Q4_0 -inf", DType::Q4_0, 0, 0xFC00, 2, "the scale");
    row("QNT-14 Q4_0 NaN", DType::Q4_0, 0, 0x7E00, 2, "the scale");
    row("QNT-14 Q4_1 scale", DType::Q4_1, 0, 0x7C01, 2, "the scale");
    row("QNT-14 Q4_1 minimum", DType::Q4_1, 2, 0xFFFF, 2, "the minimum");
    row("QNT-14 Q8_0 inf", DType::Q8_0, 0, 0x7C00, 2, "the scale");
    row("QNT-14 F16 inf", DType::F16, 0, 0x7C00, 2, "the weight");
    row("BF16 NaN", DType::BF16, 0, 0x7FC0, 2, "the weight");
    row("F32 NaN", DType::F32, 0, 0x7FC00000, 4, "the weight");
    row("F32 -inf", DType::F32, 0, 0xFF800000, 4, "the weight");
}

void TestModelSource::not_finite() {
    QFETCH(int, type);
    QFETCH(int, offset);
    QFETCH(quint32, bits);
    QFETCH(int, size);
    QFETCH(QString, what);
    const auto dtype = static_cast<DType>(type);
    const DTypeInfo info = info_of(dtype);
    constexpr std::int64_t kRows = 5;
    constexpr std::int64_t kBlocks = 3;  // in a row
    const auto block_bytes = static_cast<std::size_t>(info.bytes);
    // All bits set in quants are fine: only scales are numbers that can go wrong.
    Bytes good(kRows * kBlocks * block_bytes, std::byte{0x3C});
    HostTensor view{dtype, kRows, kBlocks * info.block, good.data()};
    VERIFY_OK(check_finite(view, "t"));
    for (std::size_t block = 0; block < kRows * kBlocks; ++block) {
        Bytes bad = good;
        std::memcpy(bad.data() + block * block_bytes + static_cast<std::size_t>(offset), &bits,
                    static_cast<std::size_t>(size));
        view.data = bad.data();
        const std::string place = what.toStdString() + " at row " + std::to_string(block / kBlocks) +
                                  (info.block > 1 ? ", block " : ", column ") +
                                  std::to_string(block % kBlocks);
        VERIFY_ERROR(check_finite(view, "blk.0.x"), ErrorKind::BadFile,
                     "tensor 'blk.0.x' (" + std::string(info.name) + "): " + place);
    }
}

QTEST_GUILESS_MAIN(TestModelSource)
#include "tst_model_source.moc"
