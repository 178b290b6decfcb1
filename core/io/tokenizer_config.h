// What tokenizer.json and tokenizer.model share: JSON read within limits, and the few members of
// tokenizer_config.json that say something about tokens. Internal to core/io.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "core/io/vocabulary.h"

namespace vitrine {

// Objects and arrays inside each other: published files stay below 10.
inline constexpr std::size_t kTokenizerJsonDepth = 64;
inline constexpr std::size_t kTokenizerJsonBytes = std::size_t{512} << 20U;

// `name` is what a message calls the text. TooLarge: too many bytes or too deep. BadFile: no JSON object.
Result<nlohmann::json> parse_tokenizer_json(std::string_view text, std::string_view name);

// A member that is there and not null, else null. `object` may be anything.
const nlohmann::json* member_of(const nlohmann::json& object, const char* key);
// The member as that type; none where it is absent or of another type.
std::optional<bool> flag_of(const nlohmann::json& object, const char* key);
std::optional<std::string> text_of(const nlohmann::json& object, const char* key);

// A token that is searched for in text, as both files describe it.
struct ListedToken {
    std::int64_t id = -1;
    std::string content;
    bool special = false;
    AddedToken flags;  // without the id
};
// BadFile where id or content are no such things. `id` may be absent in the object (the key names it).
Result<ListedToken> read_listed_token(const nlohmann::json& object, std::optional<std::int64_t> id,
                                      std::string_view where);

struct TokenizerConfig {
    std::optional<std::string> bos, eos, unk, pad;  // texts of the tokens
    std::optional<bool> add_bos, add_eos, add_prefix_space;
    std::string tokenizer_class;
    std::vector<ListedToken> added;  // added_tokens_decoder, ascending ids
};
// An empty text gives an empty configuration.
Result<TokenizerConfig> read_tokenizer_config(std::string_view text);

// Puts the listed tokens into the vocabulary: appended where their id is new, flags and type changed where
// their text is there already; gaps become unused tokens. A token whose place is taken is left out with a
// warning. BadFile where ids leave unreasonable gaps.
Status add_listed_tokens(const std::vector<ListedToken>& listed, VocabularyData& data);

// Fills bos, eos, unk, pad from the texts that the configuration names, where the vocabulary has them.
void name_special_tokens(const TokenizerConfig& config, VocabularyData& data);

}  // namespace vitrine
