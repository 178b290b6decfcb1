// A file includes only what its floor may: app → ui → core → kernels, and each module only those that
// tests/repo/floors.cpp allows it. The checker itself is tested on planted violations, so that it can fail.
#include <QDir>
#include <QFileInfo>
#include <QLibraryInfo>
#include <QSet>
#include <QTest>

#include "tests/repo/floors.h"
#include "tests/repo/include_scan.h"
#include "tests/repo/tree.h"

using namespace vitrine::repo;

class TestFloors : public QObject {
    Q_OBJECT

  private slots:
    void scanner_data();
    void scanner();
    void planted_data();
    void planted();
    void planted_links_data();
    void planted_links();
    void table_has_no_circle();
    void every_source();
    void every_cmake_file();
};

void TestFloors::scanner_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("found");  // "line:target", a space between
    QTest::newRow("quoted and angled") << "#include \"a/b.h\"\n#include <vector>\n"
                                       << "1:a/b.h 2:vector";
    QTest::newRow("blanks") << "  #  include\t<a>\n"
                            << "1:a";
    QTest::newRow("line comment") << "// #include <a>\n#include <b> // <c>\n"
                                  << "2:b";
    QTest::newRow("block comment") << "/*\n#include <a>\n*/ #include <b>\n"
                                   << "3:b";
    QTest::newRow("comment inside") << "#/**/include /* x */ <a>\n"
                                    << "1:a";
    QTest::newRow("comment sign in a string") << "auto s = \"/*\";\n#include <a>\n"
                                              << "2:a";
    QTest::newRow("quote as a character") << "char c = '\"'; // x\n#include <a>\n"
                                          << "2:a";
    QTest::newRow("digit separator") << "int i = 1'000;\n#include <a>\n"
                                     << "2:a";
    QTest::newRow("in a string") << "auto s = \"#include <a>\";\n"
                                 << "";
    QTest::newRow("joined line") << "#incl\\\nude <a>\n#include <b>\n"
                                 << "1:a 3:b";
    QTest::newRow("carriage returns") << "#include <a>\r\n#include <b>\r\n"
                                      << "1:a 2:b";
    QTest::newRow("digraph") << "%:include <a>\n"
                             << "1:a";
    QTest::newRow("include_next") << "#include_next <a>\n"
                                  << "1:a";
    QTest::newRow("computed") << "#include HEADER\n"
                              << "1:HEADER";
    QTest::newRow("no include") << "#define include x\n#includes <a>\n"
                                << "";
}

void TestFloors::scanner() {
    QFETCH(QString, source);
    QFETCH(QString, found);
    QStringList got;
    for (const Include& include : includes_of(source)) {
        got << QStringLiteral("%1:%2").arg(include.line).arg(include.target);
    }
    QCOMPARE(got.join(' '), found);
}

