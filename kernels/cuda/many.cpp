#include "kernels/cuda/many.h"

#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/blas.h"
#include "kernels/cuda/many_rows.h"
#include "kernels/cuda/many_tiles.h"

namespace vitrine::cuda::many {
namespace {

using blas::Number;

constexpr std::uint64_t kAligned = 256;
// Expanded weights: as much as may stay in the second-level cache between being written and read.
constexpr std::uint64_t kTileBytes = std::uint64_t{64} << 20U;
constexpr std::int32_t kTileStep = 128;                     // rows of a tile are a multiple of it
constexpr std::int64_t kFarthest = std::int64_t{1} << 38U;  // bytes from one matrix to the next of a batch
constexpr std::int64_t kMostTileRows = std::int64_t{1} << 17U;
constexpr std::int64_t kWidest = 32768;    // of outputs that need room
constexpr std::int32_t kMostRows = 65535;  // of a step: a dimension of a grid

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }
// Of rows of 16-bit inputs, in numbers.
std::int64_t stride_of(std::int64_t cols) { return (cols + 7) / 8 * 8; }

// The working memory cut into pieces.
struct Room {
    float* alpha = nullptr;    // alpha, zero
    float* inverse = nullptr;  // [rows]
    std::byte* inputs = nullptr;
    float* outputs = nullptr;
    std::byte* blas_space = nullptr;
    std::byte* tile = nullptr;
    std::uint64_t tile_bytes = 0;

    // `cols` inputs and `width` float32 outputs of `rows` rows. False where the memory is too small.
    bool cut(WorkView work, std::int64_t rows, std::int64_t cols, std::int64_t width) {
        std::uint64_t at = 0;
        const auto take = [&](std::uint64_t bytes) {
            std::byte* p = work.data + at;
            at += aligned(bytes);
            return p;
        };
        const auto r = static_cast<std::uint64_t>(rows);
        const auto inputs_stride = static_cast<std::uint64_t>(stride_of(cols));
        alpha = reinterpret_cast<float*>(take(2 * sizeof(float)));
        inverse = reinterpret_cast<float*>(take(r * sizeof(float)));
        inputs = take(r * inputs_stride * 2);
        outputs = reinterpret_cast<float*>(take(r * static_cast<std::uint64_t>(width) * sizeof(float)));
        blas_space = take(blas::kSpace);
        if (work.data == nullptr || at > work.size) return false;
        tile = work.data + at;
        tile_bytes = std::min(work.size - at, kTileBytes);
        return tile_bytes >= inputs_stride * 2 * kTileStep;
    }
};

// Matrices of the same inputs, their outputs side by side.
struct Stack {
    const WeightView* parts[3] = {};
    int count = 0;

    std::int64_t rows() const {
        std::int64_t sum = 0;
        for (int i = 0; i < count; ++i) sum += parts[i]->rows;
        return sum;
    }
};

// Multiplies BF16 on its tensor cores.
bool knows_bf16() {
    int device = 0;
    int major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           major >= 8;
}

// Of the inputs: BF16 where all weights are BF16, since there the range of f16 might not do; else F16.
Number number_for(std::initializer_list<const WeightView*> weights) {
    for (const WeightView* w : weights)
        if (w->type != DType::BF16 || w->cols % 8 != 0) return Number::F16;
    return knows_bf16() ? Number::BF16 : Number::F16;
}

// The library takes them as they lie.
bool as_they_lie(const WeightView& w, Number number) {
    return w.type == (number == Number::F16 ? DType::F16 : DType::BF16) && w.cols % 8 == 0;
}

struct Place {
    void* data = nullptr;
    Number number = Number::F32;
    std::int64_t stride = 0;
    std::byte* column(std::int64_t i) const {
        return static_cast<std::byte*>(data) + i * (number == Number::F32 ? 4 : 2);
    }
};

int multiprocessors() {
    int device = 0;
    int count = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return 132;
    return count;
}

// Into how many rows a stack of `rows` is cut, at most `most`: where the products' own tiles of 128 × 256
// fill the multiprocessors best.
std::int32_t tile_rows(std::int64_t rows, std::int64_t tokens, std::int64_t most) {
    const std::int64_t at_once = multiprocessors();
    const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const auto rounds = [&](std::int64_t r) { return up(up(r, 128) * up(tokens, 256), at_once); };
    std::int64_t best = 0;
    double least = 0;
    const std::int64_t fewest = up(rows, most);
    for (std::int64_t pieces = fewest; pieces <= 2 * fewest + 2; ++pieces) {
        const std::int64_t size = up(up(rows, pieces), kTileStep) * kTileStep;
        if (size > most) continue;
        // A piece costs its launches beside its rounds.
        const double cost =
            static_cast<double>(rows / size * rounds(size) + (rows % size != 0 ? rounds(rows % size) : 0)) +
            0.15 * static_cast<double>(up(rows, size));
        if (best == 0 || cost < least) {
            best = size;
            least = cost;
        }
    }
    return static_cast<std::int32_t>(best == 0 ? most : best);
}

// All products of one operation. Goes through them twice: `enqueue` false only asks whether there is a kernel
// for each.
class Products {
  public:
    Products(const Room& room, Number in, std::int32_t tokens, cudaStream_t stream)
        : room_(room), in_(in), tokens_(tokens), stream_(stream) {}

