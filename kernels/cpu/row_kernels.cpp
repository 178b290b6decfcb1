#include "kernels/cpu/row_kernels.h"

#include <cmath>
#include <cstring>

#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

// Calls body(first, count) with count = kVectorFloats for whole vectors and less for the tail.
template <class Body>
void for_vectors(std::int64_t n, const Body& body) {
    std::int64_t i = 0;
    for (; i + kVectorFloats <= n; i += kVectorFloats) body(i, kVectorFloats);
    if (i < n) body(i, static_cast<int>(n - i));
}

Vector load(const float* p, int count) {
    if (count == kVectorFloats) return hn::LoadU(kFloat, p);
    float lanes[kVectorFloats] = {};
    for (int i = 0; i < count; ++i) lanes[i] = p[i];
    return hn::LoadU(kFloat, lanes);
}

void store(Vector v, float* p, int count) {
    if (count == kVectorFloats) {
        hn::StoreU(v, kFloat, p);
        return;
    }
    float lanes[kVectorFloats];
    hn::StoreU(v, kFloat, lanes);
    for (int i = 0; i < count; ++i) p[i] = lanes[i];
}

void normalise(const float* x, std::int64_t n, const float* weight, float eps, float* out) {
    Vector squares = hn::Zero(kFloat);
    for_vectors(n, [&](std::int64_t i, int count) {
        const Vector v = load(x + i, count);
        squares = hn::MulAdd(v, v, squares);
    });
    const float sum = hn::GetLane(hn::SumOfLanes(kFloat, squares));
    const auto factor = static_cast<float>(
        1.0 / std::sqrt(static_cast<double>(sum) / static_cast<double>(n) + static_cast<double>(eps)));
    const Vector f = hn::Set(kFloat, factor);
    for_vectors(n, [&](std::int64_t i, int count) {
        store(hn::Mul(hn::Mul(load(x + i, count), f), load(weight + i, count)), out + i, count);
    });
}

void gate_rows(Activation kind, float* gate, const float* up, std::int64_t n) {
    const Vector one = hn::Set(kFloat, 1.0F);
    for_vectors(n, [&](std::int64_t i, int count) {
        const Vector g = load(gate + i, count);
        Vector a = g;
        if (kind == Activation::SiLU) {
            a = hn::Div(g, hn::Add(one, exponential(hn::Neg(g))));
        } else {
            // 0.5 g (1 + tanh u) = g / (1 + e^-2u), u = sqrt(2/pi) (g + 0.044715 g^3): no cancellation
            const Vector cube = hn::Mul(hn::Mul(g, g), g);
            const Vector u =
                hn::Mul(hn::Set(kFloat, 0.79788456F), hn::MulAdd(hn::Set(kFloat, 0.044715F), cube, g));
            a = hn::Div(g, hn::Add(one, exponential(hn::Mul(hn::Set(kFloat, -2.0F), u))));
        }
        store(hn::Mul(a, load(up + i, count)), gate + i, count);
    });
}

void add_rows(float* x, const float* y, const float* bias, std::int64_t n) {
    for_vectors(n, [&](std::int64_t i, int count) {
        Vector v = load(y + i, count);
        if (bias != nullptr) v = hn::Add(v, load(bias + i, count));
        store(hn::Add(load(x + i, count), v), x + i, count);
    });
}

void cap_row(float* x, std::int64_t n, float cap) {
    const Vector c = hn::Set(kFloat, cap);
    for_vectors(n, [&](std::int64_t i, int count) {
        store(hn::Mul(c, hyperbolic_tangent(hn::Div(load(x + i, count), c))), x + i, count);
    });
}

void convert_row(DType type, const float* x, std::int64_t n, std::byte* out) {
    if (type == DType::F32) {
        std::memcpy(out, x, static_cast<std::size_t>(n) * sizeof(float));
        return;
    }
    std::int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON  // where the processor converts
    if (type == DType::F16) {
        const hn::Rebind<hwy::float16_t, FloatTag> half;
        for (; i + kVectorFloats <= n; i += kVectorFloats)
            hn::StoreU(hn::DemoteTo(half, hn::LoadU(kFloat, x + i)), half,
                       reinterpret_cast<hwy::float16_t*>(out) + i);
    }
#endif
    for (; i < n; ++i) {
        const std::uint16_t h = type == DType::F16 ? float_to_half(x[i]) : float_to_bfloat(x[i]);
        std::memcpy(out + 2 * i, &h, sizeof h);
    }
}

}  // namespace

const RowKernels* row_table() {
    static constexpr RowKernels table{normalise, gate_rows, add_rows, cap_row, convert_row};
    return &table;
}

}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::cpu {

HWY_EXPORT(row_table);

const RowKernels& row_kernels() { return *HWY_DYNAMIC_DISPATCH(row_table)(); }

}  // namespace vitrine::cpu
#endif
