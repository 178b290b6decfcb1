#include "kernels/cuda/few_job.h"
#include "kernels/cuda/formats.cuh"

namespace vitrine::cuda::few {

// A file a type has its kernels.
template <DType kType>
bool multiply_type(const Job& job, cudaStream_t stream);

bool multiply(const Job& job, cudaStream_t stream) {
    bool done = false;
    for_type(job.matrix[0].w.type, [&]<DType kType>() { done = multiply_type<kType>(job, stream); });
    return done;
}

}  // namespace vitrine::cuda::few