    // out (+)= alpha · stack · inputs, alpha from the room where `scaled`.
    bool go(const Stack& stack, const Place& out, bool add, bool scaled, bool enqueue) const {
        std::int64_t column = 0;
        for (int i = 0; i < stack.count;) {
            const WeightView& w = *stack.parts[i];
            if (!as_they_lie(w, in_)) {
                int end = i + 1;
                while (end < stack.count && !as_they_lie(*stack.parts[end], in_)) ++end;
                if (!by_tiles(stack, i, end, out, column, add, scaled, enqueue)) return false;
                for (; i < end; ++i) column += stack.parts[i]->rows;
                continue;
            }
            // Two small matrices fill the device better at once: from where they lie if they are of one shape
            // and the second lies behind the first (the library's steps are not negative), else from a copy.
            const bool two = i + 1 < stack.count && as_they_lie(*stack.parts[i + 1], in_) &&
                             stack.parts[i + 1]->rows <= w.rows &&
                             std::int64_t{w.rows} * tokens_ < std::int64_t{128} * 256 * multiprocessors();
            const std::int64_t step = two ? stack.parts[i + 1]->bytes - w.bytes : 0;
            const bool stepping = stack.parts[i + two]->rows == w.rows && step > 0 && step < kFarthest;
            if (two && !stepping) {
                if (!by_tiles(stack, i, i + 2, out, column, add, scaled, enqueue)) return false;
                column += std::int64_t{w.rows} + stack.parts[i + 1]->rows;
                i += 2;
                continue;
            }
            blas::Product p = product(w.rows, w.cols, out, add, scaled);
            blas::Operands o;
            o.w = w.bytes;
            o.out = out.column(column);
            p.w_stride = w.cols;
            if (two) {
                p.matrices = 2;
                o.w_step = step / 2;
                o.out_step = w.rows;
            }
            p.alignment =
                blas::alignment_of(o.w, o.out, step, out.column(column + w.rows) - out.column(column));
            if (!finish(p, o, enqueue)) return false;
            column += std::int64_t{w.rows} * p.matrices;
            i += p.matrices;
        }
        return true;
    }

  private:
    blas::Product product(std::int32_t rows, std::int32_t cols, const Place& out, bool add,
                          bool scaled) const {
        blas::Product p;
        p.rows = rows;
        p.cols = cols;
        p.tokens = tokens_;
        p.x_stride = stride_of(cols);
        p.out_stride = out.stride;
        p.in = in_;
        p.out = out.number;
        p.add = add;
        p.scaled = scaled;
        return p;
    }

    bool finish(const blas::Product& p, blas::Operands o, bool enqueue) const {
        if (!enqueue) return blas::ready(p);
        o.x = room_.inputs;
        o.alpha = room_.alpha;
        o.space = room_.blas_space;
        return blas::run(p, o, stream_);
    }

