#include "ui/window/options.h"

#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <QCommandLineParser>
#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace vitrine::ui {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Options)
};

ParsedOptions fail(const QString& message) {
    ParsedOptions parsed;
    parsed.exit_code = 2;
    parsed.message = message;
    return parsed;
}

std::optional<QSize> size_from(const QString& text) {
    const QStringList parts = text.split(u'x');
    if (parts.size() != 2) return std::nullopt;
    bool w_ok = false, h_ok = false;
    const QSize size(parts[0].toInt(&w_ok), parts[1].toInt(&h_ok));
    if (!w_ok || !h_ok || size.width() < 400 || size.height() < 300 || size.width() > 8000 ||
        size.height() > 8000)
        return std::nullopt;
    return size;
}

// A local X server listens on a socket of this name; where nobody does, Qt would end the program without a
// sentence that helps.
bool x_server_answers(const QByteArray& display) {
    if (!display.startsWith(':')) return true;  // another machine's: only Qt can tell
    const QByteArray number = display.mid(1).split('.').front();
    const QByteArray path = "/tmp/.X11-unix/X" + number;
    for (const bool abstract : {false, true}) {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) return true;
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (static_cast<std::size_t>(path.size()) + 2 > sizeof address.sun_path) return true;
        std::memcpy(address.sun_path + (abstract ? 1 : 0), path.constData(),
                    static_cast<std::size_t>(path.size()));
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                                   static_cast<std::size_t>(path.size()) + 1);
        const bool ok = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0;
        ::close(fd);
        if (ok) return true;
    }
    return false;
}

}  // namespace

ParsedOptions parse_options(const QStringList& arguments) {
    QCommandLineParser parser;
    parser.setApplicationDescription(
        Words::tr("Vitrine: chat with a local language model and see the engine that answers.\n"
                  "The window. For the terminal there is vitrine-cli."));
    const QCommandLineOption help({"h", "help"}, Words::tr("This text."));
    const QCommandLineOption version({"v", "version"}, Words::tr("Version."));
    const QCommandLineOption model(
        "model",
        Words::tr("Model to open (a .gguf file). Without it: the one used last, else the "
                  "default model, else the small built-in one."),
        Words::tr("PATH"));
    const QCommandLineOption new_chat(
        "new-chat",
        Words::tr("Begins a chat with this message. May be given several times; each "
                  "one begins when the one before has begun to answer."),
        Words::tr("TEXT"));
    const QCommandLineOption screenshot(
        "screenshot",
        Words::tr(
            "Waits for the end of the answers, writes the window as PNG, ends. Needs no display; uses a data "
            "folder of its own unless one is given."),
        Words::tr("FILE"));
    const QCommandLineOption size("size", Words::tr("Size of the window, for example 1400x900."),
                                  Words::tr("WxH"));
    const QCommandLineOption light("light", Words::tr("Light theme, whatever the settings say."));
    const QCommandLineOption dark("dark", Words::tr("Dark theme, whatever the settings say."));
    const QCommandLineOption portable(
        "portable", Words::tr("Chats and settings in the folder \"data\" beside the program."));
    const QCommandLineOption data("data-dir", Words::tr("Chats and settings in this folder."),
                                  Words::tr("DIR"));
    const QCommandLineOption max_tokens(
        "max-tokens", Words::tr("Longest answer of the chats begun with --new-chat."), Words::tr("N"));
    const QCommandLineOption seed("seed", Words::tr("Seed of the answers of --new-chat."), Words::tr("N"));
    parser.addOptions(
        {help, version, model, new_chat, screenshot, size, light, dark, portable, data, max_tokens, seed});
    parser.addPositionalArgument(Words::tr("FILE"), Words::tr("Model to open, as --model."),
                                 Words::tr("[FILE]"));

    ParsedOptions parsed;
    if (!parser.parse(arguments)) return fail(parser.errorText() + u' ' + Words::tr("See --help."));
    if (parser.isSet(help)) {
        parsed.exit_code = 0;
        parsed.message = parser.helpText();
        return parsed;
    }
    if (parser.isSet(version)) {
        parsed.exit_code = 0;
        parsed.message = QStringLiteral("vitrine " VITRINE_VERSION);
        return parsed;
    }
    Options& o = parsed.options;
    o.model = parser.value(model);
    const QStringList rest = parser.positionalArguments();
    if (rest.size() > 1 || (!rest.isEmpty() && !o.model.isEmpty()))
        return fail(Words::tr("One model at a time: %1 is too many.").arg(rest.back()));
    if (!rest.isEmpty()) o.model = rest.front();
    if (!o.model.isEmpty()) o.model = QFileInfo(o.model).absoluteFilePath();
    o.new_chats = parser.values(new_chat);
    o.screenshot = parser.value(screenshot);
    if (parser.isSet(screenshot) && o.screenshot.isEmpty())
        return fail(Words::tr("--screenshot needs the name of a file."));
    if (parser.isSet(size)) {
        const auto wanted = size_from(parser.value(size));
        if (!wanted)
            return fail(Words::tr("--size %1: WIDTHxHEIGHT from 400x300 to 8000x8000 is wanted.")
                            .arg(parser.value(size)));
        o.size = *wanted;
    }
    if (parser.isSet(light) && parser.isSet(dark)) return fail(Words::tr("--light or --dark, not both."));
    if (parser.isSet(light)) o.dark = false;
    if (parser.isSet(dark)) o.dark = true;
    if (parser.isSet(portable))
        o.data_folder = QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("data"));
    if (parser.isSet(data)) {
        if (parser.value(data).isEmpty()) return fail(Words::tr("--data-dir needs a folder."));
        o.data_folder = QFileInfo(parser.value(data)).absoluteFilePath();
    }
    bool ok = true;
    if (parser.isSet(max_tokens)) o.max_tokens = parser.value(max_tokens).toInt(&ok);
    if (!ok || o.max_tokens < 0)
        return fail(Words::tr("--max-tokens %1: a number is wanted.").arg(parser.value(max_tokens)));
    if (parser.isSet(seed)) {
        o.seed = parser.value(seed).toULongLong(&ok);
        if (!ok) return fail(Words::tr("--seed %1: a number is wanted.").arg(parser.value(seed)));
    }
    return parsed;
}

QString user_data_folder() { return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation); }

PlatformChoice choose_platform(bool scripted) {
    PlatformChoice choice;
    const QByteArray wish = qgetenv("QT_QPA_PLATFORM");
    const QByteArray display = qgetenv("DISPLAY");
    const bool x = !display.isEmpty() && x_server_answers(display);
    const bool wayland = !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
    if (wish == "offscreen" || wish == "minimal" || wish.startsWith("vnc") || wish.startsWith("linuxfb") ||
        wish.startsWith("eglfs"))
        return choice;
    if (!x && !wayland) {
        if (scripted) {
            choice.platform = "offscreen";
        } else {
            choice.problem =
                display.isEmpty()
                    ? Words::tr(
                          "There is no display to open a window on. In a terminal, use: vitrine-cli chat")
                    : Words::tr("The display %1 does not answer. In a terminal, use: vitrine-cli chat")
                          .arg(QString::fromLocal8Bit(display));
        }
        return choice;
    }
    // One kind that was asked for may have no plugin here: the other one is named as well.
    if (wish == "wayland" && x) choice.platform = "wayland;xcb";
    if (wish == "xcb" && !x && wayland) choice.platform = "wayland";
    if (wish.isEmpty() && wayland && x) choice.platform = "wayland;xcb";
    return choice;
}

}  // namespace vitrine::ui
