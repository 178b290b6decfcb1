// The yardstick: dequantized weights times float32 activations, every sum in an order that depends on its own
// row alone. See row_kernels.h for the sums of products; norms and softmax sums run in double, in order of
// index.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/host/block_formats.h"
#include "kernels/host/half.h"
#include "kernels/host/host_device.h"
#include "kernels/host/read_pass.h"
#include "kernels/reference/exact_math.h"
#include "kernels/reference/row_kernels.h"

namespace vitrine {
namespace {

using reference::exact_exp;
using reference::exact_tanh;
using reference::padded;

// The rows as they lie in the file.
class FileWeight final : public HostWeight {
  public:
    WeightArena::Piece piece;
    std::uint64_t row_stride = 0;
    std::vector<float> scale_values;
    ScaleGrid scales;  // of scale_values, where the type has outside scales
};
const FileWeight& file(const WeightStorage* w) { return *static_cast<const FileWeight*>(w); }

class ReferenceDevice final : public HostDevice {
  public:
    explicit ReferenceDevice(int threads) : HostDevice(threads) {}

    DeviceInfo info() const override;
    Result<Weight> upload(const HostTensor& tensor) override;
    void read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) override;
    Result<double> read_pass(std::uint64_t bytes) override { return read_pass_.run(pool_, bytes); }

  protected:
    void run_qkv(const QkvArgs& a) override;
    void run_attention(const AttentionArgs& a) override;
    void run_project(const ProjectArgs& a) override;
    void run_feed_forward(const FeedForwardArgs& a) override;
    void run_logits(const LogitsArgs& a) override;
    std::size_t kv_index(const KvShape& shape, bool, std::int32_t token, std::int32_t c) const override {
        return static_cast<std::size_t>(token) * static_cast<std::size_t>(shape.head_dim) +
               static_cast<std::size_t>(c);
    }

  private:
    struct Product {
        const WeightStorage* w;
        const float* bias;
        float* out;  // [tokens, w->rows]
    };
    // Prepares the rows of a product: [count][padded(n)], normalised where norm is not null.
    const float* prepare(const float* x, const std::int32_t* picked, std::int64_t count, std::int64_t n,
                         const float* norm, float eps);
    void multiply(std::span<const Product> products, const float* x, std::int64_t tokens);
    void add_to(float* x, const float* y, std::int64_t n, const float* post_norm, float eps);
    void attend(const AttentionArgs& a, const SequenceSlice& slice, std::int32_t kv_head, std::int32_t first,
                std::int32_t count, int thread);
    bool reserve(bool ok) {
        if (!ok)
            fail(ErrorKind::OutOfMemory,
                 "No memory for the working buffers of a step. Use fewer tokens a step.");
        return ok;
    }

    static constexpr std::int64_t kRowGroup = 8;   // weight rows dequantized together
    static constexpr std::int32_t kQueryTile = 8;  // query rows that share the loading of keys

