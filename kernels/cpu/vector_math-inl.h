// exp and tanh of a vector. Included once per Highway target.
#if defined(VITRINE_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_VECTOR_MATH_INL_H
#undef VITRINE_VECTOR_MATH_INL_H
#else
#define VITRINE_VECTOR_MATH_INL_H
#endif

#include "kernels/cpu/block_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::cpu::HWY_NAMESPACE {
namespace {

// e^x, relative error below 2^-22 for results that are normal numbers; 0 below about -87, infinity above
// about 88.7, NaN for NaN.
HWY_INLINE Vector exponential(Vector x) {
    const IntTag di;
    const Vector lowest = hn::Set(kFloat, -87.3F);
    // Outside of this range the result is 0 or infinity. NaN is put back at the end.
    const Vector clamped = hn::Min(hn::Max(x, lowest), hn::Set(kFloat, 89.0F));
    const auto n = hn::NearestInt(hn::Mul(clamped, hn::Set(kFloat, 1.44269504F)));
    const Vector nf = hn::ConvertTo(kFloat, n);
    Vector r = hn::NegMulAdd(nf, hn::Set(kFloat, 0.693359375F), clamped);
    r = hn::NegMulAdd(nf, hn::Set(kFloat, -2.12194440e-4F), r);
    // Taylor's polynomial to r^7 on |r| <= ln2 / 2: the rest is below 6e-9.
    Vector p = hn::Set(kFloat, 1.0F / 5040);
    p = hn::MulAdd(p, r, hn::Set(kFloat, 1.0F / 720));
    p = hn::MulAdd(p, r, hn::Set(kFloat, 1.0F / 120));
    p = hn::MulAdd(p, r, hn::Set(kFloat, 1.0F / 24));
    p = hn::MulAdd(p, r, hn::Set(kFloat, 1.0F / 6));
    p = hn::MulAdd(p, r, hn::Set(kFloat, 0.5F));
    p = hn::MulAdd(p, r, hn::Set(kFloat, 1.0F));
    p = hn::MulAdd(p, r, hn::Set(kFloat, 1.0F));
    // 2^n in two steps, because n alone may be beyond the exponents there are.
    const auto half = hn::ShiftRight<1>(n);
    const auto bias = hn::Set(di, 127);
    const Vector first = hn::BitCast(kFloat, hn::ShiftLeft<23>(hn::Add(half, bias)));
    const Vector second = hn::BitCast(kFloat, hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias)));
    const Vector result = hn::IfThenZeroElse(hn::Lt(x, lowest), hn::Mul(hn::Mul(p, first), second));
    return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// tanh(x) = 1 - 2 / (e^2x + 1); absolute error below 2^-21.
HWY_INLINE Vector hyperbolic_tangent(Vector x) {
    const Vector one = hn::Set(kFloat, 1.0F);
    const Vector e = exponential(hn::Add(x, x));
    return hn::Sub(one, hn::Div(hn::Set(kFloat, 2.0F), hn::Add(e, one)));
}

}  // namespace
}  // namespace vitrine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
