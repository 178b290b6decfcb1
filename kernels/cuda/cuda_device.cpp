#include "kernels/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "kernels/cuda/many.h"
#include "kernels/cuda/read_all.h"
#include "kernels/cuda/regroup.h"
#include "kernels/host/half.h"

namespace vitrine::cuda {
namespace {

class CudaWeight final : public WeightStorage {
  public:
    DeviceMemory memory;
    WeightView view;
};
const CudaWeight& weight(const WeightStorage* w) { return *static_cast<const CudaWeight*>(w); }
const float* vector_of(const WeightStorage* w) {
    return w == nullptr ? nullptr : reinterpret_cast<const float*>(weight(w).memory.data());
}

class CudaBuffer final : public BufferStorage {
  public:
    DeviceMemory memory;
};
float* data_of(BufferStorage* b) {
    return reinterpret_cast<float*>(static_cast<CudaBuffer*>(b)->memory.data());
}
const float* data_of(const BufferStorage* b) {
    return reinterpret_cast<const float*>(static_cast<const CudaBuffer*>(b)->memory.data());
}

class CudaKv final : public KvStorage {
  public:
    DeviceMemory memory;
    KvView view() const {
        KvView v;
        v.base = reinterpret_cast<std::uint8_t*>(memory.data());
        v.dtype = shape.dtype;
        v.layers = shape.layers;
        v.blocks = shape.blocks;
        v.kv_heads = shape.kv_heads;
        v.head_dim = shape.head_dim;
        v.block_size = shape.block_size;
        return v;
    }
};
const CudaKv& kv_of(const KvStorage* kv) { return *static_cast<const CudaKv*>(kv); }

using Phase = double PhaseTimes::*;
constexpr Phase kPhases[] = {&PhaseTimes::embed,   &PhaseTimes::qkv,          &PhaseTimes::attention,
                             &PhaseTimes::project, &PhaseTimes::feed_forward, &PhaseTimes::logits,
                             &PhaseTimes::sample};

// StepOperation's alternatives are in the order of a step, and so are the phases.
Phase phase_of(const StepOperation& operation) {
    static_assert(std::variant_size_v<StepOperation> == std::size(kPhases));
    return kPhases[operation.index()];
}

// As they follow one another.
std::vector<Phase> phases_of(const std::vector<StepOperation>& operations) {
    std::vector<Phase> phases;
    for (const StepOperation& operation : operations)
        if (phases.empty() || phases.back() != phase_of(operation)) phases.push_back(phase_of(operation));
    return phases;
}

}  // namespace

Result<std::unique_ptr<Device>> CudaDevice::open(int index, bool plain) {
    std::unique_ptr<CudaDevice> device(new CudaDevice(index, plain));
    VITRINE_CHECK(device->prepare());
    return std::unique_ptr<Device>(std::move(device));
}

Status CudaDevice::prepare() {
    VITRINE_CHECK(enter());
    cudaDeviceProp properties{};
    if (const cudaError_t code = cudaGetDeviceProperties(&properties, index_); code != cudaSuccess)
        return cuda_error(code, "Asking for the properties of GPU " + std::to_string(index_));
    description_ = std::string(properties.name) + (plain_ ? " · plain operations" : "");
    if (const cudaError_t code = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
        code != cudaSuccess)
        return cuda_error(code, "Opening GPU " + std::to_string(index_));
    for (cudaEvent_t* event : {&began_, &ended_}) {
        if (const cudaError_t code = cudaEventCreate(event); code != cudaSuccess)
            return cuda_error(code, "Opening GPU " + std::to_string(index_));
    }
    return {};
}

CudaDevice::~CudaDevice() {
    // Also where the GPU is lost: what is held is given back as far as that goes.
    static_cast<void>(enter());
    if (stream_ != nullptr) static_cast<void>(cudaStreamSynchronize(stream_));
    graphs_.clear();
    events_.insert(events_.end(), {began_, ended_});
    for (cudaEvent_t event : events_)
        if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
    uploader_.release();
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
    many::release();
}

DeviceInfo CudaDevice::info() const {
    DeviceInfo info;
    info.name = "cuda";
    info.description = description_;
    std::size_t free = 0;
    std::size_t total = 0;
    if (enter().ok() && cudaMemGetInfo(&free, &total) == cudaSuccess) {
        info.memory_free = free;
        info.memory_total = total;
    }
    return info;
}

bool CudaDevice::good(cudaError_t code, const char* what) {
    if (code == cudaSuccess) return true;
    const Error error = cuda_error(code, what);
    fail(error.kind, error.message);
    return false;
}

bool CudaDevice::good(Status status) {
    if (status.ok()) return true;
    fail(status.error().kind, status.error().message);
    return false;
}

float* CudaDevice::scratch(DeviceMemory& memory, std::int64_t floats) {
    const auto bytes = static_cast<std::uint64_t>(floats) * sizeof(float);
    if (!good(memory.grow(bytes, "Working memory of a step", generation_))) return nullptr;
    return memory.floats();
}

void CudaDevice::reserve_work(std::int64_t cols, std::int64_t width) {
    if (plain_) return;
    const std::uint64_t bytes =
        rows() <= few::kMostRows ? few::work_bytes(cols, width) : many::work_bytes(rows(), cols, width);
    good(work_.grow(bytes, "Working memory of a step", generation_));
}

Result<Weight> CudaDevice::upload(const HostTensor& tensor) {
    VITRINE_CHECK(enter());
    VITRINE_TRY(const std::uint64_t bytes, upload_bytes(tensor));
    if (tensor.rows > INT32_MAX || tensor.cols > INT32_MAX)
        return Error{ErrorKind::OutOfMemory, "A matrix of " + std::to_string(tensor.rows) + " x " +
                                                 std::to_string(tensor.cols) + " is larger than any memory."};
    const auto grid = has_outside_scales(tensor.dtype) ? scales_of(tensor) : std::span<const float>();
    const PlaneLayout layout =
        plane_layout(tensor.dtype, tensor.rows, tensor.cols, static_cast<std::int64_t>(grid.size()));
    auto w = std::make_shared<CudaWeight>();
    w->dtype = tensor.dtype;
    w->rows = tensor.rows;
    w->cols = tensor.cols;
    w->bytes = layout.total;
    VITRINE_TRY(w->memory, DeviceMemory::make(layout.total, "A matrix of the model", generation_));
    w->view = view_planes(tensor.dtype, tensor.rows, tensor.cols, layout, w->memory.data());
    if (!grid.empty()) {
        w->view.tile_rows = static_cast<std::int32_t>(tensor.scales.tile_rows);
        w->view.tile_cols = static_cast<std::int32_t>(tensor.scales.tile_cols);
        w->view.first_row = static_cast<std::int32_t>(tensor.scales.first_row % tensor.scales.tile_rows);
        if (const cudaError_t code = cudaMemcpy(w->memory.data() + layout.grid, grid.data(),
                                                grid.size_bytes(), cudaMemcpyHostToDevice);
            code != cudaSuccess)
            return cuda_error(code, "Copying scales to the GPU");
    }
    const std::uint64_t row = bytes / static_cast<std::uint64_t>(tensor.rows);
    VITRINE_CHECK(uploader_.upload(w->view, tensor.data, row, stream_));
    return Weight(std::move(w));
}

std::uint64_t CudaDevice::work_bytes(const StepNeeds& n) const {
    if (plain_) return 0;
    const std::int64_t heads = (std::int64_t{n.heads} + 2 * std::int64_t{n.kv_heads}) * n.head_dim;
    const std::int64_t inputs = std::max({n.embedding, n.heads * n.head_dim, n.feed_forward});
    const std::int64_t outputs = std::max<std::int64_t>({heads, inputs, n.vocab});
    std::uint64_t bytes =
        std::max(few::work_bytes(inputs, outputs), attention_work_bytes(n.rows, n.heads, n.head_dim));
    if (n.rows > few::kMostRows)
        bytes = std::max(bytes, many::work_bytes(n.rows, inputs, std::max<std::int64_t>(heads, n.embedding)));
    return bytes;
}

std::uint64_t CudaDevice::step_bytes(const StepNeeds& n) const {
    if (!enter().ok()) return 0;
    return work_bytes(n) + StepMemory::bytes(n.rows, n.outputs, n.head_dim, n.ropes) +
           (plain_ ? 0 : SampleMemory::bytes(n.outputs, n.vocab));
}

Status CudaDevice::reserve(const StepNeeds& n) {
    VITRINE_CHECK(enter());
    if (plain_) return {};
    VITRINE_CHECK(work_.grow(work_bytes(n), "Working memory of a step", generation_));
    return samples_.reserve(n.outputs, n.vocab, stream_);
}

Result<Buffer> CudaDevice::allocate(std::size_t floats) {
    VITRINE_CHECK(enter());
    auto buffer = std::make_unique<CudaBuffer>();
    buffer->size = floats;
    if (floats > (std::size_t{1} << 40U))
        return Error{ErrorKind::OutOfMemory,
                     "A buffer of " + std::to_string(floats) +
                         " numbers is larger than any memory. Choose a smaller context or "
                         "fewer tokens a step."};
    VITRINE_TRY(buffer->memory, DeviceMemory::make(floats * sizeof(float), "A buffer", generation_));
    return Buffer(std::move(buffer));
}

Result<KvCache> CudaDevice::make_kv(const KvShape& shape) {
    VITRINE_CHECK(enter());
    VITRINE_TRY(const std::uint64_t bytes, kv_bytes(shape));
    auto kv = std::make_unique<CudaKv>();
    kv->shape = shape;
    VITRINE_TRY(kv->memory, DeviceMemory::make(bytes, "The KV cache", generation_));
    return KvCache(std::move(kv));
}

std::span<const float> CudaDevice::read(const BufferStorage& buffer, std::size_t first, std::size_t count) {
    if (!good(enter()) || first > buffer.size || count > buffer.size - first) return {};
    const std::uint64_t bytes = count * sizeof(float);
    if (!good(host_copy_.grow(bytes)) ||
        !good(cudaMemcpyAsync(host_copy_.data(), data_of(&buffer) + first, bytes, cudaMemcpyDeviceToHost,
                              stream_),
              "Reading a result") ||
        !good(cudaStreamSynchronize(stream_), "Reading a result"))
        return {};
    return {reinterpret_cast<const float*>(host_copy_.data()), count};
}

void CudaDevice::write(BufferStorage& buffer, std::size_t first, std::span<const float> values) {
    if (!good(enter()) || first > buffer.size || values.size() > buffer.size - first) return;
    good(cudaMemcpyAsync(data_of(&buffer) + first, values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                         stream_),
         "Writing a buffer");
    good(cudaStreamSynchronize(stream_), "Writing a buffer");
}

void CudaDevice::fill_kv(KvStorage& kv, float value) {
    if (!good(enter())) return;
    fill_cache(kv_of(&kv).view(), value, stream_);
    good(cudaStreamSynchronize(stream_), "Filling the cache");
}

void CudaDevice::read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                         std::int32_t kv_head, std::int32_t token, std::span<float> out) {
    const KvShape& s = kv.shape;
    if (layer < 0 || layer >= s.layers || block < 0 || block >= s.blocks || kv_head < 0 ||
        kv_head >= s.kv_heads || token < 0 || token >= s.block_size || !good(enter()))
        return;
    const auto size = static_cast<std::size_t>(info_of(s.dtype).bytes);
    const std::int64_t plane = std::int64_t{layer} * 2 + (value_not_key ? 1 : 0);
    const std::int64_t panel = (plane * s.blocks + block) * s.kv_heads + kv_head;
    const auto count = std::min<std::size_t>(out.size(), static_cast<std::size_t>(s.head_dim));
    std::vector<std::byte> bytes(count * size);
    const std::byte* from = kv_of(&kv).memory.data() +
                            static_cast<std::size_t>((panel * s.block_size + token) * s.head_dim) * size;
    if (!good(cudaStreamSynchronize(stream_), "Reading the cache") ||
        !good(cudaMemcpy(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost), "Reading the cache"))
        return;
    for (std::size_t i = 0; i < count; ++i) {
        if (s.dtype == DType::F32) {
            std::memcpy(&out[i], bytes.data() + i * size, sizeof(float));
            continue;
        }
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * size, sizeof bits);
        out[i] = s.dtype == DType::F16 ? half_to_float(bits) : bfloat_to_float(bits);
    }
}

