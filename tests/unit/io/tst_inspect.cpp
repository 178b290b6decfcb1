// The inspector: works on every file, shows what runs, escapes what would harm a terminal, and names what is
// odd.
#include <cmath>
#include <functional>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "core/io/inspect.h"
#include "core/io/printable.h"
#include "tests/unit/io/io_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

QJsonObject json_of(const InspectReport& report) {
    QJsonParseError error;
    const auto document = QJsonDocument::fromJson(QByteArray::fromStdString(report.json), &error);
    return error.error == QJsonParseError::NoError ? document.object() : QJsonObject();
}

// No byte that a terminal acts on, but the newline; valid UTF-8; ends with a newline.
bool is_safe(const std::string& text) {
    if (text.empty() || text.back() != '\n' || !is_valid_utf8(text)) return false;
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Step step = utf8_step(std::string_view(text).substr(i));
        const char32_t c = step.code;
        if ((c < 0x20 && c != '\n') || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) ||
            (c >= 0x2066 && c <= 0x2069))
            return false;
        i += step.length;
    }
    return true;
}

}  // namespace

class TestInspect : public QObject {
    Q_OBJECT

  private slots:
    void good_model();
    void suspicious_data();
    void suspicious();
    void not_usable_data();
    void not_usable();
    void names_and_values_are_escaped();
    void long_values_are_cut();
    void split_totals_are_partial();
    void many_oddities_stay_bounded();
    void any_damage_gives_a_report();

  private:
    InspectReport inspect(const Bytes& bytes) { return inspect_model(folder_.put(bytes)); }
    TestFolder folder_;
};

void TestInspect::good_model() {
    SmallModelOptions o;
    o.dtype = DType::Q8_0;
    o.layers = 2;
    const InspectReport report = inspect(small_model_bytes(o));
    QVERIFY2(report.usable, report.text.c_str());
    QVERIFY(is_safe(report.text));
    for (const char* part : {"usable        yes", "small test model", "llama.block_count  [u32]  2",
                             "256 bytes a token in F16", "blk.1.ffn_down.weight", "96 × 64",
                             "tokenizer.ggml.tokens  [array of string]  260 elements: '<|endoftext|>'"}) {
        QVERIFY2(contains(report.text, part), part);
    }
    QVERIFY(!contains(report.text, "suspicious"));
    const QJsonObject json = json_of(report);
    QCOMPARE(json["usable"].toBool(), true);
    QVERIFY(json["reason"].isNull());
    QCOMPARE(json["architecture"].toString(), QString("llama"));
    QCOMPARE(json["context"].toInt(), 256);
    QCOMPARE(json["kv_bytes_per_token"].toInt(), 2 * 2 * 2 * 16 * 2);
    QCOMPARE(json["unused_bytes"].toInt(), 0);
    QCOMPARE(json["suspicious"].toArray().size(), 0);
    QCOMPARE(json["tensors"].toArray().size(), 20);
    const auto model = folder_.model(small_model_bytes(o));
    VERIFY_OK(model);
    QCOMPARE(json["parameters"].toInteger(), static_cast<qint64>((*model)->parameters()));
    QCOMPARE(json["weights_bytes"].toInteger(), static_cast<qint64>((*model)->weights_bytes()));
    qint64 bytes = 0;
    for (const auto& share : json["by_type"].toObject()) bytes += share.toObject()["bytes"].toInteger();
    QCOMPARE(bytes, json["weights_bytes"].toInteger());
    QCOMPARE(json["by_type"].toObject()["F32"].toObject()["tensors"].toInt(), 5);
}

