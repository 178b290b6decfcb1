// Any bytes as a GGUF file: an error or a content whose every view lies inside the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/io/gguf_content.h"
#include "core/io/printable.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace vitrine;
    const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
    GgufContent content;
    const Status read = read_gguf_directory(file, content);
    if (!read.ok()) {
        if (read.error().message.empty() || !is_valid_utf8(read.error().message)) std::abort();
    }
    for (const GgufValue& value : content.values) {
        if (value.payload.data() < file.data() ||
            value.payload.data() + value.payload.size() > file.data() + size)
            std::abort();
    }
    if (!read.ok()) return 0;
    const auto problems = check_gguf_layout(size, content);
    std::uint64_t total = 0;
    for (const GgufTensor& tensor : content.tensors) {
        if (!tensor.valid) continue;
        if (tensor.offset > size || tensor.bytes > size - tensor.offset) std::abort();
        total += tensor.bytes;
    }
    // Without a problem nothing overlaps, so that all tensors together fit.
    if (problems.empty() && total > size) std::abort();
    return 0;
}
