#include "core/io/tokenizer_config.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/io/printable.h"

namespace vitrine {

namespace {

using Json = nlohmann::json;

// More unused ids than tokens, and then some, are no vocabulary but a way to ask for memory.
constexpr std::size_t kSpareIds = 100'000;

// Counted before parsing, so that no document is built of what is refused.
bool is_too_deep(std::string_view text) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kTokenizerJsonDepth) return true;
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return false;
}

// A special token is a text, or an object that holds one.
std::optional<std::string> token_text(const Json& config, const char* key) {
    const Json* value = member_of(config, key);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    return text_of(*value, "content");
}

std::optional<std::int64_t> number_of(const Json& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
            return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    return std::nullopt;
}

void place(const ListedToken& token, std::size_t id, VocabularyData& data) {
    data.types[id] = token.special ? TokenType::Control : TokenType::UserDefined;
    AddedToken flags = token.flags;
    flags.id = TokenId(static_cast<std::int32_t>(id));
    const auto at = std::lower_bound(data.added.begin(), data.added.end(), flags.id,
                                     [](const AddedToken& a, TokenId b) { return a.id < b; });
    if (at != data.added.end() && at->id == flags.id) {
        *at = flags;
    } else {
        data.added.insert(at, flags);
    }
}

}  // namespace

Result<Json> parse_tokenizer_json(std::string_view text, std::string_view name) {
    if (text.size() > kTokenizerJsonBytes) {
        return Error{ErrorKind::TooLarge, std::string(name) + ": the text is " + std::to_string(text.size()) +
                                              " bytes long; at most " + std::to_string(kTokenizerJsonBytes) +
                                              " are read."};
    }
    if (is_too_deep(text)) {
        return Error{ErrorKind::TooLarge, std::string(name) + ": objects and arrays lie more than " +
                                              std::to_string(kTokenizerJsonDepth) +
                                              " deep inside each other; the file is damaged."};
    }
    Json document = Json::parse(text.begin(), text.end(), nullptr, false);
    if (document.is_discarded() || !document.is_object()) {
        return Error{
            ErrorKind::BadFile,
            std::string(name) + ": the text is not a JSON object; the file is damaged or incomplete."};
    }
    return document;
}

const Json* member_of(const Json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> flag_of(const Json& object, const char* key) {
    const Json* value = member_of(object, key);
    if (value == nullptr || !value->is_boolean()) return std::nullopt;
    return value->get<bool>();
}

std::optional<std::string> text_of(const Json& object, const char* key) {
    const Json* value = member_of(object, key);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return value->get<std::string>();
}

Result<ListedToken> read_listed_token(const Json& object, std::optional<std::int64_t> id,
                                      std::string_view where) {
    ListedToken token;
    const Json* stored = member_of(object, "id");
    if (!id && stored != nullptr) id = number_of(*stored);
    const auto content = text_of(object, "content");
    if (!id || !content) {
        return Error{ErrorKind::BadFile,
                     std::string(where) +
                         ": a token has no usable id (0 to 2147483647) or no text; the file "
                         "is damaged."};
    }
    token.id = *id;
    token.content = *content;
    token.special = flag_of(object, "special").value_or(false);
    token.flags.normalized = flag_of(object, "normalized").value_or(!token.special);
    token.flags.single_word = flag_of(object, "single_word").value_or(false);
    token.flags.lstrip = flag_of(object, "lstrip").value_or(false);
    token.flags.rstrip = flag_of(object, "rstrip").value_or(false);
    return token;
}

Result<TokenizerConfig> read_tokenizer_config(std::string_view text) {
    constexpr std::string_view kName = "tokenizer_config.json";
    TokenizerConfig config;
    if (text.empty()) return config;
    VITRINE_TRY(const Json document, parse_tokenizer_json(text, kName));
    config.bos = token_text(document, "bos_token");
    config.eos = token_text(document, "eos_token");
    config.unk = token_text(document, "unk_token");
    config.pad = token_text(document, "pad_token");
    config.add_bos = flag_of(document, "add_bos_token");
    config.add_eos = flag_of(document, "add_eos_token");
    config.add_prefix_space = flag_of(document, "add_prefix_space");
    config.tokenizer_class = text_of(document, "tokenizer_class").value_or("");
    const Json* decoder = member_of(document, "added_tokens_decoder");
    if (decoder != nullptr && decoder->is_object()) {
        for (const auto& [key, value] : decoder->items()) {
            std::int32_t id = -1;
            const auto read = std::from_chars(key.data(), key.data() + key.size(), id);
            if (read.ec != std::errc() || read.ptr != key.data() + key.size() || id < 0) {
                return Error{ErrorKind::BadFile, std::string(kName) + ": added_tokens_decoder has the key " +
                                                     in_quotes(key) + ", which is no token id."};
            }
            VITRINE_TRY(ListedToken token,
                        read_listed_token(value, id, std::string(kName) + ": added_tokens_decoder"));
            config.added.push_back(std::move(token));
        }
        std::sort(config.added.begin(), config.added.end(),
                  [](const ListedToken& a, const ListedToken& b) { return a.id < b.id; });
    }
    return config;
}

Status add_listed_tokens(const std::vector<ListedToken>& listed, VocabularyData& data) {
    std::unordered_map<std::string, std::size_t> ids;
    ids.reserve(data.tokens.size());
    for (std::size_t id = 0; id < data.tokens.size(); ++id) {
        if (data.types[id] != TokenType::Unused) ids.try_emplace(data.tokens[id], id);
    }
    for (const ListedToken& token : listed) {
        if (token.id < 0) continue;
        auto id = static_cast<std::size_t>(token.id);
        const auto known = ids.find(token.content);
        if (known != ids.end() && known->second != id) {
            data.warnings.push_back("The token " + in_quotes(token.content) + " is listed with id " +
                                    std::to_string(id) + " but has the id " + std::to_string(known->second) +
                                    " in the vocabulary, which counts.");
            id = known->second;
        }
        if (id >= data.tokens.size()) {
            if (id > 2 * (data.tokens.size() + listed.size()) + kSpareIds) {
                return Error{ErrorKind::BadFile, "The token " + in_quotes(token.content) + " has the id " +
                                                     std::to_string(id) + ", far beyond the " +
                                                     std::to_string(data.tokens.size()) +
                                                     " other tokens; the file is damaged."};
            }
            data.tokens.resize(id + 1);
            data.types.resize(id + 1, TokenType::Unused);
            if (!data.scores.empty()) data.scores.resize(id + 1, 0.0F);
        }
        if (data.tokens[id] != token.content &&
            (!data.tokens[id].empty() || data.types[id] != TokenType::Unused)) {
            data.warnings.push_back("The token " + in_quotes(token.content) + " is listed with the id " +
                                    std::to_string(id) + ", which belongs to " + in_quotes(data.tokens[id]) +
                                    "; it is not used.");
            continue;
        }
        data.tokens[id] = token.content;
        ids.try_emplace(token.content, id);
        place(token, id, data);
    }
    return {};
}

void name_special_tokens(const TokenizerConfig& config, VocabularyData& data) {
    const auto name = [&](const std::optional<std::string>& text, std::optional<TokenId>& id) {
        if (!text || text->empty()) return;
        const auto found = std::find(data.tokens.begin(), data.tokens.end(), *text);
        if (found == data.tokens.end()) return;
        id = TokenId(static_cast<std::int32_t>(found - data.tokens.begin()));
    };
    name(config.bos, data.bos);
    name(config.eos, data.eos);
    name(config.unk, data.unk);
    name(config.pad, data.pad);
}

}  // namespace vitrine
