// Traces are whole files of JSON whatever happened, and say what the records said.
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "core/telemetry/trace.h"

using namespace vitrine;

namespace {

Record iteration(std::int64_t index, double start, std::int32_t used = 3, std::int32_t cached = 2) {
    Record r{};
    r.kind = RecordKind::Iteration;
    r.iteration = {.index = index,
                   .start = start,
                   .duration = 0.010F,
                   .schedule = 0.001F,
                   .embed = 0.0005F,
                   .matrix = 0.005F,
                   .attention = 0.002F,
                   .sample = 0.0005F,
                   .sequences = 2,
                   .tokens = 9,
                   .budget = 256,
                   .waiting = 1,
                   .blocks_used = used,
                   .blocks_cached = cached};
    return r;
}

Record slice(std::int64_t sequence, std::int64_t index, double start) {
    Record r{};
    r.kind = RecordKind::Slice;
    r.slice = {.sequence = sequence,
               .request = sequence,
               .iteration = index,
               .start = start + 0.001,
               .duration = 0.008F,
               .first = 8,
               .tokens = sequence == 1 ? 1 : 8,
               .outputs = 1};
    return r;
}

Record token(std::int64_t sequence, double time, float probability = 0.5F) {
    Record r{};
    r.kind = RecordKind::Token;
    r.token = {.request = sequence,
               .iteration = 1,
               .time = time,
               .interval = 0.01F,
               .probability = probability,
               .id = 42,
               .index = 0,
               .origin = TokenOrigin::Sampled};
    return r;
}

Record block(BlockEvent event, double time) {
    Record r{};
    r.kind = RecordKind::Block;
    r.block = {
        .sequence = 1, .iteration = 1, .time = time, .block = 5, .other = 4, .logical = 0, .event = event};
    return r;
}

Record request(RequestEvent event, std::int64_t sequence, double time) {
    Record r{};
    r.kind = RecordKind::Request;
    r.request = {
        .request = sequence, .iteration = 0, .time = time, .duration = 0, .tokens = 7, .event = event};
    return r;
}

// One of everything.
std::vector<Record> story(int iterations = 3) {
    std::vector<Record> all = {request(RequestEvent::Submitted, 1, 0.0),
                               request(RequestEvent::Submitted, 2, 0.0),
                               request(RequestEvent::Admitted, 1, 0.01)};
    for (int i = 1; i <= iterations; ++i) {
        const double start = 0.02 * i;
        all.push_back(block(BlockEvent::Allocate, start));
        all.push_back(slice(1, i, start));
        all.push_back(slice(2, i, start));
        all.push_back(token(1, start + 0.009));
        all.push_back(iteration(i, start));
    }
    for (const BlockEvent e : {BlockEvent::Share, BlockEvent::Copy, BlockEvent::Evict, BlockEvent::Free})
        all.push_back(block(e, 1.0));
    for (const RequestEvent e :
         {RequestEvent::PrefillChunk, RequestEvent::FirstToken, RequestEvent::Preempted,
          RequestEvent::Finished, RequestEvent::Cancelled, RequestEvent::Failed})
        all.push_back(request(e, 1, 1.1));
    return all;
}

const TraceEngine engine{
    .model = "a \"model\"\\\n\xC3\xA9", .device = "CPU", .blocks = 20, .block_size = 16, .started = 100.0};

QByteArray content(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) qFatal("no trace");
    return file.readAll();
}

}  // namespace

