#include "core/text/special_tokens.h"

#include <algorithm>

namespace vitrine {

void SpecialTokens::finish() {
    control_.finish();
    user_defined_.finish();
}

std::vector<SpecialHit> SpecialTokens::find(std::string_view text, std::span<const ByteRange> trusted) const {
    std::vector<SpecialHit> hits;
    user_defined_.find(text, 0, text.size(), hits);
    if (!control_.empty()) {
        for (std::size_t i = 0; i < trusted.size();) {
            ByteRange range = trusted[i++];
            // Ranges that touch are one range: their texts stand side by side.
            for (; i < trusted.size() && trusted[i].begin <= range.end; ++i)
                range.end = std::max(range.end, trusted[i].end);
            range.end = std::min(range.end, text.size());
            if (range.begin < range.end) control_.find(text, range.begin, range.end, hits);
        }
    }
    std::sort(hits.begin(), hits.end(), [](const SpecialHit& a, const SpecialHit& b) {
        if (a.begin != b.begin) return a.begin < b.begin;
        if (a.end != b.end) return a.end > b.end;
        return a.id < b.id;
    });
    std::size_t kept = 0;
    std::size_t position = 0;
    for (const SpecialHit& hit : hits) {
        if (hit.begin < position) continue;
        position = hit.end;
        hits[kept++] = hit;
    }
    hits.resize(kept);
    return hits;
}

}  // namespace vitrine
