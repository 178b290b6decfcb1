#include "core/engine/pool_story.h"

namespace vitrine {
namespace {

std::string number(std::int64_t n) { return std::to_string(n); }
std::string sequence(const KvChange& c) { return "sequence " + number(c.owner.value); }
std::string blocks(std::int32_t n) { return n == 1 ? "1 block" : number(n) + " blocks"; }

}  // namespace

void PoolStory::begin(std::int64_t iteration) {
    current_ = {};
    current_.iteration = iteration;
}

void PoolStory::add(const KvChange& change) {
    switch (change.kind) {
        case KvChangeKind::Allocate:
            ++current_.allocated;
            current_.allocation = change;
            break;
        case KvChangeKind::Share:
            ++current_.shared;
            current_.share = change;
            break;
        case KvChangeKind::Copy:
            ++current_.copied;
            current_.copy = change;
            break;
        case KvChangeKind::Free:
            ++(change.last_reference ? current_.freed : current_.kept);
            current_.release = change;
            break;
        case KvChangeKind::Evict:
            ++current_.evicted;
            current_.eviction = change;
            break;
    }
    told_ = current_;
}

std::string PoolStory::sentence() const {
    const Chapter& c = told_;
    if (c.iteration == 0) return {};
    std::string text = "Iteration " + number(c.iteration) + ": ";
    if (c.copied > 0)
        text += sequence(c.copy) + " copied block " + number(c.copy.from.value) + " to block " +
                number(c.copy.block.value) + " before writing to it, because the original is shared.";
    else if (c.shared > 0)
        text += sequence(c.share) + " found " + blocks(c.shared) +
                " of its prompt in the prefix cache; nothing of them is computed again.";
    else if (c.allocated == 1 && c.allocation.logical > 0)
        text +=
            sequence(c.allocation) + " crossed into logical block " + number(c.allocation.logical) +
            "; physical block " + number(c.allocation.block.value) +
            (c.evicted > 0 ? " was a cached one, whose content is forgotten." : " came from the free list.");
    else if (c.allocated > 0)
        text += sequence(c.allocation) + " took " + blocks(c.allocated) + " from the free list" +
                (c.evicted > 0 ? "; cached content of " + number(c.evicted) + " of them is forgotten." : ".");
    else
        text += sequence(c.release) + " gave back " + blocks(c.freed + c.kept) +
                (c.kept > 0 ? "; " + number(c.kept) + " of them are still used by others."
                            : "; full ones can be found again until they are needed.");
    return text;
}

}  // namespace vitrine