void TestInspect::suspicious_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("part");
    QTest::addColumn<bool>("usable");
    const auto row = [](const char* name, const std::function<void(GgufBuilder&)>& change, const char* part,
                        bool usable) {
        GgufBuilder b = small_model();
        change(b);
        const Bytes bytes = b.bytes();
        QTest::newRow(name) << QByteArray(reinterpret_cast<const char*>(bytes.data()),
                                          static_cast<qsizetype>(bytes.size()))
                            << QString::fromUtf8(part) << usable;
    };
    row(
        "GGUF-47", [](GgufBuilder& b) { b.tail = Bytes(1U << 20U, std::byte{0xFF}); },
        "1048576 unused bytes behind", true);
    row(
        "GGUF-29 joined", [](GgufBuilder& b) { b.tail = small_model_bytes(); },
        "A second GGUF file follows inside this one", true);
    row(
        "TOK-08 no pre-tokenizer", [](GgufBuilder& b) { b.remove("tokenizer.ggml.pre"); },
        "does not name its pre-tokenizer", true);
    row(
        "TOK-22 duplicate token",
        [](GgufBuilder& b) {
            std::vector<std::string> tokens(260, "x");
            b.set("tokenizer.ggml.tokens", 9, str_array(tokens));
        },
        "259 token texts occur more than once", true);
    row(
        "TOK-20 id outside", [](GgufBuilder& b) { b.set_u32("tokenizer.ggml.eos_token_id", 260); },
        "names token 260", true);
    row(
        "no template", [](GgufBuilder& b) { b.remove("tokenizer.chat_template"); }, "no chat template", true);
    row(
        "GGUF-26 unknown tensor", [](GgufBuilder& b) { b.add_tensor("foo.weight", {8}, 0, Bytes(32)); },
        "'foo.weight'", true);
    row(
        "unused odd key", [](GgufBuilder& b) { b.set("my.bool", 7, le<std::uint8_t>(9)); },
        "'my.bool' is a bool that is neither", true);
    row(
        "unused NaN", [](GgufBuilder& b) { b.set_f32("my.number", std::nanf("")); },
        "'my.number' is not a finite number", true);
    row(
        "GGUF-37 invalid text", [](GgufBuilder& b) { b.set_string("general.name", "a\xFF"); },
        "'general.name' is not valid UTF-8", true);
    row(
        "QNT-14 NaN weight",
        [](GgufBuilder& b) {
            const float bad = std::nanf("");
            std::memcpy(b.tensor("blk.0.ffn_up.weight").data.data() + 64 * 4, &bad, sizeof bad);
        },
        "'blk.0.ffn_up.weight' (F32): the weight at row 1, column 0 is NaN", false);
    row(
        "GGUF-16 unknown type", [](GgufBuilder& b) { b.add_tensor("odd", {32}, 100, Bytes(32)); },
        "'odd': unknown type id 100", false);
    row(
        "GGUF-35 retired type", [](GgufBuilder& b) { b.add_tensor("odd", {32}, 31, Bytes(32)); },
        "This quant type was retired; use Q4_0", false);
    row(
        "GGUF-19 overlap", [](GgufBuilder& b) { b.tensor("output_norm.weight").offset = 0; }, "overlap",
        false);
    row(
        "GGUF-17 outside", [](GgufBuilder& b) { b.tensor("output_norm.weight").offset = 1ULL << 40U; },
        "does not fit into the file", false);
}

void TestInspect::suspicious() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, part);
    QFETCH(bool, usable);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.constData());
    const InspectReport report = inspect(Bytes(data, data + bytes.size()));
    QVERIFY(is_safe(report.text));
    QVERIFY2(contains(report.text, part.toStdString()), report.text.c_str());
    QCOMPARE(report.usable, usable);
    const QJsonObject json = json_of(report);
    QCOMPARE(json["usable"].toBool(), usable);
    const auto sentences = json["suspicious"].toArray();
    QVERIFY(std::any_of(sentences.begin(), sentences.end(),
                        [&](const auto& s) { return s.toString().contains(part); }));
    // Metadata and tensors are listed all the same.
    QVERIFY(json["metadata"].toArray().size() >= 18);
    QVERIFY(json["tensors"].toArray().size() >= 11);
    QCOMPARE(json["reason"].isNull(), usable);
}

void TestInspect::not_usable_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("part");
    QTest::newRow("empty") << QByteArray() << "empty";
    QTest::newRow("GGUF-31") << QByteArray("GGUF") << "too short";
    QTest::newRow("web page") << QByteArray("<html>") << "web page";
    QTest::newRow("noise") << QByteArray(1000, '\x1B') << "not a GGUF file";
    GgufBuilder cut = small_model();
    Bytes bytes = cut.bytes();
    const auto add = [](const char* name, const Bytes& b, const char* part) {
        QTest::newRow(name) << QByteArray(reinterpret_cast<const char*>(b.data()),
                                          static_cast<qsizetype>(b.size()))
                            << part;
    };
    bytes.resize(2000);
    add("cut in the metadata", bytes, "announced");
    GgufBuilder other = small_model();
    other.set_string("general.architecture", "mamba");
    add("other architecture", other.bytes(), "architecture 'mamba'; this version runs: llama");
    other.set_string("general.architecture", "llama").tensors.clear();
    add("vocabulary alone", other.bytes(), "no weights");
}