void CudaDevice::read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) {
    if (row < 0 || row >= w.rows || static_cast<std::int64_t>(out.size()) < w.cols || !good(enter())) return;
    float* to = scratch(normed_, w.cols);
    if (to == nullptr) return;
    dequantize_row(weight(&w).view, static_cast<std::int32_t>(row), to, stream_);
    good(cudaMemcpyAsync(out.data(), to, static_cast<std::size_t>(w.cols) * sizeof(float),
                         cudaMemcpyDeviceToHost, stream_),
         "Reading a row");
    good(cudaStreamSynchronize(stream_), "Reading a row");
}

void CudaDevice::do_begin() {
    operations_.clear();
    samples_.clear();
    times_ = PhaseTimes();
    if (!good(enter())) return;
    uploader_.release();  // the model is loaded
    std::vector<std::int32_t> row_sequence(step_.tokens.size());
    for (std::size_t r = 0; r < row_sequence.size(); ++r) row_sequence[r] = std::max(places_[r].sequence, 0);
    good(step_memory_.prepare(step_, row_sequence, stream_));
}

void CudaDevice::do_embed(const EmbedArgs& a) { operations_.emplace_back(a); }

void CudaDevice::do_qkv(const QkvArgs& a) {
    reserve_work(a.norm->cols, a.wq->rows + a.wk->rows + a.wv->rows);
    operations_.emplace_back(a);
}

