// Where the tensors of a GGUF file lie, checked without ever forming a sum or product that could wrap.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "core/base/checked.h"
#include "core/io/ggml_types.h"
#include "core/io/gguf_content.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

constexpr std::size_t kMaxProblems = 100;

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string shape_of(const GgufTensor& tensor) {
    std::string text = "[";
    for (std::size_t i = 0; i < tensor.dims.size(); ++i) text += (i > 0 ? ", " : "") + number(tensor.dims[i]);
    return text + "]";
}

Error broken(std::string message) { return {ErrorKind::BadFile, std::move(message)}; }

// Type and size of one tensor; its offset stays as stored.
Status size_tensor(GgufTensor& tensor) {
    const std::string what = "tensor " + in_quotes(tensor.name);
    const GgmlType* type = find_ggml_type(tensor.type_id);
    if (type == nullptr) {
        tensor.type_name = "unknown type id " + number(tensor.type_id);
        return Error{ErrorKind::Unsupported, what + ": unknown type id " + number(tensor.type_id) +
                                                 "; the file is damaged or newer than this program."};
    }
    tensor.type_name = type->name;
    tensor.dtype = type->dtype;
    if (type->block == 0) {
        return Error{ErrorKind::Unsupported,
                     what + " has type " + tensor.type_name + ". This quant type was retired; use " +
                         std::string(type->replacement) + " (download or convert the model anew)."};
    }
    std::uint64_t elements = 1;
    for (const std::uint64_t dimension : tensor.dims) {
        if (dimension == 0) return broken(what + " has a zero dimension: shape " + shape_of(tensor) + ".");
        const auto product = checked_mul(elements, dimension);
        if (!product || *product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            return broken(what + ": shape " + shape_of(tensor) +
                          " has more elements than can be counted; the file is damaged.");
        }
        elements = *product;
    }
    const std::uint64_t columns = tensor.dims.empty() ? 1 : tensor.dims[0];
    if (columns % type->block != 0) {
        return broken(what + ": its rows have " + number(columns) + " elements, but type " +
                      tensor.type_name + " needs a multiple of " + number(type->block) +
                      "; the file is damaged or was written by a faulty program.");
    }
    const auto bytes = checked_mul<std::uint64_t>(elements / type->block, type->bytes);
    if (!bytes)
        return broken(what + ": shape " + shape_of(tensor) +
                      " takes more bytes than can be counted; the file is damaged.");
    tensor.bytes = *bytes;
    return {};
}

// Turns the stored offset into one from the start of the file.
Status place_tensor(GgufTensor& tensor, std::uint64_t file_size, GgufContent& content) {
    const std::string what = "tensor " + in_quotes(tensor.name);
    if (tensor.offset % content.alignment != 0) {
        return broken(what + ": its offset " + number(tensor.offset) +
                      " is not a multiple of the alignment " + number(content.alignment) +
                      "; the file is damaged.");
    }
    const auto start = checked_add(content.data_offset, tensor.offset);
    const auto end = start ? checked_add(*start, tensor.bytes) : std::nullopt;
    content.needed_size = std::max(content.needed_size, end.value_or(0));
    if (!start || !range_fits(*start, tensor.bytes, file_size)) {
        return broken(what + " does not fit into the file: it starts at byte " +
                      (start ? number(*start) : "2^64 or later") + " and takes " + number(tensor.bytes) +
                      " bytes, and the file has " + number(file_size) + ".");
    }
    tensor.offset = *start;
    tensor.valid = true;
    return {};
}

}  // namespace

std::vector<Error> check_gguf_layout(std::uint64_t file_size, GgufContent& content) {
    std::vector<Error> problems;
    const auto note = [&](const Status& status) {
        if (!status.ok() && problems.size() < kMaxProblems) problems.push_back(status.error());
        return status.ok();
    };
    std::vector<const GgufTensor*> placed;
    std::uint64_t total = 0;
    bool countable = true;
    for (GgufTensor& tensor : content.tensors) {
        if (!note(size_tensor(tensor))) continue;
        const auto sum = checked_add(total, tensor.bytes);
        countable = countable && sum.has_value();
        total = sum.value_or(total);
        if (note(place_tensor(tensor, file_size, content))) placed.push_back(&tensor);
    }
    if (!countable)
        note(broken("All tensors together take more bytes than can be counted; the file is damaged."));

    std::sort(placed.begin(), placed.end(),
              [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
    std::uint64_t end = content.data_offset;
    const GgufTensor* previous = nullptr;
    for (const GgufTensor* tensor : placed) {
        if (tensor->offset < end) {
            note(broken("Tensors " + in_quotes(previous->name) + " and " + in_quotes(tensor->name) +
                        " overlap: the first ends at byte " + number(end) + ", the second starts at byte " +
                        number(tensor->offset) + "; the file was written by a faulty program."));
        } else if (tensor->offset - end >= content.alignment) {
            content.unused_gaps += tensor->offset - end;
        }
        if (const std::uint64_t stop = tensor->offset + tensor->bytes; stop >= end) {
            end = stop;
            previous = tensor;
        }
    }
    if (content.tensors.empty()) end = std::min(content.directory_end, file_size);
    // The padding that the format asks for behind the last tensor is not unused.
    const std::uint64_t padded = end + (content.alignment - end % content.alignment) % content.alignment;
    content.unused_tail = file_size > padded ? file_size - padded : 0;
    return problems;
}

}  // namespace vitrine
