// The program as a process: pictures of a running engine, help, mistakes, no display.
#include <set>

#include <QImage>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

namespace {

struct Run {
    int code = -1;
    QString out;
    QString err;
};

Run run(const QStringList& arguments, const QStringList& without = {},
        const QMap<QString, QString>& with = {}) {
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const QString& name : without) environment.remove(name);
    for (auto it = with.begin(); it != with.end(); ++it) environment.insert(it.key(), it.value());
    program.setProcessEnvironment(environment);
    program.start(QStringLiteral(VITRINE_PROGRAM), arguments);
    Run result;
    if (!program.waitForFinished(200'000)) {
        program.kill();
        program.waitForFinished();
        return result;
    }
    result.code = program.exitStatus() == QProcess::NormalExit ? program.exitCode() : -2;
    result.out = QString::fromUtf8(program.readAllStandardOutput());
    result.err = QString::fromUtf8(program.readAllStandardError());
    return result;
}

// How many different colours a part of the picture has: a blank one has one.
int colours(const QImage& image, const QRect& part) {
    std::set<QRgb> seen;
    for (int y = part.top(); y <= part.bottom(); ++y)
        for (int x = part.left(); x <= part.right(); ++x) seen.insert(image.pixel(x, y));
    return static_cast<int>(seen.size());
}

}  // namespace

class TestProgram : public QObject {
    Q_OBJECT

  private slots:
    void initTestCase() { QVERIFY(home_.isValid()); }

    void screenshot_data() {
        QTest::addColumn<QString>("theme");
        QTest::addColumn<QSize>("size");
        QTest::addColumn<QString>("scale");
        QTest::newRow("light") << "--light" << QSize(1440, 900) << "1";
        QTest::newRow("dark, small, twice the resolution") << "--dark" << QSize(1000, 700) << "2";
    }
    void screenshot() {
        QFETCH(QString, theme);
        QFETCH(QSize, size);
        QFETCH(QString, scale);
        const QString file = home_.filePath(QStringLiteral("window.png"));
        QFile::remove(file);
        const Run r =
            run({"--model", QStringLiteral(VITRINE_EMBEDDED_MODEL), "--new-chat",
                 "Why does the sea rise and fall twice a day, and not once?", "--new-chat",
                 "Why does the sea rise and fall twice a day, and not once? Please be brief.", "--screenshot",
                 file, theme, "--size", QStringLiteral("%1x%2").arg(size.width()).arg(size.height()),
                 "--max-tokens", "24", "--seed", "1"},
                {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"},
                {{"QT_SCALE_FACTOR", scale}, {"XDG_DATA_HOME", home_.path()}});
        QVERIFY2(r.code == 0, qPrintable(r.err));
        QImage image(file);
        QVERIFY(!image.isNull());
        const int factor = scale.toInt();
        QCOMPARE(image.size(), size * factor);
        image = image.convertToFormat(QImage::Format_RGB32);
        const int w = image.width(), h = image.height();
        // Bar, list, conversation, panels, status: each has something in it.
        QVERIFY(colours(image, QRect(0, 0, w / 3, 40 * factor)) > 10);
        QVERIFY(colours(image, QRect(0, h / 12, 200 * factor, h / 3)) > 10);
        QVERIFY(colours(image, QRect(w / 4, h / 10, w / 4, h / 3)) > 10);
        QVERIFY(colours(image, QRect(w * 3 / 4, h / 10, w / 5, h / 3)) > 10);
        QVERIFY(colours(image, QRect(w * 2 / 3, h * 6 / 10, w / 4, h * 3 / 10)) > 10);
        QVERIFY(colours(image, QRect(0, h - 28 * factor, w, 28 * factor)) > 10);
        const bool dark = qGray(image.pixel(w / 2, h / 2)) < 128;
        QCOMPARE(dark, theme == QLatin1String("--dark"));
        // Nothing was left among the user's chats.
        QVERIFY(!QFileInfo::exists(home_.filePath(QStringLiteral("vitrine/chats.sqlite"))));
    }

    void a_picture_without_a_chat() {
        const QString file = home_.filePath(QString::fromUtf8("Bild ü 😀.png"));
        const Run r = run(
            {"--model", QStringLiteral(VITRINE_EMBEDDED_MODEL), "--screenshot", file, "--size", "900x600"},
            {}, {{"XDG_DATA_HOME", home_.path()}});
        QVERIFY2(r.code == 0, qPrintable(r.err));
        QCOMPARE(QImage(file).size(), QSize(900, 600));
    }

    void failures_are_said_data() {
        QTest::addColumn<QStringList>("arguments");
        const QString model = QStringLiteral(VITRINE_EMBEDDED_MODEL);
        QTest::newRow("no such model")
            << QStringList{"--model", "/no/such.gguf", "--screenshot", home_.filePath("a.png")};
        QTest::newRow("no model") << QStringList{"--model", QStringLiteral(VITRINE_SOURCE_DIR "/LICENSE"),
                                                 "--screenshot", home_.filePath("a.png")};
        QTest::newRow("folder that is not there")
            << QStringList{"--model", model, "--screenshot", "/no/such/folder/a.png"};
        QTest::newRow("bad option") << QStringList{"--frobnicate"};
        QTest::newRow("bad size") << QStringList{"--size", "big"};
    }
    void failures_are_said() {
        QFETCH(QStringList, arguments);
        const Run r = run(arguments);
        QVERIFY2(r.code > 0, qPrintable(r.err));
        QVERIFY(r.err.trimmed().size() > 10);
    }

    // GUI-13.
    void gui_13_no_display() {
        const Run r = run({}, {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"});
        QCOMPARE(r.code, 1);
        QVERIFY2(r.err.contains(QLatin1String("vitrine-cli chat")), qPrintable(r.err));
        QVERIFY(r.err.count(u'\n') <= 2);
    }

    void help_and_version_need_no_display() {
        const QStringList none{"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"};
        Run r = run({"--help"}, none);
        QCOMPARE(r.code, 0);
        for (const char* option :
             {"--model", "--new-chat", "--screenshot", "--size", "--light", "--dark", "--portable"})
            QVERIFY(r.out.contains(QLatin1String(option)));
        r = run({"--version"}, none);
        QCOMPARE(r.code, 0);
        QVERIFY(r.out.startsWith(QLatin1String("vitrine ")));
    }

    // GUI-16, GUI-17: another language's numbers, a path with anything in it.
    void gui_17_paths_and_locale() {
        const QString folder = home_.filePath(QString::fromUtf8("Загрузки/模型 ü 😀\u3000space %41#&"));
        QVERIFY(QDir().mkpath(folder));
        const QString model = folder + QStringLiteral("/x.gguf");
        QVERIFY(QFile::copy(QStringLiteral(VITRINE_EMBEDDED_MODEL), model));
        const QString file = folder + QStringLiteral("/shot.png");
        const Run r = run({"--model", model, "--new-chat", "Hi", "--max-tokens", "4", "--screenshot", file,
                           "--data-dir", folder + QStringLiteral("/data")},
                          {"LC_ALL"}, {{"LANG", "de_DE.UTF-8"}, {"LC_NUMERIC", "de_DE.UTF-8"}});
        QVERIFY2(r.code == 0, qPrintable(r.err));
        QVERIFY(!QImage(file).isNull());
        QVERIFY(QFileInfo(folder + QStringLiteral("/data/chats.sqlite")).size() > 0);
    }

  private:
    QTemporaryDir home_;
};

QTEST_MAIN(TestProgram)
#include "tst_program.moc"
