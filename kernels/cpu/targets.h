// The instruction sets that the kernels are compiled for and this machine has: so that tests can run each of
// them, and not only the best.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::cpu {

struct Target {
    std::int64_t mask = 0;  // Highway's
    bool dot = true;        // with the integer dot product where the processor has it
    std::string name;
};

std::vector<Target> targets();

// From now on devices are made for this target alone; not while any is at work.
void use_only(const Target& target);
void use_all();

}  // namespace vitrine::cpu
