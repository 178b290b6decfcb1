// Products of weights in codes with rows rounded to 8 bits, by integer dot products; and of F8_E4M3. In
// several files, because they take long to compile.
#pragma once

#include "kernels/cpu/matrix_kernels.h"

namespace vitrine::cpu {

// Each fills the rows of some types for this machine; the first one also name, max_tile and quantize.
void add_code_kernels(MatrixKernels& table);         // Q8_0, Q4_0, Q4_1
void add_five_bit_kernels(MatrixKernels& table);     // Q5_0, Q5_1, IQ4_NL, I8
void add_super_block_kernels(MatrixKernels& table);  // Q2_K to Q6_K, IQ4_XS
void add_float8_kernels(MatrixKernels& table);       // F8_E4M3

}  // namespace vitrine::cpu