    const reference::RowKernels& kernels_ = reference::row_kernels();
    WeightArena arena_;
    ReadPass read_pass_;
    Scratch<float> x_;
    Scratch<float> rows_scratch_;  // [threads][kRowGroup][padded cols]
    Scratch<float> y_;
    Scratch<float> y2_;
    std::vector<std::vector<float>> attention_scratch_;
};

void normalise(const float* x, std::int64_t n, const float* weight, float eps, float* out) {
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const double mean = n > 0 ? squares / static_cast<double>(n) : 0.0;
    const auto factor = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * factor * weight[i];
}

float activate(Activation kind, float g) {
    const auto x = static_cast<double>(g);
    if (kind == Activation::SiLU) return static_cast<float>(x / (1.0 + exact_exp(-x)));
    constexpr double kRoot = 0.79788456080286535588;  // sqrt(2 / pi)
    return static_cast<float>(0.5 * x * (1.0 + exact_tanh(kRoot * (x + 0.044715 * x * x * x))));
}

float capped(float score, float cap) {
    if (cap == 0.0F) return score;
    return static_cast<float>(static_cast<double>(cap) *
                              exact_tanh(static_cast<double>(score) / static_cast<double>(cap)));
}

DeviceInfo ReferenceDevice::info() const {
    const SystemMemory memory = system_memory();
    DeviceInfo info;
    info.name = "reference";
    info.description = "CPU reference · " + std::to_string(pool_.threads()) +
                       (pool_.threads() == 1 ? " thread" : " threads");
    info.memory_total = memory.total;
    info.memory_free = memory.free;
    info.threads = pool_.threads();
    return info;
}

Result<Weight> ReferenceDevice::upload(const HostTensor& tensor) {
    VITRINE_TRY(const std::uint64_t bytes, upload_bytes(tensor));
    auto w = std::make_shared<FileWeight>();
    w->dtype = tensor.dtype;
    w->rows = tensor.rows;
    w->cols = tensor.cols;
    w->bytes = bytes;
    w->row_stride = tensor.rows > 0 ? bytes / static_cast<std::uint64_t>(tensor.rows) : 0;
    VITRINE_TRY(w->piece, arena_.take(bytes, "A matrix of the model"));
    if (bytes > 0) std::memcpy(w->piece.data, tensor.data, bytes);
    if (w->dtype == DType::F32 && w->rows == 1) w->vector = reinterpret_cast<const float*>(w->piece.data);
    if (has_outside_scales(w->dtype)) {
        const auto own = scales_of(tensor);
        w->scale_values.assign(own.begin(), own.end());
        w->scales = tensor.scales;
        w->scales.values = w->scale_values.data();
        w->scales.first_row = tensor.scales.first_row % tensor.scales.tile_rows;
        w->bytes += own.size_bytes();
    }
    return Weight(std::move(w));
}

void ReferenceDevice::read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) {
    if (row < 0 || row >= w.rows || static_cast<std::int64_t>(out.size()) < w.cols) return;
    const FileWeight& f = file(&w);
    dequantize_matrix_row(
        {.dtype = w.dtype, .rows = w.rows, .cols = w.cols, .data = f.piece.data, .scales = f.scales}, row,
        out.data());
}

const float* ReferenceDevice::prepare(const float* x, const std::int32_t* picked, std::int64_t count,
                                      std::int64_t n, const float* norm, float eps) {
    const std::int64_t stride = padded(n);
    if (!reserve(x_.reserve(static_cast<std::size_t>(count * stride)))) return nullptr;
    float* out = x_.data();
    pool_.parallel_for(count, 4, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t r = first; r < last; ++r) {
            const float* from = x + (picked != nullptr ? std::int64_t{picked[r]} : r) * n;
            float* to = out + r * stride;
            if (norm != nullptr)
                normalise(from, n, norm, eps, to);
            else
                std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
            std::fill(to + n, to + stride, 0.0F);
        }
    });
    return out;
}

void ReferenceDevice::multiply(std::span<const Product> products, const float* x, std::int64_t tokens) {
    const std::int64_t cols = products[0].w->cols;
    const std::int64_t stride = padded(cols);
    if (!reserve(rows_scratch_.reserve(static_cast<std::size_t>(pool_.threads() * kRowGroup * stride))))
        return;
    std::int64_t groups = 0;
    for (const Product& p : products) groups += (p.w->rows + kRowGroup - 1) / kRowGroup;
    pool_.parallel_for(groups, 1, [&](std::int64_t first, std::int64_t last, int thread) {
        float* scratch = rows_scratch_.data() + thread * kRowGroup * stride;
        for (std::int64_t g = first; g < last; ++g) {
            std::int64_t local = g;
            const Product* p = products.data();
            for (std::int64_t own = 0; local >= (own = (p->w->rows + kRowGroup - 1) / kRowGroup); ++p)
                local -= own;
            const FileWeight& w = file(p->w);
            const std::int64_t row = local * kRowGroup;
            const std::int64_t count = std::min(kRowGroup, w.rows - row);
            for (std::int64_t r = 0; r < count; ++r) {
                float* to = scratch + r * stride;
                kernels_.dequantize(
                    w.dtype, w.piece.data + static_cast<std::uint64_t>(row + r) * w.row_stride, cols, to);
                if (!has_outside_scales(w.dtype)) continue;
                for (std::int64_t c = 0; c < cols; ++c) to[c] *= w.scales.at(row + r, c, cols);
            }
            kernels_.dot(scratch, count, x, tokens, stride, p->out + row, w.rows);
            if (p->bias == nullptr) continue;
            for (std::int64_t t = 0; t < tokens; ++t)
                for (std::int64_t r = 0; r < count; ++r) p->out[t * w.rows + row + r] += p->bias[row + r];
        }
    });
}

