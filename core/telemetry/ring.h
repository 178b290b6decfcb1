// Single producer, single consumer ring of records. The engine never waits: when the reader is late the new
// record is dropped and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/telemetry/records.h"

namespace vitrine {

class TelemetryRing {
  public:
    explicit TelemetryRing(std::size_t capacity = 1U << 14);  // rounded up to a power of two

    // Producer side.
    bool push(const Record& record);

    // Consumer side: moves up to out.size() records, oldest first, and returns how many.
    std::size_t pop(std::span<Record> out);

    std::size_t capacity() const { return slots_.size(); }
    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    std::vector<Record> slots_;
    std::size_t mask_;
    alignas(64) std::atomic<std::uint64_t> head_{0};  // next to read
    alignas(64) std::atomic<std::uint64_t> tail_{0};  // next to write
    std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace vitrine
