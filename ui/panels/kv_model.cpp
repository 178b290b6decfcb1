#include "ui/panels/kv_model.h"

#include <algorithm>
#include <utility>

#include "ui/plot/figure_format.h"

namespace vitrine::ui {

void KvModel::set(std::shared_ptr<const KvSnapshot> snapshot) {
    snapshot_ = std::move(snapshot);
    blocks_.clear();
    live_.clear();
    figures_ = {};
    figures_.wasted = unknown;
    figures_.times_less = unknown;
    if (!snapshot_) {
        key_of_request_.clear();  // another engine counts its requests from the beginning
        return;
    }
    const KvSnapshot& s = *snapshot_;
    for (const SequenceView& sequence : s.sequences) {
        const SequenceKey key = key_of(sequence.session, sequence.request);
        key_of_request_.insert(sequence.request, key);
        if (sequence.blocks.empty()) continue;
        ++figures_.sequences;
        if (std::find(live_.begin(), live_.end(), key) == live_.end()) live_.push_back(key);
    }

    blocks_.resize(s.blocks.size());
    QSet<std::int64_t> owners;
    std::int64_t last_owner = -1;  // neighbours mostly have the same one: saves a look-up a block
    SequenceKey last_key = no_sequence;
    for (std::size_t i = 0; i < s.blocks.size(); ++i) {
        const BlockView& view = s.blocks[i];
        KvBlock& block = blocks_[i];
        block.state = view.state;
        block.references = view.references;
        block.fill = view.fill;
        if (view.owner < 0 || view.state == BlockState::Free) continue;
        if (view.owner != last_owner) {
            last_owner = view.owner;
            last_key = key_of_request_.value(view.owner, no_sequence);
            owners.insert(view.owner);
        }
        block.owner = last_key;
    }

    const auto count = static_cast<std::int32_t>(blocks_.size());
    for (const SequenceView& sequence : s.sequences) {
        const SequenceKey key = key_of(sequence.session, sequence.request);
        std::int32_t logical = 0;
        for (const std::int32_t id : sequence.blocks) {
            if (id >= 0 && id < count) {
                KvBlock& block = blocks_[static_cast<std::size_t>(id)];
                if (block.owner == no_sequence) block.owner = key;
                if (block.owner == key) block.logical = logical;
            }
            ++logical;
        }
        if (sequence.state != SequenceState::Running || sequence.blocks.empty() || s.block_size <= 0)
            continue;
        const auto last = static_cast<std::int32_t>(sequence.blocks.size()) - 1;
        const std::int32_t at = std::clamp((sequence.computed - 1) / s.block_size, 0, last);
        const std::int32_t id = sequence.blocks[static_cast<std::size_t>(at)];
        if (id >= 0 && id < count) blocks_[static_cast<std::size_t>(id)].written = true;
    }

    if (key_of_request_.size() > 2 * (owners.size() + static_cast<qsizetype>(s.sequences.size())) + 64) {
        QHash<std::int64_t, SequenceKey> kept;
        for (const std::int64_t owner : owners) {
            if (const auto it = key_of_request_.constFind(owner); it != key_of_request_.constEnd()) {
                kept.insert(owner, *it);
            }
        }
        for (const SequenceView& sequence : s.sequences) {
            kept.insert(sequence.request, key_of(sequence.session, sequence.request));
        }
        key_of_request_ = std::move(kept);
    }

    figures_.used = s.used;
    figures_.cached_free = s.cached_free;
    figures_.shared = s.shared;
    if (s.used > 0 && s.block_size > 0) {
        figures_.wasted = static_cast<double>(s.wasted_tokens) / (static_cast<double>(s.used) * s.block_size);
        const std::int32_t per_context = s.context / s.block_size + (s.context % s.block_size != 0 ? 1 : 0);
        if (figures_.sequences > 0 && s.context > 0) {
            figures_.times_less = static_cast<double>(figures_.sequences) * per_context / s.used;
        }
    }
}

const SequenceView* KvModel::sequence_of(SequenceKey key) const {
    const SequenceView* found = nullptr;
    if (!snapshot_) return found;
    for (const SequenceView& sequence : snapshot_->sequences) {
        if (sequence.blocks.empty() || key_of(sequence.session, sequence.request) != key) continue;
        if (sequence.state == SequenceState::Running) return &sequence;
        if (found == nullptr || sequence.request > found->request) found = &sequence;
    }
    return found;
}

std::vector<KvModel::Place> KvModel::places(std::int32_t block) const {
    std::vector<Place> out;
    if (!snapshot_) return out;
    for (const SequenceView& sequence : snapshot_->sequences) {
        const auto it = std::find(sequence.blocks.begin(), sequence.blocks.end(), block);
        if (it == sequence.blocks.end()) continue;
        out.push_back({key_of(sequence.session, sequence.request),
                       static_cast<std::int32_t>(it - sequence.blocks.begin())});
    }
    return out;
}

}  // namespace vitrine::ui
