// What may lie in the repository, and what its texts may refer to.
#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QRegularExpression>
#include <QTest>

#include "tests/repo/tree.h"

using namespace vitrine::repo;

class TestTree : public QObject {
    Q_OBJECT

  private slots:
    void nothing_beside_the_checkout();
    void no_large_file();
    void scripts_parse();
    void commands_can_be_started();
    void links_in_documents_lead_somewhere();
};

static bool is_text(const QByteArray& data) { return !data.left(8192).contains('\0'); }

// The project is complete in itself: only the continuous integration may look for more test data beside it.
void TestTree::nothing_beside_the_checkout() {
    const QByteArray beside = QByteArray("..") + "/shared";
    QVERIFY(QByteArray("see .."
                       "/shared/x")
                .contains(beside));
    QStringList found;
    for (const QString& file : tracked_files()) {
        if (file == ".ci/run") continue;
        const QByteArray data = contents(file);
        if (is_text(data) && data.contains(beside)) found << file;
    }
    QVERIFY2(found.isEmpty(), qPrintable(found.join(' ')));
}

void TestTree::no_large_file() {
    for (const QString& file : tracked_files()) {
        const qint64 size = QFileInfo(root() + '/' + file).size();
        QVERIFY2(size <= 32 << 20, qPrintable(QStringLiteral("%1 has %2 bytes").arg(file).arg(size)));
    }
}

void TestTree::scripts_parse() {
    QStringList broken;
    int scripts = 0;
    for (const QString& file : tracked_files()) {
        const QByteArray first = contents(file).left(64).split('\n').front();
        if (!file.endsWith(".sh") && !(first.startsWith("#!") && first.contains("sh"))) continue;
        ++scripts;
        QProcess bash;
        bash.start(QStringLiteral("bash"), {"-n", root() + '/' + file});
        QVERIFY(bash.waitForFinished());
        if (bash.exitCode() != 0) broken << file + ": " + QString::fromUtf8(bash.readAllStandardError());
    }
    QVERIFY(scripts >= 3);
    QVERIFY2(broken.isEmpty(), qPrintable(broken.join('\n')));

    QProcess bash;  // and the check itself notices a broken one
    bash.start(QStringLiteral("bash"), {"-n", "-c", "if true; then"});
    QVERIFY(bash.waitForFinished());
    QVERIFY(bash.exitCode() != 0);
}

void TestTree::commands_can_be_started() {
    for (const char* file : {"packaging/run", "packaging/test", "packaging/fetch-model", "packaging/bundle",
                             "packaging/check-install", ".ci/run"}) {
        QVERIFY2(QFileInfo(root() + '/' + file).isExecutable(), file);
    }
    // From anywhere, and --help changes nothing.
    QProcess run;
    run.setWorkingDirectory(QDir::tempPath());
    run.start(root() + "/packaging/run", {"--help"});
    QVERIFY(run.waitForFinished());
    QCOMPARE(run.exitCode(), 0);
    QVERIFY(run.readAllStandardOutput().contains("--no-run"));
}

// [text](file) and <img src="file"> in every document of ours.
void TestTree::links_in_documents_lead_somewhere() {
    static const QRegularExpression link(QStringLiteral("\\]\\(([^)#\\s]+)[^)]*\\)|src=\"([^\"]+)\""));
    QStringList lost;
    int links = 0;
    for (const QString& file : tracked_files()) {
        if (!file.endsWith(".md")) continue;
        auto it = link.globalMatch(QString::fromUtf8(contents(file)));
        while (it.hasNext()) {
            const auto match = it.next();
            const QString target = match.captured(1) + match.captured(2);
            if (target.contains("://") || target.startsWith("mailto:")) continue;
            ++links;
            const QString path = QDir::cleanPath(root() + '/' + QFileInfo(file).path() + '/' + target);
            if (!path.startsWith(root()) || !QFileInfo::exists(path)) lost << file + " → " + target;
        }
    }
    QVERIFY(links > 0);
    QVERIFY2(lost.isEmpty(), qPrintable(lost.join('\n')));
}

QTEST_GUILESS_MAIN(TestTree)
#include "tst_tree.moc"
