#include "core/text/special_tokens.h"

#include <algorithm>

#include "core/text/characters.h"
#include "core/text/utf8.h"

namespace vitrine {

namespace {

// The character that ends at `end`; a broken one is no character.
Utf8Unit unit_before(std::string_view text, std::size_t end) {
    std::size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (static_cast<std::uint8_t>(text[begin]) & 0xC0U) == 0x80) --begin;
    const Utf8Unit unit = next_utf8(text.substr(0, end), begin);
    return unit.kind == Utf8Kind::Whole && begin + unit.size == end ? unit : Utf8Unit{};
}

}  // namespace

void SpecialTokens::set_flags(std::span<const AddedToken> added) {
    for (const AddedToken& token : added) {
        if (token.lstrip || token.rstrip || token.single_word) flags_.insert_or_assign(token.id.value, token);
    }
}

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
    std::size_t matched = 0;  // up to here by spellings
    std::size_t taken = 0;    // up to here with the white space that went along
    for (SpecialHit hit : hits) {
        if (hit.begin < matched) continue;
        matched = hit.end;
        const auto flags = flags_.empty() ? flags_.end() : flags_.find(hit.id.value);
        if (flags != flags_.end()) {
            if (flags->second.single_word && !stands_alone(text, hit)) continue;
            if (flags->second.lstrip) hit.begin = space_before(text, hit.begin, taken);
            if (flags->second.rstrip) hit.end = space_behind(text, hit.end);
        }
        // A token that is white space itself may lie in what the one before took along.
        hit.begin = std::max(hit.begin, taken);
        hit.end = std::max(hit.end, hit.begin);
        taken = hit.end;
        hits[kept++] = hit;
    }
    hits.resize(kept);
    return hits;
}

bool SpecialTokens::is_space(char32_t character) const {
    return is_white_space(character) || (space_symbol_is_space_ && character == 0x2581);
}

std::size_t SpecialTokens::space_before(std::string_view text, std::size_t begin, std::size_t limit) const {
    while (begin > limit) {
        const Utf8Unit unit = unit_before(text, begin);
        if (unit.kind != Utf8Kind::Whole || !is_space(unit.character)) break;
        begin -= unit.size;
    }
    return std::max(begin, limit);
}

std::size_t SpecialTokens::space_behind(std::string_view text, std::size_t end) const {
    while (end < text.size()) {
        const Utf8Unit unit = next_utf8(text, end);
        if (unit.kind != Utf8Kind::Whole || !is_space(unit.character)) break;
        end += unit.size;
    }
    return end;
}

bool SpecialTokens::stands_alone(std::string_view text, const SpecialHit& hit) const {
    const auto is_word = [](const Utf8Unit& unit) {
        return unit.kind == Utf8Kind::Whole && is_word_character(unit.character);
    };
    return (hit.begin == 0 || !is_word(unit_before(text, hit.begin))) &&
           (hit.end == text.size() || !is_word(next_utf8(text, hit.end)));
}

}  // namespace vitrine
