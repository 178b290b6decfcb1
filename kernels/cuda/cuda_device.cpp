#include "kernels/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cuda/read_all.h"
#include "kernels/cuda/regroup.h"
#include "kernels/host/half.h"

namespace vitrine::cuda {
namespace {

constexpr std::uint64_t kUploadBytes = std::uint64_t{32} << 20U;  // of one piece on its way to the device

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

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes + (1U << 20U) - 1) >> 20U) + " MiB";
}

}  // namespace

Error cuda_error(cudaError_t code, const std::string& what) {
    // A sticky error stays for the life of the process; others are taken off here.
    static_cast<void>(cudaGetLastError());
    const std::string text = cudaGetErrorString(code);
    if (code == cudaErrorMemoryAllocation)
        return Error{ErrorKind::OutOfMemory,
                     what +
                         ": the GPU's memory is full. Choose a shorter context or a smaller "
                         "model, or close other programs that use the GPU."};
    return Error{ErrorKind::Io, what + ": the GPU reports \"" + text +
                                    "\". If it happens again, restart the program; the chats are kept."};
}

DeviceMemory::DeviceMemory(DeviceMemory&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
DeviceMemory& DeviceMemory::operator=(DeviceMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
}
DeviceMemory::~DeviceMemory() {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
}
Result<DeviceMemory> DeviceMemory::make(std::uint64_t bytes, const std::string& what) {
    DeviceMemory m;
    void* p = nullptr;
    if (const cudaError_t code = cudaMalloc(&p, std::max<std::uint64_t>(bytes, 256)); code != cudaSuccess)
        return cuda_error(code, what + " of " + mebibytes(bytes));
    m.data_ = static_cast<std::byte*>(p);
    m.size_ = bytes;
    return m;
}

PinnedMemory::PinnedMemory(PinnedMemory&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
PinnedMemory& PinnedMemory::operator=(PinnedMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
}
PinnedMemory::~PinnedMemory() {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
}
Result<PinnedMemory> PinnedMemory::make(std::uint64_t bytes) {
    PinnedMemory m;
    void* p = nullptr;
    if (const cudaError_t code = cudaMallocHost(&p, bytes); code != cudaSuccess)
        return cuda_error(code, "Page-locked memory of " + mebibytes(bytes));
    m.data_ = static_cast<std::byte*>(p);
    m.size_ = bytes;
    return m;
}

Result<std::unique_ptr<Device>> CudaDevice::open(int index, bool plain) {
    std::unique_ptr<CudaDevice> device(new CudaDevice(index, plain));
    VITRINE_CHECK(device->prepare());
    return std::unique_ptr<Device>(std::move(device));
}

Status CudaDevice::prepare() {
    if (const cudaError_t code = cudaSetDevice(index_); code != cudaSuccess)
        return cuda_error(code, "Opening GPU " + std::to_string(index_));
    cudaDeviceProp properties{};
    if (const cudaError_t code = cudaGetDeviceProperties(&properties, index_); code != cudaSuccess)
        return cuda_error(code, "Asking for the properties of GPU " + std::to_string(index_));
    description_ = std::string(properties.name) + (plain_ ? " · plain operations" : "");
    if (const cudaError_t code = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
        code != cudaSuccess)
        return cuda_error(code, "Opening GPU " + std::to_string(index_));
    for (int i = 0; i < 2; ++i) {
        if (const cudaError_t code = cudaEventCreateWithFlags(&uploaded_[i], cudaEventDisableTiming);
            code != cudaSuccess)
            return cuda_error(code, "Opening GPU " + std::to_string(index_));
    }
    return {};
}

CudaDevice::~CudaDevice() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamSynchronize(stream_));
    for (cudaEvent_t event : uploaded_)
        if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

DeviceInfo CudaDevice::info() const {
    DeviceInfo info;
    info.name = "cuda";
    info.description = description_;
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
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

float* CudaDevice::scratch(DeviceMemory& memory, std::int64_t floats) {
    const auto bytes = static_cast<std::uint64_t>(floats) * sizeof(float);
    if (memory.size() < bytes) {
        memory = DeviceMemory();  // its users are on the stream, and freeing waits for them
        auto made = DeviceMemory::make(bytes, "Working memory of a step");
        if (!made.ok()) {
            fail(made.error().kind, made.error().message);
            return nullptr;
        }
        memory = std::move(made).value();
    }
    return reinterpret_cast<float*>(memory.data());
}

Result<Weight> CudaDevice::upload(const HostTensor& tensor) {
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
    VITRINE_TRY(w->memory, DeviceMemory::make(layout.total, "A matrix of the model"));
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
    const auto in_piece = static_cast<std::int64_t>(std::max<std::uint64_t>(1, kUploadBytes / row));
    const std::uint64_t piece_bytes = static_cast<std::uint64_t>(std::min(in_piece, tensor.rows)) * row;
    for (int i = 0; i < 2; ++i) {
        if (upload_[i].size() >= piece_bytes) continue;
        upload_[i] = PinnedMemory();
        raw_[i] = DeviceMemory();
        VITRINE_TRY(upload_[i], PinnedMemory::make(std::max(piece_bytes, kUploadBytes)));
        VITRINE_TRY(raw_[i],
                    DeviceMemory::make(std::max(piece_bytes, kUploadBytes), "Room for a piece of a matrix"));
    }
    int side = 0;
    for (std::int64_t first = 0; first < tensor.rows; first += in_piece, side = 1 - side) {
        const std::int64_t count = std::min(in_piece, tensor.rows - first);
        const std::uint64_t size = static_cast<std::uint64_t>(count) * row;
        cudaError_t code = cudaEventSynchronize(uploaded_[side]);
        if (code == cudaSuccess) {
            std::memcpy(upload_[side].data(), tensor.data + static_cast<std::uint64_t>(first) * row, size);
            code = cudaMemcpyAsync(raw_[side].data(), upload_[side].data(), size, cudaMemcpyHostToDevice,
                                   stream_);
        }
        if (code == cudaSuccess) {
            regroup(w->view, first, count, raw_[side].data(), stream_);
            code = cudaGetLastError();
        }
        if (code == cudaSuccess) code = cudaEventRecord(uploaded_[side], stream_);
        if (code != cudaSuccess) return cuda_error(code, "Copying a matrix to the GPU");
    }
    return Weight(std::move(w));
}

Result<Buffer> CudaDevice::allocate(std::size_t floats) {
    auto buffer = std::make_unique<CudaBuffer>();
    buffer->size = floats;
    if (floats > (std::size_t{1} << 40U))
        return Error{ErrorKind::OutOfMemory,
                     "A buffer of " + std::to_string(floats) +
                         " numbers is larger than any memory. Choose a smaller context or "
                         "fewer tokens a step."};
    VITRINE_TRY(buffer->memory, DeviceMemory::make(floats * sizeof(float), "A buffer"));
    return Buffer(std::move(buffer));
}

Result<KvCache> CudaDevice::make_kv(const KvShape& shape) {
    VITRINE_TRY(const std::uint64_t bytes, kv_bytes(shape));
    auto kv = std::make_unique<CudaKv>();
    kv->shape = shape;
    VITRINE_TRY(kv->memory, DeviceMemory::make(bytes, "The KV cache"));
    return KvCache(std::move(kv));
}

std::span<const float> CudaDevice::read(const BufferStorage& buffer, std::size_t first, std::size_t count) {
    if (first > buffer.size || count > buffer.size - first) return {};
    host_copy_.resize(count);
    if (!good(cudaMemcpyAsync(host_copy_.data(), data_of(&buffer) + first, count * sizeof(float),
                              cudaMemcpyDeviceToHost, stream_),
              "Reading a result") ||
        !good(cudaStreamSynchronize(stream_), "Reading a result"))
        return {};
    return host_copy_;
}

void CudaDevice::write(BufferStorage& buffer, std::size_t first, std::span<const float> values) {
    if (first > buffer.size || values.size() > buffer.size - first) return;
    good(cudaMemcpyAsync(data_of(&buffer) + first, values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                         stream_),
         "Writing a buffer");
    good(cudaStreamSynchronize(stream_), "Writing a buffer");
}

void CudaDevice::fill_kv(KvStorage& kv, float value) {
    fill_cache(kv_of(&kv).view(), value, stream_);
    good(cudaStreamSynchronize(stream_), "Filling the cache");
}

void CudaDevice::read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                         std::int32_t kv_head, std::int32_t token, std::span<float> out) {
    const KvShape& s = kv.shape;
    if (layer < 0 || layer >= s.layers || block < 0 || block >= s.blocks || kv_head < 0 ||
        kv_head >= s.kv_heads || token < 0 || token >= s.block_size)
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
    if (row < 0 || row >= w.rows || static_cast<std::int64_t>(out.size()) < w.cols) return;
    float* to = scratch(normed_, w.cols);
    if (to == nullptr) return;
    dequantize_row(weight(&w).view, static_cast<std::int32_t>(row), to, stream_);
    good(cudaMemcpyAsync(out.data(), to, static_cast<std::size_t>(w.cols) * sizeof(float),
                         cudaMemcpyDeviceToHost, stream_),
         "Reading a row");
    good(cudaStreamSynchronize(stream_), "Reading a row");
}

void CudaDevice::do_begin() {
    times_ = PhaseTimes();
    const std::size_t rows = step_.tokens.size();
    const std::size_t slices = step_.sequences.size();
    std::size_t tables = 0;
    for (const SequenceSlice& s : step_.sequences) tables += s.blocks.size();
    // [tokens][positions][row_slice][slices][tables][output rows], all 32-bit
    constexpr std::size_t kSliceWords = sizeof(SliceView) / sizeof(std::int32_t);
    const std::size_t words = 3 * rows + kSliceWords * slices + tables + step_.output_rows.size();
    const std::uint64_t bytes = words * sizeof(std::int32_t);
    if (staging_.size() < bytes) {
        staging_ = PinnedMemory();
        auto host = PinnedMemory::make(2 * bytes);
        if (!host.ok()) return fail(host.error().kind, host.error().message);
        staging_ = std::move(host).value();
        step_memory_ = DeviceMemory();
        auto device = DeviceMemory::make(2 * bytes, "The step's ids and tables");
        if (!device.ok()) return fail(device.error().kind, device.error().message);
        step_memory_ = std::move(device).value();
    }
    auto* out = reinterpret_cast<std::int32_t*>(staging_.data());
    const auto* on_device = reinterpret_cast<const std::int32_t*>(step_memory_.data());
    const auto put = [&](const auto& values) {
        const std::int32_t* place = on_device;
        for (const std::int32_t v : values) *out++ = v;
        on_device += values.size();
        return place;
    };
    view_ = StepView();
    view_.rows = static_cast<std::int32_t>(rows);
    view_.outputs = static_cast<std::int32_t>(step_.output_rows.size());
    view_.tokens = put(step_.tokens);
    view_.positions = put(step_.positions);
    std::vector<std::int32_t> row_slice(rows);
    for (std::size_t r = 0; r < rows; ++r) row_slice[r] = std::max(places_[r].sequence, 0);
    view_.row_slice = put(row_slice);
    view_.slices = reinterpret_cast<const SliceView*>(on_device);
    std::int32_t first_block = 0;
    for (const SequenceSlice& s : step_.sequences) {
        put(std::vector<std::int32_t>{s.first_row, s.rows, s.start, first_block, s.rope_set});
        first_block += static_cast<std::int32_t>(s.blocks.size());
    }
    view_.tables = on_device;
    for (const SequenceSlice& s : step_.sequences) put(s.blocks);
    view_.output_rows = put(step_.output_rows);
    if (!good(cudaMemcpyAsync(step_memory_.data(), staging_.data(), bytes, cudaMemcpyHostToDevice, stream_),
              "Copying the step to the GPU"))
        return;

    // Frequencies of all sets, then the tables of cosines and sines.
    const auto in_set = static_cast<std::size_t>(ropes_in_set());
    const auto sets = static_cast<std::size_t>(step_.rope_sets);
    ropes_.assign(in_set, RopeView());
    std::vector<std::byte> numbers;
    const auto append = [&](const void* p, std::size_t size) {
        const std::size_t at = (numbers.size() + 7) / 8 * 8;
        numbers.resize(at + size);
        std::memcpy(numbers.data() + at, p, size);
        return at;
    };
    std::vector<std::pair<std::size_t, std::size_t>> places;
    std::uint64_t table_bytes = 0;
    for (std::size_t i = 0; i < in_set; ++i) {
        std::vector<double> frequencies;
        std::vector<float> magnitudes;
        for (std::size_t set = 0; set < sets; ++set) {
            const RopeSpec& spec = step_.ropes[set * in_set + i];
            frequencies.insert(frequencies.end(), spec.inv_freq.begin(), spec.inv_freq.end());
            magnitudes.push_back(spec.magnitude);
        }
        ropes_[i].half = step_.ropes[i].rotary_dim / 2;
        ropes_[i].style = step_.ropes[i].style;
        const std::size_t f = append(frequencies.data(), frequencies.size() * sizeof(double));
        places.emplace_back(f, append(magnitudes.data(), magnitudes.size() * sizeof(float)));
        table_bytes += 2 * rows * static_cast<std::size_t>(ropes_[i].half) * sizeof(float);
    }
    const std::size_t numbers_bytes = (numbers.size() + 255) / 256 * 256;
    float* memory =
        scratch(rope_memory_, static_cast<std::int64_t>((numbers_bytes + table_bytes) / sizeof(float)));
    if (memory == nullptr) return;
    auto* base = reinterpret_cast<std::byte*>(memory);
    if (!good(cudaMemcpyAsync(base, numbers.data(), numbers.size(), cudaMemcpyHostToDevice, stream_),
              "Copying the step to the GPU"))
        return;
    auto* table = reinterpret_cast<float*>(base + numbers_bytes);
    for (std::size_t i = 0; i < in_set; ++i) {
        RopeView& rope = ropes_[i];
        rope.inv_freq = reinterpret_cast<const double*>(base + places[i].first);
        rope.magnitude = reinterpret_cast<const float*>(base + places[i].second);
        rope.cosine = table;
        table += rows * static_cast<std::size_t>(rope.half);
        rope.sine = table;
        table += rows * static_cast<std::size_t>(rope.half);
        fill_rope(rope, view_, stream_);
    }
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
    normalise(y, nullptr, view_.rows, static_cast<std::int32_t>(w->rows), post_norm, eps, y, stream_);
    add(x, y, rows() * w->rows, stream_);
}

void CudaDevice::do_embed(const EmbedArgs& a) {
    vitrine::cuda::embed(weight(a.table).view, view_, a.scale, data_of(a.x), stream_);
}

void CudaDevice::do_qkv(const QkvArgs& a) {
    const std::int64_t d = a.norm->cols;
    const std::int64_t width = a.wq->rows + a.wk->rows + a.wv->rows;
    float* x = scratch(normed_, rows() * d);
    float* y = scratch(projected_, rows() * width);
    if (x == nullptr || y == nullptr) return;
    normalise(data_of(a.x), nullptr, view_.rows, static_cast<std::int32_t>(d), vector_of(a.norm), a.eps, x,
              stream_);
    product(a.wq, x, rows(), vector_of(a.bq), false, y, width);
    product(a.wk, x, rows(), vector_of(a.bk), false, y + a.wq->rows, width);
    product(a.wv, x, rows(), vector_of(a.bv), false, y + a.wq->rows + a.wk->rows, width);
    HeadsArgs heads;
    heads.y = y;
    heads.heads = a.heads;
    heads.q_norm = vector_of(a.q_norm);
    heads.k_norm = vector_of(a.k_norm);
    heads.eps = a.eps;
    heads.rope = ropes_[static_cast<std::size_t>(a.rope)];
    heads.kv = kv_of(a.kv).view();
    heads.layer = a.layer;
    heads.q = data_of(a.q);
    finish_heads(heads, view_, stream_);
}

void CudaDevice::do_attention(const AttentionArgs& a) {
    AttentionView v;
    v.q = data_of(a.q);
    v.kv = kv_of(a.kv).view();
    v.layer = a.layer;
    v.heads = a.heads;
    v.window = a.window;
    v.scale = a.scale;
    v.softcap = a.softcap;
    v.out = data_of(a.out);
    attention_plain(v, view_, stream_);
}

void CudaDevice::do_project(const ProjectArgs& a) {
    add_product(a.w, data_of(a.in), vector_of(a.bias), vector_of(a.post_norm), a.eps, data_of(a.x));
}

void CudaDevice::do_feed_forward(const FeedForwardArgs& a) {
    const std::int64_t d = a.norm->cols;
    const std::int64_t f = a.gate->rows;
    float* x = scratch(normed_, rows() * d);
    float* up = scratch(hidden_, rows() * f);
    if (x == nullptr || up == nullptr) return;
    normalise(data_of(a.x), nullptr, view_.rows, static_cast<std::int32_t>(d), vector_of(a.norm), a.eps, x,
              stream_);
    product(a.gate, x, rows(), vector_of(a.gate_bias), false, data_of(a.hidden), f);
    product(a.up, x, rows(), vector_of(a.up_bias), false, up, f);
    gate(a.activation, data_of(a.hidden), up, rows() * f, stream_);
    add_product(a.down, data_of(a.hidden), vector_of(a.down_bias), vector_of(a.post_norm), a.eps,
                data_of(a.x));
}

void CudaDevice::do_logits(const LogitsArgs& a) {
    const std::int64_t d = a.norm->cols;
    float* x = scratch(normed_, std::int64_t{view_.outputs} * d);
    if (x == nullptr) return;
    normalise(data_of(a.x), view_.output_rows, view_.outputs, static_cast<std::int32_t>(d), vector_of(a.norm),
              a.eps, x, stream_);
    product(a.w, x, view_.outputs, nullptr, false, data_of(a.out), a.w->rows);
    if (a.softcap != 0.0F)
        soft_cap(data_of(a.out), std::int64_t{view_.outputs} * a.w->rows, a.softcap, stream_);
}

void CudaDevice::do_copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) {
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

void CudaDevice::do_finish() {
    good(cudaGetLastError(), "A step");
    good(cudaStreamSynchronize(stream_), "A step");
}

Result<double> CudaDevice::read_pass(std::uint64_t bytes) {
    if (read_area_.size() < bytes) {
        read_area_ = DeviceMemory();
        VITRINE_TRY(read_area_, DeviceMemory::make(bytes, "An area to measure reading"));
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
