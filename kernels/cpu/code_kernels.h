// Products of quantized weights with rows rounded to 8 bits, by integer dot products.
#pragma once

#include "kernels/cpu/matrix_kernels.h"

namespace vitrine::cpu {

// Fills the rows of these types, for this machine; name, max_tile and quantize as well.
void add_code_kernels(MatrixKernels& table);

}  // namespace vitrine::cpu
