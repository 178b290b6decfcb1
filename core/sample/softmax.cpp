#include "core/sample/softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define VITRINE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VITRINE_CLONES
#endif

namespace vitrine {
namespace {

constexpr std::size_t lanes = 16;

// exp(x) for x ≤ 0; below −87 it gives 0. Branch-free, so that a loop over it becomes vector code.
inline float exponential(float x) {
    const float clamped = x < -87.0F ? -87.0F : x;
    const float shifted =
        clamped * 1.44269504F + 12582912.0F;  // 1.5·2^23: rounds to an integer in the low bits
    const std::int32_t power =
        std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(12582912.0F);
    const float n = shifted - 12582912.0F;
    const float r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts (Cody and Waite)
    float p = 1.0F / 720.0F;
    p = p * r + 1.0F / 120.0F;
    p = p * r + 1.0F / 24.0F;
    p = p * r + 1.0F / 6.0F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    const float scale = std::bit_cast<float>((power + 127) << 23);
    return x < -87.0F ? 0.0F : p * scale;
}

}  // namespace

VITRINE_CLONES RowMaximum row_maximum(std::span<const float> row) {
    std::array<float, lanes> best;
    best.fill(-std::numeric_limits<float>::infinity());
    std::array<std::int32_t, lanes> odd{};  // set where a value is NaN or +infinity
    const std::size_t whole = row.size() / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l) {
            const float v = row[i + l];
            odd[l] |= static_cast<std::int32_t>(!(v <= std::numeric_limits<float>::max()));
            best[l] = v > best[l] ? v : best[l];
        }
    RowMaximum result{-std::numeric_limits<float>::infinity(), 0, true};
    for (std::size_t l = 0; l < lanes; ++l) {
        result.finite = result.finite && odd[l] == 0;
        result.value = best[l] > result.value ? best[l] : result.value;
    }
    for (std::size_t i = whole; i < row.size(); ++i) {
        result.finite = result.finite && row[i] <= std::numeric_limits<float>::max();
        result.value = row[i] > result.value ? row[i] : result.value;
    }
    if (result.value > -std::numeric_limits<float>::infinity())
        for (std::size_t i = 0; i < row.size(); ++i)
            if (row[i] == result.value) {
                result.index = static_cast<std::int32_t>(i);
                break;
            }
    return result;
}

VITRINE_CLONES double sum_of_exponentials(std::span<const float> row, float shift) {
    constexpr std::size_t group = 1024;  // summed in float by 16 lanes, then added up in double
    double total = 0;
    for (std::size_t begin = 0; begin < row.size(); begin += group) {
        const std::size_t end = begin + group < row.size() ? begin + group : row.size();
        std::array<float, lanes> sum{};
        std::size_t i = begin;
        for (; i + lanes <= end; i += lanes)
            for (std::size_t l = 0; l < lanes; ++l) sum[l] += exponential(row[i + l] - shift);
        for (std::size_t l = 0; i < end; ++i, ++l) sum[l] += exponential(row[i] - shift);
        for (const float s : sum) total += static_cast<double>(s);
    }
    return total;
}

VITRINE_CLONES std::int32_t count_above(std::span<const float> row, float value) {
    std::int32_t count = 0;
    for (const float v : row) count += static_cast<std::int32_t>(v > value);
    return count;
}

void greatest(std::span<const float> row, std::size_t n, std::vector<std::int32_t>& out) {
    n = std::min(n, row.size());
    const auto before = [&](std::int32_t a, std::int32_t b) {
        const float x = row[static_cast<std::size_t>(a)];
        const float y = row[static_cast<std::size_t>(b)];
        return x != y ? x > y : a < b;
    };
    constexpr std::size_t few = 64;
    if (n > few) {
        out.resize(row.size());
        std::iota(out.begin(), out.end(), 0);
        std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n), out.end(), before);
        out.resize(n);
        return;
    }
    out.resize(n);
    if (n == 0) return;
    std::iota(out.begin(), out.end(), 0);
    std::sort(out.begin(), out.end(), before);
    // Groups without anything above the least of them are passed over at the speed of memory.
    constexpr std::size_t group = 512;
    for (std::size_t begin = n; begin < row.size(); begin += group) {
        const std::size_t end = std::min(row.size(), begin + group);
        const float least = row[static_cast<std::size_t>(out.back())];
        if (count_above(row.subspan(begin, end - begin), least) == 0) continue;
        for (std::size_t i = begin; i < end; ++i) {
            const auto id = static_cast<std::int32_t>(i);
            if (!before(id, out.back())) continue;
            out.pop_back();
            out.insert(std::upper_bound(out.begin(), out.end(), id, before), id);
        }
    }
}

}  // namespace vitrine
