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
    // Instead of the model's own template; null: the model's.
    const ChatTemplate* own_template = nullptr;
    // What an answer that goes on has said so far: stands behind the generation prompt, as text of the
    // conversation, so it can forge no control token.
    std::string answer_so_far;
};

// Rendered text; needs a template (Unsupported error that says so where the model has none).
Result<TrustedText> render_prompt(const Model& model, const OrderedJson& messages,
                                  const PromptOptions& options);

// Ids: control tokens from the template alone, one BOS at most.
Result<std::vector<TokenId>> build_prompt(const Model& model, const OrderedJson& messages,
                                          const PromptOptions& options);

// What to do with a conversation that does not fit into the context. Cut leaves out whole turns (a message of
// the user and all up to the next one), the oldest first; what stands before the first turn, the system
// message, stays, and so does the last turn.
enum class Overflow : std::uint8_t { Refuse, Cut };

struct FittedPrompt {
    std::vector<TokenId> ids;
    std::int32_t dropped_turns = 0;
    std::int32_t dropped_messages = 0;
    std::int32_t dropped_tokens = 0;
};

// build_prompt() for a context of so many tokens, `room` of which are wanted for the answer when turns are
// cut (less than that is no reason to refuse, but one token must be left). TooLarge where it does not fit.
Result<FittedPrompt> fit_prompt(const Model& model, const OrderedJson& messages, const PromptOptions& options,
                                std::int32_t context, std::int32_t room, Overflow overflow);

// How much of a context is worth keeping free for an answer of at most `max_tokens` (negative: no limit).
std::int32_t answer_room(std::int32_t context, std::int32_t max_tokens);

}  // namespace vitrine
