#include "kernels/cpu/processor.h"

#include <atomic>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace vitrine::cpu {
namespace {

std::atomic<bool> extension_allowed{true};

}  // namespace

void allow_dot_extension(bool allowed) { extension_allowed = allowed; }

bool has_dot_extension(bool wide) {
    if (!extension_allowed) return false;
#if defined(__x86_64__) || defined(__i386__)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
    if (wide) return (c & (1U << 11U)) != 0;
    if (a < 1 || __get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return false;
    return (a & (1U << 4U)) != 0;
#else
    static_cast<void>(wide);
    return false;
#endif
}

}  // namespace vitrine::cpu
