#include "ui/panels/memory_model.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

namespace vitrine::ui {
namespace {

std::uint64_t product(std::initializer_list<std::int64_t> factors) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    std::uint64_t out = 1;
    bool full = false;
    for (const std::int64_t factor : factors) {
        if (factor <= 0) return 0;
        const auto f = static_cast<std::uint64_t>(factor);
        full = full || out > most / f;
        if (!full) out *= f;
    }
    return full ? most : out;
}

}  // namespace

std::uint64_t KvShapeQuestion::bytes_per_token() const {
    return product({2, layers, kv_heads, head_dim, bytes});
}

std::uint64_t KvShapeQuestion::total() const {
    return product({2, layers, kv_heads, head_dim, bytes, length, batch});
}

std::int64_t kv_number_bytes(const QString& dtype) {
    if (dtype == QLatin1String("F32")) return 4;
    if (dtype.startsWith(QLatin1String("F8")) || dtype.startsWith(QLatin1String("FP8"))) return 1;
    return 2;
}

KvShapeQuestion question_of(const MemoryFacts& facts) {
    return {.layers = facts.layers,
            .kv_heads = facts.kv_heads,
            .head_dim = facts.head_dim,
            .length = facts.context,
            .batch = 1,
            .bytes = kv_number_bytes(facts.kv_dtype)};
}

}  // namespace vitrine::ui
