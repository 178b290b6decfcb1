// Passes over a row of logits: written so that the compiler vectorises them for the processor at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vitrine {

struct RowMaximum {
    float value;         // −infinity for an empty row or one without finite values
    std::int32_t index;  // lowest index with that value; 0 where there is none
    bool finite;         // no NaN and no +infinity in the row
};

RowMaximum row_maximum(std::span<const float> row);

// Σ exp(row[i] − shift), accumulated in double over fixed groups; −infinity counts as 0. Relative error below
// 3e-7: the exponential is a degree-6 polynomial on [−ln2/2, ln2/2] with an exact power of two.
double sum_of_exponentials(std::span<const float> row, float shift);

// Indices of the `n` greatest entries, greatest first, of equal ones the lowest index first; all where there
// are fewer. The row holds no NaN.
void greatest(std::span<const float> row, std::size_t n, std::vector<std::int32_t>& out);

// How many entries are greater than `value`.
std::int32_t count_above(std::span<const float> row, float value);

}  // namespace vitrine
