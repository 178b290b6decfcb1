// The most that the processor's 8-bit integer dot product gives, to set a kernel's speed beside.
#pragma once

namespace vitrine {

// Multiply-adds per second of all threads together, from registers: nothing is read from memory.
double integer_dot_peak(int threads);

}  // namespace vitrine
