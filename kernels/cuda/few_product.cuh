// All kernels for weights of one type.
#pragma once

#include "kernels/cuda/few_eight.cuh"
#include "kernels/cuda/few_many.cuh"
#include "kernels/cuda/few_one.cuh"
#include "kernels/cuda/few_one_of_floats.cuh"

namespace vitrine::cuda::few {

template <DType kType>
bool multiply_type(const Job& job, cudaStream_t stream) {
    if (job.rows == 1) {
        const bool single = job.pairing == Pairing::Single;
        if constexpr (is_quantized(kType))
            return single ? launch_one<kType, 1>(job, stream) : launch_one<kType, 2>(job, stream);
        else
            return single ? launch_one_of_floats<kType, 1>(job, stream)
                          : launch_one_of_floats<kType, 2>(job, stream);
    }
    if constexpr (kType == DType::F32) {
        return false;
    } else {
        switch (eights_for(job.rows)) {
            case 1: return launch_eight<kType>(job, stream);
            case 2: return launch_many<kType, 2>(job, stream);
            case 4: return launch_many<kType, 4>(job, stream);
            default: return launch_many<kType, 8>(job, stream);
        }
    }
}

}  // namespace vitrine::cuda::few
