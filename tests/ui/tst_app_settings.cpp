// Settings that were damaged, the marker of an unfinished load, which model is opened first, the command
// line.
#include <csignal>

#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include "ui/settings/app_settings.h"
#include "ui/settings/load_marker.h"
#include "ui/window/model_finder.h"
#include "ui/window/options.h"

using namespace vitrine::ui;

class TestAppSettings : public QObject {
    Q_OBJECT

  private slots:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }

    void round_trip() {
        {
            AppSettings s(folder_->path());
            s.set_theme(ThemeChoice::Dark);
            s.set_text_zoom(1.25);
            s.set_kv_dtype(QStringLiteral("BF16"));
            s.set_block_size(32);
            s.set_last_model(QString::fromUtf8("/tmp/モデル %41 #&.gguf"));
            s.set_last_chat((1LL << 60) + 1);
            s.sync();
        }
        AppSettings s(folder_->path());
        QCOMPARE(s.theme(), ThemeChoice::Dark);
        QCOMPARE(s.text_zoom(), 1.25);
        QCOMPARE(s.kv_dtype(), QStringLiteral("BF16"));
        QCOMPARE(s.block_size(), 32);
        QCOMPARE(s.last_model(), QString::fromUtf8("/tmp/モデル %41 #&.gguf"));
        QCOMPARE(s.last_chat(), (1LL << 60) + 1);
        QVERIFY(s.take_notices().isEmpty());
    }

    // GUI-28: bad values become defaults and are named, the others stay.
    void gui_28_bad_values_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QString>("key");
        QTest::newRow("word for a number") << QByteArray("[engine]\nblock_size=abc\n") << "engine/block_size";
        QTest::newRow("no multiple of 8") << QByteArray("[engine]\nblock_size=20\n") << "engine/block_size";
        QTest::newRow("out of range") << QByteArray("[engine]\nthreads=-5\n") << "engine/threads";
        QTest::newRow("huge") << QByteArray("[engine]\nthreads=99999999999999999999\n") << "engine/threads";
        QTest::newRow("unknown theme") << QByteArray("[window]\ntheme=pink\n") << "window/theme";
        QTest::newRow("list for a number")
            << QByteArray("[window]\ntext_zoom_percent=1, 2\n") << "window/text_zoom_percent";
        QTest::newRow("unknown type of cache") << QByteArray("[engine]\nkv_dtype=Q2\n") << "engine/kv_dtype";
    }
    void gui_28_bad_values() {
        QFETCH(QByteArray, line);
        QFETCH(QString, key);
        write(line + "[model]\nlast=/kept.gguf\n");
        AppSettings s(folder_->path());
        QCOMPARE(s.block_size(), 16);
        QCOMPARE(s.threads(), 0);
        QCOMPARE(s.theme(), ThemeChoice::System);
        QCOMPARE(s.text_zoom(), 1.0);
        QCOMPARE(s.kv_dtype(), QStringLiteral("F16"));
        QCOMPARE(s.last_model(), QStringLiteral("/kept.gguf"));
        const QStringList notices = s.take_notices();
        QVERIFY2(notices.size() == 1 && notices[0].contains(key), qPrintable(notices.join(u'|')));
        s.block_size();
        s.threads();
        QVERIFY(s.take_notices().isEmpty());  // once is enough
    }

    void gui_28_a_file_that_is_none_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("zeros") << QByteArray(5000, '\0');
        QTest::newRow("picture") << QByteArray("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
        QTest::newRow("half written")
            << QByteArray("[window]\ntheme=dark\nlayout=@ByteArray(\\0\\0\\0") + QByteArray(64, '\0');
    }
    void gui_28_a_file_that_is_none() {
        QFETCH(QByteArray, bytes);
        write(bytes);
        AppSettings s(folder_->path());
        QCOMPARE(s.theme(), ThemeChoice::System);
        QVERIFY(s.take_notices().join(u' ').contains(QLatin1String("damaged")));
        const QStringList kept = QDir(folder_->path()).entryList({QStringLiteral("vitrine.ini.damaged-*")});
        QCOMPARE(kept.size(), 1);
        QFile file(folder_->filePath(kept[0]));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), bytes);
        s.set_theme(ThemeChoice::Light);
        s.sync();
        QCOMPARE(AppSettings(folder_->path()).theme(), ThemeChoice::Light);
    }

    // GUI-19: the path is named, and it goes on.
    void gui_19_a_folder_that_cannot_be_made() {
        QFile file(folder_->filePath(QStringLiteral("file")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        AppSettings s(folder_->filePath(QStringLiteral("file/below")));
        s.set_theme(ThemeChoice::Dark);
        s.sync();
        QCOMPARE(s.theme(), ThemeChoice::Dark);
        QVERIFY2(s.take_notices().join(u' ').contains(QLatin1String("file/below")), "the path is not named");
    }

    // GUI-11.
    void gui_11_marker_of_a_crash() {
        LoadMarker marker(folder_->path());
        QVERIFY(marker.unfinished().isEmpty());
        // A program that is killed while it loads.
        QProcess program;
        program.start(QCoreApplication::applicationFilePath(),
                      {QStringLiteral("--load-and-die"), folder_->path()});
        QVERIFY(program.waitForFinished(30'000));
        QCOMPARE(program.exitStatus(), QProcess::CrashExit);
        QCOMPARE(marker.unfinished(), QString::fromUtf8("/tmp/ü.gguf"));
        marker.begin(QStringLiteral("/other.gguf"));
        marker.end();
        QVERIFY(marker.unfinished().isEmpty());
        // Another instance that is loading now is no crash.
        QProcess alive;
        alive.start(QCoreApplication::applicationFilePath(),
                    {QStringLiteral("--load-and-wait"), folder_->path()});
        QVERIFY(alive.waitForReadyRead(30'000));
        QVERIFY(marker.unfinished().isEmpty());
        alive.kill();
        alive.waitForFinished();
        QVERIFY(!marker.unfinished().isEmpty());
        // A marker that is no JSON.
        QFile file(folder_->filePath(QStringLiteral("loading.json")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{\"model\": 5, ");
        file.close();
        QVERIFY(marker.unfinished().isEmpty());
    }

    void gui_11_first_model() {
        qputenv("XDG_DATA_HOME", folder_->path().toUtf8());
        QVERIFY(!embedded_model_path().isEmpty());
        StartModel start = choose_start_model({}, {}, {});
        QCOMPARE(start.path, embedded_model_path());
        QVERIFY(is_embedded_model(start.path));
        QVERIFY(QDir().mkpath(models_folder()));
        QFile file(default_model_path());
        QVERIFY(file.open(QIODevice::WriteOnly));
        QCOMPARE(choose_start_model({}, {}, {}).path, default_model_path());
        start = choose_start_model({}, QStringLiteral("/gone.gguf"), {});
        QCOMPARE(start.path, default_model_path());
        QCOMPARE(start.missing, QStringLiteral("/gone.gguf"));
        QFile last(folder_->filePath(QStringLiteral("last.gguf")));
        QVERIFY(last.open(QIODevice::WriteOnly));
        QCOMPARE(choose_start_model({}, last.fileName(), {}).path, last.fileName());
        start = choose_start_model({}, last.fileName(), last.fileName());
        QVERIFY(start.path.isEmpty());
        QCOMPARE(start.held_back, last.fileName());
        QCOMPARE(choose_start_model(last.fileName(), {}, last.fileName()).path,
                 last.fileName());  // asked for by name
        // GGUF-41: what is damaged is listed with its reason (the default model is an empty file here).
        QFile::link(QStringLiteral("/nowhere"), models_folder() + QStringLiteral("/dangling.gguf"));
        QVERIFY(QDir().mkpath(models_folder() + QStringLiteral("/folder.gguf")));
        QVERIFY(QFile::copy(embedded_model_path(), models_folder() + QStringLiteral("/good.gguf")));
        QVERIFY(QDir().mkpath(models_folder() + QStringLiteral("/hf")));
        QFile config(models_folder() + QStringLiteral("/hf/config.json"));
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.close();
        QVERIFY(looks_like_model(models_folder() + QStringLiteral("/hf")));
        QVERIFY(!looks_like_model(models_folder()));
        QStringList good;
        for (const FoundModel& model : installed_models())
            if (model.problem.isEmpty()) good << QFileInfo(model.path).fileName();
        QVERIFY(good.contains(QStringLiteral("good.gguf")));
        QVERIFY(!good.contains(QFileInfo(default_model_path()).fileName()));
        QVERIFY(!good.contains(QStringLiteral("dangling.gguf")));
        QVERIFY(!good.contains(QStringLiteral("folder.gguf")));
        qunsetenv("XDG_DATA_HOME");
    }

    void model_names() {
        QCOMPARE(shown_model_name("/x/SmolLM2-135M-Instruct.Q4_1.gguf", "Smollm2 Mix1"),
                 QStringLiteral("SmolLM2-135M-Instruct"));
        QCOMPARE(shown_model_name("/x/qwen2.5-0.5b-q4_k_m.gguf", {}), QStringLiteral("qwen2.5-0.5b"));
        QCOMPARE(shown_model_name("/x/Model.gguf", "own"), QStringLiteral("Model"));
        QCOMPARE(shown_model_name("/x/.gguf", "own"), QStringLiteral("own"));
        QCOMPARE(shown_model_name(embedded_model_path(), "Draft 16M"), QStringLiteral("Draft 16M"));
    }

    void command_line_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");  // −1: starts
        QTest::newRow("nothing") << QStringList{} << -1;
        QTest::newRow("help") << QStringList{"--help"} << 0;
        QTest::newRow("version") << QStringList{"--version"} << 0;
        QTest::newRow("unknown") << QStringList{"--no-such"} << 2;
        QTest::newRow("size") << QStringList{"--size", "1400x900"} << -1;
        QTest::newRow("bad size") << QStringList{"--size", "1400"} << 2;
        QTest::newRow("tiny size") << QStringList{"--size", "1x1"} << 2;
        QTest::newRow("both themes") << QStringList{"--light", "--dark"} << 2;
        QTest::newRow("file") << QStringList{"x.gguf"} << -1;
        QTest::newRow("two files") << QStringList{"x.gguf", "y.gguf"} << 2;
        QTest::newRow("screenshot without name") << QStringList{"--screenshot="} << 2;
        QTest::newRow("seed") << QStringList{"--seed", "abc"} << 2;
    }
    void command_line() {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        const ParsedOptions parsed = parse_options(QStringList{"vitrine"} + arguments);
        QCOMPARE(parsed.exit_code.value_or(-1), code);
        if (code > 0) QVERIFY(!parsed.message.isEmpty());
    }
    void command_line_values() {
        const auto o = parse_options({"vitrine", "--model", "a.gguf", "--new-chat", "one", "--new-chat",
                                      "two", "--screenshot", "x.png", "--dark", "--size", "1000x700",
                                      "--seed", "7", "--max-tokens", "9"})
                           .options;
        QVERIFY(o.model.endsWith(QLatin1String("/a.gguf")));
        QCOMPARE(o.new_chats, QStringList({"one", "two"}));
        QCOMPARE(o.size, QSize(1000, 700));
        QCOMPARE(o.dark, std::optional(true));
        QCOMPARE(o.seed, std::optional<quint64>(7));
        QCOMPARE(o.max_tokens, 9);
        QVERIFY(o.scripted());
    }

    // GUI-13.
    void gui_13_platforms() {
        const QByteArray platform = qgetenv("QT_QPA_PLATFORM"), display = qgetenv("DISPLAY"),
                         wayland = qgetenv("WAYLAND_DISPLAY");
        qunsetenv("QT_QPA_PLATFORM");
        qunsetenv("DISPLAY");
        qunsetenv("WAYLAND_DISPLAY");
        QVERIFY(choose_platform(false).problem.contains(QLatin1String("vitrine-cli chat")));
        QCOMPARE(choose_platform(true).platform, QByteArray("offscreen"));
        qputenv("DISPLAY", ":4711");  // nobody listens
        QVERIFY(choose_platform(false).problem.contains(QLatin1String(":4711")));
        QCOMPARE(choose_platform(true).platform, QByteArray("offscreen"));
        qputenv("QT_QPA_PLATFORM", "offscreen");
        QVERIFY(choose_platform(false).problem.isEmpty());
        qunsetenv("DISPLAY");
        qputenv("QT_QPA_PLATFORM", platform);
        if (!display.isEmpty()) qputenv("DISPLAY", display);
        if (!wayland.isEmpty()) qputenv("WAYLAND_DISPLAY", wayland);
    }

  private:
    void write(const QByteArray& bytes) {
        QFile file(folder_->filePath(QStringLiteral("vitrine.ini")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(bytes);
    }
    std::unique_ptr<QTemporaryDir> folder_;
};

int main(int argc, char** argv) {
    QCoreApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.value(1).startsWith(QLatin1String("--load-and-"))) {
        LoadMarker(arguments.value(2)).begin(QString::fromUtf8("/tmp/ü.gguf"));
        std::puts("loading");
        std::fflush(stdout);
        if (arguments.value(1) == QLatin1String("--load-and-wait")) QThread::sleep(60);
        std::raise(SIGKILL);
    }
    TestAppSettings test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_app_settings.moc"
