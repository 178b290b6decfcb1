// The tensor types that GGUF files can name, by their number in the file.
//
// Numbers, block lengths and sizes: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (ggml_type) and
// the sizes of the block structures of ggml. A number that is not in this table is unknown, never "0 bytes".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/tensor.h"

namespace vitrine {

struct GgmlType {
    std::uint32_t id = 0;
    std::string_view name;         // "Q4_K"
    std::uint32_t block = 0;       // elements in a block; 0: retired, its size is not known any more
    std::uint32_t bytes = 0;       // bytes of a block
    std::optional<DType> dtype;    // none: cannot be run by this program
    std::string_view replacement;  // of a retired type: the type to convert to
};

// Null where the number is not known.
const GgmlType* find_ggml_type(std::uint32_t id);

// The number under which a type that we can run is stored.
std::uint32_t ggml_type_id(DType type);

// "F32, F16, BF16, …", for messages.
std::string_view runnable_type_names();

}  // namespace vitrine
