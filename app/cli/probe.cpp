#include "app/cli/probe.h"

#include <algorithm>
#include <exception>
#include <new>
#include <unistd.h>

#include "app/cli/interrupt.h"
#include "app/cli/line_reader.h"
#include "app/cli/output.h"
#include "app/cli/strict_json.h"

namespace vitrine::cli {

namespace {

// Far beyond any request of use; what a line may take of memory at once.
constexpr std::size_t longest_line = 64U << 20;

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

OrderedJson error_reply(const Error& error) {
    OrderedJson reply;
    reply["error"] = {{"kind", name_of(error.kind)}, {"message", error.message}};
    return reply;
}

OrderedJson id_list(std::span<const TokenId> ids) {
    OrderedJson list = OrderedJson::array();
    list.get_ref<OrderedJson::array_t&>().reserve(ids.size());
    for (const TokenId id : ids) list.push_back(id.value);
    return list;
}

Probe::Probe(std::shared_ptr<Model> model, const EngineFlags& flags, Recorder* recorder)
    : model_(std::move(model)), flags_(flags), runner_(model_, flags.engine_options(), recorder) {}

Probe::Reply Probe::dispatch(std::string_view line) {
    VITRINE_TRY(const OrderedJson json, parse_strict(line));
    if (!json.is_object())
        return Error{ErrorKind::InvalidArgument,
                     "A request is one JSON object a line, such as {\"op\":\"info\"}."};
    const Fields request(json);
    VITRINE_TRY(const std::string op, request.text("op"));
    if (op == "info") return info();
    if (op == "tokenize") return tokenize(request);
    if (op == "detokenize") return detokenize(request);
    if (op == "stream") return stream(request);
    if (op == "render") return render(request);
    if (op == "prompt") return prompt(request);
    const bool computes = op == "logits" || op == "greedy" || op == "score" || op == "sample";
    if (!computes)
        return Error{
            ErrorKind::InvalidArgument,
            "There is no operation \"" + op.substr(0, 40) +
                "\"; known ones: info, tokenize, detokenize, stream, render, prompt, logits, greedy, "
                "score, sample."};
    if (!model_->has_weights())
        return Error{ErrorKind::Unsupported,
                     "\"" + op + "\" needs the weights, and probe was started with --vocab-only."};
    if ((op == "logits" || op == "score") && !request.is_null_or_absent("speculate"))
        return Error{ErrorKind::InvalidArgument,
                     "\"speculate\" is for greedy and sample: " + op + " generates nothing."};
    if (op == "logits") return logits(request);
    if (op == "greedy") return greedy(request);
    if (op == "score") return score(request);
    return sample(request);
}

OrderedJson Probe::serve(std::string_view line) {
    try {
        auto reply = dispatch(line);
        return reply.ok() ? std::move(reply).value() : error_reply(reply.error());
    } catch (const std::bad_alloc&) {
        return error_reply({ErrorKind::OutOfMemory, "There was not enough memory to serve the request."});
    } catch (const std::exception& problem) {
        return error_reply(
            {ErrorKind::Internal, std::string("Unexpected: ") + problem.what() + ". Please report this."});
    }
}

int run_probe(const ProbeOptions& options) {
    auto opened = open_model(options.model, options.vocab_only);
    if (!opened.ok()) {
        note(opened.error().message);
        return 2;
    }
    Recorder recorder;
    const bool traced = options.engine.trace.has_value();
    if (traced) {
        if (const Status made = recorder.open_trace(*options.engine.trace, *opened->model); !made.ok()) {
            note(made.error().message);
            return 2;
        }
    }
    Probe probe(opened->model, options.engine, traced ? &recorder : nullptr);
    if (!options.vocab_only) {
        // Flags that no engine can be made with are found now, not at the first request.
        Runner trial(opened->model, options.engine.engine_options());
        if (const auto made = trial.reserve(1, 1); !made.ok()) {
            note(made.error().message);
            return 2;
        }
    }
    // With a trace, Ctrl+C ends after the request at hand, so that the file is whole.
    std::optional<Interrupts> interrupts;
    if (traced) interrupts.emplace();
    LineReader input(STDIN_FILENO, longest_line, interrupts ? interrupts->wake_fd() : -1);
    std::string line;
    for (;;) {
        if (interrupts && interrupts->pending() > 0) break;
        const auto got = input.next(line);
        if (got == LineReader::Got::End || got == LineReader::Got::Interrupted) break;
        if (got == LineReader::Got::Line && is_blank(line)) continue;
        const OrderedJson reply =
            got == LineReader::Got::TooLong
                ? error_reply({ErrorKind::TooLarge, "The line is longer than " +
                                                        std::to_string(longest_line >> 20) +
                                                        " MiB, the most that probe takes."})
                : probe.serve(line);
        if (!write_out(to_line(reply))) break;
    }
    if (const Status whole = recorder.finish(); !whole.ok()) note(whole.error().message);
    return output_status();
}

}  // namespace vitrine::cli
