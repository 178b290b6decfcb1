#include "core/spec/lookup_drafter.h"

namespace vitrine {

void LookupDrafter::draft(std::span<const TokenId> text, std::int32_t most, std::int32_t shortest,
                          Draft& draft) {
    draft.clear();
    draft.origin = Drafting::Lookup;
    for (auto i = static_cast<std::size_t>(seen_.size()); i < text.size(); ++i) seen_.add(text[i].value);
    const SuffixAutomaton::Repeat repeat = seen_.longest_repeat();
    draft.match = repeat.length;
    if (repeat.length < shortest || repeat.length < 1) return;
    const auto next = static_cast<std::size_t>(repeat.next);
    // Where the occurrence reaches to the end of the text, the repetition itself is what goes on.
    for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i) {
        const std::size_t at = next + i;
        draft.tokens.push_back(at < text.size() ? text[at] : draft.tokens[at - text.size()]);
        draft.confidence.push_back(0.0F);
    }
}

}  // namespace vitrine
