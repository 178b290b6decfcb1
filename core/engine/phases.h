// What iterations spent their time on, and what each phase read meanwhile: how near each is to the memory's
// limit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/weights.h"
#include "kernels/ops.h"

namespace vitrine {

// Sums over iterations.
struct PhaseFigures {
    PhaseTimes seconds;  // as the device measured them
    // Bytes, under the names of their phases: weights as they lie on the device, the keys and values that
    // sequences see (each once an iteration), rows of logits that tokens are drawn from. What is small beside
    // them (activations) is not counted.
    PhaseTimes bytes;
    double host = 0;  // seconds of the iterations that belong to no phase: scheduling, launching, delivering
    std::int64_t iterations = 0;

    PhaseFigures& operator+=(const PhaseFigures& other) {
        seconds += other.seconds;
        bytes += other.bytes;
        host += other.host;
        iterations += other.iterations;
        return *this;
    }
};

// Bytes of weights that one iteration reads in each phase; embed: of one row.
PhaseTimes weight_bytes_by_phase(const Weights& weights);

struct PhaseFigure {
    const char* name = "";  // "qkv", "attention", "project", "feed_forward", "logits", …, "host"
    double seconds = 0;
    double bytes = 0;
    double gb_s() const { return seconds > 0 ? bytes / seconds * 1e-9 : 0.0; }  // 10⁹ bytes
};

// Those phases that took any time, in the order of a step.
std::vector<PhaseFigure> phases_of(const PhaseFigures& figures);

}  // namespace vitrine
