// The members of a tokenizer.json that describe what happens to text around the model: normalizer,
// pre-tokenizer, decoder, post-processor. Internal to core/io.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "core/io/vocabulary.h"

namespace vitrine {

// Tokens around a text, by the post-processor.
struct TokensAround {
    std::optional<std::int64_t> before, after;
};

// Each takes the whole document and fills its part of the rules. Unsupported names the kind that is not
// known.
Status read_normalizer(const nlohmann::json& document, PipelineRules& rules);
Status read_pretokenizer(const nlohmann::json& document, PipelineRules& rules);
Status read_decoder(const nlohmann::json& document, PipelineRules& rules);
Result<TokensAround> read_post_processor(const nlohmann::json& document);

}  // namespace vitrine