    // Rows of w as 16-bit numbers.
    void fill(const WeightView& w, std::int64_t first, std::int64_t count, std::byte* to) const {
        const std::int64_t row = stride_of(w.cols) * 2;
        if (as_they_lie(w, in_))
            static_cast<void>(cudaMemcpyAsync(to, w.bytes + first * row,
                                              static_cast<std::size_t>(count * row), cudaMemcpyDeviceToDevice,
                                              stream_));
        else
            expand_rows(w, static_cast<std::int32_t>(first), static_cast<std::int32_t>(count), to, row / 2,
                        stream_);
    }

    // Parts [begin, end) as one matrix, expanded piece after piece into the room's tile.
    bool by_tiles(const Stack& stack, int begin, int end, const Place& out, std::int64_t column, bool add,
                  bool scaled, bool enqueue) const {
        const std::int32_t cols = stack.parts[begin]->cols;
        const std::int64_t stride = stride_of(cols);
        std::int64_t rows = 0;
        for (int i = begin; i < end; ++i) rows += stack.parts[i]->rows;
        const std::int64_t fit =
            std::min(static_cast<std::int64_t>(room_.tile_bytes) / (2 * stride) / kTileStep * kTileStep,
                     kMostTileRows);
        const std::int32_t size = tile_rows(rows, tokens_, fit);
        for (std::int64_t first = 0; first < rows; first += size) {
            const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(size, rows - first));
            if (enqueue) {
                std::int64_t part_begin = 0;
                for (int i = begin; i < end; ++i) {
                    const WeightView& w = *stack.parts[i];
                    const std::int64_t from = std::max(first, part_begin);
                    const std::int64_t to = std::min(first + count, part_begin + w.rows);
                    if (from < to)
                        fill(w, from - part_begin, to - from, room_.tile + (from - first) * stride * 2);
                    part_begin += w.rows;
                }
            }
            blas::Product p = product(count, cols, out, add, scaled);
            blas::Operands o;
            o.w = room_.tile;
            o.out = out.column(column + first);
            p.w_stride = stride;
            p.alignment = blas::alignment_of(o.w, o.out);
            if (!finish(p, o, enqueue)) return false;
        }
        return true;
    }

    const Room& room_;
    Number in_;
    std::int32_t tokens_;
    cudaStream_t stream_;
};

bool possible(std::int32_t rows) { return rows > 0 && rows <= kMostRows && blas::problem().empty(); }

// x += post_norm(w · inputs + bias), with the inputs in the room and `residual` prepared beside them.
Place residual_place(const Room& room, const Residual& residual, const float* post_norm, float* x) {
    return {post_norm != nullptr ? room.outputs : x, Number::F32, residual.n};
}
void finish_sum(const Room& room, const Residual& residual, std::int32_t rows, const float* bias,
                const float* post_norm, float eps, float* x, cudaStream_t stream) {
    if (post_norm == nullptr) return finish_residual(residual, rows, stream);
    add_normalised(room.outputs, room.inverse, rows, residual.n, bias, post_norm, eps, x, stream);
}

}  // namespace

std::string problem() { return blas::problem(); }
void release() { blas::release(); }

std::uint64_t work_bytes(std::int64_t rows, std::int64_t cols, std::int64_t width) {
    const auto r = static_cast<std::uint64_t>(rows);
    const auto inputs_stride = static_cast<std::uint64_t>(stride_of(cols));
    return aligned(2 * sizeof(float)) + aligned(r * sizeof(float)) + aligned(r * inputs_stride * 2) +
           aligned(r * static_cast<std::uint64_t>(std::min(width, kWidest)) * sizeof(float)) +
           aligned(blas::kSpace) + std::max(kTileBytes, inputs_stride * 2 * kTileStep);
}

