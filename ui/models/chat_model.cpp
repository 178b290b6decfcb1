#include "ui/models/chat_model.h"

#include <algorithm>
#include <utility>

#include "ui/models/figures.h"

namespace vitrine::ui {

QStringList stats_parts(const Message& message) {
    QStringList parts;
    const MessageStats& s = message.stats;
    if (message.role != Role::Assistant) return parts;
    if (s.tokens > 0)
        parts << (s.tokens == 1 ? ChatModel::tr("1 token")
                                : ChatModel::tr("%1 tokens").arg(count_text(s.tokens)));
    if (s.tok_s > 0) parts << ChatModel::tr("%1 tok/s").arg(figure_text(s.tok_s));
    if (s.ttft > 0) parts << ChatModel::tr("TTFT %1").arg(duration_text(s.ttft));
    if (s.prompt_tokens > 0)
        parts << ChatModel::tr("%1 prompt tokens from cache, %2 computed")
                     .arg(count_text(s.cached_tokens), count_text(s.prompt_tokens - s.cached_tokens));
    if (message.left_out.any())
        parts << (message.left_out.messages == 1
                      ? ChatModel::tr("without the oldest message")
                      : ChatModel::tr("without the oldest %1 messages").arg(message.left_out.messages));
    switch (message.state) {
        case MessageState::Streaming: break;
        case MessageState::Stopped: parts << ChatModel::tr("stopped"); break;
        case MessageState::Interrupted:
            parts << ChatModel::tr("interrupted: the program ended while this was written");
            break;
        case MessageState::Failed: break;  // the error has a place of its own
        case MessageState::Complete:
            if (s.finish == QLatin1String("length"))
                parts << ChatModel::tr("length limit");
            else if (s.finish == QLatin1String("context"))
                parts << ChatModel::tr("context full");
            else if (s.finish == QLatin1String("stop"))
                parts << ChatModel::tr("end of turn");
            break;
    }
    return parts;
}

ChatModel::ChatModel(Chat chat, QObject* parent) : QAbstractListModel(parent), chat_(std::move(chat)) {}

void ChatModel::set_settings(const ChatSettings& settings) {
    if (chat_.settings == settings) return;
    chat_.settings = settings;
    emit chat_changed(chat_);
}

void ChatModel::set_draft(const QString& draft) {
    if (chat_.draft == draft) return;
    chat_.draft = draft;
    emit chat_changed(chat_);
}

void ChatModel::set_title(const QString& title) {
    chat_.title = title;
    chat_.own_title = true;
    emit chat_changed(chat_);
}

void ChatModel::set_pinned(bool pinned) {
    if (chat_.pinned == pinned) return;
    chat_.pinned = pinned;
    emit chat_changed(chat_);
}

void ChatModel::set_messages(std::vector<Message> messages) {
    beginResetModel();
    conversation_ = Conversation(std::move(messages), chat_.active_root);
    loaded_ = true;
    unseen_ = 0;
    endResetModel();
    update_unseen();
}

int ChatModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(conversation_.path().size());
}

const Message& ChatModel::message(int row) const {
    const auto& path = conversation_.path();
    return conversation_.at(
        row >= 0 && row < static_cast<int>(path.size()) ? path[static_cast<std::size_t>(row)] : 0);
}

QVariant ChatModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const Message& m = message(index.row());
    switch (role) {
        case Qt::DisplayRole:
        case TextRole: return m.text;
        case Qt::AccessibleTextRole:
            return (m.role == Role::User ? tr("You: %1") : tr("Answer: %1")).arg(m.text);
        case RoleRole: return m.role == Role::User ? QStringLiteral("user") : QStringLiteral("assistant");
        case StateRole: return static_cast<int>(m.state);
        case IdRole: return m.id;
        case ErrorRole: return m.error;
        case StatsRole: return stats_parts(m).join(QStringLiteral(" · "));
        case BranchRole: {
            const auto& all = conversation_.siblings(m.id);
            if (all.size() < 2) return QString();
            const auto at = std::find(all.begin(), all.end(), m.id) - all.begin();
            return QStringLiteral("%1 / %2").arg(at + 1).arg(all.size());
        }
        case UnseenRole: return index.row() < unseen_;
        default: return {};
    }
}

void ChatModel::update_unseen() {
    int unseen = 0;
    const auto& path = conversation_.path();
    for (std::size_t i = path.size(); i-- > 0;) {
        const Message& m = conversation_.at(path[i]);
        if (m.role != Role::Assistant) continue;
        unseen = std::min(m.left_out.messages, static_cast<int>(i));
        break;
    }
    if (unseen == unseen_) return;
    const int last = std::min(std::max(unseen, unseen_), rowCount()) - 1;
    unseen_ = unseen;
    if (last >= 0) emit dataChanged(index(0), index(last), {UnseenRole});
}

