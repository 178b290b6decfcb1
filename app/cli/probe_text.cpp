// The operations of probe that need no weights.
#include "app/cli/probe.h"
#include "core/engine/prompt.h"
#include "core/text/token_stream.h"

namespace vitrine::cli {

namespace {

template <class Number>
OrderedJson positive_or_null(Number value) {
    return value > 0 ? OrderedJson(value) : OrderedJson();
}

std::string spelling(const Tokenizer& tokenizer, const std::optional<TokenId>& id) {
    return id ? std::string(tokenizer.bytes(*id)) : std::string();
}

}  // namespace

Probe::Reply Probe::info() const {
    const ModelConfig& config = model_->config();
    const Tokenizer& tokenizer = model_->tokenizer();
    KvShape kv;
    kv.layers = config.layers;
    kv.kv_heads = config.kv_heads;
    kv.head_dim = config.head_dim;
    kv.dtype = flags_.engine_options().kv_dtype;
    const bool known = kv.layers > 0 && kv.kv_heads > 0 && kv.head_dim > 0;
    const auto& bos = tokenizer.vocabulary().bos;
    OrderedJson reply;
    reply["architecture"] = config.architecture.empty() ? OrderedJson() : OrderedJson(config.architecture);
    reply["vocabulary"] = tokenizer.size();
    reply["context"] = positive_or_null(config.context);
    reply["layers"] = positive_or_null(config.layers);
    reply["embedding"] = positive_or_null(config.embedding);
    reply["heads"] = positive_or_null(config.heads);
    reply["kv_heads"] = positive_or_null(config.kv_heads);
    reply["kv_bytes_per_token"] = known ? OrderedJson(kv.bytes_per_token()) : OrderedJson();
    reply["weights_bytes"] = positive_or_null(model_->file_weights_bytes());
    reply["bos"] = bos ? OrderedJson(bos->value) : OrderedJson();
    reply["eog"] = id_list(tokenizer.end_of_generation());
    reply["add_bos"] = tokenizer.adds_bos();
    reply["chat_template"] = model_->chat_template() != nullptr || !model_->template_error().empty();
    reply["name"] = config.name.empty() ? OrderedJson() : OrderedJson(config.name);
    return reply;
}

Probe::Reply Probe::tokenize(const Fields& request) const {
    VITRINE_TRY(const std::string text, request.text("text"));
    VITRINE_TRY(const bool parse_special, request.flag("parse_special", false));
    VITRINE_TRY(const bool add_special, request.flag("add_special", false));
    OrderedJson reply;
    reply["ids"] = id_list(model_->tokenizer().encode(text, parse_special, add_special));
    return reply;
}

Probe::Reply Probe::detokenize(const Fields& request) const {
    if (request.find("ids") == nullptr) return request.wrong("ids", "a list of ids");
    VITRINE_TRY(const std::vector<TokenId> ids, request.ids("ids", vocabulary(), true));
    OrderedJson reply;
    reply["text"] = model_->tokenizer().decode(ids);
    return reply;
}

Probe::Reply Probe::stream(const Fields& request) const {
    if (request.find("ids") == nullptr) return request.wrong("ids", "a list of ids");
    VITRINE_TRY(const std::vector<TokenId> ids, request.ids("ids", vocabulary(), true));
    TokenStream reader(model_->tokenizer());
    OrderedJson reply;
    reply["emitted"] = OrderedJson::array();
    for (const TokenId id : ids) reply["emitted"].push_back(reader.push(id));
    reply["flush"] = reader.flush();
    return reply;
}

Result<TrustedText> Probe::rendered(const Fields& request) const {
    VITRINE_TRY(OrderedJson messages, request.list("messages"));
    VITRINE_TRY(const bool generation, request.flag("add_generation_prompt", true));
    VITRINE_TRY(OrderedJson tools, request.list_or_null("tools"));
    VITRINE_TRY(OrderedJson extra, request.object_or_empty("extra"));
    VITRINE_TRY(const std::optional<std::string> source, request.text_or_null("template"));
    VITRINE_TRY(const std::optional<std::string> moment, request.text_or_null("now"));
    CivilTime now = local_now();
    if (moment) {
        const auto parsed = parse_civil_time(*moment);
        if (!parsed) return request.wrong("now", "a moment such as \"2026-01-02T00:00:00\"");
        now = *parsed;
    }
    if (!source) {
        PromptOptions options;
        options.add_generation_prompt = generation;
        options.tools = std::move(tools);
        options.extra = std::move(extra);
        options.now = now;
        return render_prompt(*model_, messages, options);
    }
    VITRINE_TRY(const std::unique_ptr<ChatTemplate> parsed, ChatTemplate::parse(*source));
    const Tokenizer& tokenizer = model_->tokenizer();
    RenderInput input;
    input.messages = std::move(messages);
    input.tools = std::move(tools);
    input.extra = std::move(extra);
    input.add_generation_prompt = generation;
    input.bos_token = spelling(tokenizer, tokenizer.vocabulary().bos);
    input.eos_token = spelling(tokenizer, tokenizer.vocabulary().eos);
    input.now = now;
    return parsed->render(input);
}

Probe::Reply Probe::render(const Fields& request) const {
    VITRINE_TRY(const TrustedText text, rendered(request));
    OrderedJson reply;
    reply["text"] = text.text;
    return reply;
}

Probe::Reply Probe::prompt(const Fields& request) const {
    VITRINE_TRY(const TrustedText text, rendered(request));
    OrderedJson reply;
    reply["ids"] = id_list(model_->tokenizer().encode_prompt(text));
    return reply;
}

}  // namespace vitrine::cli
