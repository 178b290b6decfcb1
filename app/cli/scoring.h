// Negative log-likelihood of a text in overlapping windows: each id is scored once, in the first window that
// holds it, so every id but those of the first window sees at least window − stride ids before it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "app/cli/runner.h"

namespace vitrine::cli {

struct ScoreWindows {
    std::int32_t window = 512;  // ids in a window: 2 to the context
    std::int32_t stride = 256;  // from the start of one window to the next: 1 to window − 1
};

// One number for every id but the first, in nats. progress(scored, total) may be empty.
Result<std::vector<double>> score(Runner& runner, std::span<const TokenId> ids, const ScoreWindows& windows,
                                  const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace vitrine::cli