void ReferenceDevice::run_qkv(const QkvArgs& a) {
    const KvShape& s = a.kv->shape;
    const std::int64_t n = rows();
    const std::int64_t kv_width = std::int64_t{s.kv_heads} * s.head_dim;
    const std::int64_t q_width = std::int64_t{a.heads} * s.head_dim;
    const float* x = prepare(data_of(a.x), nullptr, n, a.norm->cols, vector_of(a.norm), a.eps);
    if (x == nullptr || !reserve(y_.reserve(static_cast<std::size_t>(n * kv_width)) &&
                                 y2_.reserve(static_cast<std::size_t>(n * kv_width))))
        return;
    float* q = data_of(a.q);
    float* k = y_.data();
    float* v = y2_.data();
    const Product products[] = {
        {a.wq, vector_of(a.bq), q}, {a.wk, vector_of(a.bk), k}, {a.wv, vector_of(a.bv), v}};
    multiply(products, x, n);

    const RopeTable& rope = ropes_[static_cast<std::size_t>(a.rope)];
    const HostKv& kv = host_kv(a.kv);
    const std::int32_t c = s.head_dim;
    pool_.parallel_for(n, 4, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t r = first; r < last; ++r) {
            for (std::int32_t h = 0; h < a.heads; ++h) {
                float* head = q + r * q_width + std::int64_t{h} * c;
                if (a.q_norm != nullptr) normalise(head, c, vector_of(a.q_norm), a.eps, head);
                rotate(rope, r, head);
            }
            const RowPlace place = places_[static_cast<std::size_t>(r)];
            const SequenceSlice& slice = step_.sequences[static_cast<std::size_t>(place.sequence)];
            const std::int32_t block = slice.blocks[static_cast<std::size_t>(place.slot / s.block_size)];
            const std::int32_t token = place.slot % s.block_size;
            for (std::int32_t g = 0; g < s.kv_heads; ++g) {
                float* head = k + r * kv_width + std::int64_t{g} * c;
                if (a.k_norm != nullptr) normalise(head, c, vector_of(a.k_norm), a.eps, head);
                rotate(rope, r, head);
                std::byte* keys = kv.panel(a.layer, false, block, g);
                std::byte* values = kv.panel(a.layer, true, block, g);
                for (std::int32_t i = 0; i < c; ++i) {
                    store_kv(s.dtype, keys, kv_index(s, false, token, i), head[i]);
                    store_kv(s.dtype, values, kv_index(s, true, token, i),
                             v[r * kv_width + std::int64_t{g} * c + i]);
                }
            }
        }
    });
}

