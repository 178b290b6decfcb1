#include "core/io/gguf_vocabulary.h"

#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "core/io/printable.h"

namespace vitrine {

namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }

Status check_length(const GgufFile& file, std::string_view key, std::size_t found, std::size_t tokens) {
    if (found == tokens) return {};
    return Error{ErrorKind::BadFile, display_path(file.path()) + ": key " + in_quotes(key) + " has " +
                                         number(found) + " elements, but there are " + number(tokens) +
                                         " tokens; each token needs one."};
}

Status read_types(const GgufFile& file, VocabularyData& out) {
    constexpr std::string_view kKey = "tokenizer.ggml.token_type";
    VITRINE_TRY(const auto types, file.integers(kKey));
    if (!types) return {};
    VITRINE_CHECK(check_length(file, kKey, types->size(), out.tokens.size()));
    std::size_t odd = 0;
    std::size_t first_odd = 0;
    out.types.reserve(types->size());
    for (std::size_t i = 0; i < types->size(); ++i) {
        const std::int64_t type = (*types)[i];
        if (type >= 0 && type <= static_cast<std::int64_t>(TokenType::Byte)) {
            out.types.push_back(static_cast<TokenType>(type));
            continue;
        }
        if (odd++ == 0) first_odd = i;
        out.types.push_back(TokenType::Undefined);
    }
    if (odd > 0) {
        out.warnings.push_back(number(odd) + " tokens have a type that is not known (the first is token " +
                               number(first_odd) + "); they are treated as ordinary text.");
    }
    return {};
}

Status read_scores(const GgufFile& file, VocabularyData& out) {
    constexpr std::string_view kKey = "tokenizer.ggml.scores";
    VITRINE_TRY(auto scores, file.floats(kKey));
    if (!scores) return {};
    VITRINE_CHECK(check_length(file, kKey, scores->size(), out.tokens.size()));
    for (std::size_t i = 0; i < scores->size(); ++i) {
        if (std::isfinite((*scores)[i])) continue;
        return Error{
            ErrorKind::BadFile,
            display_path(file.path()) + ": key " + in_quotes(kKey) + ": the score of token " + number(i) +
                " is not a finite number, so tokens cannot be put into an order; the file is damaged."};
    }
    out.scores = std::move(*scores);
    return {};
}

Status read_id(const GgufFile& file, std::string_view key, VocabularyData& out, std::optional<TokenId>& id) {
    const GgufValue* value = file.find(key);
    if (value == nullptr) return {};
    // A u64 beyond int64 is as much out of range as any other number.
    std::optional<std::int64_t> stored;
    if (value->type == GgufType::U64) {
        VITRINE_TRY(const auto wide, file.unsigned_integer(key));
        stored = wide && *wide <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::int64_t>(*wide)
                                                                            : -1;
    } else {
        VITRINE_TRY(stored, file.integer(key));
    }
    if (*stored >= 0 && static_cast<std::uint64_t>(*stored) < out.tokens.size()) {
        id = TokenId(static_cast<std::int32_t>(*stored));
        return {};
    }
    out.warnings.push_back("Key " + in_quotes(key) + " names token " + std::to_string(*stored) +
                           ", but the vocabulary has " + number(out.tokens.size()) +
                           " tokens; it is treated as absent.");
    return {};
}

// An array of bytes, signed or not, as converters write it.
Status read_charsmap(const GgufFile& file, VocabularyData& out) {
    constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
    VITRINE_TRY(const auto bytes, file.integers(kKey));
    if (!bytes) return {};
    out.precompiled_charsmap.reserve(bytes->size());
    for (const std::int64_t byte : *bytes) {
        if (byte < -128 || byte > 255) {
            return Error{ErrorKind::BadFile, display_path(file.path()) + ": key " + in_quotes(kKey) +
                                                 " holds " + std::to_string(byte) +
                                                 ", which is no byte; the file is damaged."};
        }
        out.precompiled_charsmap.push_back(static_cast<char>(byte));
    }
    return {};
}