void CudaDevice::do_attention(const AttentionArgs& a) {
    if (!plain_)
        good(
            work_.grow(attention_work_bytes(static_cast<std::int32_t>(rows()), a.heads, a.kv->shape.head_dim),
                       "Working memory of a step", generation_));
    operations_.emplace_back(a);
}

void CudaDevice::do_project(const ProjectArgs& a) {
    reserve_work(a.w->cols, a.w->rows);
    operations_.emplace_back(a);
}

void CudaDevice::do_feed_forward(const FeedForwardArgs& a) {
    reserve_work(std::max(a.gate->rows, a.gate->cols),
                 rows() <= few::kMostRows ? std::max(a.gate->rows, a.gate->cols) : a.down->rows);
    operations_.emplace_back(a);
}

void CudaDevice::do_logits(const LogitsArgs& a) {
    // For either family: how many rows are wanted decides between them. The outputs have their own room.
    if (!plain_)
        good(work_.grow(few::work_bytes(a.norm->cols, a.w->rows), "Working memory of a step", generation_));
    if (rows() > few::kMostRows) reserve_work(a.norm->cols, 0);
    operations_.emplace_back(a);
}

void CudaDevice::do_sample(const SampleArgs& a) {
    if (good(samples_.prepare(a.rows, data_of(a.logits), a.width, stream_)))
        operations_.emplace_back(samples_.view());
}

