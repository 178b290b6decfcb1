#include "kernels/cpu/attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")  // as in vectors-inl.h, whose functions are inlined here
#endif
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// `Tag` has at most kVectorFloats lanes.
template <DType kType, class Tag>
HWY_INLINE hn::Vec<Tag> load_elements(Tag d, const std::byte* p) {
    if constexpr (kType == DType::F32) {
        return hn::LoadU(d, reinterpret_cast<const float*>(p));
    } else if constexpr (kType == DType::F16) {
        const hn::Rebind<hwy::float16_t, Tag> half;
        return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(p)));
    } else {
        const hn::Rebind<hwy::bfloat16_t, Tag> brain;
        return hn::PromoteTo(d, hn::LoadU(brain, reinterpret_cast<const hwy::bfloat16_t*>(p)));
    }
}

// Few rows read keys and values once, from memory: these are asked for ahead of their use.
template <int M>
constexpr bool kFetches = M <= 4;
constexpr std::int32_t kRunsAhead = 3;

// Scores of the keys of one run, for all rows: scores[m][0 .. kRun). `next` is a run of as many bytes to ask
// for meanwhile, `values` the values of this run.
template <DType kType, int M, int kRun>
HWY_INLINE void score_run(const std::byte* keys, const float* q, std::int32_t head_dim, float* scores,
                          const std::byte* next, const std::byte* values) {
    constexpr int kLanes = kRun < kVectorFloats ? kRun : kVectorFloats;
    using Tag = hn::CappedTag<float, kLanes>;
    const Tag d;
    constexpr int kSize = info_of(kType).bytes;
    for (int part = 0; part < kRun; part += kLanes) {
        hn::Vec<Tag> sums[M];
        for (auto& sum : sums) sum = hn::Zero(d);
        const std::byte* p = keys + part * kSize;
        const float* x = q;
        for (std::int32_t c = 0; c < head_dim; ++c, p += kRun * kSize, x += M) {
            if constexpr (kFetches<M>) {
                if (part == 0) {
                    fetch(next + c * (kRun * kSize));
                    fetch(values + c * (kRun * kSize));
                }
            }
            const auto k = load_elements<kType>(d, p);
            HWY_UNROLL(16)
            for (int m = 0; m < M; ++m) sums[m] = hn::MulAdd(k, hn::Set(d, x[m]), sums[m]);
        }
        for (int m = 0; m < M; ++m) hn::StoreU(sums[m], d, scores + m * kPiece + part);
    }
}

template <DType kType, int M>
void score(const KeyValues& kv, const float* q, std::int32_t first, std::int32_t last, float* scores) {
    const std::int32_t run = key_run(kv.block_size);
    const std::int64_t run_bytes = std::int64_t{run} * kv.head_dim * info_of(kType).bytes;
    const auto offset = [&](std::int32_t p) {
        return static_cast<std::size_t>(kv.blocks[p / kv.block_size]) * kv.block_stride +
               static_cast<std::size_t>(p % kv.block_size / run * run_bytes);
    };
    first = first / run * run;
    if constexpr (kFetches<M>)
        for (std::int32_t p = first; p < std::min(last, first + kRunsAhead * run); p += run)
            for (std::int64_t i = 0; i < run_bytes; i += 64) fetch(kv.keys + offset(p) + i);
    for (std::int32_t p = first; p < last; p += run) {
        const std::byte* keys = kv.keys + offset(p);
        const std::byte* next = kv.keys + offset(std::min(p + kRunsAhead * run, last - 1));
        const std::byte* values = kv.values + offset(p);
        float* to = scores + p % kPiece;
        if (run == 16) {
            score_run<kType, M, 16>(keys, q, kv.head_dim, to, next, values);
        } else {
            score_run<kType, M, 8>(keys, q, kv.head_dim, to, next, values);
        }
    }
}

