// A scripted start: chats begun from the command line, and a picture of the window when they have ended.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QStringList>
#include <QTimer>

#include "ui/window/options.h"

namespace vitrine::ui {

class MainWindow;
struct AnswerFinished;

class ScriptRun : public QObject {
    Q_OBJECT

  public:
    ScriptRun(MainWindow* window, const Options& options, QObject* parent = nullptr);

  signals:
    // message: why it failed; empty with code 0.
    void ended(int code, const QString& message);

  private:
    void begin_next();
    void on_ended(qint64 chat, const AnswerFinished& finished);
    void fail(const QString& why);
    void take_picture();

    MainWindow* window_;
    Options options_;
    QStringList waiting_;
    int running_ = 0;
    bool begun_ = false;
    bool over_ = false;
    qint64 newest_ = 0;
};

}  // namespace vitrine::ui
