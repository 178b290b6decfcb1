#include "core/engine/placement.h"

#include <algorithm>

namespace vitrine {
namespace {

constexpr std::uint64_t kWorking = 768ULL << 20U;  // activations, expanded tiles, the runtime's own
constexpr std::int32_t kContext = 4096;

// Weights are regrouped at load, which may take 3 % more.
std::uint64_t on_device(std::uint64_t bytes) { return bytes + bytes / 32; }

}  // namespace

Placement place_layers(const ModelConfig& c, std::uint64_t weights, std::uint64_t outside,
                       std::uint64_t free) {
    Placement p;
    const auto layers = static_cast<std::uint64_t>(std::max(c.layers, 1));
    const std::uint64_t kv_of_layer = 2ULL * static_cast<std::uint64_t>(c.kv_heads) *
                                      static_cast<std::uint64_t>(c.head_dim) * sizeof(std::uint16_t) *
                                      static_cast<std::uint64_t>(std::min(c.context, kContext));
    const std::uint64_t fixed = on_device(std::min(outside, weights)) + kWorking;
    const std::uint64_t of_layer = on_device(weights - std::min(outside, weights)) / layers + kv_of_layer;
    p.needed = fixed + of_layer * layers;
    p.all = p.needed <= free;
    if (p.all)
        p.gpu_layers = c.layers;
    else if (free > fixed)
        p.gpu_layers = static_cast<std::int32_t>(
            std::min((free - fixed) / std::max<std::uint64_t>(of_layer, 1), layers - 1));
    return p;
}

}  // namespace vitrine
