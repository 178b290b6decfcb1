#include "core/engine/prompt.h"

namespace vitrine {

OrderedJson to_json(const std::vector<ChatMessage>& messages) {
    OrderedJson list = OrderedJson::array();
    for (const ChatMessage& m : messages) list.push_back({{"role", m.role}, {"content", m.content}});
    return list;
}

Result<TrustedText> render_prompt(const Model& model, const OrderedJson& messages,
                                  const PromptOptions& options) {
    const ChatTemplate* chat_template = model.chat_template();
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
    return chat_template->render(input);
}

Result<std::vector<TokenId>> build_prompt(const Model& model, const OrderedJson& messages,
                                          const PromptOptions& options) {
    VITRINE_TRY(const TrustedText text, render_prompt(model, messages, options));
    return model.tokenizer().encode_prompt(text);
}

}  // namespace vitrine
