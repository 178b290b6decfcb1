// A conversation as the engine gets it: template and tokenizer together.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/model.h"

namespace vitrine {

struct ChatMessage {
    std::string role;  // "system", "user", "assistant", "tool"
    std::string content;
};

// messages as the JSON list that templates expect.
OrderedJson to_json(const std::vector<ChatMessage>& messages);

struct PromptOptions {
    bool add_generation_prompt = true;
    OrderedJson tools;  // null: none
    OrderedJson extra = OrderedJson::object();
    CivilTime now = local_now();
    const std::atomic<bool>* cancel = nullptr;
};

// Rendered text; needs a template (Unsupported error that says so where the model has none).
Result<TrustedText> render_prompt(const Model& model, const OrderedJson& messages,
                                  const PromptOptions& options);

// Ids: control tokens from the template alone, one BOS at most.
Result<std::vector<TokenId>> build_prompt(const Model& model, const OrderedJson& messages,
                                          const PromptOptions& options);

}  // namespace vitrine
