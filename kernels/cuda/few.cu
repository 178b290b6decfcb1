// The steps of a few rows as products: which rows go together, which kernels follow one another.
#include <algorithm>

#include "kernels/cuda/few_launch.h"
#include "kernels/cuda/few_ring.cuh"
#include "kernels/cuda/few_tile.cuh"
#include "kernels/cuda/few_units.cuh"
#include "kernels/cuda/places.cuh"

namespace vitrine::cuda::few {

namespace {

bool fits(const WeightView& w) {
    if (w.cols % 32 != 0 || w.cols == 0) return false;
    // Outside scales are looked up once a step of 128 inputs.
    if (w.type == DType::F8_E4M3 || w.type == DType::I8)
        return w.tile_cols >= w.cols || w.tile_cols % 128 == 0;
    return true;
}

// Working memory of an operation: factors, fragments, then what the operation itself asks for.
struct Room {
    float* factors = nullptr;
    float* scales = nullptr;
    uint4* fragments = nullptr;
    float* own = nullptr;
};
constexpr std::uint64_t kFactorBytes = kMostRows * sizeof(float);

bool make_room(WorkView work, std::int32_t rows, std::int64_t cols, std::int64_t own_floats, Room& out) {
    const std::uint64_t fragments = rows > 1 ? fragment_bytes(rows, cols) : 0;
    const std::uint64_t scales = rows > 1 ? scale_bytes_of(rows, cols) : 0;
    const std::uint64_t need =
        kFactorBytes + fragments + scales + static_cast<std::uint64_t>(own_floats) * sizeof(float);
    if (work.data == nullptr || work.size < need) return false;
    out.factors = reinterpret_cast<float*>(work.data);
    out.fragments = reinterpret_cast<uint4*>(work.data + kFactorBytes);
    out.scales = reinterpret_cast<float*>(work.data + kFactorBytes + fragments);
    out.own = reinterpret_cast<float*>(work.data + kFactorBytes + fragments + scales);
    return true;
}

// The activations of a job: as they are for one row, prepared for several.
struct Input {
    const float* x = nullptr;
    const std::int32_t* picked = nullptr;
    const float* norm = nullptr;
    float eps = 0;
    std::int32_t cols = 0;
    std::int32_t rows = 0;
    bool only_ask = false;
};

Job job_of(const Input& in, const Room& room, const StepView& step) {
    Job job;
    job.cols = in.cols;
    job.rows = in.rows;
    job.x = in.x;
    job.picked = in.picked;
    job.norm = in.norm;
    job.eps = in.eps;
    job.fragments = room.fragments;
    job.factors = room.factors;
    job.scales = room.scales;
    job.step = step;
    job.only_ask = in.only_ask;
    return job;
}

void prepare_input(const Input& in, const Room& room, DType type, cudaStream_t stream) {
    if (in.rows > 1 && !in.only_ask)
        prepare({type, in.x, in.picked, in.norm, in.eps, in.cols, in.rows, room.fragments, room.factors,
                 room.scales},
                stream);
}

// Units of the job's matrices in its pairing.
void count_units(Job& job) {
    // Two panels share what is read of the activations, but few units leave multiprocessors idle.
    constexpr std::int64_t kFewPanels = 512;
    std::int64_t all_panels = 0;
    for (std::int32_t m = 0; m < job.matrices; ++m) all_panels += panels_of(job.matrix[m].w.rows);
    if (job.pairing == Pairing::Single && (job.rows > 8 || (job.rows > 1 && all_panels > kFewPanels)))
        job.pairing = Pairing::Next;
    std::int32_t units = 0;
    for (std::int32_t m = 0; m < job.matrices; ++m) {
        job.matrix[m].first_unit = units;
        const auto panels = static_cast<std::int32_t>(panels_of(job.matrix[m].w.rows));
        if (job.pairing != Pairing::Across || m == 0)
            units +=
                job.pairing == Pairing::Single || job.pairing == Pairing::Across ? panels : (panels + 1) / 2;
    }
    job.units = units;
}

bool has_kernels(DType type, std::int32_t rows) { return rows == 1 || type != DType::F32; }

// x += post_norm(y): a block a row.
__global__ void add_normalised_kernel(const float* y, const float* norm, float eps, std::int32_t n,
                                      float* x) {
    __shared__ float parts[8];
    wait_for_input();
    let_next_start();
    const float* from = y + std::int64_t{blockIdx.x} * n;
    float* to = x + std::int64_t{blockIdx.x} * n;
    float squares = 0;
    for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < n; i += 256)
        squares += from[i] * from[i];
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xFFFFFFFFU, squares, offset);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0;
    for (const float p : parts) squares += p;
    const float factor = rsqrtf(squares / static_cast<float>(n) + eps);
    for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < n; i += 256)
        to[i] += from[i] * factor * norm[i];
}

