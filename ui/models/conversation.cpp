#include "ui/models/conversation.h"

#include <algorithm>
#include <utility>

#include <QSet>

namespace vitrine::ui {

Conversation::Conversation(std::vector<Message> messages, qint64 active_root) : active_root_(active_root) {
    std::sort(messages.begin(), messages.end(),
              [](const Message& a, const Message& b) { return a.id < b.id; });
    QHash<qint64, std::vector<qint64>> children;
    QHash<qint64, Message> all;
    for (Message& message : messages) {
        children[message.parent].push_back(message.id);
        all.insert(message.id, message);
    }
    // Only what can be reached from the root: orphans and cycles of a damaged store stay outside.
    std::vector<qint64> open{0};
    QSet<qint64> seen{0};
    while (!open.empty()) {
        const qint64 parent = open.back();
        open.pop_back();
        for (const qint64 id : children.value(parent)) {
            if (seen.contains(id)) continue;
            seen.insert(id);
            messages_.insert(id, all.value(id));
            children_[parent].push_back(id);
            open.push_back(id);
        }
    }
    rebuild_path();
}

const Message& Conversation::at(qint64 id) const {
    static const Message none;
    const auto known = messages_.constFind(id);
    return known == messages_.constEnd() ? none : *known;
}

std::vector<Message> Conversation::all() const {
    std::vector<Message> out;
    out.reserve(static_cast<std::size_t>(messages_.size()));
    for (const Message& message : messages_) out.push_back(message);
    std::sort(out.begin(), out.end(), [](const Message& a, const Message& b) { return a.id < b.id; });
    return out;
}

Message& Conversation::edit(qint64 id) { return messages_[id]; }

int Conversation::row_of(qint64 id) const {
    // Looked for from the end: it is nearly always the last one.
    for (std::size_t i = path_.size(); i-- > 0;)
        if (path_[i] == id) return static_cast<int>(i);
    return -1;
}

void Conversation::add(const Message& message) {
    const qint64 id = message.id;
    const qint64 parent = message.parent;
    messages_.insert(id, message);
    children_[parent].push_back(id);
    if (parent == 0) {
        active_root_ = id;
    } else {
        messages_[parent].active_child = id;
    }
    rebuild_path();
}

void Conversation::remove(qint64 id) {
    if (!contains(id) || !children_.value(id).empty()) return;
    const qint64 parent = at(id).parent;
    std::erase(children_[parent], id);
    messages_.remove(id);
    const auto& left = children_[parent];
    const qint64 shown = left.empty() ? 0 : left.back();
    if (parent == 0) {
        active_root_ = shown;
    } else {
        messages_[parent].active_child = shown;
    }
    rebuild_path();
}

const std::vector<qint64>& Conversation::siblings(qint64 id) const {
    static const std::vector<qint64> none;
    const auto known = children_.constFind(at(id).parent);
    return !contains(id) || known == children_.constEnd() ? none : *known;
}

void Conversation::choose(qint64 id) {
    if (!contains(id)) return;
    const qint64 parent = at(id).parent;
    if (parent == 0) {
        active_root_ = id;
    } else {
        messages_[parent].active_child = id;
    }
    rebuild_path();
}

void Conversation::rebuild_path() {
    path_.clear();
    qint64 parent = 0;
    for (;;) {
        const auto children = children_.constFind(parent);
        if (children == children_.constEnd() || children->empty()) break;
        const qint64 wish = parent == 0 ? active_root_ : at(parent).active_child;
        const bool there = std::find(children->begin(), children->end(), wish) != children->end();
        parent = there ? wish : children->back();
        path_.push_back(parent);
    }
}

std::vector<Turn> Conversation::prompt(const ChatSettings& settings, qint64 parent) const {
    std::vector<Turn> turns;
    for (qint64 id = parent; id != 0 && contains(id); id = at(id).parent) {
        const Message& message = at(id);
        if (message.role == Role::User) {
            turns.push_back({QStringLiteral("user"), message.text});
        } else if (!message.text.isEmpty()) {
            turns.push_back({QStringLiteral("assistant"), message.text});
        }
    }
    if (!settings.system.trimmed().isEmpty()) turns.push_back({QStringLiteral("system"), settings.system});
    std::reverse(turns.begin(), turns.end());
    if (settings.system_in_first_turn) turns = system_into_first_turn(std::move(turns));
    if (settings.merge_turns) turns = merge_turns(turns);
    return turns;
}

std::vector<Turn> merge_turns(const std::vector<Turn>& turns) {
    std::vector<Turn> merged;
    for (const Turn& turn : turns) {
        if (!merged.empty() && merged.back().role == turn.role) {
            merged.back().content += QStringLiteral("\n\n") + turn.content;
        } else {
            merged.push_back(turn);
        }
    }
    return merged;
}

bool has_neighbours_of_one_role(const std::vector<Turn>& turns) {
    return std::adjacent_find(turns.begin(), turns.end(),
                              [](const Turn& a, const Turn& b) { return a.role == b.role; }) != turns.end();
}

std::vector<Turn> system_into_first_turn(std::vector<Turn> turns) {
    if (turns.empty() || turns.front().role != QLatin1String("system")) return turns;
    const auto user = std::find_if(turns.begin(), turns.end(),
                                   [](const Turn& t) { return t.role == QLatin1String("user"); });
    if (user == turns.end()) return turns;
    user->content = turns.front().content + QStringLiteral("\n\n") + user->content;
    turns.erase(turns.begin());
    return turns;
}

}  // namespace vitrine::ui
