#include "core/engine/prompt.h"

#include <algorithm>

namespace vitrine {

OrderedJson to_json(const std::vector<ChatMessage>& messages) {
    OrderedJson list = OrderedJson::array();
    for (const ChatMessage& m : messages) list.push_back({{"role", m.role}, {"content", m.content}});
    return list;
}

Result<TrustedText> render_prompt(const Model& model, const OrderedJson& messages,
                                  const PromptOptions& options) {
    const ChatTemplate* chat_template = options.own_template ? options.own_template : model.chat_template();
    if (!chat_template) {
        if (!model.template_error().empty())
            return Error{ErrorKind::Template, "The chat template of " + model.display_name() +
                                                  " cannot be used: " + model.template_error()};
        return Error{ErrorKind::Unsupported, model.display_name() +
                                                 " has no chat template, so it cannot hold a conversation. "
                                                 "It can continue a plain text (vitrine-cli run --raw)."};
    }
    if (!messages.is_array())
        return Error{ErrorKind::InvalidArgument, "A conversation must be a list of messages."};
    const Tokenizer& tokenizer = model.tokenizer();
    const auto text_of = [&](const std::optional<TokenId>& id) {
        return id ? std::string(tokenizer.bytes(*id)) : std::string();
    };
    RenderInput input;
    input.messages = messages;
    input.tools = options.tools;
    input.extra = options.extra;
    input.add_generation_prompt = options.add_generation_prompt;
    input.bos_token = text_of(tokenizer.vocabulary().bos);
    input.eos_token = text_of(tokenizer.vocabulary().eos);
    input.now = options.now;
    input.cancel = options.cancel;
    VITRINE_TRY(TrustedText text, chat_template->render(input));
    text.text += options.answer_so_far;
    return text;
}

Result<std::vector<TokenId>> build_prompt(const Model& model, const OrderedJson& messages,
                                          const PromptOptions& options) {
    VITRINE_TRY(const TrustedText text, render_prompt(model, messages, options));
    return model.tokenizer().encode_prompt(text);
}

std::int32_t answer_room(std::int32_t context, std::int32_t max_tokens) {
    const std::int32_t quarter = std::max(1, context / 4);
    return max_tokens < 0 ? quarter : std::clamp(max_tokens, 1, quarter);
}

Result<FittedPrompt> fit_prompt(const Model& model, const OrderedJson& messages, const PromptOptions& options,
                                std::int32_t context, std::int32_t room, Overflow overflow) {
    FittedPrompt fitted;
    VITRINE_TRY(fitted.ids, build_prompt(model, messages, options));
    const auto whole = static_cast<std::int64_t>(fitted.ids.size());
    if (whole < context) return fitted;
    const std::string too_long = "The conversation has " + std::to_string(whole) +
                                 " tokens, and the context holds " + std::to_string(context) +
                                 (whole == context ? ", which leaves no room for an answer" : "") + ".";
    if (overflow == Overflow::Refuse)
        return Error{ErrorKind::TooLarge, too_long + " Shorten it, or start a new conversation."};

    std::vector<std::size_t> turns;  // where each begins
    for (std::size_t i = 0; i < messages.size(); ++i)
        if (messages[i].is_object() && messages[i].value("role", "") == "user") turns.push_back(i);
    const auto without = [&](std::size_t count) {
        OrderedJson rest = OrderedJson::array();
        for (std::size_t i = 0; i < messages.size(); ++i)
            if (i < turns.front() || i >= turns[count]) rest.push_back(messages[i]);
        return build_prompt(model, rest, options);
    };
    // The fewest turns that make it fit, with the room wanted; else all but the last, if that fits at all.
    std::size_t low = 1;
    std::size_t high = turns.empty() ? 0 : turns.size() - 1;
    std::optional<FittedPrompt> best;
    while (low <= high) {
        const std::size_t middle = low + (high - low) / 2;
        VITRINE_TRY(std::vector<TokenId> ids, without(middle));
        const auto length = static_cast<std::int64_t>(ids.size());
        const bool fits = length + std::max(1, room) <= context;
        if (fits || (middle == turns.size() - 1 && length < context && !best)) {
            best = FittedPrompt{std::move(ids), static_cast<std::int32_t>(middle),
                                static_cast<std::int32_t>(turns[middle] - turns.front()),
                                static_cast<std::int32_t>(whole - length)};
        }
        if (fits)
            high = middle - 1;
        else
            low = middle + 1;
    }
    if (best) return *std::move(best);
    return Error{
        ErrorKind::TooLarge,
        too_long + " Leaving out earlier turns does not help: the last message" +
            (turns.empty() || turns.front() == 0 ? " is" : " and what stands before the first one are") +
            " too long. Shorten it."};
}

}  // namespace vitrine
