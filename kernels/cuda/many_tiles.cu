#include "kernels/cuda/formats.cuh"
#include "kernels/cuda/many_tiles.h"

namespace vitrine::cuda::many {
namespace {

constexpr int kWarp = 32;
constexpr int kWarps = 8;   // of a block
constexpr int kGroup = 32;  // weights of a thread
constexpr int kEight = 8;   // weights in 16 bytes

// How a warp lies on the matrix: kRows rows of 32 / kRows groups each. In the panels of view.h eight rows of
// a quad are 32 groups side by side.
template <DType kType>
inline constexpr int kRows = is_quantized(kType) ? 8 : 4;

// Values of one byte times scales from outside, 32 at once. The group lies within one tile of the scales.
template <DType kType>
__device__ void load_bytes(const WeightView& w, std::int32_t row, std::int32_t g, float (&out)[kGroup]) {
    const auto* p = reinterpret_cast<const uint4*>(w.bytes + std::int64_t{row} * w.cols) + g * 2;
    const uint4 a = __ldg(p);
    const uint4 b = __ldg(p + 1);
    const std::uint32_t words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    const std::int32_t across = (w.cols + w.tile_cols - 1) / w.tile_cols;
    const float scale =
        __ldg(w.grid + std::int64_t{(w.first_row + row) / w.tile_rows} * across + g * kGroup / w.tile_cols);
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
        const auto code = static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)));
        if constexpr (kType == DType::F8_E4M3)
            out[i] = f8_value(code) * scale;
        else
            out[i] = static_cast<float>(static_cast<std::int8_t>(code)) * scale;
    }
}

template <DType kType>
__device__ void load_words(const WeightView& w, std::int32_t row, std::int32_t g, float (&out)[kGroup]) {
    if constexpr (kType == DType::F32) {
        const auto* p =
            reinterpret_cast<const float4*>(w.bytes) + (std::int64_t{row} * w.cols + g * kGroup) / 4;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float4 v = __ldg(p + i);
            out[4 * i] = v.x, out[4 * i + 1] = v.y, out[4 * i + 2] = v.z, out[4 * i + 3] = v.w;
        }
    } else {
        const auto* p =
            reinterpret_cast<const uint4*>(w.bytes) + (std::int64_t{row} * w.cols + g * kGroup) / 8;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint4 v = __ldg(p + i);
            const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if constexpr (kType == DType::F16) {
                    out[8 * i + 2 * j] = half_bits(static_cast<std::uint16_t>(words[j]));
                    out[8 * i + 2 * j + 1] = half_bits(static_cast<std::uint16_t>(words[j] >> 16U));
                } else {
                    out[8 * i + 2 * j] = __uint_as_float(words[j] << 16U);
                    out[8 * i + 2 * j + 1] = __uint_as_float(words[j] & 0xFFFF0000U);
                }
            }
        }
    }
}

// kWide: a group's weights are 32 in a row of 16-byte units, and under one outside scale.
template <DType kType, bool kWide>
__device__ void load(const WeightView& w, std::int32_t row, std::int32_t g, float (&out)[kGroup]) {
    if constexpr (kWide && (kType == DType::F8_E4M3 || kType == DType::I8))
        load_bytes<kType>(w, row, g, out);
    else if constexpr (kWide && (kType == DType::F32 || kType == DType::F16 || kType == DType::BF16))
        load_words<kType>(w, row, g, out);
    else
        load_group<kType>(w, row, g, out);
}

// A thread a group. Its 64 bytes go through shared memory, so that a warp writes whole lines.
template <DType kType, bool kWide>
__global__ void __launch_bounds__(kWarps* kWarp)
    expand_kernel(WeightView w, std::int32_t first, std::int32_t count, __half* out, std::int64_t stride) {
    __shared__ uint4 units[kWarps][kWarp * 4];
    constexpr int kHigh = kRows<kType>;
    constexpr int kAcross = kWarp / kHigh;
    const auto warp = static_cast<int>(threadIdx.x / kWarp);
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    const std::int32_t row0 = static_cast<std::int32_t>(blockIdx.y) * kHigh;
    const std::int32_t group0 = (static_cast<std::int32_t>(blockIdx.x) * kWarps + warp) * kAcross;
    const std::int32_t groups = (w.cols + kGroup - 1) / kGroup;
    {
        const std::int32_t row = row0 + lane / kAcross;
        const std::int32_t g = group0 + lane % kAcross;
        if (row < count && g < groups) {
            float v[kGroup];
            load<kType, kWide>(w, first + row, g, v);
#pragma unroll
            for (int u = 0; u < 4; ++u) {
                std::uint32_t words[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const __half2 pair = __floats2half2_rn(v[kEight * u + 2 * i], v[kEight * u + 2 * i + 1]);
                    words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
                }
                // Swapped so that eight threads at once meet all banks, here and below.
                units[warp][lane * 4 + (u ^ ((lane >> 1) & 3))] =
                    make_uint4(words[0], words[1], words[2], words[3]);
            }
        }
    }
    __syncwarp();
#pragma unroll
    for (int pass = 0; pass < 4; ++pass) {
        const int from = pass * (kWarp / 4) + lane / 4;
        const int u = lane % 4;
        const std::int32_t row = row0 + from / kAcross;
        const std::int32_t col = (group0 + from % kAcross) * kGroup + u * kEight;
        if (row < count && col < stride && col < groups * kGroup)
            *reinterpret_cast<uint4*>(out + row * stride + col) =
                units[warp][from * 4 + (u ^ ((from >> 1) & 3))];
    }
}

template <DType kType>
void launch(const WeightView& w, std::int32_t first, std::int32_t count, __half* out, std::int64_t stride,
            cudaStream_t stream) {
    constexpr int kAcross = kWarp / kRows<kType>;
    const std::int32_t groups = (w.cols + kGroup - 1) / kGroup;
    const dim3 grid(static_cast<unsigned>((groups + kWarps * kAcross - 1) / (kWarps * kAcross)),
                    static_cast<unsigned>((count + kRows<kType> - 1) / kRows<kType>));
    const bool one_scale = w.tile_cols % kGroup == 0 || w.tile_cols >= w.cols;
    if (w.cols % kGroup == 0 && (w.grid == nullptr || one_scale))
        expand_kernel<kType, true><<<grid, kWarps * kWarp, 0, stream>>>(w, first, count, out, stride);
    else if constexpr (kType == DType::F32 || kType == DType::F16 || kType == DType::BF16 ||
                       kType == DType::F8_E4M3 || kType == DType::I8)
        expand_kernel<kType, false><<<grid, kWarps * kWarp, 0, stream>>>(w, first, count, out, stride);
}

}  // namespace

void expand_rows(const WeightView& w, std::int32_t first, std::int32_t count, void* out, std::int64_t stride,
                 cudaStream_t stream) {
    for_type(w.type, [&]<DType kType>() {
        launch<kType>(w, first, count, static_cast<__half*>(out), stride, stream);
    });
}

}  // namespace vitrine::cuda::many
