#include "core/io/byte_reader.h"

#include <bit>

namespace vitrine {

static_assert(std::endian::native == std::endian::little,
              "model files are read as they lie in memory, little-endian");

std::optional<std::span<const std::byte>> ByteReader::take(std::uint64_t count) {
    if (count > left()) return std::nullopt;
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
}

}  // namespace vitrine
