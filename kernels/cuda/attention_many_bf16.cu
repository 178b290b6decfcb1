#include "kernels/cuda/attention_many.cuh"

namespace vitrine::cuda::attention {

template bool many_of<Kind::BF16>(const AttentionView& a, const StepView& step, const AttentionPlan& plan,
                                  RowRange range, cudaStream_t stream);

}  // namespace vitrine::cuda::attention
