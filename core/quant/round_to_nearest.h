// Round-to-nearest quantization into the block formats of kernels/tensor.h, one row at a time.
//
// Every block is rounded on its own with the scale as it is stored (in half precision), so that the error of
// a weight is at most half a step of what is read back, plus what clipping at the ends costs. Zeros stay
// zeros: a block of zeros has scale 0, and any other block a scale that is not 0, however tiny its weights.
// The same input gives the same bytes on every processor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/host/block_formats.h"  // dequantize_row, the way back
#include "kernels/tensor.h"

namespace vitrine {

// in[cols] → out[row_bytes(type, cols)], any alignment. cols is a multiple of the type's block and the
// weights are finite; a weight beyond the range of the type becomes the nearest one inside.
void quantize_row(DType type, const float* in, std::int64_t cols, std::byte* out);

}  // namespace vitrine
