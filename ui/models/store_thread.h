// The store on a thread of its own, so that a slow or locked disk never holds up the window.
//
// Saves return at once and are done in order. One that fails is kept (the newest state of each chat and
// message) and tried again every few seconds; the window is told once, and once more when it works again.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include <QObject>
#include <QThread>

#include "ui/models/chat_store.h"
#include "ui/models/token_trace.h"

namespace vitrine::ui {

class StoreThread : public QObject {
    Q_OBJECT

  public:
    explicit StoreThread(const QString& folder, QObject* parent = nullptr);
    ~StoreThread() override;  // after everything that was handed over is written

    void open();                      // opened() follows
    void load_messages(qint64 chat);  // messages_loaded() follows
    void save(const Chat& chat);
    void save(const Message& message);
    void remove_message(qint64 id);
    // Only the newest search is answered: found() follows.
    void search(const QStringList& words);
    void save_tokens(qint64 message, std::shared_ptr<const TokenTrace> trace);
    void load_tokens(qint64 message);  // tokens_loaded() follows
    // Returns when everything handed over so far is written: for the end of the program and for tests.
    void flush();
    // Tests: as if the disk were full; 0 takes it back.
    void limit_pages(int pages);

    static int retry_ms;

  signals:
    void opened(const std::vector<vitrine::ui::Chat>& chats, bool on_disk);
    void messages_loaded(qint64 chat, const std::vector<vitrine::ui::Message>& messages);
    void found(const QStringList& words, const std::vector<vitrine::ui::ContentHit>& hits);
    // Empty: the store has none.
    void tokens_loaded(qint64 message, const QByteArray& data);
    void notice(const QString& text);

  private:
    class Side;  // lives on the thread
    void post(std::function<void()> run);
    QThread thread_;
    Side* side_;
    std::atomic<int> searches_{0};
};

}  // namespace vitrine::ui
