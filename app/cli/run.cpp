// `vitrine-cli run`: one answer on standard output, or several.
#include <cmath>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/latency.h"
#include "app/cli/output.h"
#include "app/cli/runner.h"
#include "core/engine/prompt.h"
#include "core/text/utf8_stream.h"

namespace vitrine::cli {

namespace {

constexpr std::size_t longest_prompt = 64U << 20;

Result<FittedPrompt> prompt_ids(const Model& model, const RunOptions& options, const std::string& text) {
    if (options.raw) {
        FittedPrompt prompt;
        prompt.ids = model.tokenizer().encode(text, false, false);
        const auto& bos = model.tokenizer().vocabulary().bos;
        if (model.tokenizer().adds_bos() && bos) prompt.ids.insert(prompt.ids.begin(), *bos);
        if (prompt.ids.empty())
            return Error{ErrorKind::InvalidArgument, "The prompt is empty: there is nothing to continue."};
        return prompt;
    }
    std::vector<ChatMessage> messages;
    if (options.system) messages.push_back({"system", to_valid_utf8(*options.system)});
    messages.push_back({"user", text});
    const std::int32_t trained = model.config().context;
    const std::int32_t context = options.engine.context > 0 ? options.engine.context : trained;
    return fit_prompt(model, to_json(messages), PromptOptions{}, context,
                      answer_room(context, options.max_tokens),
                      options.overflow == "cut" ? Overflow::Cut : Overflow::Refuse);
}

Result<std::string> prompt_text(const RunOptions& options) {
    if (options.prompt) return to_valid_utf8(*options.prompt);
    VITRINE_TRY(const std::string read, read_text("-", longest_prompt));
    std::string text = to_valid_utf8(read);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

std::string piece_of(const Model& model, TokenId id) {
    return id.value < model.tokenizer().size() ? to_valid_utf8(model.tokenizer().bytes(id)) : std::string();
}

OrderedJson token_json(const Model& model, const TokenEvent& event) {
    OrderedJson token;
    token["id"] = event.id.value;
    token["piece"] = piece_of(model, event.id);
    token["log_probability"] = static_cast<double>(event.log_probability);
    token["rank"] = event.rank;
    token["candidates"] = OrderedJson::array();
    for (const Candidate& c : event.candidates)
        token["candidates"].push_back({{"id", c.id.value},
                                       {"piece", piece_of(model, c.id)},
                                       {"log_probability", static_cast<double>(c.log_probability)}});
    return token;
}

OrderedJson answer_json(const Outcome& outcome) {
    OrderedJson reply;
    reply["text"] = outcome.text;
    reply["finish"] = name_of(outcome.reason);
    reply["prompt_tokens"] = outcome.stats.prompt_tokens;
    reply["generated_tokens"] = outcome.stats.generated_tokens;
    return reply;
}

// What is heard of the answers while they come.
struct Heard {
    std::size_t shown = 0;            // bytes of the first answer on standard output
    std::vector<OrderedJson> tokens;  // by answer, where candidates are asked for
};

OrderedJson as_json(const Model& model, const std::vector<Outcome>& outcomes, const Heard& heard,
                    const FittedPrompt& prompt, std::uint64_t seed, const MetricsSummary& metrics) {
    const Outcome& first = outcomes.front();
    OrderedJson reply = answer_json(first);
    reply["seed"] = seed;
    reply["first_token_seconds"] = first.stats.ttft_seconds;
    reply["seconds"] = first.stats.total_seconds;
    reply["decode_tok_s"] = first.stats.decode_tok_s();
    reply["model"] = model.display_name();
    if (prompt.dropped_turns > 0)
        reply["dropped"] = {{"turns", prompt.dropped_turns}, {"tokens", prompt.dropped_tokens}};
    if (!heard.tokens.empty()) reply["tokens"] = heard.tokens.front();
    if (outcomes.size() > 1) {
        reply["answers"] = OrderedJson::array();
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            reply["answers"].push_back(answer_json(outcomes[i]));
            if (!heard.tokens.empty()) reply["answers"].back()["tokens"] = heard.tokens[i];
        }
    }
    reply["metrics"] = latency_json(metrics);
    return reply;
}

Request make_request(const RunOptions& options, std::vector<TokenId> ids) {
    Request request;
    request.prompt = std::move(ids);
    request.sampling = options.sampler.params;
    request.sampling.seed = options.sampler.seed_or_fresh();
    request.max_tokens = options.max_tokens;
    request.speculation = options.draft.speculation();
    request.n = options.n;
    request.candidates = options.json ? options.candidates : 0;
    request.stop = options.stop;
    request.ignore_eog = options.ignore_eog;
    request.cancel = std::make_shared<std::atomic<bool>>(false);
    return request;
}

void show_all(const std::vector<Outcome>& outcomes, std::size_t shown, bool terminal) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const Outcome& o = outcomes[i];
        std::string rest =
            i == 0 && outcomes.size() == 1 ? o.text.substr(std::min(shown, o.text.size())) : o.text;
        if (outcomes.size() > 1) rest = "[" + std::to_string(i + 1) + "] " + rest;
        write_out(terminal ? terminal_text(rest) : rest);
        if (o.text.empty() || o.text.back() != '\n') write_out("\n");
    }
    if (outcomes.front().reason == FinishReason::Context) note("(The context is full.)");
}

