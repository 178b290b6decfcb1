// Chats on disk: one SQLite file in WAL mode. Used on one thread (StoreThread's); every call may wait for
// the disk or, up to the busy timeout, for another instance of the program.
//
// What cannot be used is set aside under a new name, never deleted. Where the folder cannot be written the
// chats go on in memory. A write is an idempotent "this is how it is now", so it can be repeated.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <QByteArray>
#include <QString>
#include <QStringList>

#include "ui/models/message.h"

class QLockFile;
class QSqlDatabase;

namespace vitrine::ui {

// A chat in whose messages some of the words of a search occur.
struct ContentHit {
    qint64 chat = 0;
    quint64 words = 0;  // bit i: word i
    QString excerpt;    // around the first of them, one line
};

class ChatStore {
  public:
    static constexpr int most_search_words = 64;  // further ones are not looked for

    enum class Mode {
        Disk,
        ReadOnly,  // what is there can be read; new things stay in memory of the caller
        Memory,    // nothing on disk can be used
    };

    explicit ChatStore(QString folder);
    ~ChatStore();
    ChatStore(const ChatStore&) = delete;
    ChatStore& operator=(const ChatStore&) = delete;

    // Never fails: where the disk cannot be used mode() is not Disk and notice() says why, for people.
    void open();
    Mode mode() const { return mode_; }
    const QString& notice() const { return notice_; }
    QString path() const;

    // Answers that a program that is gone left unfinished become Interrupted here, unless another instance
    // runs and may still be writing them.
    std::vector<Chat> chats();
    std::vector<Message> messages(qint64 chat);

    // False: not written, last_error() says why.
    bool save(const Chat& chat);
    bool save(const Message& message);
    bool remove_message(qint64 id);
    // Chats with at least one of the words in a message on any branch, whatever the case of the letters.
    // Reads all messages; ends early, with nothing, where `stop` says so.
    std::vector<ContentHit> search(const QStringList& words, const std::function<bool()>& stop = {});
    // What is known of the tokens of an answer (TokenTrace::to_blob); empty: nothing.
    bool save_tokens(qint64 message, const QByteArray& data);
    QByteArray tokens(qint64 message);
    // For good, messages included.
    bool purge_deleted_before(qint64 time);

    const QString& last_error() const { return last_error_; }
    // Tests: as if the disk were full from this many pages on.
    void limit_pages(int pages);

  private:
    bool open_file(bool read_only);
    bool prepare_schema();
    bool make_token_table();
    void remove_tokens(qint64 message);
    bool purge_orphaned_tokens();
    bool set_aside();
    void open_memory();
    bool run(const QString& sql);
    QSqlDatabase database() const;
    void close();

    QString folder_;
    QString connection_;
    Mode mode_ = Mode::Memory;
    QString notice_;
    QString last_error_;
    bool damaged_ = false;  // open_file() failed because of the file's content
    std::unique_ptr<QLockFile> first_instance_;
};

}  // namespace vitrine::ui
