#include "kernels/host/host_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/host/half.h"

namespace vitrine {
namespace {

// Adds the time between its birth and death to a phase.
class PhaseTimer {
  public:
    explicit PhaseTimer(double& seconds) : seconds_(seconds) {}
    ~PhaseTimer() {
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    PhaseTimer(const PhaseTimer&) = delete;
    PhaseTimer& operator=(const PhaseTimer&) = delete;

  private:
    double& seconds_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

float load_kv(DType type, const std::byte* panel, std::size_t index) {
    if (type == DType::F32) {
        float v = 0;
        std::memcpy(&v, panel + index * sizeof v, sizeof v);
        return v;
    }
    std::uint16_t h = 0;
    std::memcpy(&h, panel + index * sizeof h, sizeof h);
    return type == DType::F16 ? half_to_float(h) : bfloat_to_float(h);
}

void store_kv(DType type, std::byte* panel, std::size_t index, float value) {
    if (type == DType::F32) {
        std::memcpy(panel + index * sizeof value, &value, sizeof value);
        return;
    }
    const std::uint16_t h = type == DType::F16 ? float_to_half(value) : float_to_bfloat(value);
    std::memcpy(panel + index * sizeof h, &h, sizeof h);
}

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

Result<Buffer> HostDevice::allocate(std::size_t floats) {
    auto buffer = std::make_unique<HostBuffer>();
    buffer->size = floats;
    // Without this question a request beyond main memory would be granted and end the process when touched.
    const bool large = floats > (std::size_t{16} << 20U);
    const std::uint64_t limit = large ? system_memory().free / sizeof(float) : floats;
    if (floats <= limit) buffer->data = make_aligned<float>(floats);
    if (buffer->data == nullptr)
        return Error{ErrorKind::OutOfMemory,
                     "A buffer of " + std::to_string(floats) +
                         " numbers does not fit into main memory. Choose a smaller context or "
                         "fewer tokens a step."};
    return Buffer(std::move(buffer));
}

Result<KvCache> HostDevice::make_kv(const KvShape& shape) {
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
    auto kv = std::make_unique<HostKv>();
    kv->shape = shape;
    VITRINE_TRY(kv->memory, PageMemory::make(bytes, "The KV cache"));
    return KvCache(std::move(kv));
}

std::span<const float> HostDevice::read(const BufferStorage& buffer, std::size_t first, std::size_t count) {
    if (first > buffer.size || count > buffer.size - first) return {};
    return {data_of(&buffer) + first, count};
}

void HostDevice::write(BufferStorage& buffer, std::size_t first, std::span<const float> values) {
    if (first > buffer.size || values.size() > buffer.size - first || values.empty()) return;
    std::memcpy(data_of(&buffer) + first, values.data(), values.size_bytes());
}

void HostDevice::fill_kv(KvStorage& kv, float value) {
    const HostKv& host = host_kv(&kv);
    const std::size_t elements = host.memory.size() / static_cast<std::size_t>(info_of(kv.shape.dtype).bytes);
    for (std::size_t i = 0; i < elements; ++i) store_kv(kv.shape.dtype, host.memory.data(), i, value);
}

void HostDevice::read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                         std::int32_t kv_head, std::int32_t token, std::span<float> out) {
    const KvShape& s = kv.shape;
    const bool inside = layer >= 0 && layer < s.layers && block >= 0 && block < s.blocks && kv_head >= 0 &&
                        kv_head < s.kv_heads && token >= 0 && token < s.block_size;
    if (!inside) return;
    const std::byte* panel = host_kv(&kv).panel(layer, value_not_key, block, kv_head);
    const auto count = std::min<std::int32_t>(s.head_dim, static_cast<std::int32_t>(out.size()));
    for (std::int32_t c = 0; c < count; ++c)
        out[static_cast<std::size_t>(c)] = load_kv(s.dtype, panel, kv_index(s, value_not_key, token, c));
}

void HostDevice::fail(ErrorKind kind, std::string message) {
    if (status_.ok()) status_ = Error{kind, std::move(message)};
}

bool HostDevice::checked(const char* operation, const std::string& problem) {
    if (!problem.empty()) fail(ErrorKind::InvalidArgument, std::string(operation) + ": " + problem);
    return status_.ok() && rows() > 0;
}

void HostDevice::begin_step(const StepInput& step) {
    status_ = Status();
    times_ = PhaseTimes();
    step_ = step;
    if (const std::string problem = place_rows(); !problem.empty()) {
        fail(ErrorKind::InvalidArgument, "The step: " + problem);
        return;
    }
    fill_rope_tables();
}

void HostDevice::fill_rope_tables() {
    const std::size_t count = step_.tokens.size();
    ropes_.resize(step_.ropes.size() / static_cast<std::size_t>(step_.rope_sets));
    for (std::size_t i = 0; i < ropes_.size(); ++i) {
        RopeTable& table = ropes_[i];
        table.style = step_.ropes[i].style;
        table.half = step_.ropes[i].rotary_dim / 2;
        const auto half = static_cast<std::size_t>(table.half);
        table.cosine.resize(count * half);
        table.sine.resize(count * half);
        const auto fill = [&](std::int64_t first, std::int64_t last, int) {
            for (auto r = static_cast<std::size_t>(first); r < static_cast<std::size_t>(last); ++r) {
                const std::int32_t owner = places_[r].sequence;
                const auto set = static_cast<std::size_t>(
                    owner < 0 ? 0 : step_.sequences[static_cast<std::size_t>(owner)].rope_set);
                const RopeSpec& spec = step_.ropes[set * ropes_.size() + i];
                for (std::size_t f = 0; f < half; ++f) {
                    const double angle = static_cast<double>(step_.positions[r]) * spec.inv_freq[f];
                    const auto magnitude = static_cast<double>(spec.magnitude);
                    table.cosine[r * half + f] = static_cast<float>(std::cos(angle) * magnitude);
                    table.sine[r * half + f] = static_cast<float>(std::sin(angle) * magnitude);
                }
            }
        };
        pool_.parallel_for(static_cast<std::int64_t>(count), 16, fill);
    }
}

Status HostDevice::finish_step() {
    Status status = std::move(status_);
    status_ = Status();
    step_ = StepInput();
    return status;
}

void HostDevice::rotate(const RopeTable& rope, std::int64_t row, float* head) const {
    const std::int32_t half = rope.half;
    const float* cosine = rope.cosine.data() + row * half;
    const float* sine = rope.sine.data() + row * half;
    const std::int32_t step = rope.style == RopeStyle::Halves ? 1 : 2;
    const std::int32_t other = rope.style == RopeStyle::Halves ? half : 1;
    for (std::int32_t i = 0; i < half; ++i) {
        const float a = head[i * step];
        const float b = head[i * step + other];
        head[i * step] = a * cosine[i] - b * sine[i];
        head[i * step + other] = b * cosine[i] + a * sine[i];
    }
}

void HostDevice::embed(const EmbedArgs& a) {
    std::string problem;
    if (a.table == nullptr || a.x == nullptr) {
        problem = "the table or the output is missing.";
    } else if (static_cast<std::uint64_t>(a.x->size) < static_cast<std::uint64_t>(rows() * a.table->cols)) {
        problem = "the output buffer is too small.";
    } else {
        for (const std::int32_t token : step_.tokens)
            if (token < 0 || token >= a.table->rows)
                problem = "token " + std::to_string(token) + " is outside the table of " +
                          std::to_string(a.table->rows) + " rows.";
    }
    if (!checked("embed", problem)) return;
    const PhaseTimer timer(times_.embed);
    const std::int64_t cols = a.table->cols;
    float* x = data_of(a.x);
    pool_.parallel_for(rows(), 8, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t r = first; r < last; ++r) {
            float* out = x + r * cols;
            read_row(*a.table, step_.tokens[static_cast<std::size_t>(r)],
                     {out, static_cast<std::size_t>(cols)});
            if (a.scale != 1.0F)
                for (std::int64_t i = 0; i < cols; ++i) out[i] *= a.scale;
        }
    });
}

void HostDevice::qkv(const QkvArgs& a) {
    if (!checked("qkv", problem_of(a))) return;
    const PhaseTimer timer(times_.matrix);
    run_qkv(a);
}

void HostDevice::attention(const AttentionArgs& a) {
    if (!checked("attention", problem_of(a))) return;
    const PhaseTimer timer(times_.attention);
    run_attention(a);
}

void HostDevice::project(const ProjectArgs& a) {
    if (!checked("project", problem_of(a))) return;
    const PhaseTimer timer(times_.matrix);
    run_project(a);
}

void HostDevice::feed_forward(const FeedForwardArgs& a) {
    if (!checked("feed_forward", problem_of(a))) return;
    const PhaseTimer timer(times_.matrix);
    run_feed_forward(a);
}

void HostDevice::logits(const LogitsArgs& a) {
    if (!checked("logits", problem_of(a)) || step_.output_rows.empty()) return;
    const PhaseTimer timer(times_.matrix);
    run_logits(a);
}

void HostDevice::copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) {
    const KvShape& s = kv.shape;
    for (const BlockCopy& copy : copies) {
        if (copy.from < 0 || copy.from >= s.blocks || copy.to < 0 || copy.to >= s.blocks) {
            fail(ErrorKind::InvalidArgument, "copy_blocks: block " + std::to_string(copy.from) + " to " +
                                                 std::to_string(copy.to) + " in a cache of " +
                                                 std::to_string(s.blocks) + " blocks.");
            return;
        }
    }
    const HostKv& host = host_kv(&kv);
    const std::size_t bytes = host.panel_bytes() * static_cast<std::size_t>(s.kv_heads);
    for (const BlockCopy& copy : copies) {  // in the order given: one copy may feed the next
        if (copy.from == copy.to) continue;
        for (std::int32_t layer = 0; layer < s.layers; ++layer)
            for (const bool value : {false, true})
                std::memcpy(host.panel(layer, value, copy.to, 0), host.panel(layer, value, copy.from, 0),
                            bytes);
    }
}

}  // namespace vitrine