void TestFloors::planted_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("include");
    QTest::addColumn<QString>("verdict");  // a part of the sentence; empty: allowed

    const auto row = [](const char* path, const char* include, const char* verdict) {
        QTest::addRow("%s, %s", path, include) << path << include << verdict;
    };
    // What the house is made of.
    row("app/main.cpp", "\"ui/main_window.h\"", "");
    row("app/main.cpp", "\"kernels/device.h\"", "");
    row("ui/bridge/worker.cpp", "\"core/engine/engine.h\"", "");
    row("core/engine/engine.cpp", "\"core/kv/pool.h\"", "");
    row("core/kv/pool.cpp", "\"core/base/ids.h\"", "");
    row("core/base/result.h", "\"kernels/error.h\"", "");
    row("core/text/bpe.cpp", "<unicode/uchar.h>", "");
    row("kernels/cpu/ops.cpp", "\"hwy/highway.h\"", "");
    row("kernels/cuda/ops.cu", "<cuda_runtime.h>", "");
    row("ui/chat/view.cpp", "<QWidget>", "");
    row("ui/panels/kv.h", "\"core/engine/snapshot.h\"", "");
    row("ui/chat/view.cpp", "\"view.moc\"", "");
    row("core/sched/queue.cpp", "<queue>", "");
    // Arrows that turn round.
    row("kernels/cpu/ops.cpp", "\"core/base/ids.h\"", "kernels may not know it");
    row("kernels/cpu/ops.cpp", "\"../../core/base/ids.h\"", "kernels may not know it");
    row("kernels/cpu/ops.cpp", "<core/base/ids.h>", "kernels may not know it");
    row("kernels/cuda/ops.cu", "\"core/base/ids.h\"", "kernels/cuda may not know it");
    row("core/engine/engine.cpp", "\"ui/main_window.h\"", "core/engine may not know it");
    row("core/engine/engine.cpp", "\"app/main.h\"", "core/engine may not know it");
    row("ui/main_window.cpp", "\"app/main.h\"", "ui may not know it");
    row("app/main.cpp", "\"tests/repo/tree.h\"", "app may not know it");
    // Modules that must not know each other.
    row("core/base/ids.h", "\"core/io/gguf.h\"", "core/base may not know it");
    row("core/base/ids.h", "\"kernels/device.h\"", "core/base may not know it");
    row("core/io/gguf.cpp", "\"kernels/device.h\"", "core/io may not know it");
    row("core/text/bpe.cpp", "\"kernels/device.h\"", "core/text may not know it");
    row("core/text/bpe.cpp", "\"core/model/forward.h\"", "core/text may not know it");
    row("core/model/forward.cpp", "\"core/sched/scheduler.h\"", "core/model may not know it");
    row("core/model/forward.cpp", "\"core/text/bpe.h\"", "core/model may not know it");
    row("core/kv/pool.cpp", "\"core/model/forward.h\"", "core/kv may not know it");
    row("core/kv/pool.cpp", "\"core/text/bpe.h\"", "core/kv may not know it");
    row("core/sched/scheduler.cpp", "\"kernels/device.h\"", "core/sched may not know it");
    row("core/sched/scheduler.cpp", "\"core/text/bpe.h\"", "core/sched may not know it");
    row("core/sample/sampler.cpp", "\"core/sched/scheduler.h\"", "core/sample may not know it");
    row("core/spec/drafter.cpp", "\"core/sched/scheduler.h\"", "core/spec may not know it");
    row("core/telemetry/ring.cpp", "\"core/engine/engine.h\"", "core/telemetry may not know it");
    row("core/engine/engine.cpp", "\"kernels/cpu/ops.h\"", "core/engine may not know it");
    row("ui/models/chat_model.cpp", "\"core/engine/engine.h\"", "ui/models may not know it");
    row("ui/models/chat_model.cpp", "\"ui/main_window.h\"", "ui/models may not know it");
    row("ui/chat/view.cpp", "\"core/engine/engine.h\"", "ui may not know it");
    // Qt, widgets and CUDA where they do not belong.
    row("core/engine/engine.cpp", "<QString>", "free of Qt");
    row("core/engine/engine.cpp", "<QtCore/QString>", "free of Qt");
    row("core/engine/engine.cpp", "<qstring.h>", "free of Qt");
    row("core/engine/engine.cpp", "\"QString\"", "free of Qt");
    row("kernels/cpu/ops.cpp", "<QThread>", "free of Qt");
    row("ui/models/chat_model.cpp", "<QWidget>", "free of widgets");
    row("ui/bridge/worker.cpp", "<QtWidgets/QLabel>", "free of widgets");
    row("ui/models/chat_model.cpp", "<QAbstractListModel>", "");
    row("core/engine/engine.cpp", "<cuda_runtime.h>", "CUDA belongs");
    row("kernels/cpu/ops.cpp", "<cublas_v2.h>", "CUDA belongs");
    row("ui/panels/gpu.cpp", "<nvml.h>", "CUDA belongs");
    row("tests/kernels/tst.cpp", "<cuda.h>", "CUDA belongs");
    // What nobody can check.
    row("core/kv/pool.cpp", "POOL_HEADER", "cannot be checked");
    row("core/kv/pool.cpp", "\"core/kv/missing.h\"", "no such file");
    row("extra/thing.cpp", "<vector>", "stands on no floor");
    row("core/fresh/thing.cpp", "<vector>", "stands on no floor");
}

static bool is_widget_header(const QString& header) {
    const QString name = header.section('/', -1);
    return header.startsWith("QtWidgets") ||
           QFileInfo::exists(QLibraryInfo::path(QLibraryInfo::HeadersPath) + "/QtWidgets/" + name);
}

void TestFloors::planted() {
    QFETCH(QString, path);
    QFETCH(QString, include);
    QFETCH(QString, verdict);
    static const QSet<QString> house{
        "app/main.h",           "ui/main_window.h", "core/engine/engine.h",   "core/engine/snapshot.h",
        "core/kv/pool.h",       "core/base/ids.h",  "core/io/gguf.h",         "core/text/bpe.h",
        "core/model/forward.h", "kernels/error.h",  "core/sched/scheduler.h", "kernels/device.h",
        "kernels/cpu/ops.h",    "tests/repo/tree.h"};
    const Surroundings around{[](const QString& file) { return house.contains(file); }, is_widget_header};
    const QStringList got = source_violations(path, "// planted\n#include " + include + "\n", around);
    if (verdict.isEmpty()) {
        QVERIFY2(got.isEmpty(), qPrintable(got.join('\n')));
    } else {
        QCOMPARE(got.size(), 1);
        QVERIFY2(got.front().contains(verdict), qPrintable(got.front()));
    }
}

