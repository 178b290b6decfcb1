// Tokens and bytes per second of the engine as a whole, from its records.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/telemetry/records.h"

namespace vitrine::ui {

// Both are of the time the engine was at work, over about the last second of it; nothing before the first
// iterations that count, and the last value stays while it rests.
class Throughput {
  public:
    void append(const std::vector<Record>& records);
    void clear();
    std::optional<double> tok_s() const;
    // Reads of the weights per second of iterations that only decode; × bytes of a step: bytes per second.
    std::optional<double> steps_s() const;

  private:
    struct Iteration {
        double duration = 0;
        int tokens = 0;  // rows
        int sequences = 0;
    };
    std::deque<Iteration> last_;
    double seconds_ = 0;
};

}  // namespace vitrine::ui
