// `vitrine-cli run`: one answer on standard output.
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/output.h"
#include "app/cli/runner.h"
#include "core/engine/prompt.h"
#include "core/text/utf8_stream.h"

namespace vitrine::cli {

namespace {

constexpr std::size_t longest_prompt = 64U << 20;

Result<std::vector<TokenId>> prompt_ids(const Model& model, const RunOptions& options,
                                        const std::string& text) {
    if (options.raw) {
        auto ids = model.tokenizer().encode(text, false, false);
        const auto& bos = model.tokenizer().vocabulary().bos;
        if (model.tokenizer().adds_bos() && bos) ids.insert(ids.begin(), *bos);
        if (ids.empty())
            return Error{ErrorKind::InvalidArgument, "The prompt is empty: there is nothing to continue."};
        return ids;
    }
    std::vector<ChatMessage> messages;
    if (options.system) messages.push_back({"system", to_valid_utf8(*options.system)});
    messages.push_back({"user", text});
    return build_prompt(model, to_json(messages), PromptOptions{});
}

OrderedJson as_json(const Model& model, const Outcome& outcome, std::uint64_t seed) {
    OrderedJson reply;
    reply["text"] = outcome.text;
    reply["finish"] = name_of(outcome.reason);
    reply["prompt_tokens"] = outcome.stats.prompt_tokens;
    reply["generated_tokens"] = outcome.stats.generated_tokens;
    reply["seed"] = seed;
    reply["first_token_seconds"] = outcome.stats.ttft_seconds;
    reply["seconds"] = outcome.stats.total_seconds;
    reply["decode_tok_s"] = outcome.stats.decode_tok_s();
    reply["model"] = model.display_name();
    return reply;
}

}  // namespace

int run_run(const RunOptions& options) {
    if (options.raw && options.system) {
        note(
            "--raw takes the text without a chat template, so --system has no place: leave one of them out.");
        return 2;
    }
    std::string text;
    if (options.prompt) {
        text = to_valid_utf8(*options.prompt);
    } else {
        auto read = read_text("-", longest_prompt);
        if (!read.ok()) {
            note(read.error().message);
            return 1;
        }
        text = to_valid_utf8(*read);
        if (!text.empty() && text.back() == '\n') text.pop_back();
    }
    auto opened = open_model(options.model);
    if (!opened.ok()) {
        note(opened.error().message);
        return 2;
    }
    if (!options.model.model) note(opened->sentence);
    Model& model = *opened->model;

    auto ids = prompt_ids(model, options, text);
    if (!ids.ok()) {
        note(ids.error().message);
        return 1;
    }
    Request request;
    request.prompt = std::move(ids).value();
    request.sampling = options.sampler.params;
    request.sampling.seed = options.sampler.seed_or_fresh();
    request.max_tokens = options.max_tokens;
    request.cancel = std::make_shared<std::atomic<bool>>(false);
    const std::uint64_t seed = request.sampling.seed;
    const auto cancel = request.cancel;

    Interrupts interrupts;
    Runner runner(opened->model, options.engine.engine_options());
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const auto show = [&](const std::string& piece) {
        if (!options.json && !piece.empty()) write_out(terminal ? terminal_text(piece) : piece);
    };
    std::size_t shown = 0;
    runner.on_token = [&](const TokenEvent& event) {
        show(event.text);
        shown += event.text.size();
        if (interrupts.pending() > 0 || !output_alive()) cancel->store(true);
    };
    const auto outcome = runner.run_one(std::move(request));
    if (!outcome.ok()) {
        if (shown > 0) write_out("\n");
        note(outcome.error().message);
        return 1;
    }
    if (options.json) {
        write_out(to_line(as_json(model, *outcome, seed)));
    } else {
        show(outcome->text.substr(std::min(shown, outcome->text.size())));
        if (outcome->text.empty() || outcome->text.back() != '\n') write_out("\n");
        if (outcome->reason == FinishReason::Context) note("(The context is full.)");
    }
    if (outcome->reason == FinishReason::Cancelled && output_alive()) return 1;
    return output_status();
}

}  // namespace vitrine::cli
