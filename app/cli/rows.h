// What the commands read off a row of logits. Only the first `vocab` entries are tokens: a padded output
// matrix has rows beyond. −infinity is a banned token; NaN and +infinity are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace vitrine::cli {

struct RowPeak {
    std::int32_t argmax = 0;    // lowest id among equals
    std::optional<double> gap;  // first minus second; none where there is no second
};

// Internal error that names the position where a value is not usable, or none is finite.
Result<RowPeak> peak_of(std::span<const float> row, std::int32_t position);

// log Σ exp(logit), in double.
double log_sum_exp(std::span<const float> row);

// The `count` largest finite logits, largest first, lower ids first among equals.
std::vector<std::int32_t> top_ids(std::span<const float> row, std::size_t count);

}  // namespace vitrine::cli