// Exit status; the model is open and the prompt known.
int answer(const RunOptions& options, const std::shared_ptr<Model>& model,
           const std::shared_ptr<Model>& draft, FittedPrompt prompt) {
    Recorder recorder;
    if (options.engine.trace) {
        if (const Status made = recorder.open_trace(*options.engine.trace, *model); !made.ok()) {
            note(made.error().message);
            return 2;
        }
    }
    if (prompt.dropped_turns > 0)
        note("(The oldest " + std::to_string(prompt.dropped_turns) + " turns, " +
             std::to_string(prompt.dropped_tokens) + " tokens, were left out: the context is too short.)");
    Request request = make_request(options, std::move(prompt.ids));
    const std::uint64_t seed = request.sampling.seed;
    const auto cancel = request.cancel;

    Interrupts interrupts;
    Runner runner(model, options.engine.engine_options(), &recorder);
    if (const Status set = runner.set_draft(draft); !set.ok()) {
        note(set.error().message);
        return 2;
    }
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const bool streams = !options.json && options.n == 1;
    Heard heard;
    if (request.candidates > 0)
        heard.tokens.assign(static_cast<std::size_t>(options.n), OrderedJson::array());
    runner.on_token = [&](const TokenEvent& event) {
        if (streams && !event.text.empty()) {
            write_out(terminal ? terminal_text(event.text) : event.text);
            heard.shown += event.text.size();
        }
        if (!heard.tokens.empty())
            heard.tokens[static_cast<std::size_t>(event.answer)].push_back(token_json(*model, event));
    };
    runner.on_step = [&] {
        if (interrupts.pending() > 0 || !output_alive()) cancel->store(true);
    };
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    const auto outcomes = runner.run(std::move(requests), 1);
    const Status whole = recorder.finish();
    if (!whole.ok()) note(whole.error().message);
    if (!outcomes.ok()) {
        if (heard.shown > 0) write_out("\n");
        note(outcomes.error().message);
        return 1;
    }
    if (options.json)
        write_out(to_line(as_json(*model, *outcomes, heard, prompt, seed, recorder.metrics().summary())));
    else
        show_all(*outcomes, heard.shown, terminal);
    if (outcomes->front().reason == FinishReason::Cancelled && output_alive()) return 1;
    return whole.ok() ? output_status() : 1;
}

}  // namespace

int run_run(const RunOptions& options) {
    if (options.raw && options.system) {
        note(
            "--raw takes the text without a chat template, so --system has no place: leave one of them out.");
        return 2;
    }
    const auto text = prompt_text(options);
    if (!text.ok()) {
        note(text.error().message);
        return 1;
    }
    auto opened = open_model(options.model);
    if (!opened.ok()) {
        note(opened.error().message);
        return 2;
    }
    if (!options.model.model) note(opened->sentence);
    auto prompt = prompt_ids(*opened->model, options, *text);
    if (!prompt.ok()) {
        note(prompt.error().message);
        return 1;
    }
    const auto draft = open_draft(options.draft, opened->model);
    if (!draft.ok()) {
        note(draft.error().message);
        return 2;
    }
    return answer(options, opened->model, *draft, std::move(prompt).value());
}

}  // namespace vitrine::cli
