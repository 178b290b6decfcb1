#include "core/io/finite.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "core/io/printable.h"

namespace vitrine {

namespace {

// Index of the first number whose exponent bits are all set (NaN or infinity), read every `stride` bytes.
template <class Bits>
std::optional<std::uint64_t> first_not_finite(const std::byte* data, std::uint64_t count,
                                              std::uint64_t stride, Bits exponent) {
    constexpr std::uint64_t kPiece = 4096;
    for (std::uint64_t start = 0; start < count; start += kPiece) {
        const std::uint64_t end = std::min(count, start + kPiece);
        bool found = false;  // no branch inside the loop, so that the compiler can use vectors
        for (std::uint64_t i = start; i < end; ++i) {
            Bits bits{};
            std::memcpy(&bits, data + i * stride, sizeof bits);
            found |= (bits & exponent) == exponent;
        }
        for (std::uint64_t i = start; found && i < end; ++i) {
            Bits bits{};
            std::memcpy(&bits, data + i * stride, sizeof bits);
            if ((bits & exponent) == exponent) return i;
        }
    }
    return std::nullopt;
}

constexpr std::uint16_t kHalfExponent = 0x7C00;
constexpr std::uint16_t kBfloatExponent = 0x7F80;
constexpr std::uint32_t kFloatExponent = 0x7F800000;

}  // namespace

Status check_finite(const HostTensor& tensor, std::string_view name) {
    const DTypeInfo info = info_of(tensor.dtype);
    const auto bytes = row_bytes(tensor.dtype, tensor.cols);
    if (!bytes || tensor.rows < 1 || tensor.cols < 1) return {};
    const auto blocks_in_row = static_cast<std::uint64_t>(tensor.cols / info.block);
    const std::uint64_t blocks = blocks_in_row * static_cast<std::uint64_t>(tensor.rows);
    const auto stride = static_cast<std::uint64_t>(info.bytes);

    std::optional<std::uint64_t> bad;
    const char* what = "weight";
    const auto look = [&](const char* part, std::uint64_t offset, std::uint16_t exponent) {
        if (bad) return;
        bad = first_not_finite(tensor.data + offset, blocks, stride, exponent);
        what = part;
    };
    switch (tensor.dtype) {
        case DType::F32: bad = first_not_finite(tensor.data, blocks, stride, kFloatExponent); break;
        case DType::F16: look("weight", 0, kHalfExponent); break;
        case DType::BF16: look("weight", 0, kBfloatExponent); break;
        case DType::Q8_0:
        case DType::Q4_0:
        case DType::Q5_0:
        case DType::IQ4_NL:
        case DType::IQ4_XS: look("scale", 0, kHalfExponent); break;
        case DType::Q4_1:
        case DType::Q5_1:
        case DType::Q4_K:
        case DType::Q5_K:
            look("scale", 0, kHalfExponent);
            look("minimum", 2, kHalfExponent);
            break;
        case DType::Q2_K:
            look("scale", 80, kHalfExponent);
            look("minimum", 82, kHalfExponent);
            break;
        case DType::Q3_K: look("scale", 108, kHalfExponent); break;
        case DType::Q6_K: look("scale", 208, kHalfExponent); break;
        case DType::F8_E4M3:
            for (std::uint64_t i = 0; i < blocks && !bad; ++i)
                if ((static_cast<unsigned>(tensor.data[i]) & 0x7FU) == 0x7FU) bad = i;
            break;
        case DType::I8: break;
    }
    if (!bad) return {};
    const std::string place = "row " + std::to_string(*bad / blocks_in_row) +
                              (info.block > 1 ? ", block " : ", column ") +
                              std::to_string(*bad % blocks_in_row);
    return Error{ErrorKind::BadFile,
                 "tensor " + in_quotes(name) + " (" + std::string(info.name) + "): the " + what + " at " +
                     place +
                     " is NaN or infinite, so every answer would be; the file is damaged or was quantized "
                     "wrongly: download it again, or get another quantization."};
}

}  // namespace vitrine
