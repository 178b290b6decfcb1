#include "ui/window/single_instance.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocalServer>
#include <QLocalSocket>
#include <QTimer>

namespace vitrine::ui {
namespace {

constexpr int patience_ms = 2000;

}  // namespace

SingleInstance::SingleInstance(const QString& folder, QObject* parent) : QObject(parent) {
    QDir().mkpath(folder);  // the name is the same before and after the first start
    const QString path = QFileInfo(folder).canonicalFilePath();
    const QByteArray hash = QCryptographicHash::hash(
        (path.isEmpty() ? folder : path).toUtf8() + qgetenv("USER"), QCryptographicHash::Sha256);
    name_ = QStringLiteral("vitrine-") + QString::fromLatin1(hash.toHex().left(24));
}

bool SingleInstance::hand_over(const Handover& handover) {
    QLocalSocket socket;
    socket.connectToServer(name_);
    if (!socket.waitForConnected(patience_ms)) return false;
    const QByteArray message =
        QJsonDocument(QJsonObject{{"model", handover.model},
                                  {"new_chats", QJsonArray::fromStringList(handover.new_chats)}})
            .toJson(QJsonDocument::Compact) +
        '\n';
    socket.write(message);
    // A window that hangs is no reason for this one not to open.
    while (socket.bytesToWrite() > 0)
        if (!socket.waitForBytesWritten(patience_ms)) return false;
    return socket.waitForReadyRead(patience_ms) && socket.readAll().startsWith("ok");
}

bool SingleInstance::listen() {
    server_ = new QLocalServer(this);
    server_->setSocketOptions(QLocalServer::UserAccessOption);
    if (!server_->listen(name_)) {
        // The socket of a program that is gone; one that lives would have answered hand_over().
        QLocalServer::removeServer(name_);
        if (!server_->listen(name_)) return false;
    }
    connect(server_, &QLocalServer::newConnection, this, [this] {
        while (QLocalSocket* socket = server_->nextPendingConnection()) {
            connect(socket, &QLocalSocket::readyRead, this, [this, socket] { read(socket); });
            connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
            QTimer::singleShot(4 * patience_ms, socket, [socket] { socket->abort(); });
            if (socket->bytesAvailable() > 0) read(socket);
        }
    });
    return true;
}

void SingleInstance::read(QLocalSocket* socket) {
    if (socket->bytesAvailable() > longest_message) return socket->abort();
    if (!socket->canReadLine()) return;
    const QJsonDocument document = QJsonDocument::fromJson(socket->readLine());
    if (!document.isObject()) return socket->abort();
    Handover handover;
    handover.model = document.object().value("model").toString();
    for (const QJsonValueConstRef text : document.object().value("new_chats").toArray())
        if (text.isString()) handover.new_chats << text.toString();
    socket->write("ok\n");
    socket->flush();
    socket->disconnectFromServer();
    emit asked(handover);
}

}  // namespace vitrine::ui
