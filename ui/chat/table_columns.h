// How wide the columns of a table are.
#pragma once

#include <vector>

namespace vitrine::ui {

// natural: what each column would like, padding included. Where all fits they get it; else the narrow ones
// get it and the wide ones share what is left evenly, none less than `least` where there is room for that.
// Whole pixels; the sum is at most `room`.
std::vector<double> column_widths(const std::vector<double>& natural, double room, double least);

}  // namespace vitrine::ui
