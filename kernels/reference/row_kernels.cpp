#include "kernels/reference/row_kernels.h"

#include <cstring>

#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"

// Highway compiles the rest of this file once for every instruction set and picks one at run time. The loops
// are plain vector-extension code, not Highway operations: sixteen lanes everywhere, whatever the registers
// hold.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reference/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::reference::HWY_NAMESPACE {
namespace {

using Floats = float __attribute__((vector_size(64), aligned(4), may_alias));
const Floats& floats_at(const float* p) { return *reinterpret_cast<const Floats*>(p); }
Floats& floats_at(float* p) { return *reinterpret_cast<Floats*>(p); }

namespace hn = hwy::HWY_NAMESPACE;

// Conversions are exact, so here the width of a register does not matter.
constexpr hn::CappedTag<float, kLanes> kFloat;
constexpr std::int64_t kStep = HWY_LANES(float) < kLanes ? HWY_LANES(float) : kLanes;

// out[i] = d · (q[i] − offset) + m for 16 codes.
template <class Code>
void scale_codes(const Code* q, float d, float offset, float m, float* out) {
    const hn::Rebind<Code, decltype(kFloat)> code;
    const hn::Rebind<std::int32_t, decltype(kFloat)> integer;
    for (std::int64_t i = 0; i < kLanes; i += kStep) {
        const auto v = hn::ConvertTo(kFloat, hn::PromoteTo(integer, hn::LoadU(code, q + i)));
        const auto w = hn::Mul(hn::Sub(v, hn::Set(kFloat, offset)), hn::Set(kFloat, d));
        hn::StoreU(hn::Add(w, hn::Set(kFloat, m)), kFloat, out + i);
    }
}

void nibbles(const std::byte* p, float d, float offset, float m, float* out) {
    std::uint8_t low[kLanes];
    std::uint8_t high[kLanes];
    for (std::int64_t i = 0; i < kLanes; ++i) {
        low[i] = static_cast<std::uint8_t>(p[i]) & 15U;
        high[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(p[i]) >> 4U);
    }
    scale_codes(low, d, offset, m, out);
    scale_codes(high, d, offset, m, out + kLanes);
}

void dequantize(DType type, const std::byte* row, std::int64_t cols, float* out) {
    const std::int64_t blocks = cols / info_of(type).block;
    std::int64_t done = 0;
    switch (type) {
        case DType::F32:
            dequantize_row(type, row, cols, out);
            done = cols;
            break;
        case DType::F16: {
            const hn::Rebind<hwy::float16_t, decltype(kFloat)> half;
            for (; done + kStep <= cols; done += kStep)
                hn::StoreU(hn::PromoteTo(
                               kFloat, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(row) + done)),
                           kFloat, out + done);
            break;
        }
        case DType::BF16: {
            const hn::Rebind<hwy::bfloat16_t, decltype(kFloat)> brain;
            for (; done + kStep <= cols; done += kStep)
                hn::StoreU(
                    hn::PromoteTo(kFloat,
                                  hn::LoadU(brain, reinterpret_cast<const hwy::bfloat16_t*>(row) + done)),
                    kFloat, out + done);
            break;
        }
        case DType::Q8_0:
            for (std::int64_t b = 0; b < blocks; ++b, row += 34)
                for (int i = 0; i < 32; i += 16)
                    scale_codes(reinterpret_cast<const std::int8_t*>(row) + 2 + i,
                                half_to_float(load_u16(row)), 0.0F, 0.0F, out + b * 32 + i);
            done = cols;
            break;
        case DType::Q4_0:
            for (std::int64_t b = 0; b < blocks; ++b, row += 18)
                nibbles(row + 2, half_to_float(load_u16(row)), 8.0F, 0.0F, out + b * 32);
            done = cols;
            break;
        case DType::Q4_1:
            for (std::int64_t b = 0; b < blocks; ++b, row += 20)
                nibbles(row + 4, half_to_float(load_u16(row)), 0.0F, half_to_float(load_u16(row + 2)),
                        out + b * 32);
            done = cols;
            break;
        default: break;  // the plain conversion is the reference of the others
    }
    if (done < cols) dequantize_row(type, row + done * info_of(type).bytes, cols - done, out + done);
    for (std::int64_t i = cols; i < padded(cols); ++i) out[i] = 0.0F;
}

float tree_sum(const Floats& sums) {
    float s[kLanes];
    std::memcpy(s, &sums, sizeof s);
    for (int width = 8; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) s[i] += s[i + width];
    return s[0];
}

template <int kRows, int kTokens>
void dot_tile(const float* w, const float* x, std::int64_t n, float* out, std::int64_t out_stride) {
    Floats sums[kRows][kTokens] = {};
    for (std::int64_t i = 0; i < n; i += kLanes)
        for (int t = 0; t < kTokens; ++t)
            for (int r = 0; r < kRows; ++r) sums[r][t] += floats_at(w + r * n + i) * floats_at(x + t * n + i);
    for (int t = 0; t < kTokens; ++t)
        for (int r = 0; r < kRows; ++r) out[t * out_stride + r] = tree_sum(sums[r][t]);
}

void dot(const float* w, std::int64_t rows, const float* x, std::int64_t tokens, std::int64_t n, float* out,
         std::int64_t out_stride) {
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        std::int64_t t = 0;
        for (; t + 2 <= tokens; t += 2)
            dot_tile<4, 2>(w + r * n, x + t * n, n, out + t * out_stride + r, out_stride);
        for (; t < tokens; ++t) dot_tile<4, 1>(w + r * n, x + t * n, n, out + t * out_stride + r, out_stride);
    }
    for (; r < rows; ++r)
        for (std::int64_t t = 0; t < tokens; ++t)
            dot_tile<1, 1>(w + r * n, x + t * n, n, out + t * out_stride + r, out_stride);
}

void add_scaled(float factor, const float* v, std::int64_t n, float* sum) {
    for (std::int64_t i = 0; i < n; i += kLanes) floats_at(sum + i) += floats_at(v + i) * factor;
}

}  // namespace

const RowKernels& kernels() {
    static constexpr RowKernels table{dequantize, dot, add_scaled};
    return table;
}

}  // namespace vitrine::reference::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::reference {

HWY_EXPORT(kernels);

const RowKernels& row_kernels() { return HWY_DYNAMIC_DISPATCH(kernels)(); }

}  // namespace vitrine::reference
#endif