void TestInspect::not_usable() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, part);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.constData());
    const InspectReport report = inspect(Bytes(data, data + bytes.size()));
    QVERIFY(!report.usable);
    QVERIFY(is_safe(report.text));
    QVERIFY2(contains(report.text, part.toStdString()), report.text.c_str());
    QVERIFY(contains(report.text, "usable        no: "));
    QVERIFY(!json_of(report)["reason"].toString().isEmpty());
}

void TestInspect::names_and_values_are_escaped() {
    // GGUF-38
    const std::string harm = std::string("a\x1B[2J\r\n") + std::string(1, '\0') + "\xE2\x80\xAE\xC2\x9B<b>&";
    GgufBuilder b = small_model();
    b.set_string("general.name", harm).set_string(harm, harm).add_tensor(harm, {8}, 0, Bytes(32));
    b.set("list", 9, str_array({harm, harm}));
    const InspectReport report = inspect(b.bytes());
    QVERIFY2(is_safe(report.text), report.text.c_str());
    QVERIFY(contains(report.text, "a\\x1B[2J\\r\\n\\x00\\u{202E}\\u{9B}<b>&"));
    for (const char c : report.json) QVERIFY((c >= 0x20 && c < 0x7F) || c == '\n');
    // Scripts get the exact text.
    QCOMPARE(json_of(report)["name"].toString().toStdString(), harm);
}

void TestInspect::long_values_are_cut() {
    GgufBuilder b = small_model();
    b.set_string("general.name", std::string(2U << 20U, 'x'));
    b.set("numbers", 9, number_array(4, std::vector<std::uint32_t>(100000, 7)));
    const InspectReport report = inspect(b.bytes());
    QVERIFY(report.usable);
    QVERIFY(report.text.size() < 20000);
    QVERIFY(contains(report.text, "more bytes)"));
    QVERIFY(report.json.size() < 300000);
    for (const auto& entry : json_of(report)["metadata"].toArray()) {
        if (entry.toObject()["key"] == "general.name") {
            QCOMPARE(entry.toObject()["cut"].toBool(), true);
            QCOMPARE(entry.toObject()["bytes"].toInt(), 2 << 20);
        }
        if (entry.toObject()["key"] == "numbers") QCOMPARE(entry.toObject()["count"].toInt(), 100000);
    }
}

void TestInspect::split_totals_are_partial() {
    // GGUF-40
    GgufBuilder b = small_model();
    b.set("split.count", 2, le<std::uint16_t>(3)).set("split.no", 2, le<std::uint16_t>(0));
    const InspectReport report = inspect(b.bytes());
    QVERIFY(!report.usable);
    QVERIFY(contains(report.text, "of the parts that are here") &&
            contains(report.text, "memory estimate is partial"));
    QCOMPARE(json_of(report)["partial"].toBool(), true);
}

void TestInspect::many_oddities_stay_bounded() {
    GgufBuilder b = small_model();
    for (int i = 0; i < 20000; ++i) b.add("bool." + std::to_string(i), 7, le<std::uint8_t>(2));
    for (int i = 0; i < 2000; ++i) b.add_tensor("t" + std::to_string(i), {8}, 99, Bytes(32));
    const InspectReport report = inspect(b.bytes());
    QVERIFY(json_of(report)["suspicious"].toArray().size() <= 201);
    QVERIFY(contains(report.text, "only the first 200 findings"));
}

void TestInspect::any_damage_gives_a_report() {
    const Bytes whole = small_model_bytes([] {
        SmallModelOptions o;
        o.vocab = 12;
        o.embedding = 8;
        o.heads = 2;
        o.kv_heads = 1;
        o.feed_forward = 8;
        return o;
    }());
    Noise noise(11);
    for (int i = 0; i < 400; ++i) {
        Bytes changed = whole;
        if (i % 4 == 0) changed.resize(noise.next() % whole.size());
        for (int k = 0; k < 3 && !changed.empty(); ++k)
            changed[noise.next() % changed.size()] = static_cast<std::byte>(noise.next());
        const InspectReport report = inspect(changed);
        QVERIFY2(is_safe(report.text), report.text.c_str());
        QVERIFY(!json_of(report).isEmpty());
    }
    QVERIFY(!inspect_model(folder_.path("absent.gguf")).usable);
    QVERIFY(!json_of(inspect_model(folder_.path(""))).isEmpty());
}

QTEST_GUILESS_MAIN(TestInspect)
#include "tst_inspect.moc"
