#include "kernels/cpu/matrix_kernels.h"

#include "kernels/cpu/code_kernels.h"
#include "kernels/cpu/float_kernels.h"

namespace vitrine::cpu {

MatrixKernels matrix_kernels() {
    MatrixKernels table{};
    add_code_kernels(table);
    add_five_bit_kernels(table);
    add_super_block_kernels(table);
    add_float8_kernels(table);
    add_float_kernels(table);
    return table;
}

}  // namespace vitrine::cpu
