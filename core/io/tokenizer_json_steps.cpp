#include "core/io/tokenizer_json_steps.h"

#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/printable.h"
#include "core/io/tokenizer_config.h"

namespace vitrine {

namespace {

using Json = nlohmann::json;

// GPT-2's pattern, which the step ByteLevel brings along (Radford et al. 2019).
constexpr const char* kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kPunctuationPattern = R"([!-/:-@\[-`\{-~\p{P}])";
constexpr std::size_t kMostSteps = 256;

Error unknown(std::string_view part, const Json& step) {
    const auto type = text_of(step, "type");
    return Error{ErrorKind::Unsupported,
                 "tokenizer.json: the " + std::string(part) + " " +
                     (type ? in_quotes(*type) : std::string("without a type")) +
                     " is not known; text read without it would become other tokens than the model learned."};
}

Error damaged(std::string_view part, std::string_view type, std::string_view what) {
    return Error{ErrorKind::BadFile, "tokenizer.json: the " + std::string(part) + " " + in_quotes(type) +
                                         " has no usable " + in_quotes(what) + "; the file is damaged."};
}

Error unsupported_value(std::string_view part, std::string_view type, std::string_view what,
                        std::string_view value) {
    return Error{ErrorKind::Unsupported, "tokenizer.json: the " + std::string(part) + " " + in_quotes(type) +
                                             " has " + in_quotes(what) + " = " + in_quotes(value) +
                                             ", which is not known."};
}

// The steps of nested sequences in order. `list` is the name of the member that holds them.
Result<std::vector<const Json*>> flatten(const Json& document, const char* part, const char* list) {
    std::vector<const Json*> steps;
    const Json* top = member_of(document, part);
    if (top == nullptr) return steps;
    std::vector<const Json*> open = {top};  // the next one last
    while (!open.empty()) {
        const Json* step = open.back();
        open.pop_back();
        if (text_of(*step, "type") != "Sequence") {
            steps.push_back(step);
        } else {
            const Json* inner = member_of(*step, list);
            if (inner == nullptr || !inner->is_array()) return damaged(part, "Sequence", list);
            for (std::size_t i = inner->size(); i-- > 0;) open.push_back(&(*inner)[i]);
        }
        if (steps.size() + open.size() > kMostSteps) {
            return Error{ErrorKind::TooLarge, "tokenizer.json: the " + std::string(part) + " has more than " +
                                                  std::to_string(kMostSteps) +
                                                  " steps; the file is damaged."};
        }
    }
    return steps;
}

// {"String": text} or {"Regex": expression}.
struct Wanted {
    std::string text;
    bool is_pattern = false;
};
std::optional<Wanted> pattern_of(const Json& step) {
    const Json* pattern = member_of(step, "pattern");
    if (pattern == nullptr) return std::nullopt;
    if (auto regex = text_of(*pattern, "Regex")) return Wanted{std::move(*regex), true};
    if (auto text = text_of(*pattern, "String")) return Wanted{std::move(*text), false};
    return std::nullopt;
}

std::optional<SplitStep::Keep> keep_of(std::string_view name) {
    using Keep = SplitStep::Keep;
    static constexpr std::array<std::pair<std::string_view, Keep>, 5> kNames = {
        {{"Isolated", Keep::Isolated},
         {"Removed", Keep::Removed},
         {"MergedWithPrevious", Keep::MergedWithPrevious},
         {"MergedWithNext", Keep::MergedWithNext},
         {"Contiguous", Keep::Contiguous}}};
    for (const auto& [known, keep] : kNames) {
        if (known == name) return keep;
    }
    return std::nullopt;
}

Status read_split(const Json& step, SplitStep& out) {
    auto pattern = pattern_of(step);
    if (!pattern || pattern->text.empty()) return damaged("pre-tokenizer", "Split", "pattern");
    const std::string behavior = text_of(step, "behavior").value_or("");
    const auto keep = keep_of(behavior);
    if (!keep) return unsupported_value("pre-tokenizer", "Split", "behavior", behavior);
    out.kind = pattern->is_pattern ? SplitStep::Kind::Pattern : SplitStep::Kind::Text;
    out.pattern = std::move(pattern->text);
    out.keep = *keep;
    out.invert = flag_of(step, "invert").value_or(false);
    return {};
}

Result<SplitStep::Prefix> prefix_of(std::string_view part, const Json& step) {
    const auto scheme = text_of(step, "prepend_scheme");
    if (!scheme) {
        return flag_of(step, "add_prefix_space").value_or(true) ? SplitStep::Prefix::Always
                                                                : SplitStep::Prefix::Never;
    }
    if (*scheme == "always") return SplitStep::Prefix::Always;
    if (*scheme == "first") return SplitStep::Prefix::First;
    if (*scheme == "never") return SplitStep::Prefix::Never;
    return unsupported_value(part, "Metaspace", "prepend_scheme", *scheme);
}

Status read_split_step(const Json& step, bool first, bool& byte_level, PipelineRules& rules) {
    const std::string type = text_of(step, "type").value_or("");
    if (byte_level) {
        return Error{ErrorKind::Unsupported,
                     "tokenizer.json: the pre-tokenizer " + in_quotes(type) +
                         " stands behind ByteLevel; only a ByteLevel that comes last is known."};
    }
    SplitStep split;
    if (type == "Split") {
        VITRINE_CHECK(read_split(step, split));
    } else if (type == "Digits") {
        split.pattern = R"(\p{N})";
        split.keep = flag_of(step, "individual_digits").value_or(false) ? SplitStep::Keep::Isolated
                                                                        : SplitStep::Keep::Contiguous;
    } else if (type == "Punctuation") {
        split.pattern = kPunctuationPattern;
        const std::string behavior = text_of(step, "behavior").value_or("Isolated");
        const auto keep = keep_of(behavior);
        if (!keep) return unsupported_value("pre-tokenizer", type, "behavior", behavior);
        split.keep = *keep;
    } else if (type == "Metaspace") {
        split.kind = SplitStep::Kind::Metaspace;
        split.pattern = text_of(step, "replacement").value_or("\xE2\x96\x81");
        if (split.pattern.empty()) return damaged("pre-tokenizer", type, "replacement");
        VITRINE_TRY(split.prefix, prefix_of("pre-tokenizer", step));
        split.cut = flag_of(step, "split").value_or(true);
    } else if (type == "ByteLevel") {
        byte_level = true;
        if (flag_of(step, "add_prefix_space").value_or(true)) {
            if (!first)
                return unsupported_value("pre-tokenizer", type, "add_prefix_space",
                                         "true behind other steps");
            rules.prefix_space = true;
        }
        if (!flag_of(step, "use_regex").value_or(true)) return {};
        split.pattern = kByteLevelPattern;
    } else {
        return unknown("pre-tokenizer", step);
    }
    rules.splits.push_back(std::move(split));
    return {};
}

std::optional<NormalizerStep::Kind> form_of(std::string_view type) {
    using Kind = NormalizerStep::Kind;
    if (type == "NFC") return Kind::Nfc;
    if (type == "NFD") return Kind::Nfd;
    if (type == "NFKC") return Kind::Nfkc;
    if (type == "NFKD") return Kind::Nfkd;
    if (type == "Lowercase") return Kind::Lowercase;
    return std::nullopt;
}

// The id of the special token with that name: the template's table lists it.
Result<std::int64_t> id_of_special(const Json& processor, const std::string& name) {
    const Json* table = member_of(processor, "special_tokens");
    const Json* entry = table == nullptr ? nullptr : member_of(*table, name.c_str());
    const Json* ids = entry == nullptr ? nullptr : member_of(*entry, "ids");
    if (ids == nullptr || !ids->is_array() || ids->size() != 1 || !(*ids)[0].is_number_unsigned() ||
        (*ids)[0].get<std::uint64_t>() >
            static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
        return damaged("post-processor", "TemplateProcessing", "special_tokens");
    }
    return (*ids)[0].get<std::int64_t>();
}

Status read_template(const Json& processor, TokensAround& around) {
    const Json* single = member_of(processor, "single");
    if (single == nullptr || !single->is_array())
        return damaged("post-processor", "TemplateProcessing", "single");
    bool behind = false;
    for (const Json& piece : *single) {
        if (member_of(piece, "Sequence") != nullptr) {
            behind = true;
            continue;
        }
        const Json* special = member_of(piece, "SpecialToken");
        const auto name = special == nullptr ? std::nullopt : text_of(*special, "id");
        if (!name) return damaged("post-processor", "TemplateProcessing", "single");
        VITRINE_TRY(const std::int64_t id, id_of_special(processor, *name));
        auto& place = behind ? around.after : around.before;
        if (place) {
            return unsupported_value("post-processor", "TemplateProcessing", "single",
                                     "more than one token on a side of the text");
        }
        place = id;
    }
    return {};
}

}  // namespace

Status read_normalizer(const Json& document, PipelineRules& rules) {
    VITRINE_TRY(const auto steps, flatten(document, "normalizer", "normalizers"));
    for (const Json* step : steps) {
        const std::string type = text_of(*step, "type").value_or("");
        NormalizerStep out;
        if (const auto form = form_of(type)) {
            out.kind = *form;
        } else if (type == "Prepend") {
            out.kind = NormalizerStep::Kind::Prepend;
            const auto text = text_of(*step, "prepend");
            if (!text) return damaged("normalizer", type, "prepend");
            out.with = *text;
        } else if (type == "Replace") {
            auto pattern = pattern_of(*step);
            const auto content = text_of(*step, "content");
            if (!pattern || pattern->text.empty()) return damaged("normalizer", type, "pattern");
            if (!content) return damaged("normalizer", type, "content");
            out.kind =
                pattern->is_pattern ? NormalizerStep::Kind::ReplacePattern : NormalizerStep::Kind::Replace;
            out.what = std::move(pattern->text);
            out.with = *content;
        } else if (type == "Strip") {
            if (flag_of(*step, "strip_left").value_or(false)) {
                out.kind = NormalizerStep::Kind::StripLeft;
                rules.normalizer.push_back(out);
            }
            if (!flag_of(*step, "strip_right").value_or(false)) continue;
            out.kind = NormalizerStep::Kind::StripRight;
        } else {
            return unknown("normalizer", *step);
        }
        rules.normalizer.push_back(std::move(out));
    }
    return {};
}

Status read_pretokenizer(const Json& document, PipelineRules& rules) {
    VITRINE_TRY(const auto steps, flatten(document, "pre_tokenizer", "pretokenizers"));
    bool byte_level = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        VITRINE_CHECK(read_split_step(*steps[i], i == 0, byte_level, rules));
    }
    rules.byte_level = byte_level;
    return {};
}

