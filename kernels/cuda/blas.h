// Matrix products of cuBLASLt, with what its heuristics chose kept for each shape.
//
// The library is opened at the first use, not linked: the module loads on a machine that has none. One
// context per device lives until release(). All functions may be called from any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <string>

namespace vitrine::cuda::blas {

enum class Number : std::uint8_t { F16, BF16, F32 };

// out[t][r] = alpha · Σ w[r][k] · x[t][k], plus what is there where `add`. Strides are elements from row to
// row. Sums are float32 whatever the numbers.
struct Product {
    std::int32_t rows = 0;    // of w
    std::int32_t cols = 0;    // of w and x
    std::int32_t tokens = 0;  // rows of x
    std::int64_t w_stride = 0, x_stride = 0, out_stride = 0;
    Number in = Number::F16;
    Number out = Number::F32;
    bool add = false;
    bool scaled = false;           // alpha lies in device memory; else it is 1
    std::int32_t matrices = 1;     // products of the same x with matrices of one shape
    std::uint32_t alignment = 16;  // bytes by which the addresses of w and out are divisible

    auto operator<=>(const Product&) const = default;
};

struct Operands {
    const void* w = nullptr;
    const void* x = nullptr;
    void* out = nullptr;
    const float* alpha = nullptr;  // device memory: alpha, then zero
    // From one matrix to the next, in elements.
    std::int64_t w_step = 0, out_step = 0;
    void* space = nullptr;  // kSpace bytes of device memory
};

// Working memory of a product: what the library's makers advise for this generation.
inline constexpr std::uint64_t kSpace = std::uint64_t{32} << 20U;

// The largest of 16 … 256 by which all of these are divisible; smaller where they are not divisible by 16.
std::uint32_t alignment_of(const void* w, const void* out, std::int64_t w_step_bytes = 0,
                           std::int64_t out_step_bytes = 0);

// Whether there is a kernel for it. The first call for a shape takes some 0.1 ms.
bool ready(const Product& product);
// False where ready() is false or the launch is refused.
bool run(const Product& product, const Operands& operands, cudaStream_t stream);

// Empty: the library works. Else a sentence for the user.
std::string problem();
// Gives back all that the library holds on the devices. The next use begins again.
void release();
// Devices on which it holds something.
std::int32_t contexts_held();

}  // namespace vitrine::cuda::blas