// Scores of one row to exponentials, in place; positions outside [from, to) of the piece become 0 as far as
// the vectors reach.
void exponentials(float* scores, std::int32_t from, std::int32_t to, float softcap, float& largest,
                  float& sum) {
    const std::int32_t first = from / 16 * 16;
    const std::int32_t last = (to + 15) / 16 * 16;
    if (softcap != 0.0F) {
        const Vector cap = hn::Set(kFloat, softcap);
        for (std::int32_t i = first; i < last; i += kVectorFloats) {
            const Vector s = hn::Div(hn::LoadU(kFloat, scores + i), cap);
            hn::StoreU(hn::Mul(cap, hyperbolic_tangent(s)), kFloat, scores + i);
        }
    }
    std::fill(scores + first, scores + from, kNothing);
    std::fill(scores + to, scores + last, kNothing);
    Vector top = hn::Set(kFloat, kNothing);
    for (std::int32_t i = first; i < last; i += kVectorFloats)
        top = hn::Max(top, hn::LoadU(kFloat, scores + i));
    largest = hn::GetLane(hn::MaxOfLanes(kFloat, top));
    top = hn::Set(kFloat, largest);
    Vector total = hn::Zero(kFloat);
    for (std::int32_t i = first; i < last; i += kVectorFloats) {
        const Vector e = exponential(hn::Sub(hn::LoadU(kFloat, scores + i), top));
        hn::StoreU(e, kFloat, scores + i);
        total = hn::Add(total, e);
    }
    sum = hn::GetLane(hn::SumOfLanes(kFloat, total));
}

// values[m][0 .. N) += Σ_p weight[m][p] · v[p][0 .. N) for p in [first, last), in order; N lanes times kWide.
template <DType kType, int M, int kWide, class Tag>
HWY_INLINE void weigh_columns(Tag d, const KeyValues& kv, std::int32_t column, std::int32_t first,
                              std::int32_t last, const float* weights, float* values) {
    constexpr int kSize = info_of(kType).bytes;
    const auto lanes = static_cast<std::int32_t>(hn::Lanes(d));
    hn::Vec<Tag> sums[M][kWide];
    for (int m = 0; m < M; ++m)
        for (int i = 0; i < kWide; ++i)
            sums[m][i] = hn::LoadU(d, values + std::int64_t{m} * kv.head_dim + column + i * lanes);
    for (std::int32_t p = first; p < last;) {
        const std::int32_t end = std::min(last, (p / kv.block_size + 1) * kv.block_size);
        const auto block = static_cast<std::size_t>(kv.blocks[p / kv.block_size]);
        const std::byte* v = kv.values + block * kv.block_stride +
                             (std::int64_t{p % kv.block_size} * kv.head_dim + column) * kSize;
        const float* w = weights + p % kPiece;
        for (; p < end; ++p, v += std::int64_t{kv.head_dim} * kSize, ++w) {
            hn::Vec<Tag> row[kWide];
            HWY_UNROLL(16)
            for (int i = 0; i < kWide; ++i) row[i] = load_elements<kType>(d, v + i * lanes * kSize);
            HWY_UNROLL(16)
            for (int m = 0; m < M; ++m) {
                const auto weight = hn::Set(d, w[m * kPiece]);
                HWY_UNROLL(16)
                for (int i = 0; i < kWide; ++i) sums[m][i] = hn::MulAdd(row[i], weight, sums[m][i]);
            }
        }
    }
    for (int m = 0; m < M; ++m)
        for (int i = 0; i < kWide; ++i)
            hn::StoreU(sums[m][i], d, values + std::int64_t{m} * kv.head_dim + column + i * lanes);
}

template <DType kType, int M>
void weigh(const KeyValues& kv, std::int32_t first, std::int32_t last, const float* weights, float* values) {
    if (first >= last) return;
    // As many columns at once as registers hold sums for.
    constexpr int kSums = kVectorFloats == 16 ? 24 : 12;
    constexpr int kWide = kSums / M >= 4 ? 4 : (kSums / M >= 2 ? 2 : 1);
    std::int32_t column = 0;
    for (; column + kWide * kVectorFloats <= kv.head_dim; column += kWide * kVectorFloats)
        weigh_columns<kType, M, kWide>(kFloat, kv, column, first, last, weights, values);
    for (; column + kVectorFloats <= kv.head_dim; column += kVectorFloats)
        weigh_columns<kType, M, 1>(kFloat, kv, column, first, last, weights, values);
    const hn::CappedTag<float, 1> one;
    for (; column < kv.head_dim; ++column)
        weigh_columns<kType, M, 1>(one, kv, column, first, last, weights, values);
}

