#include "core/io/safetensors_file.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/checked.h"
#include "core/io/byte_reader.h"
#include "core/io/foreign_file.h"
#include "core/io/printable.h"
#include "core/io/safetensors_header.h"

namespace vitrine {

namespace {

struct KnownType {
    std::string_view name;
    std::uint32_t bits;
    std::optional<DType> dtype;
};

constexpr std::array kTypes = {
    KnownType{"F32", 32, DType::F32},   KnownType{"F16", 16, DType::F16},
    KnownType{"BF16", 16, DType::BF16}, KnownType{"F8_E4M3", 8, DType::F8_E4M3},
    KnownType{"I8", 8, DType::I8},      KnownType{"F64", 64, {}},
    KnownType{"C64", 64, {}},           KnownType{"I64", 64, {}},
    KnownType{"U64", 64, {}},           KnownType{"I32", 32, {}},
    KnownType{"U32", 32, {}},           KnownType{"I16", 16, {}},
    KnownType{"U16", 16, {}},           KnownType{"U8", 8, {}},
    KnownType{"BOOL", 8, {}},           KnownType{"F8_E5M2", 8, {}},
    KnownType{"F8_E8M0", 8, {}},        KnownType{"F6_E2M3", 6, {}},
    KnownType{"F6_E3M2", 6, {}},        KnownType{"F4", 4, {}},
};

Error broken(const std::string& problem) {
    return {ErrorKind::BadFile, "This is no sound safetensors file: " + problem + "."};
}

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string shape_of(const SafetensorsTensor& tensor) {
    std::string text = "[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i)
        text += (i > 0 ? ", " : "") + number(tensor.shape[i]);
    return text + "]";
}

// Elements, and bytes where the dtype is known, against what the offsets enclose.
Status size_tensor(SafetensorsTensor& tensor) {
    const std::string what = "tensor " + in_quotes(tensor.name);
    // A dimension of 0 must not hide a product of the others that wraps.
    std::uint64_t elements = 1;
    bool empty = false;
    for (const std::uint64_t dimension : tensor.shape) {
        if (dimension == 0) {
            empty = true;
            continue;
        }
        const auto product = checked_mul(elements, dimension);
        if (!product || *product > static_cast<std::uint64_t>(INT64_MAX))
            return broken(what + ": shape " + shape_of(tensor) + " has more elements than can be counted");
        elements = *product;
    }
    tensor.elements = empty ? 0 : elements;
    const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const KnownType& t) { return t.name == tensor.dtype_name; });
    if (type == kTypes.end()) return {};
    tensor.dtype = type->dtype;
    const auto bits = checked_mul<std::uint64_t>(tensor.elements, type->bits);
    if (!bits || *bits % 8 != 0 || *bits / 8 != tensor.bytes) {
        const std::string needed = !bits            ? "more bytes than can be counted"
                                   : *bits % 8 != 0 ? "no whole number of bytes"
                                                    : number(*bits / 8) + " bytes";
        return broken(what + ": shape " + shape_of(tensor) + " in " + std::string(type->name) + " takes " +
                      needed + ", but its data_offsets enclose " + number(tensor.bytes));
    }
    return {};
}

// The data must be covered exactly: no overlap, no gap, no rest.
Status check_cover(std::uint64_t data_size, const SafetensorsContent& content) {
    std::vector<const SafetensorsTensor*> order;
    order.reserve(content.tensors.size());
    for (const SafetensorsTensor& tensor : content.tensors) order.push_back(&tensor);
    // Empty ones first, so that they do not look like gaps.
    std::sort(order.begin(), order.end(), [](const SafetensorsTensor* a, const SafetensorsTensor* b) {
        return a->offset != b->offset ? a->offset < b->offset : a->bytes < b->bytes;
    });
    std::uint64_t end = 0;
    const SafetensorsTensor* previous = nullptr;
    for (const SafetensorsTensor* tensor : order) {
        if (!range_fits(tensor->offset, tensor->bytes, data_size)) {
            return broken("tensor " + in_quotes(tensor->name) + " does not fit into the file: it takes " +
                          number(tensor->bytes) + " bytes from byte " + number(tensor->offset) +
                          " of the data on, and the data have " + number(data_size) +
                          " bytes; the file is damaged or incomplete, download it again");
        }
        if (tensor->offset < end) {
            return broken("tensors " + in_quotes(previous->name) + " and " + in_quotes(tensor->name) +
                          " overlap: the first ends at byte " + number(end) +
                          " of the data, the second begins at byte " + number(tensor->offset));
        }
        if (tensor->offset > end) {
            return broken("bytes " + number(end) + " to " + number(tensor->offset) +
                          " of the data belong to no tensor (the next one is " + in_quotes(tensor->name) +
                          "), which the format forbids");
        }
        end = tensor->offset + tensor->bytes;
        previous = tensor;
    }
    if (end != data_size) {
        return broken(
            number(data_size - end) +
            " bytes behind the last tensor belong to none, which the format forbids; the file is damaged or "
            "something was appended to it");
    }
    return {};
}

}  // namespace

