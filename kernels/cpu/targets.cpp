#include "kernels/cpu/targets.h"

#include <hwy/highway.h>

#include "kernels/cpu/processor.h"

namespace vitrine::cpu {

std::vector<Target> targets() {
    std::vector<Target> found;
    const std::int64_t all = hwy::SupportedTargets() & HWY_TARGETS;
    for (std::int64_t left = all; left != 0; left &= left - 1) {
        const std::int64_t mask = left & -left;
        const std::string name = hwy::TargetName(mask);
        for (const bool dot : {true, false})
            found.push_back({mask, dot, name + (dot ? "" : " without dot product")});
    }
    return found;
}

void use_only(const Target& target) {
    hwy::SetSupportedTargetsForTest(target.mask);
    hwy::GetChosenTarget().DeInit();
    allow_dot_extension(target.dot);
}

void use_all() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
    allow_dot_extension(true);
}

}  // namespace vitrine::cpu
