#include "core/quant/round_to_nearest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/host/half.h"

namespace vitrine {

namespace {

constexpr std::int64_t kBlock = 32;
constexpr float kSmallestHalf = 0x1p-24F;
constexpr float kLargestHalf = 65504.0F;

void store(std::byte* out, std::uint16_t value) { std::memcpy(out, &value, sizeof value); }

// A number as a half that is finite.
std::uint16_t store_half(std::byte* out, float value) {
    const std::uint16_t half = float_to_half(std::clamp(value, -kLargestHalf, kLargestHalf));
    store(out, half);
    return half;
}

// A scale as a half: finite, and not 0 where the scale is not. Returns what will be read back.
float store_scale(std::byte* out, float scale) {
    if (scale != 0.0F && std::abs(scale) < kSmallestHalf) scale = std::copysign(kSmallestHalf, scale);
    return half_to_float(store_half(out, scale));
}

// Divided in float32, rounded half away from zero.
int step(float value, float scale, int low, int high) {
    const float steps = std::round(value / scale);
    return static_cast<int>(std::clamp(steps, static_cast<float>(low), static_cast<float>(high)));
}

void pack_nibbles(const int (&q)[kBlock], std::byte* out) {
    for (std::size_t i = 0; i < kBlock / 2; ++i)
        out[i] = static_cast<std::byte>(q[i] | (q[i + kBlock / 2] << 4));
}

void quantize_q8_0(const float* in, std::byte* out) {
    float largest = 0.0F;
    for (std::int64_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::abs(in[i]));
    // A quotient that is too small for float32 must not turn the scale into 0.
    const float exact = largest > 0.0F ? std::max(largest / 127.0F, kSmallestHalf) : 0.0F;
    const float scale = store_scale(out, exact);
    for (std::int64_t i = 0; i < kBlock; ++i) {
        const int q = scale == 0.0F ? 0 : step(in[i], scale, -127, 127);
        out[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(q));
    }
}

void quantize_q4_0(const float* in, std::byte* out) {
    // The weight that is furthest from zero lands on −8, the end that has one step more.
    float furthest = 0.0F;
    for (std::int64_t i = 0; i < kBlock; ++i) {
        if (std::abs(in[i]) > std::abs(furthest)) furthest = in[i];
    }
    float exact = furthest == 0.0F ? 0.0F : furthest / -8.0F;
    if (furthest != 0.0F && std::abs(exact) < kSmallestHalf) exact = std::copysign(kSmallestHalf, -furthest);
    const float scale = store_scale(out, exact);
    int q[kBlock];
    for (std::int64_t i = 0; i < kBlock; ++i) q[i] = scale == 0.0F ? 8 : step(in[i], scale, -8, 7) + 8;
    pack_nibbles(q, out + 2);
}

void quantize_q4_1(const float* in, std::byte* out) {
    const auto [low, high] = std::minmax_element(in, in + kBlock);
    const bool all_zero = *low == 0.0F && *high == 0.0F;
    const float minimum = half_to_float(store_half(out + 2, *low));
    // From the minimum as stored, so that its rounding does not push the largest weight off the end. The
    // difference of two large weights may be infinite in float32; in double it is not.
    const double span = (static_cast<double>(*high) - static_cast<double>(minimum)) / 15.0;
    float exact = static_cast<float>(std::clamp(span, 0.0, static_cast<double>(kLargestHalf)));
    if (!all_zero) exact = std::max(exact, kSmallestHalf);
    const float scale = store_scale(out, exact);
    int q[kBlock];
    for (std::int64_t i = 0; i < kBlock; ++i) q[i] = scale == 0.0F ? 0 : step(in[i] - minimum, scale, 0, 15);
    pack_nibbles(q, out + 4);
}

}  // namespace

void quantize_row(DType type, const float* in, std::int64_t cols, std::byte* out) {
    const DTypeInfo info = info_of(type);
    for (std::int64_t i = 0; i + info.block <= cols; i += info.block, out += info.bytes) {
        switch (type) {
            case DType::F32: std::memcpy(out, in + i, sizeof(float)); break;
            case DType::F16: store_half(out, in[i]); break;
            case DType::BF16: {
                // The largest bfloat16; beyond it rounding would give infinity.
                constexpr float kLargest = 0x1.FEp127F;
                store(out, float_to_bfloat(std::clamp(in[i], -kLargest, kLargest)));
                break;
            }
            case DType::Q8_0: quantize_q8_0(in + i, out); break;
            case DType::Q4_0: quantize_q4_0(in + i, out); break;
            case DType::Q4_1: quantize_q4_1(in + i, out); break;
            default: break;
        }
    }
}

}  // namespace vitrine