// x += post_norm(w · in + bias); the input is prepared.
bool add_product(Job job, const WeightView& w, const float* bias, const float* post_norm, float eps, float* x,
                 float* own, cudaStream_t stream) {
    job.matrices = 1;
    job.matrix[0] = {w, bias};
    job.finish = post_norm == nullptr ? Finish::Add : Finish::Store;
    job.out = post_norm == nullptr ? x : own;
    job.stride = w.rows;
    count_units(job);
    if (!multiply(job, stream)) return false;
    if (post_norm != nullptr && !job.only_ask)
        launch_early(add_normalised_kernel, dim3(static_cast<unsigned>(job.rows)), 256, 0, stream,
                     static_cast<const float*>(own), post_norm, eps, w.rows, x);
    return true;
}

// Whether rotation can be done where the sums are: its partners lie in one panel or in two.
bool rotates_in_place(const HeadsArgs& h) {
    if (h.q_norm != nullptr || h.k_norm != nullptr || h.kv.head_dim % kPanelRows != 0) return false;
    if (h.rope.half == 0 || h.rope.style == RopeStyle::Neighbours) return true;
    return h.rope.half % kPanelRows == 0 && h.kv.head_dim % (2 * kPanelRows) == 0;
}

bool enqueue_qkv(const QkvView& a, const StepView& step, WorkView work, bool only_ask, cudaStream_t stream) {
    const WeightView* const weights[3] = {&a.wq, &a.wk, &a.wv};
    const float* const biases[3] = {a.bq, a.bk, a.bv};
    if (step.rows < 1 || step.rows > kMostRows) return false;
    for (const WeightView* w : weights)
        if (!fits(*w) || !has_kernels(w->type, step.rows)) return false;
    const bool whole = rotates_in_place(a.heads);
    const std::int32_t width = a.wq.rows + a.wk.rows + a.wv.rows;
    const Input in{a.x, nullptr, a.norm, a.eps, a.wq.cols, step.rows, only_ask};
    Room room;
    if (!make_room(work, step.rows, in.cols, whole ? 0 : std::int64_t{step.rows} * width, room)) return false;
    Job job = job_of(in, room, step);
    job.heads = a.heads;
    job.finish = whole ? Finish::Heads : Finish::Store;
    const bool halves = a.heads.rope.half > 0 && a.heads.rope.style == RopeStyle::Halves;
    job.pairing = whole && halves ? Pairing::Rotated : Pairing::Single;
    job.out = room.own;
    job.stride = width;
    bool done[3] = {};
    for (int first = 0; first < 3; ++first) {
        if (done[first]) continue;
        const DType type = weights[first]->type;
        job.matrices = 0;
        std::int32_t place = 0;
        for (int m = 0; m < 3; place += weights[m]->rows, ++m) {
            if (done[m] || weights[m]->type != type) continue;
            done[m] = true;
            job.matrix[job.matrices++] = {*weights[m], biases[m], place, m};
        }
        count_units(job);
        bool prepared = first > 0;
        for (int m = 0; m < first; ++m)
            prepared = prepared && arrangement_of(weights[m]->type) == arrangement_of(type);
        if (!prepared) prepare_input(in, room, type, stream);
        job.beside = first > 0 && step.rows == 1;
        if (!multiply(job, stream)) return false;
    }
    if (!whole && !only_ask) {
        HeadsArgs heads = a.heads;
        heads.y = room.own;
        finish_heads(heads, step, stream);
    }
    return true;
}

