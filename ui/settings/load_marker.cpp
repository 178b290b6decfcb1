#include "ui/settings/load_marker.h"

#include <cerrno>
#include <csignal>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

namespace vitrine::ui {

LoadMarker::LoadMarker(const QString& folder)
    : path_(QDir(folder).filePath(QStringLiteral("loading.json"))) {}

QString LoadMarker::unfinished() const {
    QFile file(path_);
    if (!file.open(QIODevice::ReadOnly)) return {};
    const QJsonObject o = QJsonDocument::fromJson(file.read(1 << 16)).object();
    const qint64 pid = o.value("pid").toInteger();
    // Another instance that is loading right now is no crash.
    const bool alive = pid > 0 && pid != QCoreApplication::applicationPid() &&
                       (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
    return alive ? QString() : o.value("model").toString();
}

void LoadMarker::begin(const QString& model) {
    QSaveFile file(path_);
    if (!file.open(QIODevice::WriteOnly))
        return;  // a folder that cannot be written costs only this protection
    file.write(
        QJsonDocument(QJsonObject{{"model", model}, {"pid", QCoreApplication::applicationPid()}}).toJson());
    file.commit();
}

void LoadMarker::end() { QFile::remove(path_); }

}  // namespace vitrine::ui
