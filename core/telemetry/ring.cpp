#include "core/telemetry/ring.h"

#include <algorithm>
#include <bit>

namespace vitrine {

TelemetryRing::TelemetryRing(std::size_t capacity)
    : slots_(std::bit_ceil(std::clamp<std::size_t>(capacity, 2, std::size_t{1} << 24))),
      mask_(slots_.size() - 1) {}

bool TelemetryRing::push(const Record& record) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) >= slots_.size()) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    slots_[tail & mask_] = record;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
}

std::size_t TelemetryRing::pop(std::span<Record> out) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::uint64_t available = tail_.load(std::memory_order_acquire) - head;
    const std::size_t count = std::min<std::size_t>(out.size(), available);
    for (std::size_t i = 0; i < count; ++i) out[i] = slots_[(head + i) & mask_];
    head_.store(head + count, std::memory_order_release);
    return count;
}

}  // namespace vitrine