void CudaDevice::do_launch() {
    running_ = false;
    marked_.clear();
    if (failed()) operations_.clear();  // part of a step would write what nobody asked for
    if (operations_.empty() || !good(cudaEventRecord(began_, stream_), "A step")) return;
    StepGraphs::Launch launch;
    if (!plain_ && rows() <= few::kMostRows) {
        const StepKind kind{step_memory_.view().rows, step_memory_.view().outputs, step_memory_.plan(),
                            generation_->load()};
        launch = graphs_.launch(
            kind, operations_,
            [this](bool marks) {
                capturing_ = true;
                enqueue(marks);
                capturing_ = false;
            },
            stream_);
    }
    if (!launch.done) {
        // A long step hides what its marks cost; and of each kind somebody has to be the first.
        launch.profiled = rows() > few::kMostRows || shares_.count(step_memory_.view().rows) == 0;
        enqueue(launch.profiled);
    }
    if (launch.profiled) marked_ = phases_of(operations_);
    operations_.clear();
    good(cudaEventRecord(ended_, stream_), "A step");
    good(samples_.fetch(stream_));
    good(cudaGetLastError(), "A step");
    running_ = true;
}

void CudaDevice::do_finish() {
    const bool ran = std::exchange(running_, false);
    if (!good(or_injected(cudaStreamSynchronize(stream_)), "A step") || !ran) return;
    read_marks();
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, began_, ended_) == cudaSuccess)
        share_out(static_cast<double>(milliseconds) * 1e-3);
}