bool enqueue_project(const ProjectView& a, const StepView& step, WorkView work, bool only_ask,
                     cudaStream_t stream) {
    if (step.rows < 1 || step.rows > kMostRows || !fits(a.w) || !has_kernels(a.w.type, step.rows))
        return false;
    const Input in{a.in, nullptr, nullptr, 0, a.w.cols, step.rows, only_ask};
    Room room;
    if (!make_room(work, step.rows, in.cols, a.post_norm != nullptr ? std::int64_t{step.rows} * a.w.rows : 0,
                   room))
        return false;
    prepare_input(in, room, a.w.type, stream);
    return add_product(job_of(in, room, step), a.w, a.bias, a.post_norm, a.eps, a.x, room.own, stream);
}

bool enqueue_feed_forward(const FeedForwardView& a, const StepView& step, WorkView work, bool only_ask,
                          cudaStream_t stream) {
    if (step.rows < 1 || step.rows > kMostRows) return false;
    for (const WeightView* w : {&a.gate, &a.up, &a.down})
        if (!fits(*w) || !has_kernels(w->type, step.rows)) return false;
    const Input in{a.x, nullptr, a.norm, a.eps, a.gate.cols, step.rows, only_ask};
    Input hidden;
    hidden.x = a.hidden;
    hidden.cols = a.down.cols;
    hidden.rows = step.rows;
    hidden.only_ask = only_ask;
    Room room;
    if (!make_room(work, step.rows, std::max(in.cols, hidden.cols),
                   a.post_norm != nullptr ? std::int64_t{step.rows} * a.down.rows : 0, room))
        return false;
    prepare_input(in, room, a.gate.type, stream);
    Job job = job_of(in, room, step);
    job.activation = a.activation;
    bool hidden_is_bytes = false;
    job.out = a.hidden;
    job.stride = a.gate.rows;
    if (a.gate.type == a.up.type) {
        job.matrices = 2;
        job.matrix[0] = {a.gate, a.gate_bias};
        job.matrix[1] = {a.up, a.up_bias};
        job.pairing = Pairing::Across;
        job.finish = Finish::Gate;
        if (step.rows == 1 && is_quantized(a.gate.type) && is_quantized(a.down.type) &&
            a.gate.rows == a.down.cols) {
            job.finish = Finish::GateBytes;
            hidden_is_bytes = true;
        }
        count_units(job);
        if (!multiply(job, stream)) return false;
    } else {
        job.matrices = 1;
        job.matrix[0] = {a.gate, a.gate_bias};
        job.finish = Finish::Store;
        count_units(job);
        if (!multiply(job, stream)) return false;
        if (arrangement_of(a.gate.type) != arrangement_of(a.up.type))
            prepare_input(in, room, a.up.type, stream);
        job.matrix[0] = {a.up, a.up_bias};
        job.finish = Finish::GateOver;
        if (!multiply(job, stream)) return false;
    }
    prepare_input(hidden, room, a.down.type, stream);
    Job down = job_of(hidden, room, step);
    if (hidden_is_bytes) down.bytes = reinterpret_cast<const std::uint8_t*>(a.hidden);
    return add_product(down, a.down, a.down_bias, a.post_norm, a.eps, a.x, room.own, stream);
}

bool enqueue_logits(const LogitsView& a, const StepView& step, WorkView work, bool only_ask,
                    cudaStream_t stream) {
    if (step.outputs == 0) return true;
    if (step.outputs < 0 || step.outputs > kMostRows || !fits(a.w) || !has_kernels(a.w.type, step.outputs))
        return false;
    const Input in{a.x, step.output_rows, a.norm, a.eps, a.w.cols, step.outputs, only_ask};
    Room room;
    if (!make_room(work, step.outputs, in.cols, 0, room)) return false;
    prepare_input(in, room, a.w.type, stream);
    Job job = job_of(in, room, step);
    job.matrices = 1;
    job.matrix[0] = {a.w};
    job.finish = a.softcap != 0.0F ? Finish::Cap : Finish::Store;
    job.cap = a.softcap;
    job.out = a.out;
    job.stride = a.w.rows;
    count_units(job);
    return multiply(job, stream);
}

}  // namespace

std::uint64_t work_bytes(std::int64_t cols, std::int64_t width) {
    return kFactorBytes + fragment_bytes(kMostRows, cols) + scale_bytes_of(8, cols) +
           static_cast<std::uint64_t>(kMostRows * width) * sizeof(float);
}