void ChatModel::set_left_out(qint64 answer, const LeftOut& left_out) {
    if (!conversation_.contains(answer) || conversation_.at(answer).left_out == left_out) return;
    conversation_.edit(answer).left_out = left_out;
    const int row = row_of(answer);
    if (row >= 0) emit dataChanged(index(row), index(row), {StatsRole});
    update_unseen();
}

QHash<int, QByteArray> ChatModel::roleNames() const {
    return {{TextRole, "text"},   {RoleRole, "role"},   {StateRole, "state"},   {IdRole, "id"},
            {ErrorRole, "error"}, {StatsRole, "stats"}, {BranchRole, "branch"}, {UnseenRole, "unseen"}};
}

template <class Change>
void ChatModel::reshape(Change&& change) {
    // The tree is changed on the side: the rows that two paths have in common stay as they are.
    Conversation next = conversation_;
    change(next);
    const std::vector<qint64> before = conversation_.path();
    const std::vector<qint64>& after = next.path();
    std::size_t same = 0;
    while (same < before.size() && same < after.size() && before[same] == after[same]) ++same;
    const auto first = static_cast<int>(same);
    if (same < before.size()) {
        beginRemoveRows({}, first, static_cast<int>(before.size()) - 1);
        // An intermediate state in which only the common rows are shown.
        conversation_.truncate_path(same);
        endRemoveRows();
    }
    if (same < after.size()) {
        beginInsertRows({}, first, static_cast<int>(after.size()) - 1);
        conversation_ = std::move(next);
        endInsertRows();
    } else {
        conversation_ = std::move(next);
    }
    // Branch counters of the rows that stay may have changed.
    if (same > 0) emit dataChanged(index(0), index(first - 1), {BranchRole});
    update_unseen();
}

void ChatModel::insert(Message message) {
    reshape([&](Conversation& c) { c.add(message); });
    store_parent_of(message.id);
    emit message_changed(message);
}

void ChatModel::store_parent_of(qint64 id) {
    const qint64 parent = conversation_.at(id).parent;
    if (parent != 0) emit message_changed(conversation_.at(parent));
    if (chat_.active_root != conversation_.active_root()) chat_.active_root = conversation_.active_root();
}

void ChatModel::touch() {
    chat_.updated = now_ms();
    emit chat_changed(chat_);
}

namespace {

Message make_message(qint64 chat, qint64 parent, Role role, const QString& text, const QString& model = {}) {
    Message m;
    m.id = new_id();
    m.chat = chat;
    m.parent = parent;
    m.role = role;
    m.text = text;
    m.model = model;
    m.created = now_ms();
    m.state = role == Role::Assistant ? MessageState::Streaming : MessageState::Complete;
    return m;
}

}  // namespace

ChatModel::Begun ChatModel::add_turn(const QString& text, const QString& model) {
    loaded_ = true;
    Message user = make_message(chat_.id, conversation_.leaf(), Role::User, text);
    Message answer = make_message(chat_.id, user.id, Role::Assistant, {}, model);
    if (chat_.title.isEmpty()) chat_.title = title_from(text);
    chat_.draft.clear();
    const Begun begun{user.id, answer.id};
    ++streaming_;
    insert(std::move(user));
    insert(std::move(answer));
    touch();
    return begun;
}

ChatModel::Begun ChatModel::regenerate(qint64 answer, const QString& model) {
    if (!conversation_.contains(answer) || conversation_.at(answer).role != Role::Assistant) return {};
    Message again = make_message(chat_.id, conversation_.at(answer).parent, Role::Assistant, {}, model);
    const Begun begun{0, again.id};
    ++streaming_;
    insert(std::move(again));
    touch();
    return begun;
}

ChatModel::Begun ChatModel::branch(qint64 answer, const QString& beginning, const QString& model) {
    if (!conversation_.contains(answer) || conversation_.at(answer).role != Role::Assistant) return {};
    Message again =
        make_message(chat_.id, conversation_.at(answer).parent, Role::Assistant, beginning, model);
    Begun begun;
    begun.answer = again.id;
    ++streaming_;
    insert(std::move(again));
    touch();
    return begun;
}

bool ChatModel::can_continue(qint64 answer) const {
    if (answer == 0 || conversation_.leaf() != answer) return false;
    const Message& m = conversation_.at(answer);
    return m.role == Role::Assistant && m.state != MessageState::Streaming && !m.text.isEmpty() &&
           m.stats.finish != QLatin1String("stop");
}