void CudaDevice::enqueue(bool marks) {
    std::size_t marked = 0;
    if (marks) mark(marked++);
    for (const RopeView& rope : step_memory_.ropes()) fill_rope(rope, step_memory_.view(), stream_);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
        if (marks && i > 0 && phase_of(operations_[i]) != phase_of(operations_[i - 1])) mark(marked++);
        std::visit([this](const auto& a) { run(a); }, operations_[i]);
    }
    if (marks) mark(marked);
}

void CudaDevice::mark(std::size_t number) {
    while (events_.size() <= number) {
        cudaEvent_t event = nullptr;
        if (!good(cudaEventCreate(&event), "Measuring a step")) return;
        events_.push_back(event);
    }
    // Outside, to be read after a replay.
    good(cudaEventRecordWithFlags(events_[number], stream_,
                                  capturing_ ? cudaEventRecordExternal : cudaEventRecordDefault),
         "Measuring a step");
}

void CudaDevice::read_marks() {
    if (marked_.empty() || marked_.size() >= events_.size()) return;
    PhaseTimes sums;
    for (std::size_t i = 0; i < marked_.size(); ++i) {
        float milliseconds = 0;
        if (cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]) != cudaSuccess) {
            static_cast<void>(cudaGetLastError());
            return;
        }
        sums.*marked_[i] += static_cast<double>(milliseconds) * 1e-3;
    }
    shares_[step_memory_.view().rows] = sums;
}

// The time of the whole step, divided as the last step of this kind was that carried marks.
void CudaDevice::share_out(double seconds) {
    const auto found = shares_.find(step_memory_.view().rows);
    if (found == shares_.end()) return;
    const PhaseTimes& s = found->second;
    if (s.total() <= 0) return;
    const double scale = seconds / s.total();
    for (const Phase phase : kPhases) times_.*phase = s.*phase * scale;
}

template <class Few, class Many>
bool CudaDevice::fast(const Few& few, const Many& many) const {
    if (plain_) return false;
    if (rows() <= few::kMostRows) return few() || many();
    return many() || few();
}

void CudaDevice::product(const WeightStorage* w, const float* x, std::int64_t tokens, const float* bias,
                         bool add, float* out, std::int64_t stride) {
    multiply_plain(weight(w).view, x, static_cast<std::int32_t>(tokens), bias, add, out,
                   static_cast<std::int32_t>(stride), stream_);
}

void CudaDevice::add_product(const WeightStorage* w, const float* in, const float* bias,
                             const float* post_norm, float eps, float* x) {
    if (post_norm == nullptr) return product(w, in, rows(), bias, true, x, w->rows);
    float* y = scratch(projected_, rows() * w->rows);
    if (y == nullptr) return;
    product(w, in, rows(), bias, false, y, w->rows);
    normalise(y, nullptr, step_memory_.view().rows, static_cast<std::int32_t>(w->rows), post_norm, eps, y,
              stream_);
    add(x, y, rows() * w->rows, stream_);
}

void CudaDevice::run(const EmbedArgs& a) {
    vitrine::cuda::embed(weight(a.table).view, step_memory_.view(), a.scale, data_of(a.x), stream_);
}

