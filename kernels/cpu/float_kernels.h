// Products of float weights (F32, F16, BF16): float32 sums, input by input.
#pragma once

#include "kernels/cpu/matrix_kernels.h"

namespace vitrine::cpu {

// Fills the rows of these types, for this machine.
void add_float_kernels(MatrixKernels& table);

}  // namespace vitrine::cpu
