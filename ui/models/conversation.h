// The tree of messages of one chat and the path through it that is shown.
#pragma once

#include <algorithm>
#include <vector>

#include <QHash>

#include "ui/models/message.h"

namespace vitrine::ui {

class Conversation {
  public:
    Conversation() = default;
    // Messages in any order. A message whose parent is missing, or that is its own ancestor, is left out.
    explicit Conversation(std::vector<Message> messages, qint64 active_root = 0);

    const std::vector<qint64>& path() const { return path_; }
    bool contains(qint64 id) const { return messages_.contains(id); }
    // Only for ids that it contains.
    const Message& at(qint64 id) const;
    // All of the tree, in the order in which they were made.
    std::vector<Message> all() const;
    Message& edit(qint64 id);
    int row_of(qint64 id) const;  // −1: not on the path
    qint64 leaf() const { return path_.empty() ? 0 : path_.back(); }
    qint64 active_root() const { return active_root_; }

    // Becomes the shown child of its parent.
    void add(const Message& message);
    // Only messages without children; the newest sibling is shown then.
    void remove(qint64 id);
    // The messages with the same parent, oldest first.
    const std::vector<qint64>& siblings(qint64 id) const;
    // The shown child of its parent becomes `id`. Parents change with it: `id` must be a sibling on the path.
    void choose(qint64 id);
    // Shows only the first `rows` messages, until the next change.
    void truncate_path(std::size_t rows) { path_.resize(std::min(rows, path_.size())); }

    // What the template gets for an answer under `parent` (0: an empty history): the system prompt, then the
    // turns down to parent. An answer without text never enters, whatever ended it.
    std::vector<Turn> prompt(const ChatSettings& settings, qint64 parent) const;

  private:
    void rebuild_path();
    QHash<qint64, Message> messages_;
    QHash<qint64, std::vector<qint64>> children_;  // by parent, oldest first
    std::vector<qint64> path_;
    qint64 active_root_ = 0;
};

// Neighbours of the same role joined by an empty line.
std::vector<Turn> merge_turns(const std::vector<Turn>& turns);
bool has_neighbours_of_one_role(const std::vector<Turn>& turns);
// The system prompt moved into the first turn of the user.
std::vector<Turn> system_into_first_turn(std::vector<Turn> turns);

}  // namespace vitrine::ui
