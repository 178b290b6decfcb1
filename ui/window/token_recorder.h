// Hears the tokens of the answers and keeps what is known of them: for the inspector and the colours of the
// chat (TokenTraces, stored with each message) and for the text of KV blocks (SequenceTexts).
#pragma once

#include <unordered_map>

#include <QObject>

#include "ui/models/sequence_texts.h"
#include "ui/models/token_traces.h"

namespace vitrine::ui {

class ChatController;
class EngineWorker;
class StoreThread;

class TokenRecorder : public QObject {
    Q_OBJECT

  public:
    // All outlive the recorder. Made after the controller: a message has its text before its tokens come.
    TokenRecorder(EngineWorker* worker, StoreThread* store, ChatController* chats, QObject* parent = nullptr);

    TokenTraces* traces() { return &traces_; }
    const SequenceTexts& sequences() const { return sequences_; }
    // The messages of a chat as they are shown.
    std::vector<PathText> path_of(qint64 chat) const;

  private:
    struct Answer {
        qint64 chat = 0;
        qint64 message = 0;
        qint32 vocabulary = 0;
        qint32 block_size = 0;
        bool begun = false;
    };
    void on_tokens(qint64 ticket, const std::vector<AnswerToken>& tokens);
    void on_finished(qint64 ticket);
    qint32 text_length(const Answer& answer) const;

    StoreThread* store_;
    ChatController* chats_;
    TokenTraces traces_;
    SequenceTexts sequences_;
    std::unordered_map<qint64, Answer> answers_;  // by ticket
};

}  // namespace vitrine::ui
