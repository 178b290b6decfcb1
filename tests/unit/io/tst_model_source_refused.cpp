// GGUF files that are no usable model, each refused with its own sentence, and those that are taken with a
// warning.
#include <vector>

#include "tests/unit/io/changed_model.h"

using namespace vitrine;
using namespace vitrine::test;

class TestModelSourceRefused : public QObject {
    Q_OBJECT

  private slots:
    void refused_data();
    void refused();
    void accepted_with_warning_data();
    void accepted_with_warning();

  private:
    TestFolder folder_;
};

void TestModelSourceRefused::refused_data() {
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

void TestModelSourceRefused::refused() {
    QFETCH(Change, change);
    QFETCH(ErrorKind, kind);
    QFETCH(QString, part);
    const auto model = folder_.model(changed(change));
    VERIFY_ERROR(model, kind, part.toStdString());
    QVERIFY(contains(model.error().message, "test.gguf: "));
}

void TestModelSourceRefused::accepted_with_warning_data() {
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

void TestModelSourceRefused::accepted_with_warning() {
    QFETCH(Change, change);
    QFETCH(QString, part);
    const auto model = folder_.model(changed(change));
    VERIFY_OK(model);
    QVERIFY2(any_contains((*model)->warnings(), part.toStdString()),
             (*model)->warnings().empty() ? "no warning" : (*model)->warnings().front().c_str());
}

QTEST_GUILESS_MAIN(TestModelSourceRefused)
#include "tst_model_source_refused.moc"
