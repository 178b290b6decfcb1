// The value that a row of operations should have, in double precision, with a bound on what a device may be
// off by: the bound is carried from operation to operation, from the rounding of each.
//
// The derivation for products is in kernels/cpu/matrix_kernels.h, for attention in
// kernels/cpu/attention_kernels.h. u = 2^-24 is the rounding of float32. The reference device has the same
// bounds without the rounding of activations.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/host/super_block.h"
#include "kernels/ops.h"
#include "tests/kernels/random_tensor.h"

namespace vitrine::test {

constexpr double kRounding = 0x1p-24;

struct Estimate {
    std::vector<double> value;
    std::vector<double> error;  // |device − value| <= error, element by element
};

inline Estimate exactly(std::span<const float> x) {
    return {std::vector<double>(x.begin(), x.end()), std::vector<double>(x.size(), 0.0)};
}

// x · w / sqrt(mean(x²) + eps). The derivative of the root-mean-square spreads an error over the row; sums of
// n squares round at most n times.
inline Estimate normalised(const Estimate& x, std::span<const float> w, double eps) {
    const auto n = static_cast<double>(x.value.size());
    double squares = 0;
    double weighted = 0;
    for (std::size_t i = 0; i < x.value.size(); ++i) {
        squares += x.value[i] * x.value[i];
        weighted += std::abs(x.value[i]) * x.error[i];
    }
    const double r = 1.0 / std::sqrt(squares / n + eps);
    Estimate y = x;
    for (std::size_t i = 0; i < x.value.size(); ++i) {
        y.value[i] = x.value[i] * r * static_cast<double>(w[i]);
        y.error[i] = 1.1 * std::abs(static_cast<double>(w[i])) * r *
                         (x.error[i] + std::abs(x.value[i]) * r * r * weighted / n) +
                     (n + 8) * kRounding * std::abs(y.value[i]);
    }
    return y;
}

// |d q| + M of each weight: what the additions of a product see, see matrix_kernels.h.
inline std::vector<float> code_magnitudes(const OwnedTensor& w) {
    const std::vector<float> values = w.values();
    std::vector<float> out = values;
    for (float& v : out) v = std::abs(v);
    const ScalePlace place = scale_place(w.dtype);
    if (place.m < 0) return out;
    const auto block = static_cast<std::size_t>(info_of(w.dtype).block);
    const auto bytes = static_cast<std::size_t>(info_of(w.dtype).bytes);
    for (std::size_t b = 0; b < w.bytes.size() / bytes; ++b) {
        const std::byte* p = w.bytes.data() + b * bytes;
        const float m = half_to_float(load_u16(p + place.m));
        SuperBlock super;
        if (block == kSuperBlock) unpack_super_block(w.dtype, p, super);
        for (std::size_t i = 0; i < block; ++i) {
            float& v = out[b * block + i];
            if (block != kSuperBlock) {  // d q = w − m
                v = std::abs(values[b * block + i] - m) * (1 + 0x1p-20F) + std::abs(m);
                continue;
            }
            const auto width = static_cast<std::size_t>(super_block_shape(w.dtype).width);
            const float minimum = std::abs(super.dmin) * static_cast<float>(super.minimum[i / width]);
            v = std::abs(super.d * static_cast<float>(super.scale[i / width]) *
                         static_cast<float>(super.code[i])) +
                minimum;
            if (width == 16)
                v += 2 * std::abs(super.dmin) * static_cast<float>(super.minimum[i / width ^ 1U]);
        }
    }
    return out;
}

// The numbers of a matrix that its products need, worked out once.
struct KnownMatrix {
    explicit KnownMatrix(const OwnedTensor& tensor)
        : w(tensor), values(tensor.values()), magnitudes(code_magnitudes(tensor)) {}
    const OwnedTensor& w;
    std::vector<float> values;
    std::vector<float> magnitudes;
};

// W·x + bias. rounded: the device rounds activations of quantized weights to 8 bits.
inline Estimate product(const Estimate& x, const KnownMatrix& known, bool rounded,
                        std::span<const float> bias = {}) {
    const OwnedTensor& w = known.w;
    const std::vector<float>& values = known.values;
    const std::vector<float>& magnitudes = known.magnitudes;
    const auto rows = static_cast<std::size_t>(w.rows);
    const auto cols = static_cast<std::size_t>(w.cols);
    const bool codes = (info_of(w.dtype).block > 1 || w.dtype == DType::I8) && rounded;
    std::vector<double> half_step(cols, 0.0);
    if (codes) {
        for (std::size_t b = 0; b < cols; b += 32) {
            const std::size_t end = std::min(b + 32, cols);
            double top = 0;
            for (std::size_t k = b; k < end; ++k) top = std::max(top, std::abs(x.value[k]) + x.error[k]);
            for (std::size_t k = b; k < end; ++k) half_step[k] = 0.5 * top / 127.0 * (1 + 0x1p-13) + 0x1p-100;
        }
    }
    const double roundings = codes ? static_cast<double>(cols) / 32 + 8 : static_cast<double>(cols) + 9;
    Estimate y{std::vector<double>(rows), std::vector<double>(rows)};
    for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0;
        double carried = 0;
        double magnitude = 0;
        for (std::size_t k = 0; k < cols; ++k) {
            const double m = static_cast<double>(magnitudes[r * cols + k]);
            sum += static_cast<double>(values[r * cols + k]) * x.value[k];
            carried += std::abs(static_cast<double>(values[r * cols + k])) * (x.error[k] + half_step[k]);
            magnitude += m * (std::abs(x.value[k]) + x.error[k] + half_step[k]);
        }
        if (!bias.empty()) sum += static_cast<double>(bias[r]);
        y.value[r] = sum;
        y.error[r] =
            carried + roundings * kRounding * 1.01 * magnitude + 2 * kRounding * std::abs(sum) + 1e-42;
    }
    return y;
}