void CudaDevice::run(const QkvArgs& a) {
    const StepView& step = step_memory_.view();
    QkvView v;
    v.x = data_of(a.x);
    v.norm = vector_of(a.norm);
    v.eps = a.eps;
    v.wq = weight(a.wq).view;
    v.wk = weight(a.wk).view;
    v.wv = weight(a.wv).view;
    v.bq = vector_of(a.bq);
    v.bk = vector_of(a.bk);
    v.bv = vector_of(a.bv);
    v.heads.heads = a.heads;
    v.heads.q_norm = vector_of(a.q_norm);
    v.heads.k_norm = vector_of(a.k_norm);
    v.heads.eps = a.eps;
    v.heads.rope = step_memory_.ropes()[static_cast<std::size_t>(a.rope)];
    v.heads.kv = kv_of(a.kv).view();
    v.heads.layer = a.layer;
    v.heads.q = data_of(a.q);
    if (fast([&] { return few::qkv(v, step, work(), stream_); },
             [&] { return many::qkv(v, step, work(), stream_); }))
        return;
    const std::int64_t d = a.norm->cols;
    const std::int64_t width = a.wq->rows + a.wk->rows + a.wv->rows;
    float* x = scratch(normed_, rows() * d);
    float* y = scratch(projected_, rows() * width);
    if (x == nullptr || y == nullptr) return;
    normalise(v.x, nullptr, step.rows, static_cast<std::int32_t>(d), v.norm, a.eps, x, stream_);
    product(a.wq, x, rows(), v.bq, false, y, width);
    product(a.wk, x, rows(), v.bk, false, y + a.wq->rows, width);
    product(a.wv, x, rows(), v.bv, false, y + a.wq->rows + a.wk->rows, width);
    v.heads.y = y;
    finish_heads(v.heads, step, stream_);
}

void CudaDevice::run(const AttentionArgs& a) {
    AttentionView v;
    v.q = data_of(a.q);
    v.kv = kv_of(a.kv).view();
    v.layer = a.layer;
    v.heads = a.heads;
    v.window = a.window;
    v.scale = a.scale;
    v.softcap = a.softcap;
    v.out = data_of(a.out);
    const StepView& step = step_memory_.view();
    if (!plain_ && attention_fast(v, step, step_memory_.plan(), work(), stream_)) return;
    attention_plain(v, step, stream_);
}

void CudaDevice::run(const ProjectArgs& a) {
    ProjectView v;
    v.in = data_of(a.in);
    v.w = weight(a.w).view;
    v.bias = vector_of(a.bias);
    v.post_norm = vector_of(a.post_norm);
    v.eps = a.eps;
    v.x = data_of(a.x);
    const StepView& step = step_memory_.view();
    if (fast([&] { return few::project(v, step, work(), stream_); },
             [&] { return many::project(v, step, work(), stream_); }))
        return;
    add_product(a.w, v.in, v.bias, v.post_norm, a.eps, v.x);
}

void CudaDevice::run(const FeedForwardArgs& a) {
    FeedForwardView v;
    v.x = data_of(a.x);
    v.norm = vector_of(a.norm);
    v.eps = a.eps;
    v.gate = weight(a.gate).view;
    v.up = weight(a.up).view;
    v.down = weight(a.down).view;
    v.gate_bias = vector_of(a.gate_bias);
    v.up_bias = vector_of(a.up_bias);
    v.down_bias = vector_of(a.down_bias);
    v.post_norm = vector_of(a.post_norm);
    v.activation = a.activation;
    v.hidden = data_of(a.hidden);
    const StepView& step = step_memory_.view();
    if (fast([&] { return few::feed_forward(v, step, work(), stream_); },
             [&] { return many::feed_forward(v, step, work(), stream_); }))
        return;
    const std::int64_t d = a.norm->cols;
    const std::int64_t f = a.gate->rows;
    float* x = scratch(normed_, rows() * d);
    float* up = scratch(hidden_, rows() * f);
    if (x == nullptr || up == nullptr) return;
    normalise(v.x, nullptr, step.rows, static_cast<std::int32_t>(d), v.norm, a.eps, x, stream_);
    product(a.gate, x, rows(), v.gate_bias, false, v.hidden, f);
    product(a.up, x, rows(), v.up_bias, false, up, f);
    gate(a.activation, v.hidden, up, rows() * f, stream_);
    add_product(a.down, v.hidden, v.down_bias, v.post_norm, a.eps, v.x);
}