class TestTrace : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;

    std::unique_ptr<TraceWriter> writer(const QString& name) {
        auto made = TraceWriter::open(dir_.filePath(name).toStdString());
        if (!made.ok()) qFatal("%s", made.error().message.c_str());
        return std::move(made).value();
    }

    QJsonArray events(const QString& name) {
        QJsonParseError error;
        const auto document = QJsonDocument::fromJson(content(dir_.filePath(name)), &error);
        if (error.error != QJsonParseError::NoError) qFatal("%s", qPrintable(error.errorString()));
        return document.object()["traceEvents"].toArray();
    }

  private slots:
    void chrome_form_is_what_perfetto_reads() {
        auto trace = writer("a.json");
        QCOMPARE(trace->form(), TraceForm::Chrome);
        trace->begin(engine);
        trace->add(story());
        QVERIFY(trace->finish().ok());
        std::map<QString, int> phases;
        std::map<std::pair<int, qint64>, double> ends;  // of complete events, by track
        std::set<std::pair<int, qint64>> named, used;
        std::set<int> processes;
        int counters = 0;
        for (const auto& value : events("a.json")) {
            const auto e = value.toObject();
            const QString ph = e["ph"].toString();
            ++phases[ph];
            QVERIFY(e.contains("pid") && e.contains("name"));
            const std::pair<int, qint64> track{e["pid"].toInt(), e["tid"].toInteger()};
            if (ph == "M") {
                QVERIFY(!e["args"].toObject()["name"].toString().isEmpty());
                if (e["name"].toString() == "process_name") processes.insert(track.first);
                if (e["name"].toString() == "thread_name") named.insert(track);
                continue;
            }
            QVERIFY(e["ts"].isDouble() && e["ts"].toDouble() >= 0);
            if (ph == "X") {
                used.insert(track);
                QVERIFY(e["dur"].toDouble() > 0);
                // Events of a track do not overlap.
                QVERIFY(e["ts"].toDouble() >= ends[track] - 1e-3);
                ends[track] = e["ts"].toDouble() + e["dur"].toDouble();
            } else if (ph == "i") {
                QCOMPARE(e["s"].toString(), QString("t"));
            } else if (ph == "C") {
                ++counters;
                const auto args = e["args"].toObject();
                QCOMPARE(args["used"].toInt(), 3);
                QCOMPARE(args["cached"].toInt(), 2);
                QCOMPARE(args["free"].toInt(), 15);
            } else {
                QFAIL("an unknown kind of event");
            }
            QVERIFY(processes.count(track.first));
        }
        for (const auto& track : used) QVERIFY(named.count(track));
        QCOMPARE(counters, 3);
        QCOMPARE(phases["X"], 3 * (1 + 6 + 2));  // an iteration, its six phases, two sequences
        QCOMPARE(phases["i"], 3 + 3 * 2 + 4 + 6);
    }

    void phases_fill_the_iteration() {
        auto trace = writer("phases.json");
        trace->begin(engine);
        trace->add(std::vector<Record>{iteration(1, 0.5)});
        QVERIFY(trace->finish().ok());
        double whole = 0, parts = 0;
        for (const auto& value : events("phases.json")) {
            const auto e = value.toObject();
            if (e["cat"].toString() == "iteration") {
                whole = e["dur"].toDouble();
                QCOMPARE(e["ts"].toDouble(), 5e5);
            }
            if (e["cat"].toString() == "phase") parts += e["dur"].toDouble();
        }
        QVERIFY(std::abs(whole - 10'000) < 0.1);
        QVERIFY(std::abs(parts - whole) < 0.1);
    }

    void lines_hold_every_member() {
        auto trace = writer("a.jsonl");
        QCOMPARE(trace->form(), TraceForm::Lines);
        trace->begin(engine);
        const auto records = story();
        trace->add(records);
        trace->set_lost(9);
        QVERIFY(trace->finish().ok());
        const auto lines = content(dir_.filePath("a.jsonl")).trimmed().split('\n');
        QCOMPARE(static_cast<std::size_t>(lines.size()), records.size() + 2);
        std::map<QString, int> kinds;
        for (const QByteArray& line : lines) {
            QJsonParseError error;
            const auto object = QJsonDocument::fromJson(line, &error).object();
            QVERIFY2(error.error == QJsonParseError::NoError, line.constData());
            ++kinds[object["kind"].toString()];
            if (object["kind"].toString() == "iteration") {
                QVERIFY(std::abs(object["host"].toDouble() - 0.001) < 1e-6);
                QCOMPARE(object["blocks_free"].toInt(), 15);
            }
            if (object["kind"].toString() == "token")
                QCOMPARE(object["origin"].toString(), QString("sampled"));
        }
        QCOMPARE(kinds["engine"], 1);
        QCOMPARE(kinds["iteration"], 3);
        QCOMPARE(kinds["slice"], 6);
        QCOMPARE(kinds["token"], 3);
        QCOMPARE(kinds["block"], 7);
        QCOMPARE(kinds["request"], 9);
        const auto last = QJsonDocument::fromJson(lines.last()).object();
        QCOMPARE(last["lost"].toInt(), 9);
        QCOMPARE(last["records"].toInt(), static_cast<int>(records.size()));
    }

    void a_trace_is_whole_at_every_end_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("records");
        for (const QString& name : {QStringLiteral("cut.json"), QStringLiteral("cut.jsonl")})
            for (const int records : {0, 1, 2, 7, 15})
                QTest::addRow("%s after %d", qPrintable(name), records) << name << records;
    }
    void a_trace_is_whole_at_every_end() {
        QFETCH(QString, name);
        QFETCH(int, records);
        {
            auto trace = writer(name);
            if (records > 0) trace->begin(engine);
            auto all = story();
            all.resize(static_cast<std::size_t>(records));
            trace->add(all);
        }  // nobody called finish()
        if (name.endsWith(".json")) {
            (void)events(name);
            return;
        }
        for (const QByteArray& line : content(dir_.filePath(name)).trimmed().split('\n'))
            QVERIFY(QJsonDocument::fromJson(line).isObject());
    }

    void numbers_that_are_none_stay_json() {
        auto trace = writer("nan.json");
        trace->begin(engine);
        trace->add(std::vector<Record>{token(1, 0.1, std::numeric_limits<float>::quiet_NaN()),
                                       token(1, std::numeric_limits<double>::infinity())});
        QVERIFY(trace->finish().ok());
        QVERIFY(events("nan.json").size() >= 2);
    }

    void names_are_kept_where_they_are_utf8() {
        const std::pair<QByteArray, QString> names[] = {
            {"\xC3\xA9 \xF0\x9F\x98\x80", QString::fromUtf8("é 😀")},
            {"a\xFF", "a?"},
            {"\xC3", "?"},
            {"\xED\xA0\x80", "???"},
            {"\xC0\x80", "??"},
            {"tab\there", "tab?here"}};
        for (const auto& [bytes, wanted] : names) {
            auto trace = writer("name.jsonl");
            TraceEngine named = engine;
            named.model = bytes.toStdString();
            trace->begin(named);
            QVERIFY(trace->finish().ok());
            const auto first = content(dir_.filePath("name.jsonl")).split('\n').first();
            QCOMPARE(QJsonDocument::fromJson(first).object()["model"].toString(), wanted);
        }
    }

    void engines_follow_each_other_on_one_clock() {
        auto trace = writer("two.json");
        trace->begin(engine);
        trace->add(std::vector<Record>{iteration(1, 0.5)});
        TraceEngine next = engine;
        next.started = 107.0;
        trace->set_lost(2);
        trace->begin(next);
        trace->add(std::vector<Record>{iteration(1, 0.5)});
        trace->set_lost(3);
        QVERIFY(trace->finish().ok());
        QCOMPARE(trace->lost(), std::uint64_t{5});
        QList<double> starts;
        QSet<int> processes;
        for (const auto& value : events("two.json")) {
            const auto e = value.toObject();
            if (e["cat"].toString() != "iteration") continue;
            starts.append(e["ts"].toDouble());
            processes.insert(e["pid"].toInt());
        }
        QCOMPARE(starts, (QList<double>{5e5, 7.5e6}));
        QCOMPARE(processes.size(), 2);
    }

    // What is written leaves the memory: a long trace is on the disk before it ends.
    void memory_does_not_grow_with_the_trace() {
        auto trace = writer("long.jsonl");
        trace->begin(engine);
        for (int i = 0; i < 200; ++i) trace->add(story());
        QVERIFY(QFileInfo(dir_.filePath("long.jsonl")).size() > 200'000);
        QVERIFY(trace->finish().ok());
    }

    void what_cannot_be_written_is_said() {
        const auto none = TraceWriter::open(dir_.filePath("no/such/folder/a.json").toStdString());
        QVERIFY(!none.ok());
        QCOMPARE(none.error().kind, ErrorKind::Io);
        QVERIFY(none.error().message.find("folder") != std::string::npos);
        auto full = TraceWriter::open("/dev/full");
        if (!full.ok()) return;  // no such device here
        (*full)->begin(engine);
        for (int i = 0; i < 100; ++i) (*full)->add(story());
        QVERIFY(!(*full)->finish().ok());
    }
};

QTEST_APPLESS_MAIN(TestTrace)
#include "tst_trace.moc"
