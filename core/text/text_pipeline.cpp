#include "core/text/text_pipeline.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <unicode/uchar.h>

#include "core/text/characters.h"
#include "core/text/normal_form.h"
#include "core/text/replace.h"
#include "core/text/utf8.h"

namespace vitrine {

namespace {

// Every character by itself, as Rust's char::to_lowercase: one of them becomes two.
std::string lowercase(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Unit unit = next_utf8(text, at);
        at += unit.size;
        if (unit.character == 0x130) {
            result += "i\xCC\x87";
        } else {
            append_utf8(result, static_cast<char32_t>(u_tolower(static_cast<UChar32>(unit.character))));
        }
    }
    return result;
}

std::string_view without_space_left(std::string_view text) {
    while (!text.empty()) {
        const Utf8Unit unit = next_utf8(text, 0);
        if (!is_white_space(unit.character)) break;
        text.remove_prefix(unit.size);
    }
    return text;
}

std::string_view without_space_right(std::string_view text) {
    while (!text.empty()) {
        std::size_t begin = text.size() - 1;
        while (begin > 0 && (static_cast<std::uint8_t>(text[begin]) & 0xC0U) == 0x80) --begin;
        if (!is_white_space(next_utf8(text, begin).character)) break;
        text = text.substr(0, begin);
    }
    return text;
}

// A part of a text: a match or what lies between matches.
struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool match = false;
};

// Parts that cover the text. An empty match right behind a match does not count, as in the library.
template <class Next>
std::vector<Part> parts_of(std::string_view text, const Next& next) {
    std::vector<Part> parts;
    std::size_t covered = 0;
    std::optional<std::size_t> last_end;
    for (std::size_t from = 0; from <= text.size();) {
        const std::optional<PatternMatch> match = next(text, from);
        if (!match) break;
        if (match->begin == match->end && last_end == match->end) {
            from =
                match->end == text.size() ? text.size() + 1 : match->end + next_utf8(text, match->end).size;
            continue;
        }
        if (match->begin > covered) parts.push_back({covered, match->begin, false});
        parts.push_back({match->begin, match->end, true});
        covered = match->end;
        last_end = match->end;
        from = match->end;
    }
    if (covered < text.size()) parts.push_back({covered, text.size(), false});
    return parts;
}

// What a behaviour makes of matches and the rest.
std::vector<Part> kept(std::vector<Part> parts, SplitStep::Keep keep) {
    using Keep = SplitStep::Keep;
    std::vector<Part> result;
    bool match_before = false;
    const auto each = [&](const Part& part) {
        switch (keep) {
            case Keep::Isolated: result.push_back(part); break;
            case Keep::Removed:
                if (!part.match) result.push_back(part);
                break;
            case Keep::Contiguous:
                if (!result.empty() && part.match == match_before) {
                    result.back().end = part.end;
                } else {
                    result.push_back(part);
                }
                break;
            case Keep::MergedWithPrevious:
                if (part.match && !match_before && !result.empty()) {
                    result.back().end = part.end;
                } else {
                    result.push_back(part);
                }
                break;
            case Keep::MergedWithNext:  // from the right
                if (part.match && !match_before && !result.empty()) {
                    result.back().begin = part.begin;
                } else {
                    result.push_back(part);
                }
                break;
        }
        match_before = part.match;
    };
    if (keep == Keep::MergedWithNext) {
        std::for_each(parts.rbegin(), parts.rend(), each);
        std::reverse(result.begin(), result.end());
    } else {
        std::for_each(parts.begin(), parts.end(), each);
    }
    return result;
}

std::optional<PatternMatch> find_text(std::string_view text, std::string_view what, std::size_t from) {
    const std::size_t found = text.find(what, from);
    if (found == std::string_view::npos) return std::nullopt;
    return PatternMatch{found, found + what.size()};
}

std::string replaced_matches(const Pattern& pattern, std::string_view text, std::string_view with) {
    Pattern::Search search(pattern);
    std::string result;
    for (const Part& part :
         parts_of(text, [&](std::string_view t, std::size_t from) { return search.next(t, from); })) {
        result += part.match ? with : text.substr(part.begin, part.end - part.begin);
    }
    return result;
}

}  // namespace