void ReferenceDevice::run_attention(const AttentionArgs& a) {
    struct Task {
        const SequenceSlice* slice;
        std::int32_t kv_head;
        std::int32_t first;
        std::int32_t count;
    };
    std::vector<Task> tasks;
    for (const SequenceSlice& slice : step_.sequences)
        for (std::int32_t g = 0; g < a.kv->shape.kv_heads; ++g)
            for (std::int32_t first = 0; first < slice.rows; first += kQueryTile)
                tasks.push_back({&slice, g, first, std::min(kQueryTile, slice.rows - first)});
    attention_scratch_.resize(static_cast<std::size_t>(pool_.threads()));
    pool_.parallel_for(static_cast<std::int64_t>(tasks.size()), 1,
                       [&](std::int64_t first, std::int64_t last, int thread) {
                           for (std::int64_t i = first; i < last; ++i) {
                               const Task& t = tasks[static_cast<std::size_t>(i)];
                               attend(a, *t.slice, t.kv_head, t.first, t.count, thread);
                           }
                       });
}

// All query heads of one key/value head for a few rows: keys and values are converted once for all of them,
// each row sees its own range of keys, in order of position.
void ReferenceDevice::attend(const AttentionArgs& a, const SequenceSlice& slice, std::int32_t kv_head,
                             std::int32_t first, std::int32_t count, int thread) {
    const KvShape& s = a.kv->shape;
    const HostKv& kv = host_kv(a.kv);
    const std::int64_t c = s.head_dim;
    const std::int64_t stride = padded(c);
    const std::int32_t shared = a.heads / s.kv_heads;
    const std::int64_t width = std::int64_t{a.heads} * c;
    const auto oldest = [&](std::int32_t i) {
        return a.window == 0 ? 0 : std::max(0, slice.start + i - a.window + 1);
    };
    const std::int32_t from = oldest(first);
    const std::int32_t to = slice.start + first + count;
    const std::int64_t keys = to - from;
    const std::int64_t queries = std::int64_t{count} * shared;

    std::vector<float>& scratch = attention_scratch_[static_cast<std::size_t>(thread)];
    scratch.assign(static_cast<std::size_t>((2 * queries + 1) * stride + queries * keys), 0.0F);
    float* q = scratch.data();           // [queries][stride]
    float* sums = q + queries * stride;  // [queries][stride]
    float* row = sums + queries * stride;
    float* scores = row + stride;  // [queries][keys]
    for (std::int64_t i = 0; i < queries; ++i)
        std::memcpy(q + i * stride,
                    data_of(a.q) + (slice.first_row + first + i / shared) * width +
                        (kv_head * shared + i % shared) * c,
                    static_cast<std::size_t>(c) * sizeof(float));

    const auto load = [&](bool value, std::int32_t position) {
        const std::int32_t block = slice.blocks[static_cast<std::size_t>(position / s.block_size)];
        const std::byte* panel = kv.panel(a.layer, value, block, kv_head);
        const std::size_t at =
            kv_index(s, value, position % s.block_size, 0) * static_cast<std::size_t>(info_of(s.dtype).bytes);
        kernels_.dequantize(s.dtype, panel + at, c, row);
    };
    const auto sees = [&](std::int64_t i, std::int32_t position) {
        const auto r = first + static_cast<std::int32_t>(i / shared);
        return position >= oldest(r) && position <= slice.start + r;
    };
    for (std::int32_t p = from; p < to; ++p) {
        load(false, p);
        for (std::int64_t i = 0; i < queries; ++i) {
            if (!sees(i, p)) continue;
            float dot = 0;
            kernels_.dot(row, 1, q + i * stride, 1, stride, &dot, 1);
            scores[i * keys + (p - from)] = capped(dot * a.scale, a.softcap);
        }
    }
    for (std::int64_t i = 0; i < queries; ++i) {
        const auto r = first + static_cast<std::int32_t>(i / shared);
        float* begin = scores + i * keys + (oldest(r) - from);
        float* end = scores + i * keys + (slice.start + r + 1 - from);
        const float top = *std::max_element(begin, end);
        double sum = 0;
        for (float* p = begin; p < end; ++p) {
            *p = static_cast<float>(exact_exp(static_cast<double>(*p) - static_cast<double>(top)));
            sum += static_cast<double>(*p);
        }
        for (float* p = begin; p < end; ++p) *p = static_cast<float>(static_cast<double>(*p) / sum);
    }
    for (std::int32_t p = from; p < to; ++p) {
        load(true, p);
        for (std::int64_t i = 0; i < queries; ++i)
            if (sees(i, p))
                kernels_.add_scaled(scores[i * keys + (p - from)], row, stride, sums + i * stride);
    }
    for (std::int64_t i = 0; i < queries; ++i)
        std::memcpy(data_of(a.out) + (slice.first_row + first + i / shared) * width +
                        (kv_head * shared + i % shared) * c,
                    sums + i * stride, static_cast<std::size_t>(c) * sizeof(float));
}

