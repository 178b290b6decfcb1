#include "kernels/cuda/few_product.cuh"

namespace vitrine::cuda::few {

template bool multiply_type<DType::Q5_0>(const Job& job, cudaStream_t stream);

}  // namespace vitrine::cuda::few
