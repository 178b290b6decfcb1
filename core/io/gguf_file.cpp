#include "core/io/gguf_file.h"

#include <algorithm>
#include <array>

#include "core/base/checked.h"
#include "core/io/gguf_content.h"
#include "core/io/mapped_file.h"
#include "core/io/printable.h"
#include "core/io/split_files.h"

namespace vitrine {

struct GgufFile::Impl {
    std::filesystem::path path;
    std::unique_ptr<MappedFile> file;
    GgufContent content;
};

GgufFile::GgufFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GgufFile::~GgufFile() = default;

Result<std::unique_ptr<GgufFile>> GgufFile::open(const std::filesystem::path& path, GgufScope scope) {
    const auto located = [&](const Error& error) {
        return Error{error.kind, display_path(path) + ": " + error.message};
    };
    auto file = MappedFile::open(path);
    if (!file.ok()) return located(file.error());
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->file = std::move(file).value();
    const auto bytes = impl->file->bytes();
    if (const Status read = read_gguf_directory(bytes, impl->content); !read.ok()) {
        return located(
            {read.error().kind, read.error().message + advice_for_pieces(path, impl->content, bytes.size())});
    }
    const std::vector<Error> problems = check_gguf_layout(bytes.size(), impl->content);
    if (scope == GgufScope::All && !problems.empty()) {
        return located({problems.front().kind,
                        problems.front().message + advice_for_pieces(path, impl->content, bytes.size())});
    }
    return std::unique_ptr<GgufFile>(new GgufFile(std::move(impl)));
}

const std::filesystem::path& GgufFile::path() const { return impl_->path; }
std::uint32_t GgufFile::version() const { return impl_->content.version; }
std::uint64_t GgufFile::file_size() const { return impl_->file->bytes().size(); }
std::uint64_t GgufFile::data_offset() const { return impl_->content.data_offset; }
std::uint32_t GgufFile::alignment() const { return impl_->content.alignment; }
std::uint64_t GgufFile::unused_tail_bytes() const { return impl_->content.unused_tail; }
void GgufFile::release(std::span<const std::byte> range) const { impl_->file->release(range); }

Status GgufFile::unchanged() const {
    Status status = impl_->file->unchanged();
    if (status.ok()) return status;
    return Error{status.error().kind, display_path(impl_->path) + ": " + status.error().message};
}
std::span<const GgufValue> GgufFile::values() const { return impl_->content.values; }
std::span<const GgufTensor> GgufFile::tensors() const { return impl_->content.tensors; }
const GgufValue* GgufFile::find(std::string_view key) const { return find_value(impl_->content, key); }
const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
    return vitrine::find_tensor(impl_->content, name);
}

std::span<const std::byte> GgufFile::data(const GgufTensor& tensor) const {
    if (!tensor.valid || !range_fits(tensor.offset, tensor.bytes, file_size())) return {};
    return impl_->file->bytes().subspan(tensor.offset, tensor.bytes);
}

std::span<const std::byte> GgufFile::header_bytes() const {
    return impl_->file->bytes().first(impl_->content.directory_end);
}

std::span<const std::byte> GgufFile::tail_bytes(std::uint64_t count) const {
    return impl_->file->bytes().last(std::min<std::uint64_t>(count, file_size()));
}

}  // namespace vitrine
