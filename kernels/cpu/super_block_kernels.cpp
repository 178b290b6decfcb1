#include "kernels/cpu/code_kernels.h"
#include "kernels/cpu/processor.h"
#include "kernels/cpu/weight_layout.h"
#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/super_block_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/code_product-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // part of the target, but not of what Highway 1.0.3 tells the compiler
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

struct SuperBlocks {
    template <class Dot>
    static void add(MatrixKernels& k) {
        add_every<DType::Q4_K, Dot>(k);
        add_every<DType::Q6_K, Dot>(k);
        add_some<DType::Q2_K, Dot>(k);
        add_some<DType::Q3_K, Dot>(k);
        add_some<DType::Q5_K, Dot>(k);
        add_some<DType::IQ4_XS, Dot>(k);
    }
};

}  // namespace

void fill_super_block(MatrixKernels& k, bool vector_neural) { add_family<SuperBlocks>(k, vector_neural); }

}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::cpu {

HWY_EXPORT(fill_super_block);

void add_super_block_kernels(MatrixKernels& table) {
    HWY_DYNAMIC_DISPATCH(fill_super_block)
    (table, has_dot_extension((hwy::SupportedTargets() & HWY_AVX3) != 0));
}

}  // namespace vitrine::cpu
#endif
