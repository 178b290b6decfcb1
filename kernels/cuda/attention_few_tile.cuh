// Sixteen keys and values of the cache in a warp's registers, as fragments of Sᵀ = K·Qᵀ and Oᵀ = Vᵀ·Pᵀ.
//
// A dot product does not mind the order of its dimensions, so a lane's fragment of K is 16 contiguous bytes
// of a key; the values' dimensions are dealt out so that 16 bytes of a value fall into eight rows of the
// lane's own.
#pragma once

#include "kernels/cuda/attention_tile.cuh"

namespace vitrine::cuda::attention {

constexpr int kTile = 16;  // keys that a warp takes at a time

// Element sizes and fragment counts of one head size.
template <Kind kKind, int kDim>
struct Shape {
    static constexpr int kBytes = kKind == Kind::F32 ? 4 : 2;
    static constexpr int kWords = kBytes / 2;  // that hold two elements
    static constexpr int kSteps = kDim / 16;   // products along the dimensions; also row tiles of Oᵀ
    static constexpr int kKeyParts = kKind == Kind::F32 ? 3 : 1;
    static constexpr int kQueryParts = kKind == Kind::F32 ? 3 : 2;
    static constexpr int kWeightParts = kKind == Kind::F32 ? 3 : kKind == Kind::BF16 ? 2 : 1;
    static constexpr int kOrder = kQueryParts;              // parts i and j meet where i + j < kOrder
    static constexpr int kPhase = kSteps < 8 ? kSteps : 8;  // row tiles merged at once
    static_assert(kSteps % kPhase == 0);
};

// 16 keys of a warp's lane. Keys g and g + 8, dimensions 32 i + 8 t …; values of keys 2t, 2t+1, 2t+8, 2t+9,
// dimensions 64 i + 8 g …; what 32 or 64 do not divide comes last.
template <Kind kKind, int kDim>
struct Tile {
    using S = Shape<kKind, kDim>;
    std::uint32_t key[2][S::kSteps * 2 * S::kWords];
    std::uint32_t value[4][S::kSteps * S::kWords];

    template <int kCount>
    static __device__ __forceinline__ void load_words(std::uint32_t* to, const std::uint8_t* from,
                                                      bool there) {
#pragma unroll
        for (int i = 0; i + 4 <= kCount; i += 4) {
            const uint4 v = there ? load16(from + i * 4) : uint4{0, 0, 0, 0};
            to[i] = v.x;
            to[i + 1] = v.y;
            to[i + 2] = v.z;
            to[i + 3] = v.w;
        }
        if constexpr (kCount % 4 == 2) {
            const uint2 v = there ? load8(from + kCount / 4 * 16) : uint2{0, 0};
            to[kCount / 4 * 4] = v.x;
            to[kCount / 4 * 4 + 1] = v.y;
        }
        if constexpr (kCount % 4 == 1) to[kCount / 4 * 4] = there ? load4(from + kCount / 4 * 16) : 0;
    }

    __device__ __forceinline__ void load_keys(const std::uint8_t* base, const std::int32_t (&octet)[2],
                                              std::int32_t first, std::int32_t from, std::int32_t to, int g,
                                              int t) {
        constexpr int kPiece = 4 * S::kWords;  // words of 8 dimensions
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const std::int32_t k = first + 8 * h + g;
            const bool there = k >= from && k < to;
            const std::uint8_t* row = base + (std::int64_t{octet[h]} * 8 + g) * (kDim * S::kBytes);
#pragma unroll
            for (int i = 0; i < kDim / 32; ++i)
                load_words<kPiece>(&key[h][i * kPiece], row + (32 * i + 8 * t) * S::kBytes, there);
            if constexpr (kDim % 32 != 0)
                load_words<kPiece / 2>(&key[h][kDim / 32 * kPiece],
                                       row + (kDim / 32 * 32 + 4 * t) * S::kBytes, there);
        }
    }

    __device__ __forceinline__ void load_values(const std::uint8_t* base, const std::int32_t (&octet)[2],
                                                std::int32_t first, std::int32_t from, std::int32_t to, int g,
                                                int t) {
        constexpr int kPiece = 4 * S::kWords;
        constexpr int kLeft = kDim % 64 / 8;  // dimensions of a lane in the last piece
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int slot = 2 * t + i % 2;
            const std::int32_t k = first + 8 * (i / 2) + slot;
            const bool there = k >= from && k < to;
            const std::uint8_t* row = base + (std::int64_t{octet[i / 2]} * 8 + slot) * (kDim * S::kBytes);
#pragma unroll
            for (int j = 0; j < kDim / 64; ++j)
                load_words<kPiece>(&value[i][j * kPiece], row + (64 * j + 8 * g) * S::kBytes, there);
            if constexpr (kLeft != 0)
                load_words<kLeft / 2 * S::kWords>(&value[i][kDim / 64 * kPiece],
                                                  row + (kDim / 64 * 64 + kLeft * g) * S::kBytes, there);
        }
    }

    // Fragment of K for product `step`, part by part.
    __device__ __forceinline__ void key_fragment(int step, std::uint32_t (&a)[S::kKeyParts][4]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int h = i % 2;
            const int at = (2 * step + i / 2) * S::kWords;
            if constexpr (kKind == Kind::F32) {
                std::uint32_t parts[S::kKeyParts];
                split<kKind>(__uint_as_float(key[h][at]), __uint_as_float(key[h][at + 1]), parts);
#pragma unroll
                for (int p = 0; p < S::kKeyParts; ++p) a[p][i] = parts[p];
            } else {
                a[0][i] = key[h][at];
            }
        }
    }

    // Fragment of Vᵀ for row tile `tile`: rows g and g + 8 are the even and the odd dimension of a pair.
    __device__ __forceinline__ void value_fragment(int tile, std::uint32_t (&a)[S::kKeyParts][4]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int even = i / 2 * 2;
            const int odd = i % 2;
            if constexpr (kKind == Kind::F32) {
                std::uint32_t parts[S::kKeyParts];
                split<kKind>(__uint_as_float(value[even][2 * tile + odd]),
                             __uint_as_float(value[even + 1][2 * tile + odd]), parts);
#pragma unroll
                for (int p = 0; p < S::kKeyParts; ++p) a[p][i] = parts[p];
            } else {
                a[0][i] = __byte_perm(value[even][tile], value[even + 1][tile], odd ? 0x7632 : 0x5410);
            }
        }
    }

    // Which of the tile's keys have a value that is not finite, bit by bit; such values become zero.
    __device__ __forceinline__ std::uint32_t take_unfit(int t) {
        std::uint32_t keys = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            bool any = false;
#pragma unroll
            for (auto& word : value[i]) {
                const bool bad = unfit<kKind>(word);
                any = any || bad;
                if (bad) word = 0;
            }
            if (any) keys |= 1U << (8 * (i / 2) + 2 * t + i % 2);
        }
#pragma unroll
        for (int offset = kWarp / 2; offset > 0; offset /= 2) keys |= __shfl_xor_sync(kAll, keys, offset);
        return keys;
    }
};

// The first of the two dimensions that a lane's row tile holds.
template <int kDim>
__device__ __forceinline__ int dimension_of(int tile, int g) {
    constexpr int kLeft = kDim % 64 / 8;
    if (tile < kDim / 64 * 4) return 64 * (tile / 4) + 8 * g + 2 * (tile % 4);
    return kDim / 64 * 64 + kLeft * g + 2 * (tile - kDim / 64 * 4);
}

}  // namespace vitrine::cuda::attention
