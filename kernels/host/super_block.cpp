#include "kernels/host/super_block.h"

#include "kernels/host/half.h"
#include "kernels/host/super_block_bits.h"

namespace vitrine {

void unpack_super_block(DType type, const std::byte* block, SuperBlock& out) {
    super_block_bits::unpack_integers(type, block, out);
    const std::byte* d = block + super_block_bits::place_of_d(type);
    out.d = half_to_float(super_block_bits::word(d));
    out.dmin = super_block_shape(type).minimum ? half_to_float(super_block_bits::word(d + 2)) : 0.0F;
}

}  // namespace vitrine