void ReferenceDevice::add_to(float* x, const float* y, std::int64_t n, const float* post_norm, float eps) {
    pool_.parallel_for(rows(), 4, [&](std::int64_t first, std::int64_t last, int) {
        std::vector<float> normed(static_cast<std::size_t>(post_norm != nullptr ? n : 0));
        for (std::int64_t r = first; r < last; ++r) {
            const float* from = y + r * n;
            if (post_norm != nullptr) {
                normalise(from, n, post_norm, eps, normed.data());
                from = normed.data();
            }
            for (std::int64_t i = 0; i < n; ++i) x[r * n + i] += from[i];
        }
    });
}

void ReferenceDevice::run_project(const ProjectArgs& a) {
    const float* in = prepare(data_of(a.in), nullptr, rows(), a.w->cols, nullptr, 0);
    if (in == nullptr || !reserve(y_.reserve(static_cast<std::size_t>(rows() * a.w->rows)))) return;
    const Product product{a.w, vector_of(a.bias), y_.data()};
    multiply({&product, 1}, in, rows());
    add_to(data_of(a.x), y_.data(), a.w->rows, vector_of(a.post_norm), a.eps);
}

void ReferenceDevice::run_feed_forward(const FeedForwardArgs& a) {
    const std::int64_t n = rows();
    const std::int64_t f = a.gate->rows;
    const float* x = prepare(data_of(a.x), nullptr, n, a.norm->cols, vector_of(a.norm), a.eps);
    if (x == nullptr || !reserve(y_.reserve(static_cast<std::size_t>(n * std::max(f, a.down->rows))))) return;
    float* hidden = data_of(a.hidden);
    float* up = y_.data();
    const Product products[] = {{a.gate, vector_of(a.gate_bias), hidden}, {a.up, vector_of(a.up_bias), up}};
    multiply(products, x, n);
    pool_.parallel_for(n * f, 4096, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t i = first; i < last; ++i) hidden[i] = activate(a.activation, hidden[i]) * up[i];
    });
    const float* in = prepare(hidden, nullptr, n, f, nullptr, 0);
    if (in == nullptr) return;
    const Product product{a.down, vector_of(a.down_bias), y_.data()};
    multiply({&product, 1}, in, n);
    add_to(data_of(a.x), y_.data(), a.down->rows, vector_of(a.post_norm), a.eps);
}

void ReferenceDevice::run_logits(const LogitsArgs& a) {
    const auto outputs = static_cast<std::int64_t>(step_.output_rows.size());
    const float* x =
        prepare(data_of(a.x), step_.output_rows.data(), outputs, a.norm->cols, vector_of(a.norm), a.eps);
    if (x == nullptr) return;
    const Product product{a.w, nullptr, data_of(a.out)};
    multiply({&product, 1}, x, outputs);
    if (a.softcap == 0.0F) return;
    float* out = data_of(a.out);
    pool_.parallel_for(outputs * a.w->rows, 4096, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t i = first; i < last; ++i) out[i] = capped(out[i], a.softcap);
    });
}

}  // namespace

Result<std::unique_ptr<Device>> make_reference_device(int threads) {
    return std::unique_ptr<Device>(std::make_unique<ReferenceDevice>(threads));
}

}  // namespace vitrine
