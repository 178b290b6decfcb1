#include "app/cli/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace vitrine::cli {

std::int32_t vocabulary_of_ids(const Model& model) {
    std::error_code ignored;
    const std::int32_t tokens = model.tokenizer().size();
    if (!std::filesystem::is_directory(model.path(), ignored)) return tokens;
    return std::max(tokens, model.config().vocab);
}

Result<RowPeak> peak_of(std::span<const float> row, std::int32_t position) {
    constexpr float nothing = -std::numeric_limits<float>::infinity();
    float first = nothing;
    float second = nothing;
    std::int32_t argmax = -1;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const float value = row[i];
        if (std::isnan(value) || value == std::numeric_limits<float>::infinity())
            return Error{ErrorKind::Internal, "The logits of position " + std::to_string(position) +
                                                  " hold a value that is no number (token " +
                                                  std::to_string(i) +
                                                  "): the weights may be damaged, or the model overflows."};
        if (value > first) {
            second = first;
            first = value;
            argmax = static_cast<std::int32_t>(i);
        } else if (value > second) {
            second = value;
        }
    }
    if (argmax < 0)
        return Error{ErrorKind::Internal, "Every logit of position " + std::to_string(position) +
                                              " is minus infinity: no token is possible there."};
    RowPeak peak;
    peak.argmax = argmax;
    if (second > nothing) peak.gap = static_cast<double>(first) - static_cast<double>(second);
    return peak;
}

double log_sum_exp(std::span<const float> row) {
    const double most = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float value : row) sum += std::exp(static_cast<double>(value) - most);
    return most + std::log(sum);
}

std::vector<std::int32_t> top_ids(std::span<const float> row, std::size_t count) {
    std::vector<std::int32_t> ids;
    ids.reserve(row.size());
    for (std::size_t i = 0; i < row.size(); ++i)
        if (std::isfinite(row[i])) ids.push_back(static_cast<std::int32_t>(i));
    count = std::min(count, ids.size());
    const auto better = [&](std::int32_t a, std::int32_t b) {
        const float x = row[static_cast<std::size_t>(a)];
        const float y = row[static_cast<std::size_t>(b)];
        return x != y ? x > y : a < b;
    };
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(), better);
    ids.resize(count);
    return ids;
}

}  // namespace vitrine::cli
