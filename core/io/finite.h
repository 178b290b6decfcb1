// A scan for weights that are no numbers.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "kernels/tensor.h"

namespace vitrine {

// BadFile where a weight, or the scale or minimum of a block, is NaN or infinite; the message names tensor,
// row and block. Of quantized types only scales and minima are read (2 or 4 bytes of each block).
//
// open() does not do this, so that it stays fast and reads no weights; the loader calls it on each tensor
// just before the upload, when its pages are about to be read anyway, and the inspector calls it on all of
// them.
Status check_finite(const HostTensor& tensor, std::string_view name);

}  // namespace vitrine
