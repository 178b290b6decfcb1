// What a Hugging Face folder says about text: vocabulary, special tokens, end-of-generation ids, chat
// template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/vocabulary.h"

namespace vitrine {

struct HfText {
    VocabularyData vocabulary;
    std::optional<std::string> chat_template;
    std::vector<std::string> warnings;
};

// tokenizer.json, else tokenizer.model; tokenizer_config.json, and special_tokens_map.json for tokens that it
// leaves open; chat_template.jinja, else chat_template.json, else the member of tokenizer_config.json. Ids of
// generation_config.json and `config_eos`, `config_bos` (config.json) end an answer, or stand for absent
// tokens. NotFound where there is no vocabulary; other errors name the file.
Result<HfText> read_hf_text(const std::filesystem::path& folder, const std::vector<std::int64_t>& config_eos,
                            std::optional<std::int64_t> config_bos);

}  // namespace vitrine