Status read_decoder(const Json& document, PipelineRules& rules) {
    VITRINE_TRY(const auto steps, flatten(document, "decoder", "decoders"));
    for (const Json* step : steps) {
        const std::string type = text_of(*step, "type").value_or("");
        if (type == "ByteLevel" || type == "ByteFallback" || type == "Fuse") continue;
        if (type == "Replace") {
            const auto pattern = pattern_of(*step);
            const std::string content = text_of(*step, "content").value_or("");
            if (!pattern || pattern->is_pattern || content != " ") {
                return unsupported_value("decoder", type, "content", content);
            }
            rules.space_symbol = pattern->text;
        } else if (type == "Strip") {
            const std::string content = text_of(*step, "content").value_or("");
            const Json* start = member_of(*step, "start");
            const Json* stop = member_of(*step, "stop");
            const bool one =
                start != nullptr && start->is_number_unsigned() && start->get<std::uint64_t>() <= 1;
            const bool none =
                stop == nullptr || (stop->is_number_unsigned() && stop->get<std::uint64_t>() == 0);
            if (content != " " || !one || !none) {
                return unsupported_value("decoder", type, "content", content + "\" (or its counts)");
            }
            rules.drops_first_space = start->get<std::uint64_t>() == 1;
        } else if (type == "Metaspace") {
            rules.space_symbol = text_of(*step, "replacement").value_or("\xE2\x96\x81");
            VITRINE_TRY(const SplitStep::Prefix prefix, prefix_of("decoder", *step));
            rules.drops_first_space = prefix != SplitStep::Prefix::Never;
        } else {
            return unknown("decoder", *step);
        }
    }
    return {};
}

Result<TokensAround> read_post_processor(const Json& document) {
    VITRINE_TRY(const auto steps, flatten(document, "post_processor", "processors"));
    TokensAround around;
    for (const Json* step : steps) {
        const std::string type = text_of(*step, "type").value_or("");
        if (type == "ByteLevel") continue;  // about offsets alone
        if (type != "TemplateProcessing") return unknown("post-processor", *step);
        VITRINE_CHECK(read_template(*step, around));
    }
    return around;
}

}  // namespace vitrine
