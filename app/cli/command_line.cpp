#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>

#include "app/cli/bench.h"
#include "app/cli/chat.h"
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/probe.h"
#include "core/quant/quantize_file.h"

namespace vitrine::cli {

namespace {

// CLI11 wants an exception from a callback; it never leaves main(). The message is the whole sentence.
[[noreturn]] void refuse(const Error& error) {
    throw CLI::ParseError(error.message, CLI::ExitCodes::ValidationError);
}

CLI::Option* add_integer(CLI::App& app, const std::string& name, std::int32_t& target, std::int64_t low,
                         std::int64_t high, const std::string& help) {
    return app
        .add_option_function<std::string>(
            name,
            [&target, name, low, high](const std::string& text) {
                const auto value = parse_integer(text, name, low, high);
                if (!value.ok()) refuse(value.error());
                target = static_cast<std::int32_t>(*value);
            },
            help)
        ->type_name("N");
}

CLI::Option* add_decimal(CLI::App& app, const std::string& name, float& target, double low, double high,
                         const std::string& help) {
    return app
        .add_option_function<std::string>(
            name,
            [&target, name, low, high](const std::string& text) {
                const auto value = parse_decimal(text, name, low, high);
                if (!value.ok()) refuse(value.error());
                target = static_cast<float>(*value);
            },
            help)
        ->type_name("X");
}

// "256,2048": numbers with commas between.
CLI::Option* add_integers(CLI::App& app, const std::string& name, std::vector<std::int32_t>& target,
                          std::int64_t low, std::int64_t high, const std::string& help) {
    return app
        .add_option_function<std::string>(
            name,
            [&target, name, low, high](const std::string& text) {
                target.clear();
                std::string_view rest = text;
                for (;;) {
                    const auto comma = rest.find(',');
                    const auto value = parse_integer(rest.substr(0, comma), name, low, high);
                    if (!value.ok()) refuse(value.error());
                    target.push_back(static_cast<std::int32_t>(*value));
                    if (target.size() > 64)
                        refuse(Error{ErrorKind::InvalidArgument, name + " takes at most 64 numbers."});
                    if (comma == std::string_view::npos) return;
                    rest.remove_prefix(comma + 1);
                }
            },
            help)
        ->type_name("N,N,…");
}

void add_model(CLI::App& app, ModelOptions& options, bool model_required) {
    CLI::Option* option = app.add_option(
        "--model,-m", options.model,
        model_required ? "Model file" : "Model file (default: the default model, else the embedded one)");
    option->type_name("PATH");
    if (model_required) option->required();
    app.add_option(
           "--device", options.device,
           "Where to compute: auto (a GPU where one can be used, else the processor), cpu or cuda (a GPU)")
        ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
        ->type_name("NAME")
        ->capture_default_str();
    add_integer(app, "--threads", options.threads, 0, 1024,
                "Threads of the CPU device; 0: one for each core");
    app.add_flag("--exact", options.exact, "Reference operations: slow, the yardstick of the fast ones");
}

void add_engine(CLI::App& app, EngineFlags& flags) {
    app.add_option("--kv", flags.kv, "Precision of the KV cache: f32, f16 or bf16")
        ->check(CLI::IsMember({"f32", "f16", "bf16"}))
        ->type_name("TYPE")
        ->capture_default_str();
    app.add_option_function<std::string>(
           "--block-size",
           [&flags](const std::string& text) {
               const auto value = parse_integer(text, "--block-size", 8, 256);
               if (!value.ok()) refuse(value.error());
               if (*value % 8 != 0)
                   refuse(Error{ErrorKind::InvalidArgument,
                                "--block-size must be a multiple of 8 from 8 to 256, not " + text + "."});
               flags.block_size = static_cast<std::int32_t>(*value);
           },
           "Tokens in a KV block: 8 to 256, a multiple of 8 (16)")
        ->type_name("N");
    add_integer(
        app, "--chunk", flags.chunk, 1, 65536,
        "Token budget of an iteration: a long prompt is computed in such chunks (256, on a GPU 2048)");
    app.add_option("--prefix-cache", flags.prefix_cache,
                   "Keep KV blocks for prompts that begin alike: on or off")
        ->check(CLI::IsMember({"on", "off"}))
        ->type_name("on|off")
        ->capture_default_str();
    app.add_option(
           "--cache", flags.cache,
           "How the KV cache is given out: paged, or static, which reserves all that a sequence may need in "
           "one run and shares nothing (to compare)")
        ->check(CLI::IsMember({"paged", "static"}))
        ->type_name("KIND")
        ->capture_default_str();
    add_integer(app, "--context", flags.context, 1, int32_most,
                "Most tokens of a sequence, prompt and answer (default: what the model was trained for)");
}

void add_draft(CLI::App& app, DraftFlags& flags) {
    app.add_option(
           "--draft", flags.draft,
           "Speculative decoding: lookup (what followed when the text last ended like this), model (a "
           "small model with the same vocabulary), auto (what pays, as measured while it runs) or off")
        ->check(CLI::IsMember({"off", "lookup", "model", "auto"}))
        ->type_name("KIND")
        ->capture_default_str();
    app.add_option("--draft-model", flags.draft_model,
                   "The model that drafts (default: the embedded one); implies --draft model")
        ->type_name("PATH");
    add_integer(app, "--draft-tokens", flags.draft_tokens, 1, kLongestDraft,
                "Tokens proposed at a time, 1 to 16 (4); with auto the most");
}

void add_trace(CLI::App& app, EngineFlags& flags) {
    app.add_option(
           "--trace", flags.trace,
           "Write what the engine does to a file: .json for ui.perfetto.dev, .jsonl for lines of JSON")
        ->type_name("FILE");
}

void add_overflow(CLI::App& app, std::string& target) {
    app.add_option(
           "--overflow", target,
           "A conversation too long for the context: refuse it, or cut whole turns, oldest first, and say so")
        ->check(CLI::IsMember({"refuse", "cut"}))
        ->type_name("refuse|cut")
        ->capture_default_str();
}

void add_sampler(CLI::App& app, SamplerFlags& flags) {
    add_decimal(app, "--temperature,--temp", flags.params.temperature, 0.0, 100.0,
                "0: always the most probable token");
    add_integer(app, "--top-k", flags.params.top_k, 0, int32_most, "Only the K most probable tokens; 0: off");
    add_decimal(app, "--top-p", flags.params.top_p, 0.0, 1.0,
                "Only the most probable tokens that reach P together; 1: off");
    add_decimal(app, "--min-p", flags.params.min_p, 0.0, 1.0,
                "Only tokens with P times the top probability; 0: off");
    add_decimal(app, "--repetition-penalty", flags.params.repetition_penalty, 0.01, 100.0,
                "Above 1: tokens already seen become less probable; 1: off");
    add_decimal(app, "--frequency-penalty", flags.params.frequency_penalty, -100.0, 100.0,
                "Subtracted from a token's logit for each time it was seen; 0: off");
    add_decimal(app, "--presence-penalty", flags.params.presence_penalty, -100.0, 100.0,
                "Subtracted once from the logit of a token that was seen; 0: off");
    add_integer(app, "--penalty-window", flags.params.penalty_window, 0, int32_most,
                "How many of the last tokens count as seen; 0: all");
    add_decimal(app, "--typical-p", flags.params.typical_p, 0.0, 1.0,
                "Only tokens nearest to the expected surprise that reach P together; 1: off");
    app.add_option_function<std::vector<std::string>>(
           "--logit-bias",
           [&flags](const std::vector<std::string>& list) {
               for (const std::string& text : list)
                   if (const Status added = add_logit_bias(text, flags.params); !added.ok())
                       refuse(added.error());
           },
           "Added to the logit of a token, such as 42:-2.5; 42:-inf bans it. May be given several times")
        ->type_name("ID:BIAS");
    app.add_option_function<std::string>(
           "--seed",
           [&flags](const std::string& text) {
               const auto value = parse_seed(text);
               if (!value.ok()) refuse(value.error());
               flags.seed = *value;
           },
           "Random stream: the same seed gives the same answer (default: a fresh one, which is shown)")
        ->type_name("N");
}

CLI::App* add_bench(CLI::App& app, BenchOptions& options) {
    CLI::App* bench =
        app.add_subcommand("bench", "Tokens per second, GB/s and the share of the read bandwidth");
    constexpr std::int64_t most = 1 << 20;
    add_model(*bench, options.model, false);
    add_integers(*bench, "--prefill", options.prefill, 1, most,
                 "Prompts of so many tokens (256 where no test is named)");
    add_integers(*bench, "--decode", options.decode, 1, most,
                 "Generate so many tokens (128 where no test is named)");
    add_integers(*bench, "--step", options.step, 1, 4096,
                 "One iteration with so many tokens of one sequence, logits for all");
    add_integers(*bench, "--depth", options.depth, 0, most, "Tokens that a sequence has before (0)");
    add_integers(*bench, "--batch", options.batch, 1, 256, "Sequences at a time (1)");
    add_integer(*bench, "--repeat", options.repeat, 1, 1000, "Timed repetitions after one that is not (5)");
    add_engine(*bench, options.engine);
    add_draft(*bench, options.draft);
    bench
        ->add_option(
            "--prompts", options.prompts,
            "With --draft: the prompts to compare plain decoding and drafts on, a JSON object with a "
            "member \"prompt\" a line (default: a few of the program's own)")
        ->type_name("FILE");
    bench->footer(
        "With --draft or --draft-model nothing else is measured: each prompt is answered with and without "
        "drafts in turns, --decode tokens at most (128), --repeat rounds.");
    add_trace(*bench, options.engine);
    bench->add_flag("--json", options.json, "One JSON object");
    return bench;
}

CLI::App* add_chat(CLI::App& app, ChatOptions& options) {
    CLI::App* chat = app.add_subcommand("chat", "Chat in the terminal; in a pipe each line is a message");
    add_model(*chat, options.model, false);
    chat->add_option("--system", options.system, "System prompt")->type_name("TEXT");
    add_integer(*chat, "--max-tokens,-n", options.max_tokens, 1, int32_most,
                "End an answer after N tokens (default: when the context is full)");
    add_sampler(*chat, options.sampler);
    add_overflow(*chat, options.overflow);
    add_engine(*chat, options.engine);
    add_draft(*chat, options.draft);
    add_trace(*chat, options.engine);
    return chat;
}

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
    CLI::App* inspect = app.add_subcommand(
        "inspect",
        "Metadata, tensors, sizes, everything suspicious; exit status 1 where the file cannot be used");
    inspect->add_option("path", options.path, "Model file")->type_name("PATH")->required();
    inspect->add_flag("--json", options.json, "One JSON object");
    return inspect;
}

CLI::App* add_perplexity(CLI::App& app, PerplexityOptions& options) {
    CLI::App* perplexity = app.add_subcommand("perplexity", "How well a model predicts a text");
    add_model(*perplexity, options.model, false);
    perplexity->add_option("--file,-f", options.file, "The text, UTF-8")->type_name("TEXT")->required();
    add_integer(*perplexity, "--window", options.window, 2, int32_most, "Tokens in a window (512)");
    add_integer(
        *perplexity, "--stride", options.stride, 1, int32_most,
        "From one window to the next; each token is scored once, in the first window that holds it (256)");
    add_engine(*perplexity, options.engine);
    perplexity->add_flag("--json", options.json,
                         "{\"perplexity\":...,\"tokens\":...}: tokens is how many were scored");
    return perplexity;
}

CLI::App* add_probe(CLI::App& app, ProbeOptions& options) {
    CLI::App* probe = app.add_subcommand("probe", "The engine for scripts: JSON lines in, JSON lines out");
    add_model(*probe, options.model, true);
    add_engine(*probe, options.engine);
    add_trace(*probe, options.engine);
    probe->footer(
        "Operations: info, tokenize, detokenize, stream, render, prompt, logits, greedy, score, sample.\n"
        "Ids in, ids out. The vocabulary of a GGUF file is its list of tokens: rows of a padded output "
        "matrix\n"
        "beyond it never count. In a folder, config.json states it: all its rows count, also those for "
        "which\n"
        "the tokenizer has no text. (Answers in text, of run and chat, never hold such a token.)");
    probe->add_flag("--vocab-only", options.vocab_only, "Load no weights; files that have none will do");
    return probe;
}

CLI::App* add_quantize(CLI::App& app, QuantizeOptions& options) {
    CLI::App* quantize = app.add_subcommand("quantize", "Write a model file in another precision");
    quantize->add_option("input", options.input, "GGUF file to read")->type_name("IN")->required();
    quantize->add_option("output", options.output, "GGUF file to write; it appears when it is whole")
        ->type_name("OUT")
        ->required();
    quantize->add_option("--type,-t", options.type, "f32, f16, bf16, q8_0, q4_0 or q4_1")
        ->check(CLI::Validator(
            [](std::string& name) {
                return parse_dtype(name)
                           ? std::string()
                           : "--type is f32, f16, bf16, q8_0, q4_0 or q4_1, not \"" + name + "\".";
            },
            ""))
        ->type_name("TYPE")
        ->capture_default_str();
    return quantize;
}

CLI::App* add_run(CLI::App& app, RunOptions& options) {
    CLI::App* run = app.add_subcommand("run", "One answer on standard output");
    add_model(*run, options.model, false);
    run->add_option("--prompt,-p", options.prompt, "What to answer; without it standard input is read")
        ->type_name("TEXT");
    run->add_option("--system", options.system, "System prompt")->type_name("TEXT");
    run->add_flag("--raw", options.raw, "Continue the text as it is, without the chat template");
    add_integer(*run, "--max-tokens,-n", options.max_tokens, 0, int32_most,
                "End after N tokens (default: when the context is full)");
    add_sampler(*run, options.sampler);
    add_integer(*run, "--n", options.n, 1, 4096,
                "Answers to the prompt, each from a random stream of its own (1)");
    add_integer(*run, "--candidates", options.candidates, 0, 1000,
                "With --json: the N most probable tokens at each place, with log-probabilities (0)");
    run->add_option("--stop", options.stop,
                    "End where the answer comes to this text. May be given several times")
        ->type_name("TEXT");
    run->add_flag("--ignore-eog", options.ignore_eog, "Go on where the model would end");
    add_overflow(*run, options.overflow);
    add_engine(*run, options.engine);
    add_draft(*run, options.draft);
    add_trace(*run, options.engine);
    run->add_flag("--json", options.json, "One JSON object with the answer, why it ended, and timings");
    return run;
}

CLI::App* add_tokenize(CLI::App& app, TokenizeOptions& options) {
    CLI::App* tokenize = app.add_subcommand("tokenize", "The tokens of a text");
    tokenize
        ->add_option("--model,-m", options.model.model,
                     "Model file (default: the default model, else the embedded one)")
        ->type_name("PATH");
    tokenize->add_option("text", options.text, "The text; without it standard input is read")
        ->type_name("TEXT");
    tokenize->add_flag("--special", options.parse_special,
                       "Text that spells a control token becomes that token");
    tokenize->add_flag("--add-special", options.add_special,
                       "Beginning and end tokens where the vocabulary asks for them");
    tokenize->add_flag("--json", options.json, "{\"ids\":[...],\"pieces\":[...]}");
    return tokenize;
}

}  // namespace

