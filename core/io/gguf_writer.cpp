#include "core/io/gguf_writer.h"

#include <cstring>
#include <limits>

#include "core/base/checked.h"
#include "core/io/atomic_file.h"
#include "core/io/ggml_types.h"
#include "core/io/gguf_content.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

constexpr std::uint64_t kAlignment = 32;

template <class T>
void append(std::vector<std::byte>& out, T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
}

void append_string(std::vector<std::byte>& out, std::string_view text) {
    append(out, static_cast<std::uint64_t>(text.size()));
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    out.insert(out.end(), bytes, bytes + text.size());
}

void append_key(std::vector<std::byte>& out, std::string_view key, GgufType type) {
    append_string(out, key);
    append(out, static_cast<std::uint32_t>(type));
}

void append_array(std::vector<std::byte>& out, std::string_view key, GgufType element, std::size_t count) {
    append_key(out, key, GgufType::Array);
    append(out, static_cast<std::uint32_t>(element));
    append(out, static_cast<std::uint64_t>(count));
}

std::uint64_t padding(std::uint64_t size) { return (kAlignment - size % kAlignment) % kAlignment; }

}  // namespace

void GgufWriter::add_string(std::string_view key, std::string_view value) {
    append_key(metadata_, key, GgufType::String);
    append_string(metadata_, value);
    ++values_;
}

void GgufWriter::add_u32(std::string_view key, std::uint32_t value) {
    append_key(metadata_, key, GgufType::U32);
    append(metadata_, value);
    ++values_;
}

void GgufWriter::add_u64(std::string_view key, std::uint64_t value) {
    append_key(metadata_, key, GgufType::U64);
    append(metadata_, value);
    ++values_;
}

void GgufWriter::add_i32(std::string_view key, std::int32_t value) {
    append_key(metadata_, key, GgufType::I32);
    append(metadata_, value);
    ++values_;
}

void GgufWriter::add_f32(std::string_view key, float value) {
    append_key(metadata_, key, GgufType::F32);
    append(metadata_, value);
    ++values_;
}

void GgufWriter::add_bool(std::string_view key, bool value) {
    append_key(metadata_, key, GgufType::Bool);
    append(metadata_, static_cast<std::uint8_t>(value ? 1 : 0));
    ++values_;
}

void GgufWriter::add_strings(std::string_view key, std::span<const std::string> values) {
    append_array(metadata_, key, GgufType::String, values.size());
    for (const std::string& value : values) append_string(metadata_, value);
    ++values_;
}

void GgufWriter::add_i32s(std::string_view key, std::span<const std::int32_t> values) {
    append_array(metadata_, key, GgufType::I32, values.size());
    for (const std::int32_t value : values) append(metadata_, value);
    ++values_;
}

void GgufWriter::add_f32s(std::string_view key, std::span<const float> values) {
    append_array(metadata_, key, GgufType::F32, values.size());
    for (const float value : values) append(metadata_, value);
    ++values_;
}

void GgufWriter::add_raw(const GgufValue& value) {
    // This writer aligns to the default; another file's alignment would be a lie here.
    if (value.key == "general.alignment") return;
    if (value.type == GgufType::Array) {
        append_array(metadata_, value.key, value.element, value.count);
    } else {
        append_key(metadata_, value.key, value.type);
    }
    metadata_.insert(metadata_.end(), value.payload.begin(), value.payload.end());
    ++values_;
}

void GgufWriter::add_tensor(std::string_view name, std::vector<std::uint64_t> dims, DType dtype,
                            std::function<void(const Sink&)> fill) {
    tensors_.push_back({std::string(name), std::move(dims), dtype, std::move(fill)});
}

Status GgufWriter::write(const std::filesystem::path& path) const {
    std::vector<std::byte> header;
    append(header, std::uint32_t{0x46554747});  // "GGUF"
    append(header, std::uint32_t{3});
    append(header, static_cast<std::uint64_t>(tensors_.size()));
    append(header, values_);
    header.insert(header.end(), metadata_.begin(), metadata_.end());

    std::vector<std::uint64_t> sizes;
    std::uint64_t offset = 0;
    for (const Entry& tensor : tensors_) {
        std::uint64_t rows = 1;
        for (std::size_t i = 1; i < tensor.dims.size(); ++i)
            rows = checked_mul(rows, tensor.dims[i]).value_or(0);
        const std::uint64_t columns = tensor.dims.empty() ? 1 : tensor.dims[0];
        const bool countable =
            columns <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        const auto row =
            countable ? row_bytes(tensor.dtype, static_cast<std::int64_t>(columns)) : std::nullopt;
        const auto bytes = row ? checked_mul(*row, rows) : std::nullopt;
        const auto end = bytes ? checked_add(offset, *bytes) : std::nullopt;
        if (!end || *bytes == 0 || tensor.dims.size() > 4) {
            return Error{ErrorKind::InvalidArgument, display_path(path) + ": tensor " +
                                                         in_quotes(tensor.name) +
                                                         " has a shape that cannot be stored as " +
                                                         std::string(info_of(tensor.dtype).name) + "."};
        }
        append_string(header, tensor.name);
        append(header, static_cast<std::uint32_t>(tensor.dims.size()));
        for (const std::uint64_t dimension : tensor.dims) append(header, dimension);
        append(header, ggml_type_id(tensor.dtype));
        append(header, offset);
        sizes.push_back(*bytes);
        offset = *end + padding(*end);
    }
    header.resize(header.size() + padding(header.size()));

    VITRINE_TRY(const auto file, AtomicFile::create(path));
    VITRINE_CHECK(file->write(header));
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        std::uint64_t written = 0;
        Status status;
        tensors_[i].fill([&](std::span<const std::byte> bytes) {
            written += bytes.size();
            if (status.ok()) status = file->write(bytes);
        });
        if (!status.ok()) return status;
        if (written != sizes[i]) {
            return Error{ErrorKind::Internal, display_path(path) + ": tensor " + in_quotes(tensors_[i].name) +
                                                  " gave " + std::to_string(written) + " bytes where " +
                                                  std::to_string(sizes[i]) +
                                                  " were announced; nothing was written."};
        }
        const std::vector<std::byte> zeros(padding(sizes[i]));
        VITRINE_CHECK(file->write(zeros));
    }
    return file->commit();
}

}  // namespace vitrine
