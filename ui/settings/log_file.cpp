#include "ui/settings/log_file.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include <QDateTime>
#include <QDir>
#include <QFile>

namespace vitrine::ui {
namespace {

constexpr qint64 longest = 1 << 20;  // bytes
constexpr qsizetype longest_line = 4000;
constexpr qsizetype kept_lines = 200;

struct Log {
    std::mutex mutex;
    QFile file;
    QStringList last;
    QtMessageHandler before = nullptr;
};

Log& log() {
    static Log one;
    return one;
}

void write_line(Log& to, const QString& text) {
    QString line = QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyy-MM-dd HH:mm:ss.zzz ")) +
                   text.left(longest_line).replace(u'\n', u' ');
    to.last.append(line);
    if (to.last.size() > kept_lines) to.last.removeFirst();
    if (!to.file.isOpen() || to.file.size() > 4 * longest) return;  // a flood of messages fills no disk
    to.file.write((line + u'\n').toUtf8());
    to.file.flush();
}

void handle(QtMsgType type, const QMessageLogContext& context, const QString& message) {
    Log& to = log();
    QtMessageHandler before = nullptr;
    {
        const std::scoped_lock lock(to.mutex);
        const char* kind = type == QtDebugMsg     ? "debug: "
                           : type == QtInfoMsg    ? "info: "
                           : type == QtWarningMsg ? "warning: "
                                                  : "error: ";
        write_line(to, QLatin1String(kind) + message);
        before = to.before;
    }
    if (before != nullptr) {
        before(type, context, message);
    } else {
        std::fprintf(stderr, "%s\n", message.toLocal8Bit().constData());
    }
}

}  // namespace

void begin_log(const QString& folder) {
    Log& to = log();
    const std::scoped_lock lock(to.mutex);
    QDir().mkpath(folder);
    const QString path = QDir(folder).filePath(QStringLiteral("vitrine.log"));
    if (QFile(path).size() > longest) {
        QFile::remove(path + QStringLiteral(".1"));
        QFile::rename(path, path + QStringLiteral(".1"));
    }
    to.file.close();
    to.file.setFileName(path);
    static_cast<void>(to.file.open(QIODevice::WriteOnly | QIODevice::Append));
    if (to.before == nullptr) to.before = qInstallMessageHandler(handle);
}

void end_log() {
    Log& to = log();
    const std::scoped_lock lock(to.mutex);
    if (to.before != nullptr) qInstallMessageHandler(to.before);
    to.before = nullptr;
    to.file.close();
}

QString log_path() {
    Log& to = log();
    const std::scoped_lock lock(to.mutex);
    return to.file.isOpen() ? to.file.fileName() : QString();
}

void log_line(const QString& text) {
    Log& to = log();
    const std::scoped_lock lock(to.mutex);
    write_line(to, text);
}

QStringList last_log_lines(int count) {
    Log& to = log();
    const std::scoped_lock lock(to.mutex);
    return to.last.mid(std::max<qsizetype>(0, to.last.size() - count));
}

}  // namespace vitrine::ui
