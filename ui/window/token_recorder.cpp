#include "ui/window/token_recorder.h"

#include "ui/window/chat_controller.h"

namespace vitrine::ui {

TokenRecorder::TokenRecorder(EngineWorker* worker, StoreThread* store, ChatController* chats, QObject* parent)
    : QObject(parent), store_(store), chats_(chats) {
    connect(chats, &ChatController::answer_began, this, [this](qint64 ticket, qint64 chat, qint64 message) {
        Answer& answer = answers_[ticket];
        answer.chat = chat;
        answer.message = message;
        traces_.set_live(message, true);
    });
    connect(worker, &EngineWorker::answer_prompt, this,
            [this](qint64 ticket, const std::shared_ptr<const PromptText>& prompt) {
                const auto known = answers_.find(ticket);
                if (known == answers_.end()) return;
                known->second.vocabulary = prompt->vocabulary;
                known->second.block_size = prompt->block_size;
                sequences_.begin(known->second.chat, *prompt, known->second.message);
            });
    connect(worker, &EngineWorker::answer_tokens, this, &TokenRecorder::on_tokens);
    connect(worker, &EngineWorker::answer_finished, this,
            [this](const AnswerFinished& finished) { on_finished(finished.ticket); });
    connect(&traces_, &TokenTraces::wanted, store_, &StoreThread::load_tokens);
    connect(store_, &StoreThread::tokens_loaded, &traces_, &TokenTraces::loaded);
}

qint32 TokenRecorder::text_length(const Answer& answer) const {
    const ChatModel* model = chats_->chat(answer.chat);
    if (model == nullptr || !model->conversation().contains(answer.message)) return 0;
    return static_cast<qint32>(model->conversation().at(answer.message).text.size());
}

void TokenRecorder::on_tokens(qint64 ticket, const std::vector<AnswerToken>& tokens) {
    const auto known = answers_.find(ticket);
    if (known == answers_.end()) return;
    Answer& answer = known->second;
    qint32 units = 0;
    for (const AnswerToken& t : tokens) units += t.text_units;
    const qint32 before = std::max(0, text_length(answer) - units);
    if (!answer.begun) {
        answer.begun = true;
        TokenTrace* earlier = traces_.edit(answer.message);
        // A continued answer goes on where its trace ends; what came between belongs to nobody.
        if (earlier == nullptr || earlier->size() == 0 || before == 0)
            traces_.begin(answer.message, {answer.vocabulary, answer.block_size, -1, before});
        else
            earlier->extend_to(before);
    }
    if (TokenTrace* trace = traces_.edit(answer.message)) {
        trace->append(tokens);
        traces_.announce(answer.message);
    }
    sequences_.append(answer.chat, answer.message, tokens, before);
}

void TokenRecorder::on_finished(qint64 ticket) {
    const auto known = answers_.find(ticket);
    if (known == answers_.end()) return;
    const Answer answer = known->second;
    answers_.erase(known);
    traces_.set_live(answer.message, false);
    TokenTrace* trace = traces_.edit(answer.message);
    if (trace == nullptr || trace->size() == 0) return;
    if (const qint32 length = text_length(answer); length > 0) trace->extend_to(length);
    store_->save_tokens(answer.message, std::make_shared<const TokenTrace>(*trace));
    traces_.announce(answer.message);
}

std::vector<PathText> TokenRecorder::path_of(qint64 chat) const {
    std::vector<PathText> path;
    if (const ChatModel* model = chats_->chat(chat))
        for (int row = 0; row < model->rowCount(); ++row)
            path.push_back({model->message(row).id, &model->message(row).text});
    return path;
}

}  // namespace vitrine::ui
