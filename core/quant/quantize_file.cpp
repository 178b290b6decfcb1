#include "core/quant/quantize_file.h"

#include <algorithm>
#include <cmath>
#include <system_error>

#include "core/io/finite.h"
#include "core/io/gguf_writer.h"
#include "core/io/printable.h"
#include "core/quant/round_to_nearest.h"

namespace vitrine {

namespace {

// Values of general.file_type in the GGUF specification.
std::uint32_t file_type_of(DType type) {
    switch (type) {
        case DType::F32: return 0;
        case DType::F16: return 1;
        case DType::Q4_0: return 2;
        case DType::Q4_1: return 3;
        case DType::Q8_0: return 7;
        case DType::BF16: return 32;
        default: return 0;  // not written by this program
    }
}

bool is_matrix(const GgufTensor& tensor) {
    std::uint64_t rows = 1;
    for (std::size_t i = 1; i < tensor.dims.size(); ++i) rows *= tensor.dims[i];
    return rows > 1;
}

HostTensor view_of(const GgufFile& file, const GgufTensor& tensor) {
    HostTensor view;
    view.dtype = *tensor.dtype;
    view.cols = tensor.dims.empty() ? 1 : static_cast<std::int64_t>(tensor.dims[0]);
    view.rows = static_cast<std::int64_t>(tensor.elements()) / view.cols;
    view.data = file.data(tensor).data();
    return view;
}

// What the writing of one file shares between its tensors.
struct Progress {
    const GgufFile& file;
    const QuantizeOptions& options;
    std::uint64_t total = 0;
    std::uint64_t done = 0;
    Status status;

    // False once something stopped the work; the writer then finds too few bytes and gives up.
    bool go_on(std::uint64_t weights) {
        if (!status.ok()) return false;
        done += weights;
        if (options.progress) options.progress(done, total);
        if (options.cancel != nullptr && options.cancel->load()) {
            status = Error{ErrorKind::Cancelled, "The quantization was stopped; no file was written."};
        }
        return status.ok();
    }
};

void convert(const HostTensor& from, DType to, const GgufWriter::Sink& sink, Progress& progress) {
    progress.status = progress.status.ok() ? progress.file.unchanged() : progress.status;
    const std::uint64_t stride = row_bytes(from.dtype, from.cols).value_or(0);
    std::vector<float> wide(static_cast<std::size_t>(from.cols));
    std::vector<std::byte> row(row_bytes(to, from.cols).value_or(0));
    for (std::int64_t r = 0; r < from.rows; ++r) {
        if (!progress.go_on(static_cast<std::uint64_t>(from.cols))) return;
        const std::byte* source = from.data + static_cast<std::uint64_t>(r) * stride;
        if (to == from.dtype) {
            sink({source, stride});
            continue;
        }
        dequantize_row(from.dtype, source, from.cols, wide.data());
        quantize_row(to, wide.data(), from.cols, row.data());
        sink(row);
    }
}

void copy_metadata(const GgufFile& in, DType type, GgufWriter& writer) {
    const bool quantized = info_of(type).block > 1;
    for (const GgufValue& value : in.values()) {
        if (value.key == "general.file_type") {
            writer.add_u32(value.key, file_type_of(type));
        } else {
            writer.add_raw(value);
        }
    }
    if (in.find("general.file_type") == nullptr) writer.add_u32("general.file_type", file_type_of(type));
    // Version 2 of the block formats: scales in half precision.
    if (quantized && in.find("general.quantization_version") == nullptr)
        writer.add_u32("general.quantization_version", 2);
}

}  // namespace

Result<QuantizeReport> quantize_file(const GgufFile& in, const std::filesystem::path& out,
                                     const QuantizeOptions& options) {
    const auto located = [&](ErrorKind kind, const std::string& message) {
        return Error{kind, display_path(in.path()) + ": " + message};
    };
    std::error_code ignored;
    if (std::filesystem::equivalent(in.path(), out, ignored)) {
        return located(ErrorKind::InvalidArgument,
                       "the new file must not be the one that is read; choose another name.");
    }
    VITRINE_TRY(const auto parts, in.unsigned_integer("split.count"));
    if (parts.value_or(1) > 1)
        return located(ErrorKind::Unsupported, "this is a part of a split model; merge its parts first.");

    GgufWriter writer;
    copy_metadata(in, options.type, writer);
    QuantizeReport report;
    Progress progress{in, options, 0, 0, {}};
    for (const GgufTensor& tensor : in.tensors()) {
        if (!tensor.valid || !tensor.dtype) {
            return located(ErrorKind::Unsupported, "tensor " + in_quotes(tensor.name) + " has type " +
                                                       tensor.type_name +
                                                       ", which this version cannot read.");
        }
        const HostTensor view = view_of(in, tensor);
        VITRINE_CHECK(in.unchanged());
        if (const Status finite = check_finite(view, tensor.name); !finite.ok()) {
            return located(finite.error().kind, finite.error().message);
        }
        QuantizeReport::Tensor entry{tensor.name, tensor.type_name, "", tensor.elements(), 0, false};
        DType to = DType::F32;
        if (is_matrix(tensor)) {
            entry.fallback = !row_bytes(options.type, view.cols).has_value();
            to = entry.fallback ? options.fallback : options.type;
        }
        const auto bytes = row_bytes(to, view.cols);
        if (!bytes) {
            return located(ErrorKind::InvalidArgument, "the fallback type " + std::string(info_of(to).name) +
                                                           " does not fit tensor " + in_quotes(tensor.name) +
                                                           "; choose F16, BF16 or F32.");
        }
        entry.to = info_of(to).name;
        entry.bytes = *bytes * static_cast<std::uint64_t>(view.rows);
        report.weights += entry.weights;
        report.bytes_before += tensor.bytes;
        report.bytes_after += entry.bytes;
        report.tensors.push_back(std::move(entry));
        writer.add_tensor(tensor.name, tensor.dims, to, [view, to, &progress](const GgufWriter::Sink& sink) {
            convert(view, to, sink, progress);
        });
    }
    progress.total = report.weights;
    const Status written = writer.write(out);
    if (!progress.status.ok())
        return progress.status.error();  // the cause, where the writer only saw that bytes were missing
    if (!written.ok()) return written.error();
    return report;
}

std::string QuantizeReport::text() const {
    std::string out;
    std::size_t width = 6;
    for (const Tensor& tensor : tensors) width = std::max(width, printable(tensor.name, 60).size());
    for (const Tensor& tensor : tensors) {
        const std::string name = printable(tensor.name, 60);
        out += name + std::string(width - name.size() + 2, ' ') + tensor.from + " -> " + tensor.to;
        if (tensor.fallback) out += "  (rows are no multiple of the block that was asked for)";
        out += '\n';
    }
    // Two digits after the point, without the locale.
    const auto hundredths = static_cast<std::uint64_t>(std::llround(bits_per_weight() * 100.0));
    const std::string digits = std::to_string(hundredths % 100);
    out += std::to_string(weights) + " weights, " + std::to_string(bytes_before) + " -> " +
           std::to_string(bytes_after) + " bytes, " + std::to_string(hundredths / 100) +
           (digits.size() < 2 ? ".0" : ".") + digits + " bits per weight\n";
    return out;
}

std::optional<DType> parse_dtype(std::string_view name) {
    std::string upper(name);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1}) {
        if (info_of(type).name == upper) return type;
    }
    return std::nullopt;
}

}  // namespace vitrine
