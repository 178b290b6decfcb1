#include "kernels/split_device.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace vitrine {
namespace {

class SplitWeight final : public WeightStorage {
  public:
    Weight inner;
    int where = 0;
};

class SplitBuffer final : public BufferStorage {
  public:
    std::array<Buffer, 2> inner;
    int valid = 0;  // the device that wrote it last
};

class SplitKv final : public KvStorage {
  public:
    std::array<KvCache, 2> inner;  // null where a device has no layer
};

const SplitWeight& split(const WeightStorage* w) { return *static_cast<const SplitWeight*>(w); }
const WeightStorage* inner(const WeightStorage* w) { return w == nullptr ? nullptr : split(w).inner.get(); }
SplitBuffer& split(BufferStorage* b) { return *static_cast<SplitBuffer*>(b); }
const SplitBuffer& split(const BufferStorage* b) { return *static_cast<const SplitBuffer*>(b); }

class SplitDevice final : public Device {
  public:
    SplitDevice(std::unique_ptr<Device> first, std::unique_ptr<Device> second, std::int32_t first_layers,
                std::int32_t layers)
        : device_{std::move(first), std::move(second)}, first_layers_(first_layers), layers_(layers) {}

    DeviceInfo info() const override {
        DeviceInfo info = device_[0]->info();
        const auto range = [](std::int32_t from, std::int32_t to) {
            return from == to - 1 ? "layer " + std::to_string(from)
                                  : "layers " + std::to_string(from) + "–" + std::to_string(to - 1);
        };
        const DeviceInfo other = device_[1]->info();
        info.description = first_layers_ > 0 ? info.description + " (" + range(0, first_layers_) + ") + "
                                             : info.description + " (no layer) + ";
        info.description += other.description + " (" + range(first_layers_, layers_) + ")";
        info.name += "+" + other.name;
        info.memory_total += other.memory_total;
        // What a cache of all layers may take, so that each device has room for its own.
        const auto share = [&](std::uint64_t free, std::int32_t part) {
            return part > 0 ? free / static_cast<std::uint64_t>(part) * static_cast<std::uint64_t>(layers_)
                            : UINT64_MAX;
        };
        info.memory_free = std::min(share(info.memory_free, first_layers_),
                                    share(other.memory_free, layers_ - first_layers_));
        info.threads = std::max(info.threads, other.threads);
        return info;
    }

    void place(std::int32_t layer) override { where_ = layer >= first_layers_ ? 1 : 0; }

    Result<Weight> upload(const HostTensor& tensor) override {
        auto w = std::make_shared<SplitWeight>();
        VITRINE_TRY(w->inner, device_[static_cast<std::size_t>(where_)]->upload(tensor));
        w->where = where_;
        w->dtype = w->inner->dtype;
        w->rows = w->inner->rows;
        w->cols = w->inner->cols;
        w->bytes = w->inner->bytes;
        return Weight(std::move(w));
    }

    Result<Buffer> allocate(std::size_t floats) override {
        auto b = std::make_unique<SplitBuffer>();
        b->size = floats;
        VITRINE_TRY(b->inner[0], device_[0]->allocate(floats));
        VITRINE_TRY(b->inner[1], device_[1]->allocate(floats));
        return Buffer(std::move(b));
    }

    Result<KvCache> make_kv(const KvShape& shape) override {
        auto kv = std::make_unique<SplitKv>();
        kv->shape = shape;
        KvShape part = shape;
        part.layers = std::min(first_layers_, shape.layers);
        if (part.layers > 0) {
            VITRINE_TRY(kv->inner[0], device_[0]->make_kv(part));
        }
        part.layers = shape.layers - part.layers;
        if (part.layers > 0) {
            VITRINE_TRY(kv->inner[1], device_[1]->make_kv(part));
        }
        return KvCache(std::move(kv));
    }

