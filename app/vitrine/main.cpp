// vitrine: the window.
#include <cstdio>

#include <QApplication>
#include <QIcon>
#include <QTemporaryDir>
#include <QTimer>

#include "ui/bridge/backend.h"
#include "ui/settings/app_settings.h"
#include "ui/settings/bundled_fonts.h"
#include "ui/settings/log_file.h"
#include "ui/settings/translation.h"
#include "ui/window/main_window.h"
#include "ui/window/options.h"
#include "ui/window/script_run.h"
#include "ui/window/single_instance.h"

namespace {

void say(std::FILE* where, const QString& text) {
    QByteArray bytes = text.toUtf8();
    if (!bytes.endsWith('\n')) bytes += '\n';
    std::fwrite(bytes.constData(), 1, static_cast<std::size_t>(bytes.size()), where);
    std::fflush(where);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace vitrine::ui;
    QCoreApplication::setApplicationName(QStringLiteral("vitrine"));
    QCoreApplication::setApplicationVersion(QStringLiteral(VITRINE_VERSION));
    QGuiApplication::setApplicationDisplayName(QStringLiteral("Vitrine"));
    QGuiApplication::setDesktopFileName(QStringLiteral("org.vitrine.Vitrine"));

    // Before there is an application: help and mistakes need no display.
    ParsedOptions parsed;
    {
        QCoreApplication early(argc, argv);
        load_translation({});
        parsed = parse_options(QCoreApplication::arguments());
    }
    if (parsed.exit_code) {
        say(*parsed.exit_code == 0 ? stdout : stderr, parsed.message);
        return *parsed.exit_code;
    }
    const Options& options = parsed.options;
    const PlatformChoice platform = choose_platform(options.scripted());
    if (!platform.problem.isEmpty()) {
        say(stderr, platform.problem);
        return 1;
    }
    if (!platform.platform.isEmpty()) qputenv("QT_QPA_PLATFORM", platform.platform);
    QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);

    QApplication application(argc, argv);
    add_fonts(bundled_fonts_folder());
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/vitrine/icons/vitrine.svg")));

    // A scripted run leaves no trace among the user's chats.
    QTemporaryDir scratch;
    QString folder = options.data_folder;
    if (folder.isEmpty()) folder = options.scripted() ? scratch.path() : user_data_folder();

    load_translation(AppSettings::stored_language(folder));

    SingleInstance instance(folder);
    if (!options.scripted()) {
        if (instance.hand_over({options.model, options.new_chats})) return 0;
        instance.listen();
        begin_log(folder);
        log_line(QStringLiteral("Vitrine " VITRINE_VERSION " begins"));
    }

    MainWindow window(options, folder, make_engine_backend());
    QObject::connect(&instance, &SingleInstance::asked, &window, &MainWindow::take_over);
    int code = 0;
    ScriptRun script(&window, options);
    QObject::connect(&script, &ScriptRun::ended, &application, [&code](int result, const QString& message) {
        code = result;
        if (!message.isEmpty()) say(stderr, message);
        QApplication::exit(result);
    });
    window.show();
    QTimer::singleShot(0, &window, &MainWindow::open_first_model);
    const int result = QApplication::exec();
    window.close();
    end_log();
    return code != 0 ? code : result;
}
