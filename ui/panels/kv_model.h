// A snapshot of the KV pool, turned round for showing: whose is each block and at which place, what are the
// figures. No widgets, no colours.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <QHash>
#include <QSet>
#include <QString>

#include "core/engine/snapshot.h"

namespace vitrine::ui {

// Who a sequence belongs to on screen: its session, or a negative key of its own where it has none.
using SequenceKey = qint64;
constexpr SequenceKey no_sequence = std::numeric_limits<qint64>::min();
constexpr SequenceKey key_of(std::int64_t session, std::int64_t request) {
    return session != 0 ? session : -1 - request;
}

struct KvBlock {
    BlockState state = BlockState::Free;
    std::int32_t references = 0;
    std::int32_t fill = 0;            // tokens in it
    SequenceKey owner = no_sequence;  // one of its owners, or the last one of a cached-free block where known
    std::int32_t logical = -1;        // place in the owner's table, −1: not in any
    bool written = false;             // a running sequence is writing it

    // Whether something happened to the block that is worth a flash; being filled further is not.
    bool same_holder(const KvBlock& other) const {
        return state == other.state && references == other.references && owner == other.owner;
    }
    bool operator==(const KvBlock&) const = default;
};

struct KvFigures {
    std::int32_t used = 0;
    std::int32_t cached_free = 0;
    std::int32_t shared = 0;
    std::int32_t sequences = 0;  // that hold blocks
    double wasted = 0;           // share of the places in used blocks that are empty; NaN: nothing is used
    double times_less = 0;       // blocks of one full context a sequence / used blocks; NaN: nothing is used
};

class KvModel {
  public:
    // Takes the snapshot (null: none) and indexes it: O(blocks + entries of all tables).
    void set(std::shared_ptr<const KvSnapshot> snapshot);

    // Whose a request is, for blocks that it left in the cache before any snapshot showed it. Bounded:
    // requests that own nothing are forgotten.
    void remember(std::int64_t request, SequenceKey key) { key_of_request_.insert(request, key); }
    // no_sequence: not known (any more).
    SequenceKey key_of_request(std::int64_t request) const {
        return key_of_request_.value(request, no_sequence);
    }

    const std::shared_ptr<const KvSnapshot>& snapshot() const { return snapshot_; }
    bool empty() const { return !snapshot_ || snapshot_->blocks.empty(); }
    std::int32_t block_count() const { return static_cast<std::int32_t>(blocks_.size()); }
    const KvBlock& block(std::int32_t id) const { return blocks_[static_cast<std::size_t>(id)]; }
    const std::vector<KvBlock>& blocks() const { return blocks_; }
    const KvFigures& figures() const { return figures_; }
    // Sequences that hold blocks now, in the snapshot's order.
    const std::vector<SequenceKey>& live() const { return live_; }

    // The sequence of this session with a block table: the running one first, then the newest. Null: none.
    const SequenceView* sequence_of(SequenceKey key) const;

    // Every place of a block: which sequences hold it, where. Looked up when asked (hover).
    struct Place {
        SequenceKey key;
        std::int32_t logical;
    };
    std::vector<Place> places(std::int32_t block) const;

  private:
    std::shared_ptr<const KvSnapshot> snapshot_;
    std::vector<KvBlock> blocks_;
    KvFigures figures_;
    std::vector<SequenceKey> live_;
    // Requests that ended may still own cached-free blocks: their sessions are remembered while they do.
    QHash<std::int64_t, SequenceKey> key_of_request_;
};

}  // namespace vitrine::ui
