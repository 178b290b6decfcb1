// What happens when somebody sends, stops, regenerates, deletes: ties chats, store and engine together. No
// widgets. The window's memory is the truth; the store follows it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include <QHash>
#include <QObject>
#include <QTimer>

#include "ui/bridge/engine_worker.h"
#include "ui/models/chat_export.h"
#include "ui/models/chat_list_model.h"
#include "ui/models/chat_model.h"
#include "ui/models/store_thread.h"

namespace vitrine::ui {

class ChatController : public QObject {
    Q_OBJECT

  public:
    // Worker and store outlive the controller.
    ChatController(EngineWorker* worker, StoreThread* store, QObject* parent = nullptr);
    ~ChatController() override;

    ChatListModel* list() { return &list_; }
    // Made when first asked for; its messages arrive from the store. Null: no such chat.
    ChatModel* chat(qint64 id);
    bool exists(qint64 id) const { return chats_.count(id) > 0; }
    // Not listed and not stored until something is written in it.
    qint64 new_chat();
    void set_defaults(const ChatSettings& settings) { defaults_ = settings; }

    void send(qint64 chat, const QString& text);
    void regenerate(qint64 chat, qint64 answer);
    void edit(qint64 chat, qint64 user, const QString& text);
    // The answer goes on where it was stopped, interrupted or at its limit.
    void resume(qint64 chat, qint64 answer);
    // A further answer that begins with this text and goes on from there; its message, 0 where it cannot be.
    qint64 branch(qint64 chat, qint64 answer, const QString& beginning);
    void stop(qint64 chat);
    bool answering(qint64 chat) const;
    bool answering() const { return !answers_.empty(); }

    void rename(qint64 chat, const QString& title);
    void set_pinned(qint64 chat, bool pinned);
    // Stops its answer, forgets its KV blocks. Can be undone while the window is open.
    void remove(qint64 chat);
    void undo_remove(qint64 chat);

    // The chat with its messages, once they are there; nullopt before.
    std::optional<ExportedChat> exported(qint64 chat);
    // Puts chats that were read from a file among the others. The newest one's id; 0: none.
    qint64 add_imported(std::vector<ExportedChat> chats);
    // Renders the chat with a template and switches that are being tried; previewed() follows.
    void preview(qint64 chat, const QString& draft, const ChatSettings& settings);

    // Counts the conversation with `draft`; counted() follows.
    // pieces: parts of the draft that are counted by themselves as well.
    void count(qint64 chat, const QString& draft, const QStringList& pieces = {});
    void set_model(const ModelInfo& info) { model_name_ = info.name; }
    // Everything that is not on disk yet is handed to the store. At the end of the program answers that run
    // are stopped first.
    void save_all();
    void shut_down();
    QHash<qint64, QString> titles() const;
    qint64 session_of(qint64 request) const { return sessions_.value(request, 0); }

    static constexpr int autosave_ms = 500;

  signals:
    void chats_ready();
    void answering_changed(qint64 chat, bool answering);
    // Refused before the first token; the message is not part of the chat (text has it, empty after
    // regenerate). turns: what was to be sent.
    void not_sent(qint64 chat, const QString& text, const vitrine::Error& error,
                  const std::vector<vitrine::ui::Turn>& turns);
    void answer_ended(qint64 chat, const vitrine::ui::AnswerFinished& finished);
    void first_text(qint64 chat);
    void counted(qint64 chat, const vitrine::ui::CountAnswer& answer);
    void previewed(qint64 chat, const vitrine::ui::PreviewAnswer& answer);
    void titles_changed();
    void live_changed(const std::vector<qint64>& live);
    void request_started(qint64 request, qint64 chat);
    // An answer was asked for; its text will grow in this message.
    void answer_began(qint64 ticket, qint64 chat, qint64 message);

  private:
    struct Answer {
        qint64 chat = 0;
        ChatModel::Begun begun;
        QString text;  // given back where it is refused
        std::vector<Turn> turns;
        bool any_text = false;
        bool opens_in_thought = false;  // the template has opened a thinking block
        qint64 first_ms = 0;
        qint64 shown_ms = 0;
        int tokens = 0;
    };

    ChatModel* adopt(std::unique_ptr<ChatModel> model);
    void watch(ChatModel* model);
    void ask(ChatModel* model, const ChatModel::Begun& begun, const QString& text);
    void on_text(Ticket ticket, const QString& text, int tokens);
    void on_finished(const AnswerFinished& finished);
    void on_snapshot(const KvSnapshot& snapshot);
    void autosave();

    EngineWorker* worker_;
    StoreThread* store_;
    ChatListModel list_;
    std::map<qint64, Chat> chats_;  // as the store knows them, deleted ones included
    std::map<qint64, std::unique_ptr<ChatModel>> models_;
    std::unordered_map<Ticket, Answer> answers_;
    QHash<qint64, qint64> sessions_;  // engine's request → chat
    std::vector<qint64> live_;
    QTimer autosave_;
    ChatSettings defaults_;
    QString model_name_;
    std::int64_t count_serial_ = 0;
    qint64 count_chat_ = 0;
    std::int64_t preview_serial_ = 0;
    qint64 preview_chat_ = 0;
};

}  // namespace vitrine::ui
