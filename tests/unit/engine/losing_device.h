// A device that stops working for good in the middle of its work, as a GPU does: from then on every call
// answers with one sentence. Until then it is the device inside.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "kernels/device.h"

namespace vitrine::test {

class LosingDevice final : public Device {
  public:
    // Set and read from any thread.
    struct Fate {
        std::atomic<int> steps_left{-1};        // after so many steps it is lost; −1: never
        std::atomic<bool> lost_on_read{false};  // not in a step, but when its result is fetched
        std::atomic<bool> lost{false};
        std::atomic<int> calls_when_lost{0};
        static std::string sentence() {
            return "The GPU stopped working (\"unspecified launch failure\"). The chats are kept; open the "
                   "model "
                   "again to go on on the processor.";
        }
        // What the device says of itself, where that is to be another thing than the one inside says.
        std::string name;
        std::uint64_t memory_free = 0;
        std::atomic<int> uploads_left{-1};  // after so many matrices memory is full; −1: never
        Error error() const { return {ErrorKind::Io, sentence()}; }
    };

    LosingDevice(std::unique_ptr<Device> inner, std::shared_ptr<Fate> fate)
        : inner_(std::move(inner)), fate_(std::move(fate)) {}

    void begin_step(const StepInput& step) override {
        if (!gone()) inner_->begin_step(step);
    }
    void embed(const EmbedArgs& a) override {
        if (!fate_->lost) inner_->embed(a);
    }
    void qkv(const QkvArgs& a) override {
        if (!fate_->lost) inner_->qkv(a);
    }
    void attention(const AttentionArgs& a) override {
        if (!fate_->lost) inner_->attention(a);
    }
    void project(const ProjectArgs& a) override {
        if (!fate_->lost) inner_->project(a);
    }
    void feed_forward(const FeedForwardArgs& a) override {
        if (!fate_->lost) inner_->feed_forward(a);
    }
    void logits(const LogitsArgs& a) override {
        if (!fate_->lost) inner_->logits(a);
    }
    void copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) override {
        if (!fate_->lost) inner_->copy_blocks(kv, copies);
    }
    void launch_step() override {
        if (!fate_->lost) inner_->launch_step();
    }
    Status finish_step() override {
        if (fate_->lost) return fate_->error();
        if (fate_->steps_left == 0 && !fate_->lost_on_read) {
            fate_->lost = true;
            return Error{ErrorKind::Io,
                         "A step: the GPU reports \"unspecified launch failure\". " + Fate::sentence()};
        }
        if (fate_->steps_left > 0) --fate_->steps_left;
        return inner_->finish_step();
    }
    PhaseTimes phase_times() const override { return inner_->phase_times(); }
    DeviceInfo info() const override {
        DeviceInfo info = inner_->info();
        if (!fate_->name.empty()) info.name = fate_->name;
        if (fate_->memory_free != 0) info.memory_free = fate_->memory_free;
        return info;
    }
    Result<Weight> upload(const HostTensor& tensor) override {
        if (gone()) return fate_->error();
        if (fate_->uploads_left == 0)
            return Error{ErrorKind::OutOfMemory,
                         "A matrix of the model: 9 MiB of GPU memory are needed, and 1 "
                         "MiB are free."};
        if (fate_->uploads_left > 0) --fate_->uploads_left;
        return inner_->upload(tensor);
    }
    Result<Buffer> allocate(std::size_t floats) override {
        if (gone()) return fate_->error();
        return inner_->allocate(floats);
    }
    Result<KvCache> make_kv(const KvShape& shape) override {
        if (gone()) return fate_->error();
        return inner_->make_kv(shape);
    }
    std::span<const float> read(const BufferStorage& buffer, std::size_t first, std::size_t count) override {
        if (fate_->lost_on_read && fate_->steps_left == 0) fate_->lost = true;
        if (gone()) return {};
        return inner_->read(buffer, first, count);
    }
    void write(BufferStorage& buffer, std::size_t first, std::span<const float> values) override {
        if (!gone()) inner_->write(buffer, first, values);
    }
    void fill_kv(KvStorage& kv, float value) override {
        if (!gone()) inner_->fill_kv(kv, value);
    }
    void read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                 std::int32_t kv_head, std::int32_t token, std::span<float> out) override {
        if (!gone()) inner_->read_kv(kv, layer, value_not_key, block, kv_head, token, out);
    }
    void read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) override {
        if (!gone()) inner_->read_row(w, row, out);
    }
    Result<double> read_pass(std::uint64_t bytes) override {
        if (gone()) return fate_->error();
        return inner_->read_pass(bytes);
    }

  private:
    bool gone() {
        if (fate_->lost) ++fate_->calls_when_lost;
        return fate_->lost;
    }

    std::unique_ptr<Device> inner_;
    std::shared_ptr<Fate> fate_;
};

}  // namespace vitrine::test
