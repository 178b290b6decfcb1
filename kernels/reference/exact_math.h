// exp and tanh for the reference device, from additions and multiplications only: the library's versions
// differ between processors (with and without fused multiply-add), these do not. Relative error below 1e-15.
#pragma once

#include <bit>
#include <cstdint>

namespace vitrine::reference {

inline double exact_exp(double x) {
    if (x != x) return x;
    if (x < -700.0) return 0.0;
    if (x > 700.0) return x * 1e300 * 1e300;  // infinity
    constexpr double kLog2E = 1.44269504088896340736;
    constexpr double kLn2High = 6.93147180369123816490e-01;  // 33 bits: n times it is exact
    constexpr double kLn2Low = 1.90821492927058770002e-10;
    const auto n = static_cast<std::int64_t>(x * kLog2E + (x < 0 ? -0.5 : 0.5));
    const double r = (x - static_cast<double>(n) * kLn2High) - static_cast<double>(n) * kLn2Low;
    // Taylor to r^13 on |r| <= ln2 / 2: the rest is below 1e-16.
    double sum = 1.0;
    for (int k = 13; k >= 1; --k) sum = 1.0 + sum * r / k;
    return sum * std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52U);
}

inline double exact_tanh(double x) {
    if (x != x) return x;
    if (x > 20.0) return 1.0;
    if (x < -20.0) return -1.0;
    if (x < 1e-4 && x > -1e-4) return x - x * x * x / 3.0;  // no cancellation near zero
    const double e = exact_exp(2.0 * x);
    return (e - 1.0) / (e + 1.0);
}

}  // namespace vitrine::reference
