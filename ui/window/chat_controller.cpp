#include "ui/window/chat_controller.h"

#include <algorithm>
#include <string_view>

#include <QRandomGenerator>

namespace vitrine::ui {
namespace {

std::vector<ChatMessage> to_messages(const std::vector<Turn>& turns) {
    std::vector<ChatMessage> out;
    out.reserve(turns.size());
    for (const Turn& turn : turns) out.push_back({turn.role.toStdString(), turn.content.toStdString()});
    return out;
}

SamplingParams to_sampling(const ChatSettings& s) {
    SamplingParams p;
    p.temperature = static_cast<float>(s.temperature);
    p.top_k = s.top_k;
    p.top_p = static_cast<float>(s.top_p);
    p.min_p = static_cast<float>(s.min_p);
    p.repetition_penalty = static_cast<float>(s.repetition_penalty);
    p.seed = s.random_seed ? QRandomGenerator::global()->generate64() : s.seed;
    return p;
}

PromptWish to_wish(const ChatSettings& s) {
    PromptWish wish;
    wish.own_template = s.own_template.toStdString();
    for (auto it = s.switches.begin(); it != s.switches.end(); ++it)
        wish.switches.emplace_back(it.key().toStdString(), it.value());
    wish.context = s.context;
    wish.max_tokens = s.max_tokens;
    wish.cut_oldest = s.cut_oldest;
    return wish;
}

// What is to be kept of an answer that goes on: the figures of its first part count on.
MessageStats stats_of(const AnswerFinished& finished, const ChatModel::Begun& begun, int tokens_shown) {
    const RequestStats& s = finished.stats;
    MessageStats stats;
    stats.prompt_tokens = s.prompt_tokens;
    stats.cached_tokens = s.cached_tokens;
    stats.tokens = std::max(tokens_shown, begun.stats.tokens + s.generated_tokens);
    stats.tok_s = s.decode_tok_s();
    stats.ttft = begun.resumed && begun.stats.ttft > 0 ? begun.stats.ttft : s.ttft_seconds;
    stats.finish = QString::fromLatin1(name_of(finished.reason));
    return stats;
}

// A prompt that ends with the opening of a thinking block: templates of some models write it themselves.
bool opens_thought(std::string_view prompt) {
    while (!prompt.empty() && (prompt.back() == '\n' || prompt.back() == ' ')) prompt.remove_suffix(1);
    return prompt.ends_with("<think>");
}

}  // namespace

ChatController::ChatController(EngineWorker* worker, StoreThread* store, QObject* parent)
    : QObject(parent), worker_(worker), store_(store) {
    connect(worker_, &EngineWorker::answer_started, this, [this](qint64, qint64 request, qint64 session) {
        sessions_.insert(request, session);
        emit request_started(request, session);
    });
    connect(worker_, &EngineWorker::turns_left_out, this, [this](qint64 ticket, const LeftOutTurns& turns) {
        const auto known = answers_.find(ticket);
        if (known == answers_.end()) return;
        const auto model = models_.find(known->second.chat);
        if (model != models_.end())
            model->second->set_left_out(known->second.begun.answer,
                                        {turns.turns, turns.messages, turns.tokens});
    });
    connect(worker_, &EngineWorker::template_previewed, this, [this](const PreviewAnswer& answer) {
        if (answer.serial == preview_serial_) emit previewed(preview_chat_, answer);
    });
    connect(worker_, &EngineWorker::answer_prompt, this,
            [this](qint64 ticket, const std::shared_ptr<const PromptText>& prompt) {
                if (const auto known = answers_.find(ticket); known != answers_.end())
                    known->second.opens_in_thought = opens_thought(prompt->bytes);
            });
    connect(worker_, &EngineWorker::answer_text, this, &ChatController::on_text);
    connect(worker_, &EngineWorker::answer_finished, this, &ChatController::on_finished);
    connect(worker_, &EngineWorker::snapshot, this,
            [this](const std::shared_ptr<const KvSnapshot>& snapshot) { on_snapshot(*snapshot); });
    connect(worker_, &EngineWorker::tokens_counted, this, [this](const CountAnswer& answer) {
        if (answer.serial == count_serial_) emit counted(count_chat_, answer);
    });
    connect(store_, &StoreThread::opened, this, [this](const std::vector<Chat>& chats) {
        for (const Chat& chat : chats)
            if (!chats_.count(chat.id)) chats_.emplace(chat.id, chat);
        std::vector<Chat> all;
        for (const auto& [id, chat] : chats_)
            if (!models_.count(id) || !models_[id]->conversation().path().empty()) all.push_back(chat);
        list_.set_chats(std::move(all));
        emit titles_changed();
        emit chats_ready();
    });
    connect(store_, &StoreThread::messages_loaded, this,
            [this](qint64 id, const std::vector<Message>& messages) {
                const auto known = models_.find(id);
                if (known != models_.end() && !known->second->loaded()) known->second->set_messages(messages);
            });
    connect(&autosave_, &QTimer::timeout, this, &ChatController::autosave);
}

ChatController::~ChatController() = default;

ChatModel* ChatController::chat(qint64 id) {
    if (const auto known = models_.find(id); known != models_.end()) return known->second.get();
    const auto stored = chats_.find(id);
    if (stored == chats_.end() || stored->second.deleted != 0) return nullptr;
    ChatModel* model = adopt(std::make_unique<ChatModel>(stored->second));
    store_->load_messages(id);
    return model;
}

ChatModel* ChatController::adopt(std::unique_ptr<ChatModel> model) {
    ChatModel* raw = model.get();
    models_[raw->chat().id] = std::move(model);
    watch(raw);
    return raw;
}

void ChatController::watch(ChatModel* model) {
    connect(model, &ChatModel::message_changed, this, [this](const Message& m) { store_->save(m); });
    connect(model, &ChatModel::message_removed, this, [this](qint64 id) { store_->remove_message(id); });
    connect(model, &ChatModel::chat_changed, this, [this, model](const Chat& changed) {
        const auto known = chats_.find(changed.id);
        const bool empty = model->conversation().path().empty();
        if (known == chats_.end() && empty && changed.draft.isEmpty()) return;  // nothing worth keeping yet
        const bool title_changed = known == chats_.end() || known->second.title != changed.title;
        Chat chat = changed;
        // An answer that ends after its chat was deleted does not bring it back.
        if (known != chats_.end()) chat.deleted = known->second.deleted;
        chats_[chat.id] = chat;
        store_->save(chat);
        if (chat.deleted != 0) return;
        list_.put(chat);
        if (title_changed) emit titles_changed();
    });
}

qint64 ChatController::new_chat() {
    Chat chat;
    chat.id = new_id();
    chat.created = chat.updated = now_ms();
    chat.settings = defaults_;
    auto model = std::make_unique<ChatModel>(chat);
    model->set_messages({});
    adopt(std::move(model));
    emit titles_changed();
    return chat.id;
}

bool ChatController::answering(qint64 chat) const {
    return std::any_of(answers_.begin(), answers_.end(),
                       [chat](const auto& a) { return a.second.chat == chat; });
}

void ChatController::send(qint64 id, const QString& text) {
    ChatModel* model = chat(id);
    if (model == nullptr || !model->loaded() || answering(id)) return;
    ask(model, model->add_turn(text, model_name_), text);
}

void ChatController::regenerate(qint64 id, qint64 answer) {
    ChatModel* model = chat(id);
    if (model == nullptr || answering(id)) return;
    const ChatModel::Begun begun = model->regenerate(answer, model_name_);
    if (begun.answer != 0) ask(model, begun, {});
}

void ChatController::edit(qint64 id, qint64 user, const QString& text) {
    ChatModel* model = chat(id);
    if (model == nullptr || answering(id)) return;
    const ChatModel::Begun begun = model->edit(user, text, model_name_);
    if (begun.answer != 0) ask(model, begun, text);
}

void ChatController::resume(qint64 id, qint64 answer) {
    ChatModel* model = chat(id);
    if (model == nullptr || answering(id)) return;
    const ChatModel::Begun begun = model->resume(answer);
    if (begun.answer != 0) ask(model, begun, {});
}

qint64 ChatController::branch(qint64 id, qint64 answer, const QString& beginning) {
    ChatModel* model = chat(id);
    if (model == nullptr || answering(id)) return 0;
    const ChatModel::Begun begun = model->branch(answer, beginning, model_name_);
    if (begun.answer != 0) ask(model, begun, {});
    return begun.answer;
}

void ChatController::ask(ChatModel* model, const ChatModel::Begun& begun, const QString& text) {
    const ChatSettings& settings = model->chat().settings;
    Answer answer;
    answer.chat = model->chat().id;
    answer.begun = begun;
    answer.text = text;
    answer.turns = model->prompt_for(begun.answer);
    ChatRequest request;
    request.session = answer.chat;
    request.messages = to_messages(answer.turns);
    request.sampling = to_sampling(settings);
    request.wish = to_wish(settings);
    // Empty for an answer that begins.
    request.answer_so_far = model->conversation().at(begun.answer).text.toStdString();
    const qint64 id = answer.chat;
    const qint64 message = begun.answer;
    const Ticket ticket = worker_->submit(std::move(request));
    answers_.emplace(ticket, std::move(answer));
    emit answer_began(ticket, id, message);
    if (!autosave_.isActive()) autosave_.start(autosave_ms);
    list_.set_busy(id, true);
    emit answering_changed(id, true);
}

void ChatController::on_text(Ticket ticket, const QString& text, int tokens) {
    const auto known = answers_.find(ticket);
    if (known == answers_.end()) return;
    Answer& answer = known->second;
    const auto model = models_.find(answer.chat);
    if (model == models_.end()) return;
    const qint64 now = now_ms();
    if (answer.first_ms == 0) answer.first_ms = now;
    answer.tokens += tokens;
    // The message has the mark that the template has written, so that it reads the same without the prompt.
    const bool opens = answer.opens_in_thought && !answer.any_text && !text.isEmpty() &&
                       model->second->conversation().at(answer.begun.answer).text.isEmpty();
    model->second->append(answer.begun.answer, opens ? QStringLiteral("<think>\n") + text : text, tokens);
    // Four times a second, and only once there is something to divide by.
    if (now - answer.shown_ms >= 250 && now - answer.first_ms >= 400) {
        answer.shown_ms = now;
        model->second->set_speed(answer.begun.answer,
                                 (answer.tokens - 1) * 1000.0 / static_cast<double>(now - answer.first_ms));
    }
    if (!answer.any_text && !text.isEmpty()) {
        answer.any_text = true;
        emit first_text(answer.chat);
    }
}

void ChatController::on_finished(const AnswerFinished& finished) {
    const auto known = answers_.find(finished.ticket);
    if (known == answers_.end()) return;
    const Answer answer = std::move(known->second);
    answers_.erase(known);
    if (answers_.empty()) autosave_.stop();
    list_.set_busy(answer.chat, false);
    // What a deleted chat's last iterations have put into the cache goes as well.
    if (const auto stored = chats_.find(answer.chat); stored != chats_.end() && stored->second.deleted != 0)
        worker_->release_session(answer.chat, true);
    const auto found = models_.find(answer.chat);
    if (found != models_.end()) {
        ChatModel* model = found->second.get();
        const bool cancelled = finished.reason == FinishReason::Cancelled;
        if (!finished.started && !cancelled) {
            model->withdraw(answer.begun);
            emit answering_changed(answer.chat, false);
            emit not_sent(answer.chat, answer.text, finished.error.value_or(Error{}), answer.turns);
            emit answer_ended(answer.chat, finished);
            return;
        }
        const MessageStats stats =
            stats_of(finished, answer.begun, model->conversation().at(answer.begun.answer).stats.tokens);
        const MessageState state = cancelled                                 ? MessageState::Stopped
                                   : finished.reason == FinishReason::Failed ? MessageState::Failed
                                                                             : MessageState::Complete;
        model->finish(answer.begun.answer, state, stats,
                      finished.error ? QString::fromStdString(finished.error->message) : QString());
    }
    emit answering_changed(answer.chat, false);
    emit answer_ended(answer.chat, finished);
}

void ChatController::stop(qint64 chat) {
    for (const auto& [ticket, answer] : answers_)
        if (answer.chat == chat) worker_->cancel(ticket);
}

void ChatController::rename(qint64 id, const QString& title) {
    ChatModel* model = chat(id);
    if (model == nullptr || title.trimmed().isEmpty()) return;
    model->set_title(title.trimmed().left(200));
}

void ChatController::set_pinned(qint64 id, bool pinned) {
    if (ChatModel* model = chat(id)) model->set_pinned(pinned);
}

void ChatController::remove(qint64 id) {
    stop(id);
    worker_->release_session(id, true);
    const auto stored = chats_.find(id);
    if (stored == chats_.end()) return;
    stored->second.deleted = now_ms();
    store_->save(stored->second);
    list_.remove(id);
    emit titles_changed();
}

void ChatController::undo_remove(qint64 id) {
    const auto stored = chats_.find(id);
    if (stored == chats_.end() || stored->second.deleted == 0) return;
    stored->second.deleted = 0;
    store_->save(stored->second);
    list_.put(stored->second);
    emit titles_changed();
}

std::optional<ExportedChat> ChatController::exported(qint64 id) {
    const ChatModel* model = chat(id);
    if (model == nullptr || !model->loaded()) return std::nullopt;
    return ExportedChat{model->chat(), model->conversation().all()};
}

qint64 ChatController::add_imported(std::vector<ExportedChat> chats) {
    qint64 newest = 0;
    for (ExportedChat& imported : chats) {
        const Chat& chat = imported.chat;
        chats_[chat.id] = chat;
        store_->save(chat);
        for (const Message& message : imported.messages) store_->save(message);
        list_.put(chat);
        newest = chat.id;
        auto model = std::make_unique<ChatModel>(chat);
        model->set_messages(std::move(imported.messages));
        adopt(std::move(model));
    }
    if (newest != 0) emit titles_changed();
    return newest;
}

void ChatController::preview(qint64 id, const QString& draft, const ChatSettings& settings) {
    const ChatModel* model = chat(id);
    if (model == nullptr) return;
    PreviewQuestion question;
    question.serial = ++preview_serial_;
    question.messages = to_messages(model->prompt_with_draft(draft));
    question.wish = to_wish(settings);
    preview_chat_ = id;
    worker_->preview_template(std::move(question));
}

void ChatController::count(qint64 id, const QString& draft, const QStringList& pieces) {
    ChatModel* model = chat(id);
    if (model == nullptr) return;
    CountQuestion question;
    question.wish = to_wish(model->chat().settings);
    question.system = model->chat().settings.system.trimmed().isEmpty()
                          ? std::string()
                          : model->chat().settings.system.toStdString();
    for (const QString& piece : pieces) question.pieces.push_back(piece.toStdString());
    question.serial = ++count_serial_;
    const auto turns = model->prompt_with_draft(draft);
    // A conversation without a turn is nothing a template has to accept.
    const bool any = std::any_of(turns.begin(), turns.end(),
                                 [](const Turn& t) { return t.role != QLatin1String("system"); });
    if (any) question.messages = to_messages(turns);
    question.draft = draft.toStdString();
    count_chat_ = id;
    worker_->count_tokens(std::move(question));
}

void ChatController::on_snapshot(const KvSnapshot& snapshot) {
    std::vector<qint64> live;
    for (const SequenceView& s : snapshot.sequences)
        if (s.session != 0 && !s.blocks.empty() &&
            std::find(live.begin(), live.end(), s.session) == live.end())
            live.push_back(s.session);
    std::sort(live.begin(), live.end());
    if (live == live_) return;
    live_ = live;
    list_.set_live(live);
    emit live_changed(live);
}

void ChatController::autosave() {
    for (const auto& [ticket, answer] : answers_) {
        const auto model = models_.find(answer.chat);
        if (model != models_.end() && model->second->conversation().contains(answer.begun.answer))
            store_->save(model->second->conversation().at(answer.begun.answer));
    }
}

void ChatController::save_all() { autosave(); }

void ChatController::shut_down() {
    for (const auto& [ticket, answer] : answers_) {
        worker_->cancel(ticket);
        const auto model = models_.find(answer.chat);
        if (model == models_.end()) continue;
        // The end of the program is a stop, not a crash.
        Message m = model->second->conversation().at(answer.begun.answer);
        m.state = MessageState::Stopped;
        m.stats.finish = QStringLiteral("cancelled");
        store_->save(m);
    }
    answers_.clear();
    autosave_.stop();
}

QHash<qint64, QString> ChatController::titles() const {
    QHash<qint64, QString> all;
    for (const auto& [id, chat] : chats_)
        if (chat.deleted == 0) all.insert(id, ChatListModel::shown_title(chat));
    for (const auto& [id, model] : models_)
        if (!chats_.count(id)) all.insert(id, ChatListModel::shown_title(model->chat()));
    return all;
}

}  // namespace vitrine::ui