void look_for_duplicates(VocabularyData& out) {
    std::unordered_map<std::string_view, std::size_t> first_ids;
    first_ids.reserve(out.tokens.size());
    std::size_t duplicates = 0;
    std::size_t empty = 0;
    std::string example;
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
        if (out.tokens[i].empty()) ++empty;
        const auto [place, is_new] = first_ids.emplace(out.tokens[i], i);
        if (is_new) continue;
        if (duplicates++ == 0)
            example = in_quotes(out.tokens[i]) + ", ids " + number(place->second) + " and " + number(i);
    }
    if (duplicates > 0) {
        out.warnings.push_back(number(duplicates) + " token texts occur more than once (the first: " +
                               example + "); text becomes the lowest id.");
    }
    if (empty > 0) out.warnings.push_back(number(empty) + " tokens have an empty text.");
}

}  // namespace

Result<VocabularyData> read_gguf_vocabulary(const GgufFile& file) {
    VocabularyData out;
    VITRINE_TRY(auto tokens, file.strings("tokenizer.ggml.tokens"));
    if (!tokens || tokens->empty()) {
        return Error{ErrorKind::NotFound,
                     display_path(file.path()) +
                         ": the file has no vocabulary (key 'tokenizer.ggml.tokens'), so text cannot be "
                         "turned into tokens; get a complete file of this model."};
    }
    if (tokens->size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        return Error{ErrorKind::BadFile, display_path(file.path()) + ": the vocabulary has " +
                                             number(tokens->size()) + " tokens, more than ids can count."};
    }
    out.tokens = std::move(*tokens);
    VITRINE_TRY(auto model, file.string("tokenizer.ggml.model"));
    if (!model) {
        return Error{
            ErrorKind::BadFile,
            display_path(file.path()) +
                ": key 'tokenizer.ggml.model' is missing, so the kind of the vocabulary is not known."};
    }
    out.model = std::move(*model);
    VITRINE_TRY(out.pre, file.string("tokenizer.ggml.pre"));
    VITRINE_CHECK(read_types(file, out));
    VITRINE_CHECK(read_scores(file, out));
    VITRINE_TRY(auto merges, file.strings("tokenizer.ggml.merges"));
    if (merges) out.merges = std::move(*merges);

    VITRINE_CHECK(read_id(file, "tokenizer.ggml.bos_token_id", out, out.bos));
    VITRINE_CHECK(read_id(file, "tokenizer.ggml.eos_token_id", out, out.eos));
    VITRINE_CHECK(read_id(file, "tokenizer.ggml.eot_token_id", out, out.eot));
    VITRINE_CHECK(read_id(file, "tokenizer.ggml.eom_token_id", out, out.eom));
    VITRINE_CHECK(read_id(file, "tokenizer.ggml.unknown_token_id", out, out.unk));
    VITRINE_CHECK(read_id(file, "tokenizer.ggml.padding_token_id", out, out.pad));
    VITRINE_TRY(out.add_bos, file.boolean("tokenizer.ggml.add_bos_token"));
    VITRINE_TRY(out.add_eos, file.boolean("tokenizer.ggml.add_eos_token"));
    VITRINE_TRY(out.add_space_prefix, file.boolean("tokenizer.ggml.add_space_prefix"));
    VITRINE_TRY(out.remove_extra_whitespaces, file.boolean("tokenizer.ggml.remove_extra_whitespaces"));
    VITRINE_CHECK(read_charsmap(file, out));

    if (out.add_bos.value_or(false) && !out.bos) {
        out.warnings.emplace_back(
            "The file asks for a begin token in front of every text but names none; none is added.");
    }
    if (out.add_eos.value_or(false) && !out.eos) {
        out.warnings.emplace_back(
            "The file asks for an end token behind every text but names none; none is added.");
    }
    if (out.model == "gpt2" && !out.pre) {
        out.warnings.emplace_back(
            "The file does not name its pre-tokenizer (key 'tokenizer.ggml.pre'): text may be cut into "
            "other tokens than the model learned, which lowers quality.");
    }
    if (out.types.empty()) {
        out.warnings.emplace_back(
            "The file has no token types (key 'tokenizer.ggml.token_type'): control tokens cannot be told "
            "from text.");
    }
    look_for_duplicates(out);
    return out;
}

}  // namespace vitrine
