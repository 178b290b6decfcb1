// `vitrine-cli perplexity`: exp of the mean negative log-likelihood of a text.
#include <cmath>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/scoring.h"
#include "core/io/printable.h"

namespace vitrine::cli {

namespace {

constexpr std::size_t longest_text = 256U << 20;

Result<double> mean(const std::vector<double>& nll) {
    double sum = 0;
    for (const double value : nll) sum += value;
    const double mean = sum / static_cast<double>(nll.size());
    if (!std::isfinite(std::exp(mean)))
        return Error{ErrorKind::Internal, "The perplexity is beyond every number: the model may be damaged."};
    return mean;
}

Result<OrderedJson> measure(const PerplexityOptions& options, const std::shared_ptr<Model>& model,
                            const std::string& text) {
    const Tokenizer& tokenizer = model->tokenizer();
    auto ids = tokenizer.encode(text, false, false);
    if (const auto& bos = tokenizer.vocabulary().bos; tokenizer.adds_bos() && bos)
        ids.insert(ids.begin(), *bos);
    if (ids.size() < 2)
        return Error{ErrorKind::InvalidArgument,
                     display_path(options.file) + " holds fewer than two tokens: there is nothing to score."};
    Runner runner(model, options.engine.engine_options());
    const ScoreWindows windows{options.window, options.stride};
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto progress = [&](std::size_t done, std::size_t total) {
        if (!terminal) return;
        const std::string line = "\r" + std::to_string(done) + " of " + std::to_string(total) + " tokens" +
                                 (done == total ? "\n" : "");
        static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
    };
    VITRINE_TRY(const std::vector<double> nll, score(runner, ids, windows, progress));
    VITRINE_TRY(const double average, mean(nll));
    OrderedJson reply;
    reply["perplexity"] = std::exp(average);
    reply["tokens"] = nll.size();
    return reply;
}

}  // namespace

int run_perplexity(const PerplexityOptions& options) {
    const auto text = read_text(options.file, longest_text);
    if (!text.ok()) {
        note(text.error().message);
        return 2;
    }
    const auto opened = open_model(options.model);
    if (!opened.ok()) {
        note(opened.error().message);
        return 2;
    }
    if (!options.model.model) note(opened->sentence);
    const auto reply = measure(options, opened->model, *text);
    if (!reply.ok()) {
        note(reply.error().message);
        return 1;
    }
    if (options.json)
        write_out(to_line(*reply));
    else
        write_out("Perplexity " + fixed((*reply)["perplexity"].get<double>(), 4) + " over " +
                  std::to_string((*reply)["tokens"].get<std::size_t>()) + " tokens, windows of " +
                  std::to_string(options.window) + " with stride " + std::to_string(options.stride) + "\n");
    return output_status();
}

}  // namespace vitrine::cli
