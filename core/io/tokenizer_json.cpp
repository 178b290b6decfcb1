#include "core/io/tokenizer_json.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/io/printable.h"
#include "core/io/tokenizer_config.h"
#include "core/io/tokenizer_json_steps.h"

namespace vitrine {

namespace {

using Json = nlohmann::json;
using Ids = std::unordered_map<std::string_view, std::int32_t>;

constexpr std::size_t kSpareIds = 100'000;

Error damaged(const std::string& what) {
    return Error{ErrorKind::BadFile, "tokenizer.json: " + what + "; the file is damaged."};
}

// Tokens by id. The texts live in the document, which the table of ids refers to.
Status read_tokens(const Json& vocab, VocabularyData& data, Ids& ids) {
    std::uint64_t highest = 0;
    for (const auto& entry : vocab.items()) {
        if (!entry.value().is_number_unsigned()) {
            return damaged("model.vocab: the token " + in_quotes(entry.key()) + " has no usable id");
        }
        highest = std::max(highest, entry.value().get<std::uint64_t>());
    }
    if (highest > 2 * vocab.size() + kSpareIds) {
        return damaged("model.vocab has " + std::to_string(vocab.size()) + " tokens, but ids up to " +
                       std::to_string(highest));
    }
    const std::size_t count = vocab.empty() ? 0 : static_cast<std::size_t>(highest) + 1;
    data.tokens.resize(count);
    data.types.assign(count, TokenType::Unused);
    ids.reserve(vocab.size());
    for (auto entry = vocab.begin(); entry != vocab.end(); ++entry) {
        const auto id = entry.value().get<std::uint64_t>();
        if (data.types[id] != TokenType::Unused) {
            return damaged("model.vocab: the tokens " + in_quotes(data.tokens[id]) + " and " +
                           in_quotes(entry.key()) + " have the same id");
        }
        data.tokens[id] = entry.key();
        data.types[id] = TokenType::Normal;
        ids.emplace(entry.key(), static_cast<std::int32_t>(id));
    }
    return {};
}

// A merge is "left right", or a pair of texts.
bool read_merge(const Json& merge, std::string& left, std::string& right) {
    if (merge.is_array()) {
        if (merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) return false;
        left = merge[0].get_ref<const std::string&>();
        right = merge[1].get_ref<const std::string&>();
        return true;
    }
    if (!merge.is_string()) return false;
    const auto& line = merge.get_ref<const std::string&>();
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) return false;
    left.assign(line, 0, space);
    right.assign(line, space + 1);
    return true;
}

Status read_merges(const Json& merges, const Ids& ids, VocabularyData& data) {
    std::size_t unusable = 0;
    std::size_t first = 0;
    std::string left;
    std::string right;
    const auto id_of = [&](const std::string& text) {
        const auto found = ids.find(text);
        return found == ids.end() ? -1 : found->second;
    };
    data.merge_ids.reserve(merges.size());
    for (std::size_t i = 0; i < merges.size(); ++i) {
        if (!read_merge(merges[i], left, right)) {
            return damaged("model.merges: merge " + std::to_string(i) + " does not hold two parts");
        }
        const MergeIds merge{id_of(left), id_of(right), id_of(left + right)};
        if ((merge.left < 0 || merge.right < 0 || merge.whole < 0) && unusable++ == 0) first = i;
        data.merge_ids.push_back(merge);  // also where unusable: the place is the rank
    }
    if (unusable > 0) {
        data.warnings.push_back("Of the " + std::to_string(merges.size()) + " merges of the vocabulary, " +
                                std::to_string(unusable) +
                                " name texts that are no tokens and are not used (first: merge " +
                                std::to_string(first) + ").");
    }
    return {};
}

Status check_model(const Json& model) {
    const std::string type =
        text_of(model, "type").value_or(member_of(model, "merges") != nullptr ? "BPE" : "");
    if (type != "BPE") {
        return Error{ErrorKind::Unsupported, "tokenizer.json: the model is of the kind " + in_quotes(type) +
                                                 ", which is not known; known: BPE."};
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        const auto text = text_of(model, key);
        if (text && !text->empty()) {
            return Error{ErrorKind::Unsupported, "tokenizer.json: model." + std::string(key) + " is " +
                                                     in_quotes(*text) + ", which is not known."};
        }
    }
    return {};
}

Status read_model(const Json& document, VocabularyData& data) {
    const Json* model = member_of(document, "model");
    if (model == nullptr) return damaged("the member \"model\" is missing");
    VITRINE_CHECK(check_model(*model));
    const Json* vocab = member_of(*model, "vocab");
    const Json* merges = member_of(*model, "merges");
    if (vocab == nullptr || !vocab->is_object()) return damaged("model.vocab is missing");
    if (merges == nullptr || !merges->is_array()) return damaged("model.merges is missing");
    Ids ids;
    VITRINE_CHECK(read_tokens(*vocab, data, ids));
    VITRINE_CHECK(read_merges(*merges, ids, data));
    PipelineRules& rules = *data.rules;
    rules.byte_fallback = flag_of(*model, "byte_fallback").value_or(false);
    rules.fuse_unknown = flag_of(*model, "fuse_unk").value_or(false);
    rules.ignore_merges = flag_of(*model, "ignore_merges").value_or(false);
    const Json* dropout = member_of(*model, "dropout");
    if (dropout != nullptr && (!dropout->is_number() || dropout->get<double>() != 0.0)) {
        data.warnings.emplace_back(
            "tokenizer.json leaves merges out at random (model.dropout), as for training; here all are "
            "used.");
    }
    if (const auto unknown = text_of(*model, "unk_token")) {
        const auto found = ids.find(*unknown);
        if (found != ids.end()) {
            data.unk = TokenId(found->second);
            data.types[static_cast<std::size_t>(found->second)] = TokenType::Unknown;
        }
    }
    return {};
}

Status read_added(const Json& document, const TokenizerConfig& config, VocabularyData& data) {
    std::vector<ListedToken> listed;
    const Json* added = member_of(document, "added_tokens");
    if (added != nullptr) {
        if (!added->is_array()) return damaged("added_tokens is no list");
        for (const Json& object : *added) {
            VITRINE_TRY(ListedToken token,
                        read_listed_token(object, std::nullopt, "tokenizer.json: added_tokens"));
            listed.push_back(std::move(token));
        }
    }
    std::stable_sort(listed.begin(), listed.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    VITRINE_CHECK(add_listed_tokens(listed, data));
    return add_listed_tokens(config.added, data);
}

// Publishers' classes that follow the configuration's word on BOS and EOS, whatever tokenizer.json says.
bool config_decides(const std::string& tokenizer_class) {
    for (const std::string_view name : {"Llama", "CodeLlama", "Gemma", "Cohere"}) {
        if (tokenizer_class.starts_with(name)) return true;
    }
    return false;
}

Status read_begin_and_end(const Json& document, const TokenizerConfig& config, VocabularyData& data) {
    VITRINE_TRY(const TokensAround around, read_post_processor(document));
    for (const auto& id : {around.before, around.after}) {
        if (id && static_cast<std::uint64_t>(*id) >= data.tokens.size()) {
            return damaged("the post-processor names the token " + std::to_string(*id) +
                           " of a vocabulary with " + std::to_string(data.tokens.size()));
        }
    }
    name_special_tokens(config, data);
    data.add_bos = around.before.has_value();
    data.add_eos = around.after.has_value();
    if (around.before) data.bos = TokenId(static_cast<std::int32_t>(*around.before));
    if (around.after && !data.eos) data.eos = TokenId(static_cast<std::int32_t>(*around.after));
    if (around.after && *around.after != data.eos->value) {
        return Error{ErrorKind::Unsupported,
                     "tokenizer.json: the post-processor ends a text with another token than the one that "
                     "tokenizer_config.json names as eos_token, which is not known."};
    }
    if (config_decides(config.tokenizer_class)) {
        if (config.add_bos) data.add_bos = *config.add_bos && data.bos;
        if (config.add_eos) data.add_eos = *config.add_eos && data.eos;
    }
    return {};
}

}  // namespace

Result<VocabularyData> read_tokenizer_json(std::string_view json, std::string_view config_json) {
    VITRINE_TRY(const Json document, parse_tokenizer_json(json, "tokenizer.json"));
    VITRINE_TRY(const TokenizerConfig config, read_tokenizer_config(config_json));
    VocabularyData data;
    data.rules.emplace();
    VITRINE_CHECK(read_normalizer(document, *data.rules));
    VITRINE_CHECK(read_pretokenizer(document, *data.rules));
    VITRINE_CHECK(read_decoder(document, *data.rules));
    VITRINE_CHECK(read_model(document, data));
    VITRINE_CHECK(read_added(document, config, data));
    if (data.tokens.empty()) return damaged("the vocabulary holds no tokens");
    VITRINE_CHECK(read_begin_and_end(document, config, data));
    data.model = data.rules->byte_level ? "gpt2" : "bpe";
    return data;
}

}  // namespace vitrine
