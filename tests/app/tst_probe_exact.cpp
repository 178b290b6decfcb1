// The design's rule of exactness, from outside: with --exact the replies are the same bytes however the work
// is cut. And how far the fast arithmetic is from it.
#include <cmath>

#include <QtTest>

#include "tests/app/cli_process.h"

namespace {

QByteArray logits_line(const QJsonArray& ids, int probes) {
    QJsonArray positions;
    QJsonArray probe;
    for (int i = 0; i < ids.size(); ++i) positions.append(i);
    for (int i = 0; i < probes; ++i) probe.append(i * 380);
    return QJsonDocument(
               QJsonObject{
                   {"op", "logits"}, {"ids", ids}, {"positions", positions}, {"probe", probe}, {"top", 5}})
        .toJson(QJsonDocument::Compact);
}

QByteArray greedy_line(const QJsonArray& ids, int beside) {
    return QJsonDocument(
               QJsonObject{
                   {"op", "greedy"}, {"ids", ids}, {"n", 9}, {"ignore_eog", true}, {"beside", beside}})
        .toJson(QJsonDocument::Compact);
}

}  // namespace

class TestProbeExact : public QObject {
    Q_OBJECT

    const QJsonArray ids_ = some_ids(66);
    QByteArray logits_, greedy_;

  private slots:
    void initTestCase() {
        ProbeProcess probe({"--exact", "--kv", "f32", "--chunk", "256", "--prefix-cache", "off"});
        logits_ = probe.ask_raw(logits_line(ids_, 128));
        greedy_ = probe.ask_raw(greedy_line(ids_, 0));
        QVERIFY(logits_.contains("argmax"));
        QVERIFY(greedy_.contains("\"finish\":\"length\""));
    }

    void replies_are_the_same_bytes_data() {
        QTest::addColumn<QStringList>("flags");
        for (const char* chunk : {"1", "7", "16", "64"})
            for (const char* cache : {"on", "off"})
                QTest::newRow((QByteArray("chunk ") + chunk + ", prefix cache " + cache).constData())
                    << QStringList{"--chunk", chunk, "--prefix-cache", cache};
        for (const char* block : {"8", "24", "64", "256"})
            QTest::newRow((QByteArray("blocks of ") + block).constData())
                << QStringList{"--block-size", block, "--chunk", "50"};
        QTest::newRow("one thread") << QStringList{"--threads", "1"};
        QTest::newRow("three threads") << QStringList{"--threads", "3"};
    }
    void replies_are_the_same_bytes() {
        QFETCH(QStringList, flags);
        ProbeProcess probe(QStringList{"--exact", "--kv", "f32"} + flags);
        QCOMPARE(probe.ask_raw(logits_line(ids_, 128)), logits_);
        QCOMPARE(probe.ask_raw(greedy_line(ids_, 0)), greedy_);
        QCOMPARE(probe.ask_raw(greedy_line(ids_, 7)), greedy_);  // among seven others
        // Again, where the prefix is in the cache now; and a shorter one that ends inside a block.
        QCOMPARE(probe.ask_raw(greedy_line(ids_, 0)), greedy_);
        QCOMPARE(probe.ask_raw(logits_line(ids_, 128)), logits_);
    }

    // The tolerance of the fast arithmetic on logits, as root mean square relative to the spread of the
    // logits. Activations are rounded to 8 bits in groups of 32: an error of 1/√12 of a step of peak/127,
    // where the peak of a group is at most √32 times its root mean square. So a product is off by at most √32
    // / (127·√12) = 1.3 % of its own size, at random. Four products follow each other in a layer (q k v,
    // output, gate and up, down) and one makes the logits; random errors add in squares. A 16-bit cache
    // (2⁻¹¹) adds nothing that counts. Where the exact gap is larger than twice the largest difference, the
    // choice is the same.
    void fast_arithmetic_stays_near() {
        ProbeProcess fast({"--kv", "f16"});
        const auto wanted = QJsonDocument::fromJson(logits_).object();
        const auto got = QJsonDocument::fromJson(fast.ask_raw(logits_line(ids_, 128))).object();
        double difference = 0;
        double size = 0;
        double most = 0;
        for (int position = 0; position < ids_.size(); ++position) {
            const QString key = QString::number(position);
            const auto a = wanted["positions"].toObject()[key].toObject()["probe_logits"].toArray();
            const auto b = got["positions"].toObject()[key].toObject()["probe_logits"].toArray();
            QCOMPARE(b.size(), 128);
            double mean = 0;
            for (const auto& value : a) mean += value.toDouble() / 128;
            for (int i = 0; i < 128; ++i) {
                const double d = a[i].toDouble() - b[i].toDouble();
                difference += d * d;
                size += (a[i].toDouble() - mean) * (a[i].toDouble() - mean);
                most = std::max(most, std::abs(d));
            }
        }
        const double relative = std::sqrt(difference / size);
        constexpr int products = 4 * 4 + 1;  // the embedded model has 4 layers
        const double bound =
            std::sqrt(static_cast<double>(products)) * std::sqrt(32.0) / (127 * std::sqrt(12.0));
        QVERIFY2(relative < bound,
                 qPrintable(QString("relative difference %1, largest %2").arg(relative).arg(most)));
        for (int position = 0; position < ids_.size(); ++position)
            if (wanted["gap"].toArray()[position].toDouble() > 2 * most)
                QCOMPARE(got["argmax"].toArray()[position], wanted["argmax"].toArray()[position]);
    }
};

QTEST_GUILESS_MAIN(TestProbeExact)
#include "tst_probe_exact.moc"
