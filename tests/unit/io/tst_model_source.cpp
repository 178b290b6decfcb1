// From a GGUF file to a model: configuration, vocabulary and tensors that fit together, or a sentence why
// not.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>
#include <tuple>
#include <vector>

#include "core/io/finite.h"
#include "kernels/host/half.h"
#include "tests/unit/io/io_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

using Change = std::function<void(GgufBuilder&)>;

Bytes changed(const Change& change, const SmallModelOptions& options = {}) {
    GgufBuilder b = small_model(options);
    change(b);
    return b.bytes();
}

Bytes floats(const std::vector<float>& numbers) {
    Bytes out;
    for (const float number : numbers) out = out + le(number);
    return out;
}

}  // namespace

Q_DECLARE_METATYPE(Change)

class TestModelSource : public QObject {
    Q_OBJECT

  private slots:
    void small_model_opens();
    void embedded_model_opens();
    void released_weights_can_be_read_again();
    void refused_data();
    void refused();
    void accepted_with_warning_data();
    void accepted_with_warning();
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

void TestModelSource::refused_data() {
    QTest::addColumn<Change>("change");
    QTest::addColumn<ErrorKind>("kind");
    QTest::addColumn<QString>("part");
    const auto row = [](const std::string& name, Change change, ErrorKind kind, const char* part) {
        QTest::newRow(name.c_str()) << std::move(change) << kind << QString::fromUtf8(part);
    };
    const auto bad = ErrorKind::BadFile;
    const auto no = ErrorKind::Unsupported;
    const auto set = [](const char* key, std::uint32_t value) {
        return Change([=](GgufBuilder& b) { b.set_u32(key, value); });
    };
    const auto real = [](const char* key, float value) {
        return Change([=](GgufBuilder& b) { b.set_f32(key, value); });
    };
    const auto text = [](const char* key, const char* value) {
        return Change([=](GgufBuilder& b) { b.set_string(key, value); });
    };
    const auto without = [](const char* key) { return Change([=](GgufBuilder& b) { b.remove(key); }); };

    for (const std::uint32_t layers : {0U, 513U, 65536U, 0xFFFFFFFFU}) {
        row("GGUF-22 block_count " + std::to_string(layers), set("llama.block_count", layers), bad,
            ("key 'llama.block_count' is " + std::to_string(layers) + "; it must be from 1 to 512").c_str());
    }
    row(
        "GGUF-22 block_count 2^63", [](GgufBuilder& b) { b.set_u64("llama.block_count", 1ULL << 63U); }, bad,
        "from 1 to 512");
    row(
        "block_count -1", [](GgufBuilder& b) { b.set_i32("llama.block_count", -1); }, bad,
        "must not be negative");
    row("block_count as text", text("llama.block_count", "1"), bad, "has type string; an integer is needed");
    row("block_count as float", real("llama.block_count", 1.0F), bad, "has type f32; an integer is needed");

    row("GGUF-23 no heads", set("llama.attention.head_count", 0), bad,
        "'llama.attention.head_count' is 0; it must be from 1");
    row("GGUF-23 no kv heads", set("llama.attention.head_count_kv", 0), bad,
        "'llama.attention.head_count_kv' is 0");
    row(
        "GGUF-23 3 heads share 2",
        [](GgufBuilder& b) {
            b.set_u32("llama.attention.head_count", 3).set_u32("llama.attention.key_length", 16);
        },
        bad, "not divisible by 'llama.attention.head_count_kv' (2)");
    row(
        "GGUF-23 64 wide, 5 heads",
        [](GgufBuilder& b) {
            b.set_u32("llama.attention.head_count", 5).set_u32("llama.attention.head_count_kv", 5);
        },
        bad,
        "key 'llama.embedding_length' is 64, which is not divisible by 'llama.attention.head_count' (5)");
    row("GGUF-23 more kv heads than heads", set("llama.attention.head_count_kv", 8), bad, "not divisible");
    row(
        "GGUF-23 more heads than width",
        [](GgufBuilder& b) {
            b.set_u32("llama.attention.head_count", 128).set_u32("llama.attention.head_count_kv", 1);
        },
        bad, "not divisible");
    row("heads beyond int32", set("llama.attention.head_count", 0x80000000U), bad, "from 1 to 65536");
    row("no width", set("llama.embedding_length", 0), bad, "'llama.embedding_length' is 0");
    row("width 2^31", set("llama.embedding_length", 0x80000000U), bad, "from 1 to 1048576");
    row("no feed-forward", set("llama.feed_forward_length", 0), bad, "'llama.feed_forward_length' is 0");
    row(
        "head of 65536 elements, many heads",
        [](GgufBuilder& b) {
            b.set_u32("llama.attention.key_length", 65536)
                .set_u32("llama.attention.head_count", 65536)
                .set_u32("llama.attention.head_count_kv", 1);
        },
        bad, "all heads together");
    row("values of another length", set("llama.attention.value_length", 8), no,
        "values of 8 elements beside keys of 16");
    row(
        "heads differ by layer",
        [](GgufBuilder& b) {
            b.set("llama.attention.head_count", 9, number_array<std::int32_t>(5, {4, 2}));
        },
        no, "differs from layer to layer");
    row(
        "heads in an empty list",
        [](GgufBuilder& b) { b.set("llama.attention.head_count", 9, arr(5, 0, {})); }, bad, "empty array");

    for (const char* key : {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length",
                            "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
        row(std::string("absent ") + key, without(key), bad,
            (std::string("key '") + key + "' is missing").c_str());
    }
    const float nan = std::nanf("");
    row("epsilon NaN", real("llama.attention.layer_norm_rms_epsilon", nan), bad, "not a finite number");
    row("epsilon negative", real("llama.attention.layer_norm_rms_epsilon", -1e-5F), bad, "from 0 to 1");
    row("epsilon infinite", real("llama.attention.layer_norm_rms_epsilon", HUGE_VALF), bad,
        "not a finite number");
    row("epsilon as text", text("llama.attention.layer_norm_rms_epsilon", "1e-5"), bad, "a number is needed");
    row("rope base NaN", real("llama.rope.freq_base", nan), bad, "not a finite number");
    row("rope base 0", real("llama.rope.freq_base", 0.0F), bad, "must be greater than 1");
    row("rope base negative", real("llama.rope.freq_base", -10000.0F), bad, "must be greater than 1");
    row("rope odd", set("llama.rope.dimension_count", 15), bad, "must be even");
    row("rope 0", set("llama.rope.dimension_count", 0), bad, "from 2 to 16");
    row("rope wider than the head", set("llama.rope.dimension_count", 18), bad, "from 2 to 16");
    row("rope yarn", text("llama.rope.scaling.type", "yarn"), bad, "by the method 'yarn' but lacks key");
    row("rope unknown", text("llama.rope.scaling.type", "no-such"), no, "by the method 'no-such'");
    row(
        "rope factor 0",
        [](GgufBuilder& b) {
            b.set_string("llama.rope.scaling.type", "linear").set_f32("llama.rope.scaling.factor", 0.0F);
        },
        bad, "must be greater than 0");
    row(
        "rope factor NaN",
        [=](GgufBuilder& b) {
            b.set_string("llama.rope.scaling.type", "linear").set_f32("llama.rope.scaling.factor", nan);
        },
        bad, "not a finite number");
    row(
        "rope factors too few",
        [](GgufBuilder& b) {
            b.add_tensor("rope_freqs.weight", {4}, 0, floats({1, 1, 1, 1}));
        },
        bad, "'rope_freqs.weight' has 4 elements; 8 are needed");
    row(
        "rope factor 0 in the tensor",
        [](GgufBuilder& b) {
            b.add_tensor("rope_freqs.weight", {8}, 0, floats({1, 1, 1, 1, 1, 1, 1, 0}));
        },
        bad, "a factor that is not a number greater than 0");
    row(
        "rope factors in F16", [](GgufBuilder& b) { b.add_tensor("rope_freqs.weight", {8}, 1, Bytes(16)); },
        no, "has type F16; F32 is needed");

    row("architecture absent", without("general.architecture"), bad, "'general.architecture' is missing");
    row("other architecture", text("general.architecture", "mamba"), no,
        "model of architecture 'mamba'; this version runs: llama, qwen2");
    row("architecture with escapes", text("general.architecture", "\x1B[2J"), no, "architecture '\\x1B[2J'");
    row("architecture as number", set("general.architecture", 5), bad, "a string is needed");
    row("picture part", text("general.architecture", "clip"), no, "image part of a model");
    row("adapter", text("general.type", "adapter"), no, "is an adapter");
    row("imatrix", text("general.type", "imatrix"), no, "general.type is 'imatrix'");
    row("experts", set("llama.expert_count", 8), no, "mixture of experts");
    row(
        "not causal", [](GgufBuilder& b) { b.set_bool("llama.attention.causal", false); }, no,
        "makes embeddings");
    row(
        "GGUF-29 part of a split model",
        [](GgufBuilder& b) {
            b.set("split.count", 2, le<std::uint16_t>(3)).set("split.no", 2, le<std::uint16_t>(1));
        },
        ErrorKind::NotFound, "part 2 of a model split into 3 GGUF files");
    row(
        "GGUF-29 parts joined byte by byte",
        [](GgufBuilder& b) {
            b.set("split.count", 2, le<std::uint16_t>(2)).set("split.no", 2, le<std::uint16_t>(0));
            b.tail = small_model_bytes();
        },
        bad, "parts were joined byte by byte, which does not merge them");
    row(
        "no tensors", [](GgufBuilder& b) { b.tensors.clear(); }, bad, "holds no weights");

    row("no vocabulary", without("tokenizer.ggml.tokens"), ErrorKind::NotFound, "the file has no vocabulary");
    row(
        "empty vocabulary", [](GgufBuilder& b) { b.set("tokenizer.ggml.tokens", 9, arr(8, 0, {})); },
        ErrorKind::NotFound, "the file has no vocabulary");
    row(
        "tokens are numbers", [](GgufBuilder& b) { b.set("tokenizer.ggml.tokens", 9, arr(4, 1, le(1U))); },
        bad, "array of string is needed");
    row("no vocabulary kind", without("tokenizer.ggml.model"), bad, "'tokenizer.ggml.model' is missing");
    row(
        "TOK-19 types short",
        [](GgufBuilder& b) {
            b.set("tokenizer.ggml.token_type", 9, number_array(5, std::vector<std::int32_t>(259, 1)));
        },
        bad, "'tokenizer.ggml.token_type' has 259 elements, but there are 260 tokens");
    row(
        "TOK-19 types long",
        [](GgufBuilder& b) {
            b.set("tokenizer.ggml.token_type", 9, number_array(5, std::vector<std::int32_t>(261, 1)));
        },
        bad, "261 elements");
    row(
        "TOK-19 types are floats",
        [](GgufBuilder& b) {
            b.set("tokenizer.ggml.token_type", 9, number_array(6, std::vector<float>(260, 1)));
        },
        bad, "array of integers is needed");
    row(
        "TOK-19 types are texts",
        [](GgufBuilder& b) {
            b.set("tokenizer.ggml.token_type", 9, str_array(std::vector<std::string>(260)));
        },
        bad, "array of integers is needed");
    row(
        "TOK-19 scores short",
        [](GgufBuilder& b) { b.set("tokenizer.ggml.scores", 9, number_array(6, std::vector<float>(1, 1))); },
        bad, "'tokenizer.ggml.scores' has 1 elements, but there are 260 tokens");
    row(
        "TOK-19 scores are texts",
        [](GgufBuilder& b) { b.set("tokenizer.ggml.scores", 9, str_array(std::vector<std::string>(260))); },
        bad, "array of numbers is needed");
    row(
        "scores NaN",
        [=](GgufBuilder& b) {
            std::vector<float> scores(260, 0.0F);
            scores[17] = nan;
            b.set("tokenizer.ggml.scores", 9, number_array(6, scores));
        },
        bad, "score of token 17 is not a finite number");
    row(
        "merges are numbers", [](GgufBuilder& b) { b.set("tokenizer.ggml.merges", 9, arr(4, 1, le(1U))); },
        bad, "array of string is needed");
    row("id as text", text("tokenizer.ggml.bos_token_id", "1"), bad, "an integer is needed");
    row(
        "add_bos 2", [](GgufBuilder& b) { b.set("tokenizer.ggml.add_bos_token", 7, le<std::uint8_t>(2)); },
        bad, "a bool is 0 or 1");
    row(
        "template is a list", [](GgufBuilder& b) { b.set("tokenizer.chat_template", 9, str_array({"a"})); },
        bad, "a string is needed");
    row(
        "fewer rows than tokens",
        [](GgufBuilder& b) {
            b.tensor("token_embd.weight").dims = {64, 259};
        },
        bad, "'token_embd.weight' has 259 rows, but the vocabulary has 260 tokens");
    row(
        "types that cannot be run",
        [](GgufBuilder& b) {
            b.tensor("blk.0.ffn_down.weight") = {"blk.0.ffn_down.weight",         {96, 64}, 9,
                                                 Bytes(std::size_t{3} * 64 * 36), {},       {}};
        },
        no, "type Q8_1 cannot be run by this version: 'blk.0.ffn_down.weight'. It runs F32, F16");
    row(
        "norm quantized",
        [](GgufBuilder& b) {
            b.tensor("output_norm.weight") = {"output_norm.weight", {64}, 8, Bytes(68), {}, {}};
        },
        no, "norms and biases must be F32, F16 or BF16");
}

void TestModelSource::refused() {
    QFETCH(Change, change);
    QFETCH(ErrorKind, kind);
    QFETCH(QString, part);
    const auto model = folder_.model(changed(change));
    VERIFY_ERROR(model, kind, part.toStdString());
    QVERIFY(contains(model.error().message, "test.gguf: "));
}

void TestModelSource::accepted_with_warning_data() {
    QTest::addColumn<Change>("change");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, Change change, const char* part) {
        QTest::newRow(name) << std::move(change) << QString(part);
    };
    row(
        "GGUF-26 unknown tensor", [](GgufBuilder& b) { b.add_tensor("foo.weight", {8}, 0, Bytes(32)); },
        "not used: 'foo.weight'");
    row(
        "GGUF-26 unknown tensor of a type that cannot be run",
        [](GgufBuilder& b) { b.add_tensor("foo.weight", {32}, 6, Bytes(22)); }, "not used: 'foo.weight'");
    row(
        "TOK-08 no pre-tokenizer", [](GgufBuilder& b) { b.remove("tokenizer.ggml.pre"); },
        "does not name its pre-tokenizer");
    row(
        "TOK-20 eos 2^32-1", [](GgufBuilder& b) { b.set_u32("tokenizer.ggml.eos_token_id", 0xFFFFFFFF); },
        "'tokenizer.ggml.eos_token_id' names token 4294967295");
    row(
        "TOK-20 bos = n", [](GgufBuilder& b) { b.set_u32("tokenizer.ggml.bos_token_id", 260); },
        "names token 260, but the vocabulary has 260");
    row(
        "TOK-20 bos = -1", [](GgufBuilder& b) { b.set_i32("tokenizer.ggml.bos_token_id", -1); },
        "names token -1");
    row(
        "TOK-20 bos = 2^64-1", [](GgufBuilder& b) { b.set_u64("tokenizer.ggml.bos_token_id", ~0ULL); },
        "'tokenizer.ggml.bos_token_id' names");
    row(
        "TOK-23 BOS wanted, none named",
        [](GgufBuilder& b) {
            b.remove("tokenizer.ggml.bos_token_id").set_bool("tokenizer.ggml.add_bos_token", true);
        },
        "asks for a begin token");
    row(
        "no types", [](GgufBuilder& b) { b.remove("tokenizer.ggml.token_type"); }, "no token types");
    row(
        "unknown type",
        [](GgufBuilder& b) {
            std::vector<std::int32_t> types(260, 1);
            types[9] = 77;
            b.set("tokenizer.ggml.token_type", 9, number_array(5, types));
        },
        "1 tokens have a type that is not known (the first is token 9)");
    row(
        "vocab_size is another", [](GgufBuilder& b) { b.set_u32("llama.vocab_size", 32000); },
        "'llama.vocab_size' is 32000");
    row(
        "CTX-16 context 0", [](GgufBuilder& b) { b.set_u32("llama.context_length", 0); }, "are assumed");
    row(
        "CTX-16 context 2^31", [](GgufBuilder& b) { b.set_u32("llama.context_length", 0x80000000U); },
        "not plausible");
}

void TestModelSource::accepted_with_warning() {
    QFETCH(Change, change);
    QFETCH(QString, part);
    const auto model = folder_.model(changed(change));
    VERIFY_OK(model);
    QVERIFY2(any_contains((*model)->warnings(), part.toStdString()),
             (*model)->warnings().empty() ? "no warning" : (*model)->warnings().front().c_str());
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
    QCOMPARE(first([](GgufBuilder& b) { b.set_f32("llama.rope.scale_linear", 2.0F); }), 0.5);
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
