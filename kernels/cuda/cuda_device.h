// A CUDA device: weights in planes (view.h), one stream, everything between begin_step() and finish_step()
// enqueued. Step data (ids, positions, block tables) travels in one copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/plain.h"
#include "kernels/cuda/view.h"
#include "kernels/host/checked_device.h"

namespace vitrine::cuda {

// A failed call of the CUDA runtime as a sentence; OutOfMemory where it was that.
Error cuda_error(cudaError_t code, const std::string& what);

// Device memory, given back at the end. Movable.
class DeviceMemory {
  public:
    DeviceMemory() = default;
    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&& other) noexcept;
    ~DeviceMemory();
    static Result<DeviceMemory> make(std::uint64_t bytes, const std::string& what);
    std::byte* data() const { return data_; }
    std::uint64_t size() const { return size_; }

  private:
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
};

// Host memory that the device can read while the processor goes on.
class PinnedMemory {
  public:
    PinnedMemory() = default;
    PinnedMemory(PinnedMemory&& other) noexcept;
    PinnedMemory& operator=(PinnedMemory&& other) noexcept;
    ~PinnedMemory();
    static Result<PinnedMemory> make(std::uint64_t bytes);
    std::byte* data() const { return data_; }
    std::uint64_t size() const { return size_; }

  private:
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
};

class CudaDevice final : public CheckedDevice {
  public:
    // `plain`: nothing but the plain operations.
    static Result<std::unique_ptr<Device>> open(int index, bool plain);
    ~CudaDevice() override;

    DeviceInfo info() const override;
    Result<Weight> upload(const HostTensor& tensor) override;
    Result<Buffer> allocate(std::size_t floats) override;
    Result<KvCache> make_kv(const KvShape& shape) override;
    std::span<const float> read(const BufferStorage& buffer, std::size_t first, std::size_t count) override;
    void write(BufferStorage& buffer, std::size_t first, std::span<const float> values) override;
    void fill_kv(KvStorage& kv, float value) override;
    void read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                 std::int32_t kv_head, std::int32_t token, std::span<float> out) override;
    void read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) override;
    Result<double> read_pass(std::uint64_t bytes) override;
    PhaseTimes phase_times() const override { return times_; }

  protected:
    void do_begin() override;
    void do_embed(const EmbedArgs& a) override;
    void do_qkv(const QkvArgs& a) override;
    void do_attention(const AttentionArgs& a) override;
    void do_project(const ProjectArgs& a) override;
    void do_feed_forward(const FeedForwardArgs& a) override;
    void do_logits(const LogitsArgs& a) override;
    void do_copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) override;
    void do_finish() override;

  private:
    CudaDevice(int index, bool plain) : index_(index), plain_(plain) {}
    Status prepare();
    // Keeps the first error; false where it is one.
    bool good(cudaError_t code, const char* what);
    // Working memory that grows to what a step needs and is kept.
    float* scratch(DeviceMemory& memory, std::int64_t floats);
    void product(const WeightStorage* w, const float* x, std::int64_t tokens, const float* bias, bool add,
                 float* out, std::int64_t stride);
    void add_product(const WeightStorage* w, const float* in, const float* bias, const float* post_norm,
                     float eps, float* x);

    int index_ = 0;
    bool plain_ = false;
    cudaStream_t stream_ = nullptr;
    std::string description_;
    StepView view_;
    PinnedMemory staging_;    // of the step
    PinnedMemory upload_[2];  // of weights, alternating
    cudaEvent_t uploaded_[2] = {nullptr, nullptr};
    DeviceMemory raw_[2];  // weights as in the file, before they are regrouped
    DeviceMemory step_memory_;
    DeviceMemory rope_memory_;
    DeviceMemory normed_, projected_, hidden_;
    DeviceMemory read_area_;
    std::vector<RopeView> ropes_;
    std::vector<float> host_copy_;  // of the last read()
    PhaseTimes times_;
};

}  // namespace vitrine::cuda
