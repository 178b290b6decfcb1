// The last part of sampling: from bins, sums and lists to tokens.
#pragma once

#include "kernels/cuda/sampling.h"

namespace vitrine::cuda {

void draw_weighed(const SampleView& view, cudaStream_t stream);

}  // namespace vitrine::cuda
