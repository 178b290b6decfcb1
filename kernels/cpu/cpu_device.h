// The fast device: regrouped weights (weight_layout.h), integer dot products on activations rounded to 8 bits
// (matrix_kernels.h), attention by pieces (attention_kernels.h), work shared by a thread pool.
//
// Batch invariance: every output row has the same bits however rows are gathered into steps, however threads
// share the work, and whatever the KV block size. The kernels' headers say why. It is what lets the engine
// schedule freely; tests/kernels/tst_invariance checks it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/attention_kernels.h"
#include "kernels/cpu/matrix_kernels.h"
#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/weight_layout.h"
#include "kernels/host/host_device.h"
#include "kernels/host/read_pass.h"

namespace vitrine::cpu {

class GroupedWeight final : public HostWeight {
  public:
    WeightArena::Piece piece;       // groups, or one plain row where `vector` is set
    std::int64_t group_stride = 0;  // bytes
    std::int64_t tile = 1;          // columns that share an outside scale
    // How it lies, dtype except where outside scales change within a block of codes: there as F32.
    DType layout = DType::F32;
    const std::byte* group(std::int64_t g) const { return piece.data + g * group_stride; }
};
inline const GroupedWeight& grouped(const WeightStorage* w) { return *static_cast<const GroupedWeight*>(w); }
inline bool takes_codes(const WeightStorage* w) { return is_quantized(grouped(w).layout); }

// The rows of a product, gathered into panels: as codes, as floats, or both.
struct Panels {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t count = 0;  // panels
    bool codes = false;
    bool floats = false;
    Scratch<std::byte> code_memory;
    Scratch<float> float_memory;

    // Rows are spread evenly: the first rows % count panels have one more.
    std::int64_t first_row(std::int64_t panel) const {
        return panel * (rows / count) + std::min(panel, rows % count);
    }
    std::int64_t panel_of(std::int64_t row) const {
        const std::int64_t larger =
            rows % count * (rows / count + 1);  // rows in the panels that have one more
        return row < larger ? row / (rows / count + 1) : rows % count + (row - larger) / (rows / count);
    }
    int rows_in(std::int64_t panel) const {
        return static_cast<int>(rows / count + (panel < rows % count ? 1 : 0));
    }
    std::byte* codes_of(std::int64_t panel) const {
        return code_memory.data() + first_row(panel) * blocks_of(cols) * kRecord;
    }
    float* floats_of(std::int64_t panel) const { return float_memory.data() + first_row(panel) * cols; }
};

class CpuDevice final : public HostDevice {
  public:
    explicit CpuDevice(int threads);
    bool ready() const { return ready_; }  // false: no memory for the threads' working buffers

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
    std::size_t kv_index(const KvShape& shape, bool value, std::int32_t token, std::int32_t c) const override;

  private:
    struct Product {
        const WeightStorage* w = nullptr;
        const float* bias = nullptr;
        float* out = nullptr;  // [rows, w->rows]
        bool add = false;      // to what is there
    };
    struct Worker {
        std::vector<float> row;        // one normalised row
        AlignedArray<float> tile;      // products of a few groups with a panel
        AlignedArray<float> scores;    // [kMaxQueries][kPiece]
        std::vector<float> attention;  // queries and partial results of a tile
    };
    struct AttentionTile;

    // Writes a group of a matrix that is being uploaded.
    static void fill_group(const HostTensor& tensor, const GroupedWeight& w, std::int64_t g, std::byte* to);
    // Makes `panels` ready for `rows` rows of `cols`; false when there is no memory.
    bool shape_panels(Panels& panels, std::int64_t rows, std::int64_t cols,
                      std::span<const WeightStorage* const> users);
    // Fills them from rows of x (picked where not null), normalised where norm is not null.
    void fill_panels(Panels& panels, const float* x, const std::int32_t* picked, const float* norm,
                     float eps);
    void fill_row(Panels& panels, std::int64_t panel, int t, const float* row);
    // tile[t · stride + r] for rows [16 first_group, …) of w; stride is 16 · groups.
    void multiply_groups(const WeightStorage* w, std::int64_t first_group, std::int64_t groups,
                         const Panels& panels, std::int64_t panel, float* out, std::int64_t stride) const;
    void multiply(std::span<const Product> products, const Panels& panels);
    void store_groups(const Product& p, std::int64_t first_group, std::int64_t groups, const Panels& panels,
                      std::int64_t panel, Worker& worker);
    void multiply_plain(const Product& p, const Panels& panels);
    // x += norm(y + bias), y the product's output.
    void product_into(float* x, const WeightStorage* w, const float* bias, const float* post_norm, float eps,
                      const Panels& panels);
    void finish_heads(const QkvArgs& a, std::int64_t row, float* k, const float* v);
    void pack_queries(const AttentionArgs& a, const AttentionTile& tile, float* q) const;
    void attend(const AttentionArgs& a, const AttentionTile& tile, Worker& worker) const;
    void attend_piece(const AttentionArgs& a, const AttentionTile& tile, std::int32_t index, Worker& worker);
    void store_attention(const AttentionArgs& a, const AttentionTile& tile, const Partial& p) const;
    bool reserve(bool ok);
    // Runs work over [0, count) on this thread alone where `small`, else on all.
    template <class Work>
    void share(bool small, std::int64_t count, std::int64_t grain, const Work& work) {
        if (small)
            work(std::int64_t{0}, count, 0);
        else
            pool_.parallel_for(count, grain, work);
    }

    const MatrixKernels matrix_ = matrix_kernels();
    const RowKernels& row_ = row_kernels();
    const AttentionKernels& attention_ = attention_kernels();
    WeightArena arena_;
    ReadPass read_pass_;
    std::vector<Worker> workers_;
    bool ready_ = true;
    Panels input_;
    Panels hidden_;
    Scratch<float> y_;
    Scratch<float> k_;
    Scratch<float> v_;
    Scratch<float> partials_;
    std::vector<AttentionTile> tiles_;
    std::unique_ptr<std::atomic<std::int32_t>[]> pieces_left_;
    std::size_t pieces_left_count_ = 0;
};

// Some query rows of one sequence that share a key/value head.
struct CpuDevice::AttentionTile {
    const SequenceSlice* slice = nullptr;
    std::int32_t kv_head = 0;
    std::int32_t first_head = 0;  // of the query heads, absolute
    std::int32_t heads = 0;
    std::int32_t first = 0;  // row within the slice
    std::int32_t count = 0;
    std::int32_t first_piece = 0;  // pieces that any of the rows sees
    std::int32_t pieces = 0;
    std::int64_t first_task = 0;  // where pieces are shared out
};

}  // namespace vitrine::cpu