    std::uint64_t step_bytes(const StepNeeds& needs) const override {
        return device_[0]->step_bytes(needs) + device_[1]->step_bytes(needs);
    }
    Status reserve(const StepNeeds& needs) override {
        VITRINE_CHECK(device_[0]->reserve(needs));
        return device_[1]->reserve(needs);
    }

    std::span<const float> read(const BufferStorage& buffer, std::size_t first, std::size_t count) override {
        const SplitBuffer& b = split(&buffer);
        const auto at = static_cast<std::size_t>(b.valid);
        return device_[at]->read(*b.inner[at], first, count);
    }
    void write(BufferStorage& buffer, std::size_t first, std::span<const float> values) override {
        for (std::size_t i = 0; i < 2; ++i) device_[i]->write(*split(&buffer).inner[i], first, values);
    }
    void fill_kv(KvStorage& kv, float value) override {
        for (std::size_t i = 0; i < 2; ++i) {
            const KvCache& part = static_cast<SplitKv&>(kv).inner[i];
            if (part) device_[i]->fill_kv(*part, value);
        }
    }
    void read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                 std::int32_t kv_head, std::int32_t token, std::span<float> out) override {
        const std::size_t at = layer >= first_layers_ ? 1 : 0;
        const KvCache& part = static_cast<const SplitKv&>(kv).inner[at];
        if (part) device_[at]->read_kv(*part, local(layer), value_not_key, block, kv_head, token, out);
    }
    void read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) override {
        device_[static_cast<std::size_t>(split(&w).where)]->read_row(*split(&w).inner, row, out);
    }
    Result<double> read_pass(std::uint64_t bytes) override { return device_[0]->read_pass(bytes); }

    void begin_step(const StepInput& step) override {
        step_ = step;
        status_ = Status();
        times_ = PhaseTimes();
        running_ = -1;
    }

    void embed(const EmbedArgs& a) override {
        if (!go(split(a.table).where, {}, 0)) return;
        EmbedArgs b = a;
        b.table = inner(a.table);
        b.x = written(a.x);
        device().embed(b);
    }

    void qkv(const QkvArgs& a) override {
        if (!go(split(a.wq).where, {a.x}, a.norm->cols)) return;
        QkvArgs b = a;
        b.x = mine(a.x);
        b.norm = inner(a.norm);
        b.wq = inner(a.wq);
        b.wk = inner(a.wk);
        b.wv = inner(a.wv);
        b.bq = inner(a.bq);
        b.bk = inner(a.bk);
        b.bv = inner(a.bv);
        b.q_norm = inner(a.q_norm);
        b.k_norm = inner(a.k_norm);
        b.layer = local(a.layer);
        b.kv = static_cast<SplitKv*>(a.kv)->inner[static_cast<std::size_t>(running_)].get();
        b.q = written(a.q);
        device().qkv(b);
    }

    void attention(const AttentionArgs& a) override {
        const std::int64_t width = std::int64_t{a.heads} * a.kv->shape.head_dim;
        if (!go(a.layer >= first_layers_ ? 1 : 0, {a.q}, width)) return;
        AttentionArgs b = a;
        b.q = mine(a.q);
        b.kv = static_cast<const SplitKv*>(a.kv)->inner[static_cast<std::size_t>(running_)].get();
        b.layer = local(a.layer);
        b.out = written(a.out);
        device().attention(b);
    }

    void project(const ProjectArgs& a) override {
        if (!go(split(a.w).where, {a.in}, a.w->cols) || !go(split(a.w).where, {a.x}, a.w->rows)) return;
        ProjectArgs b = a;
        b.in = mine(a.in);
        b.w = inner(a.w);
        b.bias = inner(a.bias);
        b.post_norm = inner(a.post_norm);
        b.x = written(a.x);
        device().project(b);
    }

    void feed_forward(const FeedForwardArgs& a) override {
        if (!go(split(a.gate).where, {a.x}, a.norm->cols)) return;
        FeedForwardArgs b = a;
        b.x = written(a.x);
        b.norm = inner(a.norm);
        b.gate = inner(a.gate);
        b.up = inner(a.up);
        b.down = inner(a.down);
        b.gate_bias = inner(a.gate_bias);
        b.up_bias = inner(a.up_bias);
        b.down_bias = inner(a.down_bias);
        b.post_norm = inner(a.post_norm);
        b.hidden = written(a.hidden);
        device().feed_forward(b);
    }

    void logits(const LogitsArgs& a) override {
        if (!go(split(a.w).where, {a.x}, a.norm->cols)) return;
        LogitsArgs b = a;
        b.x = mine(a.x);
        b.norm = inner(a.norm);
        b.w = inner(a.w);
        b.out = written(a.out);
        device().logits(b);
    }

    // Tokens are drawn where the output matrix is, which belongs to no layer.
    bool can_sample(const SampleRow& row, std::int32_t width) const override {
        return device_[0]->can_sample(row, width);
    }
    void sample(const SampleArgs& a) override {
        if (!status_.ok() || running_ != 0) return;
        SampleArgs b = a;
        b.logits = mine(a.logits);
        device().sample(b);
    }
    SampleOutcome sampled(std::size_t row) const override { return device_[0]->sampled(row); }

    void copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) override {
        for (std::size_t i = 0; i < 2; ++i) {
            const KvCache& part = static_cast<SplitKv&>(kv).inner[i];
            if (part) device_[i]->copy_blocks(*part, copies);
        }
    }

    Status finish_step() override {
        end_turn();
        return status_;
    }
    PhaseTimes phase_times() const override { return times_; }

  private:
    Device& device() { return *device_[static_cast<std::size_t>(running_)]; }
    std::int32_t local(std::int32_t layer) const {
        return layer >= first_layers_ ? layer - first_layers_ : layer;
    }
    const BufferStorage* mine(const BufferStorage* b) const {
        return split(b).inner[static_cast<std::size_t>(running_)].get();
    }
    BufferStorage* written(BufferStorage* b) {
        split(b).valid = running_;
        return split(b).inner[static_cast<std::size_t>(running_)].get();
    }

    void end_turn() {
        if (running_ < 0) return;
        const Status ended = device().finish_step();
        if (status_.ok()) status_ = ended;
        times_ += device().phase_times();
        running_ = -1;
    }

    // The step goes on on device `where`, which gets what it reads, `cols` numbers a row. False after an
    // error.
    bool go(int where, std::initializer_list<const BufferStorage*> reads, std::int64_t cols) {
        if (running_ != where) {
            end_turn();
            if (!status_.ok()) return false;
            running_ = where;
            device().begin_step(step_);
        }
        if (!status_.ok()) return false;
        for (const BufferStorage* buffer : reads) {
            SplitBuffer& b = const_cast<SplitBuffer&>(split(buffer));
            if (b.valid == where) continue;
            const auto count = step_.tokens.size() * static_cast<std::size_t>(cols);
            const auto values = device_[static_cast<std::size_t>(b.valid)]->read(
                *b.inner[static_cast<std::size_t>(b.valid)], 0, count);
            device().write(*b.inner[static_cast<std::size_t>(where)], 0, values);
            b.valid = where;
        }
        return true;
    }

    std::array<std::unique_ptr<Device>, 2> device_;
    std::int32_t first_layers_;
    std::int32_t layers_;
    int where_ = 0;     // of what is uploaded next
    int running_ = -1;  // whose turn it is in this step
    StepInput step_;
    Status status_;
    PhaseTimes times_;
};

}  // namespace

std::unique_ptr<Device> make_split_device(std::unique_ptr<Device> first, std::unique_ptr<Device> second,
                                          std::int32_t first_layers, std::int32_t layers) {
    return std::make_unique<SplitDevice>(std::move(first), std::move(second), first_layers, layers);
}

}  // namespace vitrine
