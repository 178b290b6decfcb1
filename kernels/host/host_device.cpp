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
    VITRINE_TRY(const std::uint64_t bytes, kv_bytes(shape));
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

void HostDevice::do_begin() {
    times_ = PhaseTimes();
    fill_rope_tables();
}

void HostDevice::fill_rope_tables() {
    const std::size_t count = step_.tokens.size();
    ropes_.resize(static_cast<std::size_t>(ropes_in_set()));
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

void HostDevice::do_embed(const EmbedArgs& a) {
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

void HostDevice::do_qkv(const QkvArgs& a) {
    const PhaseTimer timer(times_.qkv);
    run_qkv(a);
}

void HostDevice::do_attention(const AttentionArgs& a) {
    const PhaseTimer timer(times_.attention);
    run_attention(a);
}

void HostDevice::do_project(const ProjectArgs& a) {
    const PhaseTimer timer(times_.project);
    run_project(a);
}

void HostDevice::do_feed_forward(const FeedForwardArgs& a) {
    const PhaseTimer timer(times_.feed_forward);
    run_feed_forward(a);
}

void HostDevice::do_logits(const LogitsArgs& a) {
    const PhaseTimer timer(times_.logits);
    run_logits(a);
}

void HostDevice::do_copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) {
    const HostKv& host = host_kv(&kv);
    for (const BlockCopy& copy : copies)  // in the order given: one copy may feed the next
        if (copy.from != copy.to)
            std::memcpy(host.panel(0, false, copy.to, 0), host.panel(0, false, copy.from, 0),
                        host.block_bytes());
}

}  // namespace vitrine
