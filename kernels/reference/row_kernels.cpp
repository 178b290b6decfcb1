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
using Words = std::uint32_t __attribute__((vector_size(64), aligned(4), may_alias));
using Halves = std::uint16_t __attribute__((vector_size(32), aligned(1), may_alias));
using Bytes = std::uint8_t __attribute__((vector_size(16), aligned(1), may_alias));
using SignedBytes = std::int8_t __attribute__((vector_size(16), aligned(1), may_alias));

const Floats& floats_at(const float* p) { return *reinterpret_cast<const Floats*>(p); }
Floats& floats_at(float* p) { return *reinterpret_cast<Floats*>(p); }

// Sixteen halves: exponent and mantissa are moved into place and the exponent is corrected by an exact
// multiplication, which serves subnormals too; infinity and NaN get the full exponent.
void convert_halves(const std::byte* p, float* out) {
    const Words h = __builtin_convertvector(*reinterpret_cast<const Halves*>(p), Words);
    const Words moved = (h & 0x7FFFU) << 13U;
    Floats value;
    std::memcpy(&value, &moved, sizeof value);
    value = value * 0x1p112F;
    Words bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto special = (h & 0x7C00U) == 0x7C00U;
    bits = special ? (moved | 0x7F800000U) : bits;
    bits |= (h & 0x8000U) << 16U;
    std::memcpy(out, &bits, sizeof bits);
}

void nibbles(const std::byte* p, float d, float offset, float m, float* out) {
    const Bytes pair = *reinterpret_cast<const Bytes*>(p);
    const Bytes low_bytes = pair & std::uint8_t{15};
    const Bytes high_bytes = pair >> std::uint8_t{4};
    const Floats low = __builtin_convertvector(low_bytes, Floats) - offset;
    const Floats high = __builtin_convertvector(high_bytes, Floats) - offset;
    floats_at(out) = low * d + m;
    floats_at(out + 16) = high * d + m;
}

void dequantize(DType type, const std::byte* row, std::int64_t cols, float* out) {
    const std::int64_t blocks = cols / info_of(type).block;
    std::int64_t done = 0;
    switch (type) {
        case DType::F32:
            dequantize_row(type, row, cols, out);
            done = cols;
            break;
        case DType::F16:
            for (; done + kLanes <= cols; done += kLanes) convert_halves(row + 2 * done, out + done);
            break;
        case DType::BF16:
            for (; done + kLanes <= cols; done += kLanes) {
                const Words h =
                    __builtin_convertvector(*reinterpret_cast<const Halves*>(row + 2 * done), Words) << 16U;
                std::memcpy(out + done, &h, sizeof h);
            }
            break;
        case DType::Q8_0:
            for (std::int64_t b = 0; b < blocks; ++b, row += 34) {
                const float d = half_to_float(load_u16(row));
                for (int i = 0; i < 32; i += 16) {
                    const SignedBytes q = *reinterpret_cast<const SignedBytes*>(row + 2 + i);
                    floats_at(out + b * 32 + i) = __builtin_convertvector(q, Floats) * d;
                }
            }
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