int run_command_line(int argc, char** argv) {
    CLI::App app("Vitrine in a terminal: chat with a local language model, or measure and inspect it.",
                 "vitrine-cli");
    app.set_version_flag("--version", "vitrine-cli " VITRINE_VERSION);
    app.require_subcommand(1);
    app.footer(
        "`vitrine-cli COMMAND --help` tells the options of a command.\n"
        "Exit status: 0 done, 1 the task failed, 2 bad usage or a model that cannot be opened.");

    ChatOptions chat;
    RunOptions run;
    ProbeOptions probe;
    BenchOptions bench;
    TokenizeOptions tokenize;
    PerplexityOptions perplexity;
    InspectOptions inspect;
    QuantizeOptions quantize;
    const CLI::App* chat_command = add_chat(app, chat);
    const CLI::App* run_command = add_run(app, run);
    const CLI::App* tokenize_command = add_tokenize(app, tokenize);
    const CLI::App* perplexity_command = add_perplexity(app, perplexity);
    const CLI::App* inspect_command = add_inspect(app, inspect);
    const CLI::App* quantize_command = add_quantize(app, quantize);
    const CLI::App* bench_command = add_bench(app, bench);
    const CLI::App* probe_command = add_probe(app, probe);

    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // --help, --version
        return app.exit(asked);
    } catch (const CLI::ParseError& wrong) {
        note(wrong.what());
        note("`vitrine-cli --help` and `vitrine-cli COMMAND --help` tell what can be typed.");
        return 2;
    }
    if (*chat_command) return run_chat(chat);
    if (*run_command) return run_run(run);
    if (*tokenize_command) return run_tokenize(tokenize);
    if (*perplexity_command) return run_perplexity(perplexity);
    if (*inspect_command) return run_inspect(inspect);
    if (*quantize_command) return run_quantize(quantize);
    if (*bench_command) return run_bench(bench);
    if (*probe_command) return run_probe(probe);
    return 2;
}

}  // namespace vitrine::cli
