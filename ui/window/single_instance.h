// One window for each data folder: a second start hands what it was asked for to the first and ends.
//
// The name of the socket is made from the folder, so that --portable and --data-dir programs of their own
// keep their own windows. What comes over the socket is bounded and checked like any file.
#pragma once

#include <QObject>
#include <QStringList>

class QLocalServer;
class QLocalSocket;

namespace vitrine::ui {

struct Handover {
    QString model;
    QStringList new_chats;
};

class SingleInstance : public QObject {
    Q_OBJECT

  public:
    explicit SingleInstance(const QString& folder, QObject* parent = nullptr);

    // True: another window has taken it, and this program can end. False: nobody is there.
    bool hand_over(const Handover& handover);
    // From now on this is the first window. False where that cannot be: then it is one among others.
    bool listen();
    const QString& name() const { return name_; }

    static constexpr qint64 longest_message = 8 << 20;

  signals:
    void asked(const vitrine::ui::Handover& handover);

  private:
    void read(QLocalSocket* socket);
    QString name_;
    QLocalServer* server_ = nullptr;
};

}  // namespace vitrine::ui
