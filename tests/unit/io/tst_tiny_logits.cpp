// Every kind of model that a Hugging Face folder can hold, computed by the reference operations, against what
// transformers computes from the same folder (tests/golden/tiny). A rule of an architecture that is read
// wrongly moves these logits by 1 and more.
#include <cmath>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "core/io/model_source.h"
#include "core/model/forward.h"

using namespace vitrine;

namespace {

QJsonObject read_json(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

}  // namespace

class TestTinyLogits : public QObject {
    Q_OBJECT

  private slots:
    void logits_data();
    void logits();
};

void TestTinyLogits::logits_data() {
    QTest::addColumn<QString>("folder");
    const QDir all(QStringLiteral(VITRINE_GOLDEN_DIR "/tiny"));
    for (const QString& name : all.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name))
        QTest::newRow(qPrintable(name)) << all.filePath(name);
    // Where all folders of the reference data are at hand, those as well.
    const QDir more(qEnvironmentVariable("VITRINE_TEST_DATA") + QStringLiteral("/tiny"));
    for (const char* name :
         {"arch/llama_rope_linear", "quant/fp8_ct_tensor_static", "quant/fp8_tensor_static_inv"})
        if (more.exists(QString::fromLatin1(name)))
            QTest::newRow(name) << more.filePath(QString::fromLatin1(name));
}

void TestTinyLogits::logits() {
    QFETCH(QString, folder);
    const auto source = ModelSource::open(folder.toStdString());
    QVERIFY2(source.ok(), source.ok() ? "" : source.error().message.c_str());
    const auto device = make_reference_device(2);
    QVERIFY(device.ok());
    const auto weights = load_weights(**source, **device);
    QVERIFY2(weights.ok(), weights.ok() ? "" : weights.error().message.c_str());
    const ModelConfig& c = (*source)->config();
    constexpr std::int32_t kRows = 150;
    constexpr std::int32_t kBlock = 16;
    std::vector<std::int32_t> blocks;
    for (std::int32_t i = 0; i < (kRows + kBlock - 1) / kBlock; ++i) blocks.push_back(i);
    auto kv = (*device)->make_kv({.layers = c.layers,
                                  .kv_heads = c.kv_heads,
                                  .head_dim = c.head_dim,
                                  .block_size = kBlock,
                                  .blocks = static_cast<std::int32_t>(blocks.size()),
                                  .dtype = DType::F32});
    QVERIFY(kv.ok());
    auto workspace = Workspace::make(**device, c, kRows, kRows);
    QVERIFY(workspace.ok());

    const QJsonArray sequences = read_json(folder + "/golden.json")["sequences"].toArray();
    QCOMPARE(sequences.size(), 4);
    for (const QJsonValue& value : sequences) {
        const QJsonObject golden = value.toObject();
        std::vector<std::int32_t> tokens;
        std::vector<std::int32_t> positions;
        for (const QJsonValue& token : golden["tokens"].toArray()) {
            positions.push_back(static_cast<std::int32_t>(tokens.size()));
            tokens.push_back(token.toInt());
        }
        const auto rows = static_cast<std::int32_t>(tokens.size());
        const SequenceSlice slice{
            .first_row = 0, .rows = rows, .start = 0, .blocks = blocks, .rope_set = c.rope_set(rows)};
        StepInput step;
        step.tokens = tokens;
        step.positions = positions;
        step.sequences = {&slice, 1};
        step.output_rows = positions;
        step.ropes = c.ropes;
        step.rope_sets = c.rope_sets();
        const Status done = forward(**device, c, *weights, **kv, *workspace, step);
        QVERIFY2(done.ok(), done.ok() ? "" : done.error().message.c_str());
        const auto vocab = static_cast<std::size_t>(c.vocab);
        const auto all = (*device)->read(*workspace->logits, 0, vocab * tokens.size());

        const QJsonArray at = golden["logits_positions"].toArray();
        const QJsonArray expected = golden["logits"].toArray();
        QVERIFY(!at.isEmpty() && at.size() == expected.size());
        for (int i = 0; i < at.size(); ++i) {
            const auto row = static_cast<std::size_t>(at[i].toInt());
            const QJsonArray numbers = expected[i].toArray();
            QCOMPARE(static_cast<std::size_t>(numbers.size()), vocab);
            for (std::size_t k = 0; k < vocab; ++k) {
                const double difference = std::abs(static_cast<double>(all[row * vocab + k]) -
                                                   numbers[static_cast<int>(k)].toDouble());
                QVERIFY2(difference < 1e-3, qPrintable(QString("%1 tokens, position %2, id %3: %4 off")
                                                           .arg(rows)
                                                           .arg(row)
                                                           .arg(k)
                                                           .arg(difference)));
            }
        }
        const QJsonArray best = golden["argmax"].toArray();
        const QJsonArray gap = golden["gap"].toArray();
        for (int i = 0; i < best.size(); ++i) {
            if (gap[i].toDouble() < 2e-3) continue;
            const auto* first = all.data() + static_cast<std::size_t>(i) * vocab;
            QCOMPARE(static_cast<int>(std::max_element(first, first + vocab) - first), best[i].toInt());
        }
    }
}

QTEST_GUILESS_MAIN(TestTinyLogits)
#include "tst_tiny_logits.moc"
