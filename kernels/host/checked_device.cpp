#include "kernels/host/checked_device.h"

#include <string>
#include <utility>

namespace vitrine {

Result<std::uint64_t> upload_bytes(const HostTensor& tensor) {
    const std::string shape = std::to_string(tensor.rows) + " x " + std::to_string(tensor.cols) + " " +
                              std::string(info_of(tensor.dtype).name);
    const auto row = row_bytes(tensor.dtype, tensor.cols);
    std::uint64_t bytes = 0;
    if (tensor.rows < 1 || tensor.cols < 1 || !row)
        return Error{ErrorKind::InvalidArgument,
                     "A matrix of " + shape +
                         " cannot be loaded: it needs at least one row, and rows of a multiple of " +
                         std::to_string(info_of(tensor.dtype).block) + " weights."};
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(tensor.rows), *row, &bytes))
        return Error{ErrorKind::OutOfMemory, "A matrix of " + shape + " is larger than any memory."};
    if (tensor.data == nullptr)
        return Error{ErrorKind::InvalidArgument, "A matrix of " + shape + " without data."};
    const ScaleGrid& scales = tensor.scales;
    if (has_outside_scales(tensor.dtype) &&
        (scales.values == nullptr || scales.tile_rows < 1 || scales.tile_cols < 1 || scales.first_row < 0))
        return Error{ErrorKind::InvalidArgument, "A matrix of " + shape + " without its scales."};
    return bytes;
}

std::span<const float> scales_of(const HostTensor& t) {
    const ScaleGrid& g = t.scales;
    const std::int64_t across = (t.cols + g.tile_cols - 1) / g.tile_cols;
    const std::int64_t first = g.first_row / g.tile_rows;
    const std::int64_t last = (g.first_row + t.rows + g.tile_rows - 1) / g.tile_rows;
    return {g.values + first * across, static_cast<std::size_t>((last - first) * across)};
}

Result<std::uint64_t> kv_bytes(const KvShape& shape) {
    const auto bad = [](const std::string& what) {
        return Error{ErrorKind::InvalidArgument, "KV cache: " + what};
    };
    if (shape.layers < 1 || shape.kv_heads < 1 || shape.head_dim < 1 || shape.blocks < 1)
        return bad("layers, heads, head size and blocks must be at least 1.");
    if (shape.block_size < 8 || shape.block_size % 8 != 0)
        return bad("a block of " + std::to_string(shape.block_size) + " tokens; needed is a multiple of 8.");
    if (shape.dtype != DType::F32 && shape.dtype != DType::F16 && shape.dtype != DType::BF16)
        return bad("the precision " + std::string(info_of(shape.dtype).name) + " is not F32, F16 or BF16.");
    std::uint64_t bytes = 2ULL * static_cast<std::uint64_t>(info_of(shape.dtype).bytes);
    for (const std::int32_t factor :
         {shape.layers, shape.kv_heads, shape.head_dim, shape.block_size, shape.blocks})
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(factor), &bytes))
            return Error{ErrorKind::OutOfMemory,
                         "The KV cache is larger than any memory. Choose a smaller context."};
    return bytes;
}

void CheckedDevice::fail(ErrorKind kind, std::string message) {
    if (status_.ok()) status_ = Error{kind, std::move(message)};
}

bool CheckedDevice::checked(const char* operation, const std::string& problem) {
    if (!problem.empty()) fail(ErrorKind::InvalidArgument, std::string(operation) + ": " + problem);
    return status_.ok() && rows() > 0;
}

void CheckedDevice::begin_step(const StepInput& step) {
    status_ = Status();
    launched_ = false;
    step_ = step;
    if (const std::string problem = place_rows(); !problem.empty()) {
        fail(ErrorKind::InvalidArgument, "The step: " + problem);
        return;
    }
    do_begin();
}

void CheckedDevice::embed(const EmbedArgs& a) {
    if (checked("embed", problem_of(a))) do_embed(a);
}

void CheckedDevice::qkv(const QkvArgs& a) {
    if (checked("qkv", problem_of(a))) do_qkv(a);
}

void CheckedDevice::attention(const AttentionArgs& a) {
    if (checked("attention", problem_of(a))) do_attention(a);
}

void CheckedDevice::project(const ProjectArgs& a) {
    if (checked("project", problem_of(a))) do_project(a);
}

void CheckedDevice::feed_forward(const FeedForwardArgs& a) {
    if (checked("feed_forward", problem_of(a))) do_feed_forward(a);
}

void CheckedDevice::logits(const LogitsArgs& a) {
    if (checked("logits", problem_of(a)) && !step_.output_rows.empty()) do_logits(a);
}

void CheckedDevice::sample(const SampleArgs& a) {
    if (checked("sample", problem_of(a)) && !a.rows.empty()) do_sample(a);
}

void CheckedDevice::copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) {
    const KvShape& s = kv.shape;
    for (const BlockCopy& copy : copies) {
        if (copy.from < 0 || copy.from >= s.blocks || copy.to < 0 || copy.to >= s.blocks) {
            fail(ErrorKind::InvalidArgument, "copy_blocks: block " + std::to_string(copy.from) + " to " +
                                                 std::to_string(copy.to) + " in a cache of " +
                                                 std::to_string(s.blocks) + " blocks.");
            return;
        }
    }
    do_copy_blocks(kv, copies);
}

void CheckedDevice::launch_step() {
    if (!launched_) do_launch();
    launched_ = true;
}

Status CheckedDevice::finish_step() {
    launch_step();
    do_finish();
    launched_ = false;
    Status status = std::move(status_);
    status_ = Status();
    step_ = StepInput();
    return status;
}

}  // namespace vitrine
