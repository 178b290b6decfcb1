#include "kernels/host/super_block.h"

#include "kernels/host/super_block_bits.h"

namespace vitrine {

void unpack_super_block(DType type, const std::byte* block, SuperBlock& out) {
    super_block_bits::unpack(type, block, out);
}

}  // namespace vitrine
