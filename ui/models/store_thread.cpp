#include "ui/models/store_thread.h"

#include <optional>

#include <QCoreApplication>
#include <QEvent>
#include <QHash>
#include <QSemaphore>
#include <QTimer>

namespace vitrine::ui {

int StoreThread::retry_ms = 5000;

namespace {

// Something to do on the store's thread, in the order of the posts.
class Job : public QEvent {
  public:
    explicit Job(std::function<void()> run) : QEvent(QEvent::User), run_(std::move(run)) {}
    void run() const { run_(); }

  private:
    std::function<void()> run_;
};

}  // namespace

class StoreThread::Side : public QObject {
  public:
    Side(StoreThread* front, const QString& folder) : front_(front), store_(folder) {}

    void customEvent(QEvent* event) override { static_cast<Job*>(event)->run(); }

    void open() {
        store_.open();
        retry_ = new QTimer(this);
        connect(retry_, &QTimer::timeout, this, [this] { try_again(); });
        if (!store_.notice().isEmpty()) emit front_->notice(store_.notice());
        // Undo is over when the program has ended; a day of grace for a second instance.
        store_.purge_deleted_before(now_ms() - 24LL * 3600 * 1000);
        emit front_->opened(store_.chats(), store_.mode() == ChatStore::Mode::Disk);
    }

    void load(qint64 chat) { emit front_->messages_loaded(chat, store_.messages(chat)); }

    void save(const Chat& chat) {
        if (failing() || !store_.save(chat)) {
            chats_.insert(chat.id, chat);
            failed();
        }
    }
    void save(const Message& message) {
        if (failing() || !store_.save(message)) {
            messages_.insert(message.id, message);
            failed();
        }
    }
    void save_tokens(qint64 message, const QByteArray& data) {
        if (failing() || !store_.save_tokens(message, data)) {
            tokens_.insert(message, data);
            failed();
        }
    }
    void load_tokens(qint64 message) {
        const auto waiting = tokens_.constFind(message);
        emit front_->tokens_loaded(message,
                                   waiting != tokens_.constEnd() ? *waiting : store_.tokens(message));
    }
    void remove(qint64 id) {
        messages_.remove(id);
        tokens_.remove(id);
        store_.remove_message(id);
    }
    std::vector<ContentHit> search(const QStringList& words, const std::function<bool()>& stop) {
        return store_.search(words, stop);
    }
    void limit(int pages) { store_.limit_pages(pages > 0 ? pages : 1 << 30); }
    void try_again() {
        for (auto it = chats_.begin(); it != chats_.end();) {
            if (!store_.save(it.value())) return;
            it = chats_.erase(it);
        }
        for (auto it = messages_.begin(); it != messages_.end();) {
            if (!store_.save(it.value())) return;
            it = messages_.erase(it);
        }
        for (auto it = tokens_.begin(); it != tokens_.end();) {
            if (!store_.save_tokens(it.key(), it.value())) return;
            it = tokens_.erase(it);
        }
        if (retry_) retry_->stop();
        if (std::exchange(told_, false))
            emit front_->notice(StoreThread::tr("Chats are saved again; nothing was lost."));
    }

  private:
    bool failing() const { return !chats_.isEmpty() || !messages_.isEmpty() || !tokens_.isEmpty(); }
    void failed() {
        if (retry_ && !retry_->isActive()) retry_->start(retry_ms);
        if (std::exchange(told_, true)) return;
        emit front_->notice(
            StoreThread::tr(
                "Your chats cannot be saved at the moment (%1). They go on in memory; saving is tried again "
                "every few seconds.")
                .arg(store_.last_error()));
    }

    StoreThread* front_;
    ChatStore store_;
    QTimer* retry_ = nullptr;
    QHash<qint64, Chat> chats_;
    QHash<qint64, Message> messages_;
    QHash<qint64, QByteArray> tokens_;
    bool told_ = false;
};

StoreThread::StoreThread(const QString& folder, QObject* parent)
    : QObject(parent), side_(new Side(this, folder)) {
    qRegisterMetaType<std::vector<Chat>>();
    qRegisterMetaType<std::vector<Message>>();
    qRegisterMetaType<std::vector<ContentHit>>();
    thread_.setObjectName(QStringLiteral("store"));
    side_->moveToThread(&thread_);
    connect(&thread_, &QThread::finished, side_, &QObject::deleteLater);
    thread_.start();
}

StoreThread::~StoreThread() {
    ++searches_;  // one that runs ends
    post([side = side_] { side->try_again(); });
    flush();
    thread_.quit();
    thread_.wait();
}

void StoreThread::post(std::function<void()> run) {
    QCoreApplication::postEvent(side_, new Job(std::move(run)));
}

void StoreThread::open() {
    post([side = side_] { side->open(); });
}
void StoreThread::load_messages(qint64 chat) {
    post([side = side_, chat] { side->load(chat); });
}
void StoreThread::save(const Chat& chat) {
    post([side = side_, chat] { side->save(chat); });
}
void StoreThread::save(const Message& message) {
    post([side = side_, message] { side->save(message); });
}
void StoreThread::remove_message(qint64 id) {
    post([side = side_, id] { side->remove(id); });
}
void StoreThread::search(const QStringList& words) {
    const int mine = ++searches_;
    post([this, side = side_, words, mine] {
        const auto outdated = [this, mine] { return searches_ != mine; };
        if (outdated()) return;
        const auto hits = side->search(words, outdated);
        if (!outdated()) emit found(words, hits);
    });
}

// Packed on the store's thread: it takes longer than a frame for a long answer.
void StoreThread::save_tokens(qint64 message, std::shared_ptr<const TokenTrace> trace) {
    post([side = side_, message, trace = std::move(trace)] { side->save_tokens(message, trace->to_blob()); });
}
void StoreThread::load_tokens(qint64 message) {
    post([side = side_, message] { side->load_tokens(message); });
}
void StoreThread::limit_pages(int pages) {
    post([side = side_, pages] { side->limit(pages); });
}
void StoreThread::flush() {
    QSemaphore done;
    post([&done] { done.release(); });
    done.acquire();
}

}  // namespace vitrine::ui
