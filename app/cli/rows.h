// What the commands read off a row of logits. Only the first `vocab` entries are tokens: a padded output
// matrix has rows beyond. −infinity is a banned token; NaN and +infinity are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/engine/model.h"

namespace vitrine::cli {

// How many ids there are for callers that want ids, not text. A GGUF file's vocabulary is its list of tokens,
// and rows of a padded output matrix beyond it are nothing. In a folder, config.json states the size of the
// vocabulary, which the tokenizer's files need not fill: there all rows count, as they do in the numbers of
// other programs. Answers in text never hold an id without a text, whatever the file.
std::int32_t vocabulary_of_ids(const Model& model);

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