inline Estimate product(const Estimate& x, const OwnedTensor& w, bool rounded,
                        std::span<const float> bias = {}) {
    return product(x, KnownMatrix(w), rounded, bias);
}

inline Estimate sum_of(const Estimate& a, const Estimate& b) {
    Estimate y = a;
    for (std::size_t i = 0; i < y.value.size(); ++i) {
        y.value[i] += b.value[i];
        y.error[i] += b.error[i] + kRounding * (std::abs(y.value[i]) + y.error[i] + b.error[i]);
    }
    return y;
}

// act(g) · v. Both activations have a slope below 1.13; exp is good to 2^-22 of its result and to its
// argument's rounding.
inline Estimate gated(Activation kind, const Estimate& g, const Estimate& v) {
    Estimate y = g;
    for (std::size_t i = 0; i < g.value.size(); ++i) {
        const double x = g.value[i];
        const double inner =
            kind == Activation::SiLU ? x / 2 : 0.7978845608028654 * (x + 0.044715 * x * x * x);
        const double act = kind == Activation::SiLU ? x / (1 + std::exp(-x)) : x / (1 + std::exp(-2 * inner));
        y.value[i] = act * v.value[i];
        y.error[i] = 1.13 * g.error[i] * (std::abs(v.value[i]) + v.error[i]) + std::abs(act) * v.error[i] +
                     std::abs(y.value[i]) * (0x1p-20 + 16 * kRounding * std::abs(inner)) + 1e-37;
    }
    return y;
}

// A head turned by position·inv_freq.
inline Estimate rotated(const Estimate& x, const RopeSpec& rope, std::int32_t position) {
    Estimate y = x;
    const auto half = static_cast<std::size_t>(rope.rotary_dim / 2);
    for (std::size_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(position) * rope.inv_freq[i];
        const double c = std::cos(angle) * static_cast<double>(rope.magnitude);
        const double s = std::sin(angle) * static_cast<double>(rope.magnitude);
        const std::size_t a = rope.style == RopeStyle::Halves ? i : 2 * i;
        const std::size_t b = rope.style == RopeStyle::Halves ? i + half : 2 * i + 1;
        y.value[a] = x.value[a] * c - x.value[b] * s;
        y.value[b] = x.value[b] * c + x.value[a] * s;
        const double rounding = 6 * kRounding * (std::abs(x.value[a]) + std::abs(x.value[b])) *
                                static_cast<double>(rope.magnitude);
        y.error[a] = std::abs(c) * x.error[a] + std::abs(s) * x.error[b] + rounding;
        y.error[b] = std::abs(c) * x.error[b] + std::abs(s) * x.error[a] + rounding;
    }
    return y;
}

// Written to the cache in its precision.
inline Estimate stored(const Estimate& x, DType type) {
    Estimate y = x;
    const double relative = type == DType::F32 ? 0.0 : (type == DType::F16 ? 0x1p-11 : 0x1p-8);
    const double absolute = type == DType::F16 ? 0x1p-25 : 0.0;
    for (std::size_t i = 0; i < y.value.size(); ++i)
        y.error[i] += relative * (std::abs(y.value[i]) + y.error[i]) * 1.01 + absolute;
    return y;
}

// cap · tanh(x / cap): slope at most 1, tanh good to 2^-21.
inline Estimate capped(const Estimate& x, double cap) {
    Estimate y = x;
    for (std::size_t i = 0; i < y.value.size(); ++i) {
        y.value[i] = cap * std::tanh(x.value[i] / cap);
        y.error[i] = x.error[i] + cap * 0x1p-20;
    }
    return y;
}

// The largest |device − value| / error of a row: above 1 is wrong. NaN counts as infinitely wrong.
inline double worst(std::span<const float> device, const Estimate& expected) {
    double ratio = 0;
    for (std::size_t i = 0; i < expected.value.size(); ++i) {
        const double off = std::abs(static_cast<double>(device[i]) - expected.value[i]);
        if (!(off <= expected.error[i]))
            ratio = std::max(ratio, off == off && expected.error[i] > 0 ? off / expected.error[i] : 1e30);
        else if (expected.error[i] > 0)
            ratio = std::max(ratio, off / expected.error[i]);
    }
    return ratio;
}

}  // namespace vitrine::test
