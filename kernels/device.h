// A place where a model can run: memory, and the operations on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/error.h"
#include "kernels/ops.h"
#include "kernels/tensor.h"

namespace vitrine {

struct DeviceInfo {
    std::string name;                // "cpu", "reference", "cuda"
    std::string description;         // for people: "CPU AVX-512 VNNI · 2 threads"
    std::uint64_t memory_total = 0;  // bytes
    std::uint64_t memory_free = 0;   // bytes free now, as the system tells it
    std::int32_t threads = 0;
};

// The largest step that a model will ask for, so that its memory is known before anything is loaded.
struct StepNeeds {
    std::int32_t rows = 0;
    std::int32_t outputs = 0;  // rows of logits
    std::int32_t embedding = 0, heads = 0, kv_heads = 0, head_dim = 0, feed_forward = 0, vocab = 0;
    std::int32_t ropes = 1;  // kinds of rotary embeddings
};

// Owned by one thread at a time; handles outlive neither the device nor each other's uses.
class Device : public Ops {
  public:
    virtual DeviceInfo info() const = 0;

    // What is uploaded next belongs to this layer; −1: to none (embedding, output). For devices of several
    // parts.
    virtual void place(std::int32_t /*layer*/) {}

    // Copies a matrix to the device, regrouped. OutOfMemory where it does not fit; nothing is left behind.
    virtual Result<Weight> upload(const HostTensor& tensor) = 0;
    virtual Result<Buffer> allocate(std::size_t floats) = 0;  // not zeroed
    virtual Result<KvCache> make_kv(const KvShape& shape) = 0;

    // Device memory that steps take beside weights, cache and buffers: working memory of the operations, of
    // the sampler, ids and rotations. 0 where that is memory of the host that grows as it is needed.
    virtual std::uint64_t step_bytes(const StepNeeds& /*needs*/) const { return 0; }
    // Takes it, so that no step has to ask for memory. OutOfMemory where it does not fit.
    virtual Status reserve(const StepNeeds& /*needs*/) { return {}; }

    // `count` floats from `first` as host memory: valid until the next step. After finish_step() only.
    // Empty where the device failed; finish_step() then tells why once more.
    virtual std::span<const float> read(const BufferStorage& buffer, std::size_t first,
                                        std::size_t count) = 0;
    virtual void write(BufferStorage& buffer, std::size_t first, std::span<const float> values) = 0;

    // Test and inspection hooks for the cache. `token` counts inside the block; out is [head_dim].
    virtual void fill_kv(KvStorage& kv, float value) = 0;
    virtual void read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                         std::int32_t kv_head, std::int32_t token, std::span<float> out) = 0;

    // One row of an uploaded matrix as float32: for the embedding and for tests of the regrouped layouts.
    virtual void read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) = 0;

    // One pass over `bytes` of memory of the kind that weights have, with all threads: seconds taken.
    // The area is made at the first call, and is far larger than the caches when bytes is; 0 gives it back.
    virtual Result<double> read_pass(std::uint64_t bytes) = 0;
};

// Plain operations: dequantized weights times float32 activations in a fixed order. Slow, and the yardstick.
// threads 0: as many as the machine has.
Result<std::unique_ptr<Device>> make_reference_device(int threads);

// Highway kernels, integer dot products where the processor has them, a thread pool.
Result<std::unique_ptr<Device>> make_cpu_device(int threads);

}  // namespace vitrine