template <DType kType, int M>
void piece(const KeyValues& kv, const Queries& queries, std::int32_t index, float* scores,
           const Partial& out) {
    const std::int32_t base = index * kPiece;
    std::int32_t from[M];
    std::int32_t to[M];
    std::int32_t first = kPiece;  // some row sees it
    std::int32_t last = 0;
    std::int32_t common_first = 0;  // all rows see it
    std::int32_t common_last = kPiece;
    for (int m = 0; m < M; ++m) {
        from[m] = std::clamp(queries.from[m] - base, 0, kPiece);
        to[m] = std::clamp(queries.to[m] - base, from[m], kPiece);
        common_first = std::max(common_first, from[m]);
        common_last = std::min(common_last, to[m]);
        if (from[m] == to[m]) continue;
        first = std::min(first, from[m]);
        last = std::max(last, to[m]);
    }
    std::memset(out.values, 0,
                static_cast<std::size_t>(M) * static_cast<std::size_t>(kv.head_dim) * sizeof(float));
    if (first < last) score<kType, M>(kv, queries.q, base + first, base + last, scores);
    for (int m = 0; m < M; ++m) {
        out.largest[m] = kNothing;
        out.sum[m] = 0;
        if (from[m] < to[m])
            exponentials(scores + m * kPiece, from[m], to[m], kv.softcap, out.largest[m], out.sum[m]);
    }
    // The middle that all rows see is shared; before and after it each row goes alone, in order of position.
    if (common_first >= common_last) {
        common_first = kPiece;
        common_last = kPiece;
    }
    for (int m = 0; m < M; ++m)
        weigh<kType, 1>(kv, base + from[m], base + std::min(to[m], common_first), scores + m * kPiece,
                        out.values + std::int64_t{m} * kv.head_dim);
    weigh<kType, M>(kv, base + common_first, base + common_last, scores, out.values);
    for (int m = 0; m < M; ++m)
        weigh<kType, 1>(kv, base + std::max(from[m], common_last), base + to[m], scores + m * kPiece,
                        out.values + std::int64_t{m} * kv.head_dim);
}

using PieceFunction = void (*)(const KeyValues&, const Queries&, std::int32_t, float*, const Partial&);

template <DType kType, int... M>
PieceFunction pick(int count, std::integer_sequence<int, M...>) {
    static constexpr PieceFunction table[] = {piece<kType, M + 1>...};
    return table[count - 1];
}

void any_piece(const KeyValues& kv, const Queries& queries, std::int32_t index, float* scores,
               const Partial& out) {
    const auto counts = std::make_integer_sequence<int, kMaxQueries>();
    PieceFunction function = nullptr;
    if (kv.dtype == DType::F16)
        function = pick<DType::F16>(queries.count, counts);
    else if (kv.dtype == DType::BF16)
        function = pick<DType::BF16>(queries.count, counts);
    else
        function = pick<DType::F32>(queries.count, counts);
    function(kv, queries, index, scores, out);
}

// a[c] = a[c] · fa + b[c] · fb
void blend(float* a, float fa, const float* b, float fb, std::int32_t n) {
    std::int32_t i = 0;
    for (; i + kVectorFloats <= n; i += kVectorFloats) {
        const Vector scaled = hn::Mul(hn::LoadU(kFloat, a + i), hn::Set(kFloat, fa));
        hn::StoreU(hn::MulAdd(hn::LoadU(kFloat, b + i), hn::Set(kFloat, fb), scaled), kFloat, a + i);
    }
    for (; i < n; ++i) a[i] = a[i] * fa + b[i] * fb;
}

float exponential_of(float x) { return hn::GetLane(exponential(hn::Set(kFloat, x))); }

void fold(const Partial& into, const Partial& next, int count, std::int32_t head_dim) {
    for (int m = 0; m < count; ++m) {
        if (next.sum[m] == 0) continue;  // NaN is not 0 and is folded
        float* a = into.values + std::int64_t{m} * head_dim;
        const float* b = next.values + std::int64_t{m} * head_dim;
        if (into.sum[m] == 0) {
            into.largest[m] = next.largest[m];
            into.sum[m] = next.sum[m];
            std::memcpy(a, b, static_cast<std::size_t>(head_dim) * sizeof(float));
            continue;
        }
        const float top = std::max(into.largest[m], next.largest[m]);
        const float fa = exponential_of(into.largest[m] - top);
        const float fb = exponential_of(next.largest[m] - top);
        into.largest[m] = top;
        into.sum[m] = into.sum[m] * fa + next.sum[m] * fb;
        blend(a, fa, b, fb, head_dim);
    }
}

void finish(const float* values, float sum, std::int32_t head_dim, float* out) {
    const float inverse = 1.0F / sum;
    for (std::int32_t c = 0; c < head_dim; ++c) out[c] = values[c] * inverse;
}

}  // namespace

const AttentionKernels* attention_table() {
    static constexpr AttentionKernels table{any_piece, fold, finish};
    return &table;
}

}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::cpu {

HWY_EXPORT(attention_table);

const AttentionKernels& attention_kernels() { return *HWY_DYNAMIC_DISPATCH(attention_table)(); }

}  // namespace vitrine::cpu
#endif