void TestFloors::planted_links_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("verdict");
    const auto row = [](const char* name, const char* path, const char* text, const char* verdict) {
        QTest::newRow(name) << path << text << verdict;
    };
    row("itself and base", "core/kv/CMakeLists.txt", "target_link_libraries(vitrine_kv PUBLIC vitrine_base)",
        "");
    row("kernels", "core/model/CMakeLists.txt", "target_link_libraries(vitrine_model PUBLIC vitrine_kernels)",
        "");
    row("comment", "core/kv/CMakeLists.txt", "# not vitrine_text, not Qt6::Core", "");
    row("a part", "core/text/CMakeLists.txt", "target_link_libraries(vitrine_text vitrine_template)", "");
    row("the window", "core/engine/CMakeLists.txt", "target_link_libraries(vitrine_engine vitrine_ui_theme)",
        "vitrine_ui");
    row("another module", "core/kv/CMakeLists.txt", "target_link_libraries(vitrine_kv vitrine_text)",
        "vitrine_text");
    row("upwards", "core/engine/CMakeLists.txt", "target_link_libraries(vitrine_engine Qt6::Core)",
        "links Qt");
    row("moc", "core/engine/CMakeLists.txt", "set_target_properties(x PROPERTIES AUTOMOC ON)", "links Qt");
    row("core from kernels", "kernels/CMakeLists.txt", "target_link_libraries(vitrine_kernels vitrine_base)",
        "vitrine_base");
    row("device from text", "core/text/CMakeLists.txt", "target_link_libraries(vitrine_text vitrine_kernels)",
        "vitrine_kernels");
    row("CUDA", "core/engine/CMakeLists.txt", "target_link_libraries(vitrine_engine CUDA::cudart)",
        "links CUDA");
}

void TestFloors::planted_links() {
    QFETCH(QString, path);
    QFETCH(QString, text);
    QFETCH(QString, verdict);
    const QStringList got = cmake_violations(path, text);
    if (verdict.isEmpty()) {
        QVERIFY2(got.isEmpty(), qPrintable(got.join('\n')));
    } else {
        QCOMPARE(got.size(), 1);
        QVERIFY2(got.front().contains(verdict), qPrintable(got.front()));
    }
}

// If the modules may know each other only one way, the libraries can be built one after another.
void TestFloors::table_has_no_circle() {
    QSet<QString> left;
    for (const Rule& rule : rules()) {
        if (rule.folder.startsWith("core/")) left << rule.folder;
    }
    QVERIFY(left.size() > 8);
    const QSet<QString> all = left;
    bool moved = true;
    while (moved && !left.isEmpty()) {
        moved = false;
        for (const Rule& rule : rules()) {
            if (!left.contains(rule.folder)) continue;
            bool free = true;
            for (const QString& entry : rule.allowed) {
                for (const QString& other : left) {
                    if (other != rule.folder && (entry == "core/" || entry.startsWith(other + '/')))
                        free = false;
                }
            }
            if (free) {
                left.remove(rule.folder);
                moved = true;
            }
        }
    }
    QVERIFY2(left.isEmpty(), qPrintable(QStringList(left.values()).join(' ')));
}

void TestFloors::every_source() {
    const QStringList files = tracked_files();
    const QSet<QString> known(files.begin(), files.end());
    const Surroundings around{
        [&](const QString& file) { return known.contains(file) || QFileInfo(root() + '/' + file).isFile(); },
        is_widget_header};
    QStringList violations;
    int seen = 0;
    for (const QString& file : files) {
        if (!is_cpp(file)) continue;
        ++seen;
        violations << source_violations(file, QString::fromUtf8(contents(file)), around);
    }
    QVERIFY2(seen > 10, "the repository's sources were not found");
    QVERIFY2(violations.isEmpty(), qPrintable('\n' + violations.join('\n')));
}

void TestFloors::every_cmake_file() {
    QStringList violations;
    for (const QString& file : tracked_files()) {
        if (file.endsWith("CMakeLists.txt") || file.endsWith(".cmake")) {
            violations << cmake_violations(file, QString::fromUtf8(contents(file)));
        }
    }
    QVERIFY2(violations.isEmpty(), qPrintable('\n' + violations.join('\n')));
}

QTEST_GUILESS_MAIN(TestFloors)
#include "tst_floors.moc"
