// The weights of Hugging Face folders: tied matrices, biases, scales of every shape, widened types.
#include "tests/unit/io/hf_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

class TestHfWeights : public QObject, private HfOpener {
    Q_OBJECT

  private slots:
    void tied_heads();
    void biases();
    void scales_of_every_shape();
    void dtypes_widen();
};

void TestHfWeights::tied_heads() {
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

void TestHfWeights::biases() {
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

void TestHfWeights::scales_of_every_shape() {
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

void TestHfWeights::dtypes_widen() {
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

QTEST_GUILESS_MAIN(TestHfWeights)
#include "tst_hf_weights.moc"