// Nothing is enqueued before every part is known to have its kernel.
bool qkv(const QkvView& a, const StepView& step, WorkView work, cudaStream_t stream) {
    return enqueue_qkv(a, step, work, true, stream) && enqueue_qkv(a, step, work, false, stream);
}
bool project(const ProjectView& a, const StepView& step, WorkView work, cudaStream_t stream) {
    return enqueue_project(a, step, work, true, stream) && enqueue_project(a, step, work, false, stream);
}
bool feed_forward(const FeedForwardView& a, const StepView& step, WorkView work, cudaStream_t stream) {
    return enqueue_feed_forward(a, step, work, true, stream) &&
           enqueue_feed_forward(a, step, work, false, stream);
}
bool logits(const LogitsView& a, const StepView& step, WorkView work, cudaStream_t stream) {
    return enqueue_logits(a, step, work, true, stream) && enqueue_logits(a, step, work, false, stream);
}

namespace {

struct DeviceLimits {
    int processors = 0;
    int block_shared = 0;
    int processor_shared = 0;
    int major = 0;
};
bool limits(DeviceLimits& out) {
    int device = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&out.processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
           cudaDeviceGetAttribute(&out.block_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess &&
           cudaDeviceGetAttribute(&out.processor_shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                  device) == cudaSuccess &&
           cudaDeviceGetAttribute(&out.major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
}

// Blocks of a grid in which each has equally many units and all are resident at once; 0 where none fits.
template <class Kernel>
std::int32_t blocks_for(Kernel kernel, const DeviceLimits& device, std::int32_t units, int threads,
                        std::size_t shared_bytes, int at_most) {
    const auto* address = reinterpret_cast<const void*>(kernel);
    if (shared_bytes > 40U * 1024U &&
        cudaFuncSetAttribute(address, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)) != cudaSuccess)
        return 0;
    int resident = 0;
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, address, threads, shared_bytes) !=
            cudaSuccess ||
        resident < 1)
        return 0;
    const std::int32_t places = device.processors * std::min(resident, at_most);
    const std::int32_t turns = (units + places - 1) / places;
    return (units + turns - 1) / turns;
}

constexpr std::size_t kOwnShared = 4096;  // at most what the kernels have besides

}  // namespace

bool starts_early() {
    DeviceLimits device;
    return limits(device) && device.major >= 9;
}

bool has_ring() { return starts_early(); }

bool launch(JobKernel kernel, const Job& job, std::size_t shared_bytes, cudaStream_t stream) {
    constexpr int kAtOnce = 2;
    DeviceLimits device;
    if (!limits(device) || shared_bytes + kOwnShared > static_cast<std::size_t>(device.block_shared))
        return false;
    const std::int32_t blocks = blocks_for(kernel, device, job.units, kThreads, shared_bytes, kAtOnce);
    if (blocks == 0) return false;
    if (!job.only_ask)
        launch_early(kernel, dim3(static_cast<unsigned>(blocks)), kThreads, shared_bytes, stream, job);
    return true;
}

bool launch_ring(RingKernel kernel, const Job& job, std::size_t stage_bytes, std::size_t shared_bytes,
                 int at_once, cudaStream_t stream) {
    DeviceLimits device;
    if (!limits(device)) return false;
    const std::size_t used = shared_bytes + kOwnShared;
    const std::size_t room =
        static_cast<std::size_t>(device.processor_shared) / static_cast<std::size_t>(at_once);
    const std::size_t stages =
        std::clamp<std::size_t>(room > used ? (room - used) / stage_bytes : 0, 2, kMostStages);
    if (used + stages * stage_bytes > static_cast<std::size_t>(device.block_shared)) return false;
    const std::size_t ring_bytes = stages * stage_bytes;
    const std::size_t bytes = ring_bytes + shared_bytes;
    const std::int32_t blocks = blocks_for(kernel, device, job.units, kRingThreads, bytes, at_once);
    if (blocks == 0) return false;
    if (!job.only_ask)
        launch_early(kernel, dim3(static_cast<unsigned>(blocks)), kRingThreads, bytes, stream, job,
                     static_cast<int>(stages), static_cast<std::uint32_t>(ring_bytes));
    return true;
}

}  // namespace vitrine::cuda::few