ChatModel::Begun ChatModel::resume(qint64 answer) {
    if (!can_continue(answer)) return {};
    Message& m = conversation_.edit(answer);
    Begun begun{0, answer, true, m.state, m.stats, m.error};
    m.state = MessageState::Streaming;
    m.error.clear();
    ++streaming_;
    const int row = row_of(answer);
    emit dataChanged(index(row), index(row));
    emit message_changed(m);
    touch();
    return begun;
}

ChatModel::Begun ChatModel::edit(qint64 user, const QString& text, const QString& model) {
    if (!conversation_.contains(user) || conversation_.at(user).role != Role::User) return {};
    Message changed = make_message(chat_.id, conversation_.at(user).parent, Role::User, text);
    Message answer = make_message(chat_.id, changed.id, Role::Assistant, {}, model);
    const Begun begun{changed.id, answer.id};
    ++streaming_;
    insert(std::move(changed));
    insert(std::move(answer));
    touch();
    return begun;
}

void ChatModel::append(qint64 answer, const QString& text, int tokens) {
    if (!conversation_.contains(answer)) return;
    Message& m = conversation_.edit(answer);
    m.text += text;
    m.stats.tokens += tokens;
    const int row = row_of(answer);
    if (row >= 0) emit dataChanged(index(row), index(row), {Qt::DisplayRole, TextRole, StatsRole});
}

void ChatModel::set_speed(qint64 answer, double tok_s) {
    if (!conversation_.contains(answer)) return;
    conversation_.edit(answer).stats.tok_s = tok_s;
    const int row = row_of(answer);
    if (row >= 0) emit dataChanged(index(row), index(row), {StatsRole});
}

void ChatModel::finish(qint64 answer, MessageState state, const MessageStats& stats, const QString& error) {
    if (!conversation_.contains(answer)) return;
    Message& m = conversation_.edit(answer);
    if (m.state == MessageState::Streaming) streaming_ = std::max(0, streaming_ - 1);
    m.state = state;
    m.stats = stats;
    m.error = error;
    const int row = row_of(answer);
    if (row >= 0) emit dataChanged(index(row), index(row));
    emit message_changed(m);
    touch();
}

void ChatModel::withdraw(const Begun& begun) {
    if (begun.resumed) return finish(begun.answer, begun.state, begun.stats, begun.error);
    for (const qint64 id : {begun.answer, begun.user}) {
        if (id == 0 || !conversation_.contains(id)) continue;
        if (conversation_.at(id).state == MessageState::Streaming) streaming_ = std::max(0, streaming_ - 1);
        const qint64 parent = conversation_.at(id).parent;
        reshape([&](Conversation& c) { c.remove(id); });
        emit message_removed(id);
        if (parent != 0 && conversation_.contains(parent) && parent != begun.user)
            emit message_changed(conversation_.at(parent));
    }
    chat_.active_root = conversation_.active_root();
    if (conversation_.path().empty() && !chat_.own_title) chat_.title.clear();
    touch();
}

bool ChatModel::choose_sibling(qint64 id, int by) {
    const auto all = conversation_.siblings(id);
    const auto here = std::find(all.begin(), all.end(), id);
    if (here == all.end()) return false;
    const auto target = (here - all.begin()) + by;
    if (target < 0 || target >= static_cast<std::ptrdiff_t>(all.size())) return false;
    const qint64 chosen = all[static_cast<std::size_t>(target)];
    reshape([&](Conversation& c) { c.choose(chosen); });
    store_parent_of(chosen);
    emit chat_changed(chat_);
    return true;
}

std::vector<Turn> ChatModel::prompt_for(qint64 answer) const {
    return conversation_.prompt(chat_.settings, conversation_.at(answer).parent);
}

std::vector<Turn> ChatModel::prompt_with_draft(const QString& draft) const {
    if (draft.trimmed().isEmpty()) return conversation_.prompt(chat_.settings, conversation_.leaf());
    // The draft takes the same way as a message would, the joining of neighbours included.
    ChatSettings plain = chat_.settings;
    plain.merge_turns = plain.system_in_first_turn = false;
    std::vector<Turn> turns = conversation_.prompt(plain, conversation_.leaf());
    turns.push_back({QStringLiteral("user"), draft});
    if (chat_.settings.system_in_first_turn) turns = system_into_first_turn(std::move(turns));
    if (chat_.settings.merge_turns) turns = merge_turns(turns);
    return turns;
}

}  // namespace vitrine::ui
