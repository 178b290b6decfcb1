#include "core/spec/vocabulary_match.h"

#include <algorithm>
#include <optional>

#include "core/io/printable.h"

namespace vitrine {
namespace {

Error different(const std::string& how) {
    return Error{ErrorKind::InvalidArgument,
                 "The draft model has another vocabulary: " + how +
                     ". A draft model must have the tokens of the model that it drafts for."};
}

std::string shown(const std::string& token) { return in_quotes(token); }

std::string shown(const std::optional<TokenId>& id) { return id ? std::to_string(id->value) : "none"; }

TokenType type_of(const VocabularyData& v, std::size_t i) {
    return i < v.types.size() ? v.types[i] : TokenType::Normal;
}

bool steers(TokenType type) { return type == TokenType::Control || type == TokenType::Unknown; }

// Filled in to round up the size.
bool is_padding(const VocabularyData& v, std::size_t i) {
    const std::string& t = v.tokens[i];
    return t.empty() || type_of(v, i) == TokenType::Unused || t.starts_with("[PAD") ||
           t.starts_with("<pad") || t.starts_with("<unused") || t.starts_with("<|extra_") ||
           t.starts_with("<dummy");
}

}  // namespace

Status same_vocabulary(const VocabularyData& target, const VocabularyData& draft) {
    const std::size_t common = std::min(target.tokens.size(), draft.tokens.size());
    for (std::size_t i = 0; i < common; ++i) {
        const std::string id = "token " + std::to_string(i);
        if (target.tokens[i] != draft.tokens[i])
            return different(id + " is " + shown(draft.tokens[i]) + " in the draft model and " +
                             shown(target.tokens[i]) + " in the model");
        if (steers(type_of(target, i)) != steers(type_of(draft, i)))
            return different(id + ", " + shown(target.tokens[i]) +
                             ", is a control token in only one of the two");
    }
    for (const auto* longer : {&target, &draft})
        for (std::size_t i = common; i < longer->tokens.size(); ++i)
            if (!is_padding(*longer, i))
                return different("token " + std::to_string(i) + ", " + shown(longer->tokens[i]) +
                                 ", is only in the " + (longer == &target ? "model" : "draft model") +
                                 ", which has " + std::to_string(longer->tokens.size()) +
                                 " tokens and the other " + std::to_string(common));
    const auto same = [&](const char* what, const std::optional<TokenId>& a,
                          const std::optional<TokenId>& b) -> Status {
        // A file may leave one out; only where both name it can they contradict.
        if (!a || !b || *a == *b) return {};
        return different(std::string("the id that ") + what + " is " + shown(b) + " in the draft model and " +
                         shown(a) + " in the model");
    };
    VITRINE_CHECK(same("ends a text", target.eos, draft.eos));
    VITRINE_CHECK(same("begins a text", target.bos, draft.bos));
    VITRINE_CHECK(same("ends a turn", target.eot, draft.eot));
    return {};
}

}  // namespace vitrine
