#include <array>

#include "core/sample/sampler.h"

namespace vitrine {
namespace {

// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The
// multipliers and Weyl constants are those of the paper.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0];
        const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
        key[0] += 0x9E3779B9U;
        key[1] += 0xBB67AE85U;
    }
    return counter;
}

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    const auto r = philox({low(index), high(index), low(stream), high(stream)}, {low(seed), high(seed)});
    const std::uint64_t bits = (std::uint64_t{r[0]} << 32 | r[1]) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace vitrine
