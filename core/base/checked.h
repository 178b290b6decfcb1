// Arithmetic on numbers that come from a file: the result, or nothing where it would wrap.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

namespace vitrine {

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
    T r{};
    if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
    return r;
}

template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
    T r{};
    if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
    return r;
}

// Does [offset, offset + size) lie inside [0, total)? Written so that nothing can wrap.
constexpr bool range_fits(std::uint64_t offset, std::uint64_t size, std::uint64_t total) {
    return offset <= total && size <= total - offset;
}

}  // namespace vitrine
