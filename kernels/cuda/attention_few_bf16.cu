#include "kernels/cuda/attention_few.cuh"

namespace vitrine::cuda::attention {

template bool few_of<Kind::BF16>(const AttentionView& a, const StepView& step, const AttentionPlan& plan,
                                 RowRange range, WorkView work, cudaStream_t stream);

}  // namespace vitrine::cuda::attention