const SafetensorsTensor* SafetensorsContent::find(std::string_view name) const {
    const auto found = std::lower_bound(
        by_name.begin(), by_name.end(), name,
        [&](std::uint32_t i, std::string_view n) { return std::string_view(tensors[i].name) < n; });
    if (found == by_name.end() || tensors[*found].name != name) return nullptr;
    return &tensors[*found];
}

Result<SafetensorsContent> read_safetensors(std::span<const std::byte> file, std::uint64_t header_limit) {
    constexpr std::uint64_t kLength = 8;
    // A sound file may begin with the same bytes as an archive: its first eight are a number. So what else it
    // could be is asked only where it is none.
    const bool sound_start = file.size() > kLength &&
                             load_number<std::uint64_t>(file.data()) <= file.size() - kLength &&
                             file[kLength] == std::byte{'{'};
    if (auto foreign = foreign_file(file); foreign && !sound_start) return *std::move(foreign);
    if (as_text(file.first(std::min<std::size_t>(file.size(), 4))) == "GGUF")
        return Error{ErrorKind::BadFile,
                     "This is a GGUF file under a name that ends in .safetensors: rename it."};
    if (file.size() < kLength) {
        return broken("it has " + number(file.size()) +
                      " bytes, too short for the 8 that give the length of its header; download it again");
    }
    const auto length = load_number<std::uint64_t>(file.data());
    if (length > file.size() - kLength) {
        return broken("its header is said to take " + number(length) + " bytes, but only " +
                      number(file.size() - kLength) +
                      " follow; the file is damaged, incomplete or of another kind");
    }
    if (length > header_limit) {
        return Error{ErrorKind::TooLarge, "The header of this safetensors file takes " + number(length) +
                                              " bytes; this program reads headers of at most " +
                                              number(header_limit) + " bytes."};
    }
    if (length < 2)
        return broken("its header has " + number(length) + " bytes, and the shortest one, {}, has 2");
    SafetensorsContent out;
    out.data_offset = kLength + length;
    VITRINE_CHECK(read_safetensors_header(as_text(file.subspan(kLength, length)), out));
    for (SafetensorsTensor& tensor : out.tensors) VITRINE_CHECK(size_tensor(tensor));
    VITRINE_CHECK(check_cover(file.size() - out.data_offset, out));
    for (SafetensorsTensor& tensor : out.tensors) tensor.offset += out.data_offset;
    out.by_name.resize(out.tensors.size());
    for (std::size_t i = 0; i < out.by_name.size(); ++i) out.by_name[i] = static_cast<std::uint32_t>(i);
    std::sort(out.by_name.begin(), out.by_name.end(),
              [&](std::uint32_t a, std::uint32_t b) { return out.tensors[a].name < out.tensors[b].name; });
    return out;
}

Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(const std::filesystem::path& path) {
    const auto located = [&](const Error& error) {
        return Error{error.kind, display_path(path) + ": " + error.message};
    };
    auto out = std::make_unique<SafetensorsFile>();
    out->path_ = path;
    auto file = MappedFile::open(path);
    if (!file.ok()) return located(file.error());
    out->file_ = std::move(file).value();
    auto content = read_safetensors(out->file_->bytes());
    if (!content.ok()) return located(content.error());
    out->content_ = std::move(content).value();
    return out;
}

Status SafetensorsFile::unchanged() const {
    const Status status = file_->unchanged();
    if (status.ok()) return {};
    return Error{status.error().kind, display_path(path_) + ": " + status.error().message};
}

}  // namespace vitrine