bool qkv(const QkvView& a, const StepView& step, WorkView work, cudaStream_t stream) {
    const std::int32_t cols = a.wq.cols;
    const Stack stack{{&a.wq, &a.wk, &a.wv}, 3};
    const std::int64_t width = stack.rows();
    Room room;
    if (!possible(step.rows) || a.heads.kv.head_dim % 2 != 0 || !room.cut(work, step.rows, cols, width))
        return false;
    const Number number = number_for({&a.wq, &a.wk, &a.wv});
    const Products products(room, number, step.rows, stream);
    const Place out{room.outputs, Number::F32, width};
    if (!products.go(stack, out, false, true, false)) return false;
    normalise_rows(a.x, nullptr, step.rows, cols, a.norm, a.eps, number, room.inputs, stride_of(cols),
                   room.alpha, stream);
    if (!products.go(stack, out, false, true, true)) return false;
    HeadsArgs heads = a.heads;
    heads.y = room.outputs;
    finish_many_heads(heads, width, a.bq, a.bk, a.bv, step, stream);
    return true;
}

bool project(const ProjectView& a, const StepView& step, WorkView work, cudaStream_t stream) {
    const Stack stack{{&a.w}, 1};
    Room room;
    if (!possible(step.rows) || !room.cut(work, step.rows, a.w.cols, a.post_norm != nullptr ? a.w.rows : 0))
        return false;
    const bool add = a.post_norm == nullptr;
    const Residual residual{add ? a.x : nullptr, a.w.rows, a.bias, room.inverse};
    const Place out = residual_place(room, residual, a.post_norm, a.x);
    const Number number = number_for({&a.w});
    const Products products(room, number, step.rows, stream);
    if (!products.go(stack, out, add, false, false)) return false;
    narrow_rows(a.in, step.rows, a.w.cols, number, room.inputs, stride_of(a.w.cols), residual, stream);
    if (!products.go(stack, out, add, false, true)) return false;
    finish_sum(room, residual, step.rows, a.bias, a.post_norm, a.eps, a.x, stream);
    return true;
}

bool feed_forward(const FeedForwardView& a, const StepView& step, WorkView work, cudaStream_t stream) {
    const std::int32_t cols = a.gate.cols;
    const std::int32_t f = a.gate.rows;
    const Stack in{{&a.gate, &a.up}, 2};
    const Stack down{{&a.down}, 1};
    Room room;
    if (!possible(step.rows) ||
        !room.cut(work, step.rows, std::max(cols, f), a.post_norm != nullptr ? a.down.rows : 0))
        return false;
    // Gate and up take 16 bits each, so both fit where one of 32 would.
    const Number number = number_for({&a.gate, &a.up, &a.down});
    const Place hidden{a.hidden, number, 2 * std::int64_t{f}};
    const bool add = a.post_norm == nullptr;
    const Residual residual{add ? a.x : nullptr, a.down.rows, a.down_bias, room.inverse};
    const Place out = residual_place(room, residual, a.post_norm, a.x);
    const Products products(room, number, step.rows, stream);
    if (!products.go(in, hidden, false, false, false) || !products.go(down, out, add, false, false))
        return false;
    normalise_rows(a.x, nullptr, step.rows, cols, a.norm, a.eps, number, room.inputs, stride_of(cols),
                   room.alpha, stream);
    if (!products.go(in, hidden, false, false, true)) return false;
    gate_rows(a.hidden, room.alpha, step.rows, f, number, a.gate_bias, a.up_bias, a.activation, room.inputs,
              stride_of(f), residual, stream);
    if (!products.go(down, out, add, false, true)) return false;
    finish_sum(room, residual, step.rows, a.down_bias, a.post_norm, a.eps, a.x, stream);
    return true;
}

bool logits(const LogitsView& a, const StepView& step, WorkView work, cudaStream_t stream) {
    const Stack stack{{&a.w}, 1};
    Room room;
    if (!possible(step.outputs) || !room.cut(work, step.outputs, a.w.cols, 0)) return false;
    const Place out{a.out, Number::F32, a.w.rows};
    const Number number = number_for({&a.w});
    const Products products(room, number, step.outputs, stream);
    if (!products.go(stack, out, false, true, false)) return false;
    normalise_rows(a.x, step.output_rows, step.outputs, a.w.cols, a.norm, a.eps, number, room.inputs,
                   stride_of(a.w.cols), room.alpha, stream);
    if (!products.go(stack, out, false, true, true)) return false;
    if (a.softcap != 0.0F) soft_cap(a.out, std::int64_t{step.outputs} * a.w.rows, a.softcap, stream);
    return true;
}

}  // namespace vitrine::cuda::many
