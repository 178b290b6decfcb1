// What the devices that run on the processor share: memory, rotary tables, times. A subclass holds the
// layouts and the arithmetic; checked_device.h has looked at the arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/host/checked_device.h"
#include "kernels/host/page_memory.h"
#include "kernels/host/thread_pool.h"

namespace vitrine {

struct AlignedDelete {
    void operator()(void* p) const { ::operator delete (p, std::align_val_t{64}); }
};
template <class T>
using AlignedArray = std::unique_ptr<T[], AlignedDelete>;

// count elements, 64-byte aligned, not initialised; null where the system has no memory or the count wraps.
template <class T>
AlignedArray<T> make_aligned(std::size_t count) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes) || bytes > (std::size_t{1} << 46U)) return nullptr;
    return AlignedArray<T>(
        static_cast<T*>(::operator new (bytes == 0 ? 1 : bytes, std::align_val_t{64}, std::nothrow)));
}

// Working memory that grows to what a step needs and is kept.
template <class T>
class Scratch {
  public:
    // False: no memory. Contents are lost when it grows.
    bool reserve(std::size_t count) {
        if (count <= count_) return true;
        data_ = nullptr;
        data_ = make_aligned<T>(count);
        count_ = data_ == nullptr ? 0 : count;
        return data_ != nullptr;
    }
    T* data() const { return data_.get(); }

  private:
    AlignedArray<T> data_;
    std::size_t count_ = 0;
};

class HostBuffer final : public BufferStorage {
  public:
    AlignedArray<float> data;
};
inline float* data_of(BufferStorage* b) { return static_cast<HostBuffer*>(b)->data.get(); }
inline const float* data_of(const BufferStorage* b) { return static_cast<const HostBuffer*>(b)->data.get(); }

// [blocks][layers][keys, values][kv_heads] panels of block_size × head_dim elements; the order inside a panel
// is the device's. A block is in one piece, so large pages hold only blocks in use, and a copy is one copy.
class HostKv final : public KvStorage {
  public:
    PageMemory memory;

    std::size_t panel_elements() const {
        return static_cast<std::size_t>(shape.block_size) * static_cast<std::size_t>(shape.head_dim);
    }
    std::size_t panel_bytes() const {
        return panel_elements() * static_cast<std::size_t>(info_of(shape.dtype).bytes);
    }
    std::size_t block_bytes() const {
        return panel_bytes() * 2 * static_cast<std::size_t>(shape.kv_heads) *
               static_cast<std::size_t>(shape.layers);
    }
    std::byte* panel(std::int32_t layer, bool value, std::int32_t block, std::int32_t head) const {
        const std::size_t plane = (static_cast<std::size_t>(block) * static_cast<std::size_t>(shape.layers) +
                                   static_cast<std::size_t>(layer)) *
                                      2 +
                                  (value ? 1 : 0);
        const std::size_t index =
            plane * static_cast<std::size_t>(shape.kv_heads) + static_cast<std::size_t>(head);
        return memory.data() + index * panel_bytes();
    }
};
inline const HostKv& host_kv(const KvStorage* kv) { return *static_cast<const HostKv*>(kv); }

// One element of a panel, as float32.
float load_kv(DType type, const std::byte* panel, std::size_t index);
void store_kv(DType type, std::byte* panel, std::size_t index, float value);

// A vector weight ([1, n] F32) as plain floats; null for none.
class HostWeight : public WeightStorage {
  public:
    const float* vector = nullptr;  // set for F32 weights of one row
};
inline const float* vector_of(const WeightStorage* w) {
    return w == nullptr ? nullptr : static_cast<const HostWeight*>(w)->vector;
}

class HostDevice : public CheckedDevice {
  public:
    explicit HostDevice(int threads) : pool_(threads) {}

    Result<Buffer> allocate(std::size_t floats) final;
    Result<KvCache> make_kv(const KvShape& shape) final;
    std::span<const float> read(const BufferStorage& buffer, std::size_t first, std::size_t count) final;
    void write(BufferStorage& buffer, std::size_t first, std::span<const float> values) final;
    void fill_kv(KvStorage& kv, float value) final;
    void read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                 std::int32_t kv_head, std::int32_t token, std::span<float> out) final;

    PhaseTimes phase_times() const final { return times_; }

  protected:
    // cos and sin times magnitude, [R][rotary_dim / 2], of the set that each row's sequence names. Computed
    // in double and rounded once.
    struct RopeTable {
        RopeStyle style = RopeStyle::Halves;
        std::int32_t half = 0;
        std::vector<float> cosine;
        std::vector<float> sine;
    };

    // The arithmetic. Arguments are checked, R >= 1.
    virtual void run_qkv(const QkvArgs& a) = 0;
    virtual void run_attention(const AttentionArgs& a) = 0;
    virtual void run_project(const ProjectArgs& a) = 0;
    virtual void run_feed_forward(const FeedForwardArgs& a) = 0;
    virtual void run_logits(const LogitsArgs& a) = 0;
    // Where element c of a token is in a key or value panel.
    virtual std::size_t kv_index(const KvShape& shape, bool value, std::int32_t token,
                                 std::int32_t c) const = 0;

    // Rotates one head in place for a row of the step.
    void rotate(const RopeTable& rope, std::int64_t row, float* head) const;

    ThreadPool pool_;
    std::vector<RopeTable> ropes_;

  private:
    void do_begin() final;
    void do_embed(const EmbedArgs& a) final;
    void do_qkv(const QkvArgs& a) final;
    void do_attention(const AttentionArgs& a) final;
    void do_project(const ProjectArgs& a) final;
    void do_feed_forward(const FeedForwardArgs& a) final;
    void do_logits(const LogitsArgs& a) final;
    void do_copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) final;
    void fill_rope_tables();

    PhaseTimes times_;
};

}  // namespace vitrine
