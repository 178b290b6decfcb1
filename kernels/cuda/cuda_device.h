// A CUDA device: weights in planes (view.h), one stream. The operations of a step are gathered; finish_step()
// replays the step as a graph where it came before (step_graphs.h) or enqueues its kernels one by one, and
// waits for them once. Step data (ids, positions, block tables) travels in one copy (step_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/plain.h"
#include "kernels/cuda/sample_memory.h"
#include "kernels/cuda/step_graphs.h"
#include "kernels/cuda/step_memory.h"
#include "kernels/cuda/step_ops.h"
#include "kernels/cuda/uploader.h"
#include "kernels/cuda/view.h"
#include "kernels/host/checked_device.h"

namespace vitrine::cuda {

class CudaDevice final : public CheckedDevice {
  public:
    // `plain`: nothing but the plain operations.
    static Result<std::unique_ptr<Device>> open(int index, bool plain);
    ~CudaDevice() override;

    DeviceInfo info() const override;
    Result<Weight> upload(const HostTensor& tensor) override;
    Result<Buffer> allocate(std::size_t floats) override;
    Result<KvCache> make_kv(const KvShape& shape) override;
    std::uint64_t step_bytes(const StepNeeds& needs) const override;
    Status reserve(const StepNeeds& needs) override;
    std::span<const float> read(const BufferStorage& buffer, std::size_t first, std::size_t count) override;
    void write(BufferStorage& buffer, std::size_t first, std::span<const float> values) override;
    void fill_kv(KvStorage& kv, float value) override;
    void read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                 std::int32_t kv_head, std::int32_t token, std::span<float> out) override;
    void read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) override;
    Result<double> read_pass(std::uint64_t bytes) override;
    PhaseTimes phase_times() const override { return times_; }
    bool can_sample(const SampleRow& row, std::int32_t width) const override {
        return !plain_ && can_draw(row, width);
    }
    SampleOutcome sampled(std::size_t row) const override { return samples_.outcome(row); }

  protected:
    void do_begin() override;
    void do_embed(const EmbedArgs& a) override;
    void do_qkv(const QkvArgs& a) override;
    void do_attention(const AttentionArgs& a) override;
    void do_project(const ProjectArgs& a) override;
    void do_feed_forward(const FeedForwardArgs& a) override;
    void do_logits(const LogitsArgs& a) override;
    void do_sample(const SampleArgs& a) override;
    void do_copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) override;
    void do_launch() override;
    void do_finish() override;

  private:
    using Phase = double PhaseTimes::*;

    CudaDevice(int index, bool plain)
        : index_(index),
          plain_(plain),
          generation_(std::make_shared<Generation>(0)),
          step_memory_(generation_),
          samples_(generation_) {}
    Status prepare();
    // To be called first in whatever touches the GPU: any thread may call, and a lost GPU answers at once.
    Status enter() const { return use_gpu(index_); }
    // Keeps the first error; false where it is one.
    bool good(cudaError_t code, const char* what);
    bool good(Status status);
    // Working memory that grows to what a step needs and is kept.
    float* scratch(DeviceMemory& memory, std::int64_t floats);
    // Room that the fast kernels of an operation ask for.
    void reserve_work(std::int64_t cols, std::int64_t width);
    WorkView work() const { return {work_.data(), work_.size()}; }
    std::uint64_t work_bytes(const StepNeeds& needs) const;

    // The gathered operations, enqueued. `marks`: with events where the phase changes.
    void enqueue(bool marks);
    // The mark before the first operation, at each change of the phase, and at the end.
    void mark(std::size_t number);
    void run(const EmbedArgs& a);
    void run(const QkvArgs& a);
    void run(const AttentionArgs& a);
    void run(const ProjectArgs& a);
    void run(const FeedForwardArgs& a);
    void run(const LogitsArgs& a);
    void run(const SampleView& v) { draw_tokens(v, stream_); }
    void read_marks();
    void share_out(double seconds);

    void product(const WeightStorage* w, const float* x, std::int64_t tokens, const float* bias, bool add,
                 float* out, std::int64_t stride);
    void add_product(const WeightStorage* w, const float* in, const float* bias, const float* post_norm,
                     float eps, float* x);
    // few:: or many:: by the number of rows, the other where that has no kernel; false: take the plain ones.
    template <class Few, class Many>
    bool fast(const Few& few, const Many& many) const;

    int index_ = 0;
    bool plain_ = false;
    cudaStream_t stream_ = nullptr;
    std::string description_;
    std::shared_ptr<Generation> generation_;
    Uploader uploader_;  // until the first step
    StepMemory step_memory_;
    SampleMemory samples_;
    DeviceMemory normed_, projected_, hidden_;  // of the plain operations
    DeviceMemory work_;                         // of the fast ones
    DeviceMemory read_area_;
    PinnedMemory host_copy_;  // of the last read()

    std::vector<StepOperation> operations_;  // of this step
    StepGraphs graphs_;
    cudaEvent_t began_ = nullptr;
    cudaEvent_t ended_ = nullptr;
    std::vector<cudaEvent_t> events_;  // for marks, in their order
    std::vector<Phase> marked_;        // the phases of the step under way, where it carries marks
    bool capturing_ = false;
    bool running_ = false;                       // a step is under way
    std::map<std::int32_t, PhaseTimes> shares_;  // by rows of a step, as measured last
    PhaseTimes times_;
};

}  // namespace vitrine::cuda