Result<TextPipeline> TextPipeline::make(const PipelineRules& rules) {
    TextPipeline pipeline;
    pipeline.prefix_space_ = rules.prefix_space;
    for (const NormalizerStep& step : rules.normalizer) {
        Normalization normalization{step, std::nullopt};
        if (step.kind == NormalizerStep::Kind::ReplacePattern) {
            VITRINE_TRY(Pattern pattern, Pattern::of_file(step.what));
            normalization.pattern = std::move(pattern);
        }
        pipeline.normalizer_.push_back(std::move(normalization));
    }
    for (const SplitStep& step : rules.splits) {
        Cut cut{step, std::nullopt};
        if (step.kind == SplitStep::Kind::Pattern) {
            VITRINE_TRY(Pattern pattern, Pattern::of_file(step.pattern));
            cut.pattern = std::move(pattern);
        }
        pipeline.cuts_.push_back(std::move(cut));
    }
    return pipeline;
}

std::string TextPipeline::normalized(std::string_view text) const {
    std::string result(text);
    for (const auto& [step, pattern] : normalizer_) {
        switch (step.kind) {
            case NormalizerStep::Kind::Nfc: result = to_normal_form(result, NormalForm::C); break;
            case NormalizerStep::Kind::Nfd: result = to_normal_form(result, NormalForm::D); break;
            case NormalizerStep::Kind::Nfkc: result = to_normal_form(result, NormalForm::KC); break;
            case NormalizerStep::Kind::Nfkd: result = to_normal_form(result, NormalForm::KD); break;
            case NormalizerStep::Kind::Lowercase: result = lowercase(result); break;
            case NormalizerStep::Kind::Prepend:
                if (!result.empty()) result.insert(0, step.with);
                break;
            case NormalizerStep::Kind::Replace:
                if (!step.what.empty()) result = replaced(result, step.what, step.with);
                break;
            case NormalizerStep::Kind::ReplacePattern:
                result = replaced_matches(*pattern, result, step.with);
                break;
            case NormalizerStep::Kind::StripLeft: result = std::string(without_space_left(result)); break;
            case NormalizerStep::Kind::StripRight: result = std::string(without_space_right(result)); break;
        }
    }
    return result;
}

std::vector<std::string_view> TextPipeline::split(std::string_view text, bool first,
                                                  std::deque<std::string>& storage) const {
    std::vector<std::string_view> pieces;
    if (text.empty()) return pieces;
    if (prefix_space_ && text.front() != ' ') text = storage.emplace_back(" " + std::string(text));
    pieces.push_back(text);
    std::vector<std::string_view> next;
    for (const Cut& cut : cuts_) {
        const SplitStep& step = cut.step;
        next.clear();
        std::optional<Pattern::Search> search;
        if (cut.pattern) search.emplace(*cut.pattern);
        const auto find = [&](std::string_view piece, std::size_t from) {
            return search ? search->next(piece, from) : find_text(piece, step.pattern, from);
        };
        const bool metaspace = step.kind == SplitStep::Kind::Metaspace;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            std::string_view piece = pieces[i];
            if (metaspace) {
                std::string& changed = storage.emplace_back(replaced(piece, " ", step.pattern));
                const bool wanted = step.prefix == SplitStep::Prefix::Always ||
                                    (step.prefix == SplitStep::Prefix::First && first && i == 0);
                if (wanted && !changed.starts_with(step.pattern)) changed.insert(0, step.pattern);
                piece = changed;
                if (!step.cut) {
                    next.push_back(piece);
                    continue;
                }
            }
            auto parts = parts_of(piece, find);
            for (Part& part : parts) part.match = part.match != step.invert;
            for (const Part& part :
                 kept(std::move(parts), metaspace ? SplitStep::Keep::MergedWithNext : step.keep)) {
                if (part.end > part.begin) next.push_back(piece.substr(part.begin, part.end - part.begin));
            }
        }
        pieces.swap(next);
    }
    return pieces;
}

}  // namespace vitrine
