#include "app/cli/scoring.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "app/cli/rows.h"

namespace vitrine::cli {

namespace {

Status check(const ScoreWindows& w, std::int64_t ids, std::int32_t context) {
    if (w.window < 2)
        return Error{ErrorKind::InvalidArgument,
                     "The window must be at least 2 ids: the first id of a text is not scored."};
    if (w.stride < 1 || w.stride >= w.window)
        return Error{ErrorKind::InvalidArgument,
                     "The stride must be from 1 to window - 1 (" + std::to_string(w.window - 1) + "), not " +
                         std::to_string(w.stride) +
                         ": otherwise an id would have nothing before it in its window."};
    if (std::min<std::int64_t>(w.window, ids) > context)
        return Error{ErrorKind::TooLarge, "A window of " + std::to_string(w.window) +
                                              " ids is longer than the context of " +
                                              std::to_string(context) + ". Choose a smaller window."};
    return {};
}

}  // namespace

Result<std::vector<double>> score(Runner& runner, std::span<const TokenId> ids, const ScoreWindows& windows,
                                  const std::function<void(std::size_t, std::size_t)>& progress) {
    const auto total = static_cast<std::int64_t>(ids.size());
    VITRINE_CHECK(check(windows, total, runner.context()));
    const auto vocab = static_cast<std::size_t>(vocabulary_of_ids(runner.model()));

    std::vector<double> nll;
    nll.reserve(ids.size());
    std::int64_t next = 1;  // first id that is not scored yet
    for (std::int64_t start = 0; next < total; start += windows.stride) {
        const std::int64_t end = std::min(start + windows.window, total);
        std::optional<Error> failed;
        Request request;
        // The last id of the window is predicted, never read.
        request.prompt.assign(ids.begin() + start, ids.begin() + (end - 1));
        request.max_tokens = 0;
        request.logits_from = static_cast<std::int32_t>(next - 1 - start);
        request.on_logits = [&](std::int32_t position, std::span<const float> row) {
            const std::int64_t id = start + position + 1;
            if (failed || id < next || id >= end) return;
            row = row.first(std::min(vocab, row.size()));
            if (const auto peak = peak_of(row, position); !peak.ok()) {
                failed = peak.error();
                return;
            }
            const auto wanted = static_cast<std::size_t>(ids[static_cast<std::size_t>(id)].value);
            const double value =
                wanted < row.size() ? log_sum_exp(row) - static_cast<double>(row[wanted]) : INFINITY;
            if (!std::isfinite(value)) {
                failed = Error{ErrorKind::Internal, "Id " + std::to_string(wanted) + " at place " +
                                                        std::to_string(id) + " has probability zero."};
                return;
            }
            nll.push_back(value);
        };
        VITRINE_TRY(Outcome outcome, runner.run_one(std::move(request)));
        static_cast<void>(outcome);
        if (failed) return *std::move(failed);
        next = end;
        if (static_cast<std::int64_t>(nll.size()) != next - 1)
            return Error{ErrorKind::Internal, "The engine gave " + std::to_string(nll.size()) +
                                                  " rows of logits, " + std::to_string(next - 1) +
                                                  " were asked for. Please report this."};
        if (progress) progress(nll.size(), ids.size() - 1);
    }
    return nll;
}

}  // namespace vitrine::cli
