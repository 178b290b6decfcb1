#include "core/io/hf_vocabulary.h"

#include <algorithm>

#include "core/io/hf_config.h"
#include "core/io/json_reader.h"
#include "core/io/printable.h"
#include "core/io/sentencepiece_model.h"
#include "core/io/tokenizer_config.h"
#include "core/io/tokenizer_json.h"

namespace vitrine {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kTemplateBytes = std::uint64_t{4} << 20U;

// tokenizer_config.json with the tokens of special_tokens_map.json where it has none itself; null: neither is
// there.
Result<Json> read_configs(const fs::path& folder) {
    VITRINE_TRY(auto config, read_json_if_present(folder / "tokenizer_config.json"));
    VITRINE_TRY(const auto map, read_json_if_present(folder / "special_tokens_map.json"));
    if (!config && !map) return Json();
    Json merged = config ? std::move(*config) : Json::object();
    if (map) {
        for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
            if (member_of(merged, name) != nullptr) continue;
            if (const Json* token = member_of(*map, name)) merged[name] = *token;
        }
    }
    return merged;
}

// The member is one template, or a list of named ones.
Result<std::optional<std::string>> template_of(const Json& config, const std::string& where, HfText& out) {
    const Json* value = member_of(config, "chat_template");
    if (value == nullptr) return std::optional<std::string>();
    if (value->is_string()) return std::optional<std::string>(value->get<std::string>());
    const Json* chosen = nullptr;
    std::string chosen_name;
    if (value->is_array()) {
        for (const Json& one : *value) {
            const auto name = text_of(one, "name");
            const Json* text = member_of(one, "template");
            if (!name || text == nullptr || !text->is_string()) continue;
            if (chosen == nullptr || *name == "default") {
                chosen = text;
                chosen_name = *name;
            }
            if (*name == "default") break;
        }
    }
    if (chosen == nullptr) {
        return Error{ErrorKind::BadFile,
                     where + "'chat_template' is " + json_what(*value) +
                         "; a text, or a list of objects with name and template, is needed."};
    }
    if (chosen_name != "default")
        out.warnings.push_back("Of several chat templates none is called 'default'; " +
                               in_quotes(chosen_name) + " is used.");
    return std::optional<std::string>(chosen->get<std::string>());
}

Status read_template(const fs::path& folder, const Json& config, HfText& out) {
    VITRINE_TRY(auto text, read_if_present(folder / "chat_template.jinja", kTemplateBytes));
    if (!text) {
        const fs::path path = folder / "chat_template.json";
        VITRINE_TRY(const auto json, read_json_if_present(path));
        if (json) {
            VITRINE_TRY(text, template_of(*json, display_path(path) + ": ", out));
        }
    }
    if (!text) {
        VITRINE_TRY(text, template_of(config, display_path(folder / "tokenizer_config.json") + ": ", out));
    }
    if (text && !text->empty()) out.chat_template = std::move(text);
    return {};
}

Status read_vocabulary(const fs::path& folder, const Json& config, HfText& out) {
    const std::string settings = config.is_null() ? std::string() : config.dump();
    const auto located = [&](const fs::path& path, const Error& error) {
        // The readers begin with the name of their file.
        const std::string name = path.filename().string() + ": ";
        const bool named = error.message.rfind(name, 0) == 0;
        return Error{error.kind, display_path(path) + ": " + error.message.substr(named ? name.size() : 0)};
    };
    const fs::path json_path = folder / "tokenizer.json";
    VITRINE_TRY(const auto json, read_if_present(json_path, kTokenizerJsonBytes));
    if (json) {
        auto vocabulary = read_tokenizer_json(*json, settings);
        if (!vocabulary.ok()) return located(json_path, vocabulary.error());
        out.vocabulary = std::move(vocabulary).value();
        return {};
    }
    const fs::path model_path = folder / "tokenizer.model";
    VITRINE_TRY(const auto model, read_if_present(model_path, kTokenizerJsonBytes));
    if (model) {
        auto vocabulary = read_sentencepiece_model(*model, settings);
        if (!vocabulary.ok()) return located(model_path, vocabulary.error());
        out.vocabulary = std::move(vocabulary).value();
        return {};
    }
    return Error{ErrorKind::NotFound,
                 display_path(folder) +
                     ": the folder has no vocabulary (tokenizer.json or tokenizer.model), so text "
                     "cannot be turned into tokens; get these files of the model, too."};
}

// Ids that end an answer, beside the token that ends a text.
void read_ends(const std::vector<std::int64_t>& ids, const char* file, HfText& out) {
    VocabularyData& v = out.vocabulary;
    for (const std::int64_t id : ids) {
        if (id < 0 || static_cast<std::uint64_t>(id) >= v.tokens.size()) {
            // -1 is how some files say "none".
            if (id != -1)
                out.warnings.push_back(std::string(file) + " names token " + std::to_string(id) +
                                       " as an end, but the vocabulary has " +
                                       std::to_string(v.tokens.size()) + " tokens; it is ignored.");
            continue;
        }
        const TokenId token(static_cast<std::int32_t>(id));
        if (!v.eos) v.eos = token;
        if (v.eos == token || std::find(v.extra_eog.begin(), v.extra_eog.end(), token) != v.extra_eog.end())
            continue;
        v.extra_eog.push_back(token);
    }
}

}  // namespace

Result<HfText> read_hf_text(const fs::path& folder, const std::vector<std::int64_t>& config_eos,
                            std::optional<std::int64_t> config_bos) {
    HfText out;
    VITRINE_TRY(const Json config, read_configs(folder));
    VITRINE_CHECK(read_vocabulary(folder, config, out));
    VITRINE_CHECK(read_template(folder, config, out));
    VITRINE_TRY(const auto generation, read_json_if_present(folder / "generation_config.json"));
    if (generation) read_ends(read_hf_ids(*generation, "eos_token_id"), "generation_config.json", out);
    read_ends(config_eos, "config.json", out);
    VocabularyData& v = out.vocabulary;
    // Where tokenizer_config.json is there and names no begin token, there is none.
    if (!v.bos && config.is_null() && config_bos && *config_bos >= 0 &&
        static_cast<std::uint64_t>(*config_bos) < v.tokens.size())
        v.bos = TokenId(static_cast<std::int32_t>(*config_bos));
    out.warnings.insert(out.warnings.end(), v.warnings.begin(), v.warnings.end());
    return out;
}

}  // namespace vitrine
