#include "core/engine/pool_story.h"

namespace vitrine {
namespace {

std::string number(std::int64_t n) { return std::to_string(n); }
std::string sequence(SequenceId id) { return "sequence " + number(id.value); }
std::string blocks(std::int32_t n) { return n == 1 ? "1 block" : number(n) + " blocks"; }
// ", and 2 other sequences 5 more"
std::string others(std::int32_t owners, std::int32_t rest) {
    if (owners <= 1 || rest <= 0) return {};
    return owners == 2 ? ", and another sequence " + number(rest) + " more"
                       : ", and " + number(owners - 1) + " other sequences " + number(rest) + " more";
}

}  // namespace

void PoolStory::Tally::add(const KvChange& change) {
    // A sequence's changes of one kind come together.
    if (count == 0 || change.owner != last.owner) {
        ++owners;
        of_last = 0;
    }
    ++count;
    ++of_last;
    last = change;
}

void PoolStory::begin(std::int64_t iteration) {
    current_ = {};
    current_.iteration = iteration;
    ended_ = false;
}

void PoolStory::between() { ended_ = true; }

void PoolStory::add(const KvChange& change) {
    if (ended_) {
        begin(current_.iteration);
        current_.between = true;
    }
    switch (change.kind) {
        case KvChangeKind::Allocate: current_.allocated.add(change); break;
        case KvChangeKind::Share: current_.shared.add(change); break;
        case KvChangeKind::Copy: current_.copied.add(change); break;
        case KvChangeKind::Free:
            current_.freed.add(change);
            if (!change.last_reference) ++current_.kept;
            break;
        case KvChangeKind::Evict: ++current_.evicted; break;
    }
    told_ = current_;
}

void PoolStory::wrote(SequenceId owner, std::int32_t first, std::int32_t count, BlockId block,
                      std::int32_t block_size) {
    ++current_.writers;
    current_.writer = owner;
    current_.first = first;
    current_.written = count;
    current_.block = block;
    current_.block_size = block_size;
}

std::string PoolStory::tell(const Chapter& c) {
    if (c.iteration == 0 && !c.changed()) return {};
    std::string text = (c.between ? "After iteration " : "Iteration ") + number(c.iteration) + ": ";
    if (c.copied.count > 0) {
        text += sequence(c.copied.last.owner) + " copied block " + number(c.copied.last.from.value) +
                " to block " + number(c.copied.last.block.value) +
                " before writing to it, because the original is shared or cached.";
    } else if (c.shared.count > 0) {
        text += sequence(c.shared.last.owner) + " found " + blocks(c.shared.of_last) +
                " of its prompt in the prefix cache" +
                others(c.shared.owners, c.shared.count - c.shared.of_last) +
                "; nothing of them is computed again.";
    } else if (c.allocated.count == 1 && c.allocated.last.logical > 0) {
        text +=
            sequence(c.allocated.last.owner) + " crossed into logical block " +
            number(c.allocated.last.logical) + "; physical block " + number(c.allocated.last.block.value) +
            (c.evicted > 0 ? " was a cached one, whose content is forgotten." : " came from the free list.");
    } else if (c.allocated.count > 0) {
        text += sequence(c.allocated.last.owner) + " took " + blocks(c.allocated.of_last) +
                " from the free list" + others(c.allocated.owners, c.allocated.count - c.allocated.of_last) +
                (c.evicted > 0 ? "; cached content of " + number(c.evicted) + " of them is forgotten." : ".");
    } else if (c.freed.count > 0) {
        text += sequence(c.freed.last.owner) + " gave back " + blocks(c.freed.of_last) +
                others(c.freed.owners, c.freed.count - c.freed.of_last) +
                (c.kept > 0 ? "; " + number(c.kept) + " of them are still used by others."
                            : "; full ones can be found again until they are needed.");
    } else if (c.evicted > 0) {
        text += "cached content of " + blocks(c.evicted) + " is forgotten.";
    } else if (c.writers > 0 && c.block_size > 0) {
        const std::int32_t last = c.first + c.written - 1;
        text += sequence(c.writer) + " wrote ";
        text += c.written == 1 ? "token " + number(last)
                               : number(c.written) + " tokens, the last of them number " + number(last) + ",";
        text += " to place " + number(last % c.block_size + 1) + " of " + number(c.block_size) +
                " in physical block " + number(c.block.value);
        if (c.writers == 2) text += ", another sequence to its own";
        if (c.writers > 2) text += ", " + number(c.writers - 1) + " other sequences to their own";
        text += "; no block changed hands.";
    } else {
        text += "nothing was written.";
    }
    return text;
}

}  // namespace vitrine