void CudaDevice::run(const LogitsArgs& a) {
    LogitsView v;
    v.x = data_of(a.x);
    v.norm = vector_of(a.norm);
    v.eps = a.eps;
    v.w = weight(a.w).view;
    v.softcap = a.softcap;
    v.out = data_of(a.out);
    const StepView& step = step_memory_.view();
    // How many rows are wanted decides here, not how many there are.
    if (!plain_ && ((step.outputs <= few::kMostRows && few::logits(v, step, work(), stream_)) ||
                    many::logits(v, step, work(), stream_)))
        return;
    const std::int64_t d = a.norm->cols;
    float* x = scratch(normed_, std::int64_t{step.outputs} * d);
    if (x == nullptr) return;
    normalise(v.x, step.output_rows, step.outputs, static_cast<std::int32_t>(d), v.norm, a.eps, x, stream_);
    product(a.w, x, step.outputs, nullptr, false, v.out, a.w->rows);
    if (a.softcap != 0.0F) soft_cap(v.out, std::int64_t{step.outputs} * a.w->rows, a.softcap, stream_);
}

void CudaDevice::do_copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) {
    if (!good(enter())) return;
    // In the middle of a step: what was asked for before comes first.
    if (!operations_.empty()) {
        enqueue(false);
        operations_.clear();
    }
    const KvShape& s = kv.shape;
    const auto block = static_cast<std::size_t>(std::int64_t{s.kv_heads} * s.block_size * s.head_dim) *
                       static_cast<std::size_t>(info_of(s.dtype).bytes);
    std::byte* base = kv_of(&kv).memory.data();
    for (const BlockCopy& copy : copies) {
        if (copy.from == copy.to) continue;
        // One strided copy: a row for each layer's keys and values.
        const std::size_t pitch = block * static_cast<std::size_t>(s.blocks);
        good(cudaMemcpy2DAsync(base + block * static_cast<std::size_t>(copy.to), pitch,
                               base + block * static_cast<std::size_t>(copy.from), pitch, block,
                               static_cast<std::size_t>(2 * s.layers), cudaMemcpyDeviceToDevice, stream_),
             "Copying KV blocks");
    }
}

Result<double> CudaDevice::read_pass(std::uint64_t bytes) {
    VITRINE_CHECK(enter());
    if (bytes == 0) {
        read_area_ = DeviceMemory();
        return 0.0;
    }
    if (read_area_.size() < bytes) {
        VITRINE_CHECK(read_area_.grow(bytes, "An area to measure reading", nullptr));
        static_cast<void>(cudaMemset(read_area_.data(), 0, bytes));
    }
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    cudaError_t code = cudaEventCreate(&begin);
    if (code == cudaSuccess) code = cudaEventCreate(&end);
    if (code == cudaSuccess) code = cudaEventRecord(begin, stream_);
    if (code == cudaSuccess) read_all(read_area_.data(), bytes, stream_);
    if (code == cudaSuccess) code = cudaEventRecord(end, stream_);
    if (code == cudaSuccess) code = cudaEventSynchronize(end);
    float milliseconds = 0;
    if (code == cudaSuccess) code = cudaEventElapsedTime(&milliseconds, begin, end);
    if (begin != nullptr) static_cast<void>(cudaEventDestroy(begin));
    if (end != nullptr) static_cast<void>(cudaEventDestroy(end));
    if (code != cudaSuccess) return cuda_error(code, "Measuring how fast the GPU reads");
    return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace vitrine::cuda
