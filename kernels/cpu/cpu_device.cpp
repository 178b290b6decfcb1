#include "kernels/cpu/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "kernels/host/block_formats.h"

namespace vitrine {
namespace cpu {

// Groups of weight rows that one piece of work covers at most.
constexpr std::int64_t kTileGroups = 4;

CpuDevice::CpuDevice(int threads) : HostDevice(threads) {
    workers_.resize(static_cast<std::size_t>(pool_.threads()));
    constexpr std::size_t kScores = std::size_t{kMaxQueries} * kPiece;
    for (Worker& worker : workers_) {
        worker.tile = make_aligned<float>(static_cast<std::size_t>(2 * kMaxTile * kTileGroups * kGroup));
        worker.scores = make_aligned<float>(kScores);
        ready_ = ready_ && worker.tile != nullptr && worker.scores != nullptr;
        if (worker.scores != nullptr) std::fill_n(worker.scores.get(), kScores, 0.0F);
    }
}

DeviceInfo CpuDevice::info() const {
    const SystemMemory memory = system_memory();
    DeviceInfo info;
    info.name = "cpu";
    info.description = std::string("CPU ") + matrix_.name + " · " + std::to_string(pool_.threads()) +
                       (pool_.threads() == 1 ? " thread" : " threads");
    info.memory_total = memory.total;
    info.memory_free = memory.free;
    info.threads = pool_.threads();
    return info;
}

bool CpuDevice::reserve(bool ok) {
    if (!ok)
        fail(ErrorKind::OutOfMemory, "No memory for the working buffers of a step. Use fewer tokens a step.");
    return ok;
}

Result<Weight> CpuDevice::upload(const HostTensor& tensor) {
    VITRINE_TRY(const std::uint64_t file_bytes, upload_bytes(tensor));
    // Regrouping needs at most sixteen rows and two blocks more, so this bound keeps every size below from
    // wrapping.
    if (file_bytes > (std::uint64_t{1} << 46U) || tensor.cols > (std::int64_t{1} << 40U))
        return Error{ErrorKind::OutOfMemory, "A matrix of " + std::to_string(tensor.rows) + " x " +
                                                 std::to_string(tensor.cols) + " is larger than any memory."};
    auto w = std::make_shared<GroupedWeight>();
    w->dtype = tensor.dtype;
    w->rows = tensor.rows;
    w->cols = tensor.cols;
    w->layout = tensor.dtype;
    std::int64_t tiles = 0;
    if (has_outside_scales(tensor.dtype)) {
        w->tile = std::min(tensor.scales.tile_cols, tensor.cols);
        tiles = (tensor.cols + w->tile - 1) / w->tile;
        if (is_quantized(tensor.dtype) && tiles > 1 && w->tile % kBlock != 0) w->layout = DType::F32;
    }
    const bool plain = tensor.dtype == DType::F32 && tensor.rows == 1;
    w->group_stride = group_bytes(w->layout, tensor.cols, has_outside_scales(w->layout) ? tiles : 0);
    const std::int64_t groups = groups_of(tensor.rows);
    w->bytes =
        plain ? file_bytes : static_cast<std::uint64_t>(groups) * static_cast<std::uint64_t>(w->group_stride);
    VITRINE_TRY(w->piece, arena_.take(w->bytes, "A matrix of the model"));
    if (plain) {
        std::memcpy(w->piece.data, tensor.data, file_bytes);
        w->vector = reinterpret_cast<const float*>(w->piece.data);
        return Weight(std::move(w));
    }
    pool_.parallel_for(groups, 8, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t g = first; g < last; ++g)
            fill_group(tensor, *w, g, w->piece.data + g * w->group_stride);
    });
    return Weight(std::move(w));
}

void CpuDevice::fill_group(const HostTensor& tensor, const GroupedWeight& w, std::int64_t g, std::byte* to) {
    const std::int64_t row = g * kGroup;
    const std::int64_t rows = std::min(kGroup, tensor.rows - row);
    if (w.layout != w.dtype) {
        std::vector<float> values(static_cast<std::size_t>(rows * w.cols));
        for (std::int64_t r = 0; r < rows; ++r)
            dequantize_matrix_row(tensor, row + r, values.data() + r * w.cols);
        const std::size_t stride = static_cast<std::size_t>(w.cols) * sizeof(float);
        regroup(w.layout, reinterpret_cast<const std::byte*>(values.data()), stride, rows, w.cols, to);
        return;
    }
    const std::uint64_t stride = *row_bytes(tensor.dtype, tensor.cols);
    regroup(w.layout, tensor.data + static_cast<std::uint64_t>(row) * stride, stride, rows, w.cols, to);
    if (!has_outside_scales(w.dtype)) return;
    auto* scales = reinterpret_cast<float*>(to + outside_scale_offset(w.layout, w.cols));
    for (std::int64_t k = 0; k < w.cols; k += w.tile)
        for (std::int64_t r = 0; r < kGroup; ++r, ++scales)
            *scales = r < rows ? tensor.scales.at(row + r, k, w.cols) : 0.0F;
}

void CpuDevice::read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) {
    if (row < 0 || row >= w.rows || static_cast<std::int64_t>(out.size()) < w.cols) return;
    const GroupedWeight& g = grouped(&w);
    if (g.vector != nullptr) {
        std::memcpy(out.data(), g.vector, static_cast<std::size_t>(w.cols) * sizeof(float));
        return;
    }
    read_grouped_row(g.layout, g.group(row / kGroup), row % kGroup, w.cols, g.tile, out.data());
}

bool CpuDevice::shape_panels(Panels& panels, std::int64_t rows, std::int64_t cols,
                             std::span<const WeightStorage* const> users) {
    panels.rows = rows;
    panels.cols = cols;
    panels.count = (rows + matrix_.max_tile - 1) / matrix_.max_tile;
    panels.codes = false;
    panels.floats = false;
    for (const WeightStorage* w : users) (takes_codes(w) ? panels.codes : panels.floats) = true;
    // Kernels may read beyond the last panel, see MatrixKernels::multiply_groups.
    const auto records = static_cast<std::size_t>(rows * blocks_of(cols) + kMaxTile);
    return reserve((!panels.codes || panels.code_memory.reserve(records * kRecord)) &&
                   (!panels.floats || panels.float_memory.reserve(static_cast<std::size_t>(rows * cols))));
}

void CpuDevice::fill_row(Panels& panels, std::int64_t panel, int t, const float* row) {
    const int rows = panels.rows_in(panel);
    if (panels.codes) {
        const std::int64_t whole = panels.cols / kBlock;
        matrix_.quantize(row, whole, panels.codes_of(panel), rows, t);
        if (panels.cols % kBlock != 0) {
            float last[kBlock] = {};
            std::copy(row + whole * kBlock, row + panels.cols, last);
            matrix_.quantize(last, 1, panels.codes_of(panel) + whole * kRecord * rows, rows, t);
        }
    }
    if (!panels.floats) return;
    float* out = panels.floats_of(panel) + t;
    for (std::int64_t k = 0; k < panels.cols; ++k) out[k * rows] = row[k];
}

void CpuDevice::fill_panels(Panels& panels, const float* x, const std::int32_t* picked, const float* norm,
                            float eps) {
    share(panels.rows <= 2, panels.rows, 4, [&](std::int64_t first, std::int64_t last, int thread) {
        std::vector<float>& normed = workers_[static_cast<std::size_t>(thread)].row;
        if (norm != nullptr && normed.size() < static_cast<std::size_t>(panels.cols))
            normed.resize(static_cast<std::size_t>(panels.cols));
        for (std::int64_t r = first; r < last; ++r) {
            const float* row = x + (picked != nullptr ? std::int64_t{picked[r]} : r) * panels.cols;
            if (norm != nullptr) {
                row_.normalise(row, panels.cols, norm, eps, normed.data());
                row = normed.data();
            }
            const std::int64_t panel = panels.panel_of(r);
            fill_row(panels, panel, static_cast<int>(r - panels.first_row(panel)), row);
        }
    });
}

void CpuDevice::multiply_groups(const WeightStorage* w, std::int64_t first_group, std::int64_t groups,
                                const Panels& panels, std::int64_t panel, float* out,
                                std::int64_t stride) const {
    const GroupedWeight& g = grouped(w);
    const int rows = panels.rows_in(panel);
    const std::byte* x = is_quantized(g.layout) ? panels.codes_of(panel)
                                                : reinterpret_cast<const std::byte*>(panels.floats_of(panel));
    const auto type = static_cast<std::size_t>(g.layout);
    if (type < std::size(matrix_.multiply)) {
        matrix_.multiply[type][rows](g.group(first_group), g.group_stride, groups, x, w->cols, out, stride);
        return;
    }
    GroupProduct p;
    p.groups = g.group(first_group);
    p.group_stride = g.group_stride;
    p.count = groups;
    p.cols = w->cols;
    p.tile = g.tile;
    p.panel = x;
    p.rows = rows;
    p.cold = panel == 0;
    p.out = out;
    p.out_stride = stride;
    matrix_.multiply_groups[type][rows](p);
}

void CpuDevice::store_groups(const Product& p, std::int64_t first_group, std::int64_t groups,
                             const Panels& panels, std::int64_t panel, Worker& worker) {
    const std::int64_t row = first_group * kGroup;
    const std::int64_t count = std::min(groups * kGroup, p.w->rows - row);
    float* out = p.out + panels.first_row(panel) * p.w->rows + row;
    if (!p.add && p.bias == nullptr && count == groups * kGroup) {
        multiply_groups(p.w, first_group, groups, panels, panel, out, p.w->rows);
        return;
    }
    constexpr std::int64_t kStride = kTileGroups * kGroup;
    multiply_groups(p.w, first_group, groups, panels, panel, worker.tile.get(), kStride);
    for (int t = 0; t < panels.rows_in(panel); ++t) {
        float* to = out + t * p.w->rows;
        const float* y = worker.tile.get() + t * kStride;
        if (p.add) {
            row_.add(to, y, p.bias == nullptr ? nullptr : p.bias + row, count);
            continue;
        }
        for (std::int64_t r = 0; r < count; ++r) to[r] = y[r] + (p.bias == nullptr ? 0.0F : p.bias[row + r]);
    }
}

// A matrix of one float32 row lies as it is: for completeness, not for speed.
void CpuDevice::multiply_plain(const Product& p, const Panels& panels) {
    const float* w = vector_of(p.w);
    for (std::int64_t panel = 0; panel < panels.count; ++panel) {
        const int rows = panels.rows_in(panel);
        const float* x = panels.floats_of(panel);
        for (int t = 0; t < rows; ++t) {
            float sum = 0;
            for (std::int64_t k = 0; k < panels.cols; ++k) sum += w[k] * x[k * rows + t];
            if (p.bias != nullptr) sum += p.bias[0];
            float& out = p.out[panels.first_row(panel) + t];
            out = p.add ? out + sum : sum;
        }
    }
}

void CpuDevice::multiply(std::span<const Product> products, const Panels& panels) {
    const auto groups = [](const Product& p) { return vector_of(p.w) != nullptr ? 0 : groups_of(p.w->rows); };
    std::int64_t total = 0;
    for (const Product& p : products) {
        total += groups(p);
        if (vector_of(p.w) != nullptr) multiply_plain(p, panels);
    }
    // Few rows read each weight once: small pieces end together. Many rows reuse the weights from the cache.
    const std::int64_t grain = panels.count == 1 ? 2 : kTileGroups;
    pool_.parallel_for(total, grain, [&](std::int64_t first, std::int64_t last, int thread) {
        Worker& worker = workers_[static_cast<std::size_t>(thread)];
        std::int64_t begin = 0;  // of this product's groups among all
        for (const Product& p : products) {
            const std::int64_t end = begin + groups(p);
            const std::int64_t stop = std::min(last, end);
            for (std::int64_t g = std::max(first, begin); g < stop; g += grain)
                for (std::int64_t panel = 0; panel < panels.count; ++panel)
                    store_groups(p, g - begin, std::min(grain, stop - g), panels, panel, worker);
            begin = end;
        }
    });
}

void CpuDevice::product_into(float* x, const WeightStorage* w, const float* bias, const float* post_norm,
                             float eps, const Panels& panels) {
    if (post_norm == nullptr) {
        const Product product{w, bias, x, true};
        multiply({&product, 1}, panels);
        return;
    }
    if (!reserve(y_.reserve(static_cast<std::size_t>(panels.rows * w->rows)))) return;
    const Product product{w, bias, y_.data(), false};
    multiply({&product, 1}, panels);
    share(panels.rows <= 4, panels.rows, 4, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t r = first; r < last; ++r) {
            float* y = y_.data() + r * w->rows;
            row_.normalise(y, w->rows, post_norm, eps, y);
            row_.add(x + r * w->rows, y, nullptr, w->rows);
        }
    });
}

void CpuDevice::run_project(const ProjectArgs& a) {
    const WeightStorage* const users[] = {a.w};
    if (!shape_panels(input_, rows(), a.w->cols, users)) return;
    fill_panels(input_, data_of(a.in), nullptr, nullptr, 0);
    product_into(data_of(a.x), a.w, vector_of(a.bias), vector_of(a.post_norm), a.eps, input_);
}

// Gate and up of the same rows are computed together, and their result goes straight into the panels of the
// last product. A unit is 32 rows: one block of codes.
void CpuDevice::run_feed_forward(const FeedForwardArgs& a) {
    const WeightStorage* const users[] = {a.gate, a.up};
    const WeightStorage* const last_user[] = {a.down};
    const std::int64_t f = a.gate->rows;
    if (!shape_panels(input_, rows(), a.norm->cols, users) || !shape_panels(hidden_, rows(), f, last_user))
        return;
    fill_panels(input_, data_of(a.x), nullptr, vector_of(a.norm), a.eps);
    float* hidden = data_of(a.hidden);
    if (vector_of(a.gate) != nullptr || vector_of(a.up) != nullptr) {  // F = 1 in float32
        if (!reserve(y_.reserve(static_cast<std::size_t>(rows() * f)))) return;
        const Product products[] = {{a.gate, vector_of(a.gate_bias), hidden},
                                    {a.up, vector_of(a.up_bias), y_.data()}};
        multiply(products, input_);
        row_.gate(a.activation, hidden, y_.data(), rows() * f);
        fill_panels(hidden_, hidden, nullptr, nullptr, 0);
    } else {
        constexpr std::int64_t kUnit = 2;
        constexpr std::int64_t kStride = kUnit * kGroup;
        const std::int64_t groups = groups_of(f);
        pool_.parallel_for(
            (groups + kUnit - 1) / kUnit, 1, [&](std::int64_t first, std::int64_t last, int thread) {
                float* gate = workers_[static_cast<std::size_t>(thread)].tile.get();
                float* up = gate + kMaxTile * kStride;
                for (std::int64_t u = first; u < last; ++u) {
                    const std::int64_t row = u * kStride;
                    const std::int64_t count = std::min(kStride, f - row);
                    const std::int64_t wide = std::min(kUnit, groups - u * kUnit);
                    for (std::int64_t panel = 0; panel < input_.count; ++panel) {
                        const int tile_rows = input_.rows_in(panel);
                        multiply_groups(a.gate, u * kUnit, wide, input_, panel, gate, kStride);
                        multiply_groups(a.up, u * kUnit, wide, input_, panel, up, kStride);
                        for (int t = 0; t < tile_rows; ++t) {
                            float* g = gate + t * kStride;
                            float* v = up + t * kStride;
                            if (a.gate_bias != nullptr)
                                for (std::int64_t r = 0; r < count; ++r)
                                    g[r] += vector_of(a.gate_bias)[row + r];
                            if (a.up_bias != nullptr)
                                for (std::int64_t r = 0; r < count; ++r)
                                    v[r] += vector_of(a.up_bias)[row + r];
                            row_.gate(a.activation, g, v, count);
                            if (hidden_.codes) {
                                std::fill(g + count, g + kStride, 0.0F);
                                matrix_.quantize(g, 1, hidden_.codes_of(panel) + u * kRecord * tile_rows,
                                                 tile_rows, t);
                            }
                            if (hidden_.floats)
                                for (std::int64_t r = 0; r < count; ++r)
                                    hidden_.floats_of(panel)[(row + r) * tile_rows + t] = g[r];
                        }
                    }
                }
            });
    }
    product_into(data_of(a.x), a.down, vector_of(a.down_bias), vector_of(a.post_norm), a.eps, hidden_);
}

void CpuDevice::run_logits(const LogitsArgs& a) {
    const WeightStorage* const users[] = {a.w};
    const auto outputs = static_cast<std::int64_t>(step_.output_rows.size());
    if (!shape_panels(input_, outputs, a.norm->cols, users)) return;
    fill_panels(input_, data_of(a.x), step_.output_rows.data(), vector_of(a.norm), a.eps);
    float* out = data_of(a.out);
    const Product product{a.w, nullptr, out, false};
    multiply({&product, 1}, input_);
    if (a.softcap == 0.0F) return;
    pool_.parallel_for(outputs * a.w->rows, 4096, [&](std::int64_t first, std::int64_t last, int) {
        row_.cap(out + first, last - first, a.softcap);
    });
}

}  // namespace cpu

Result<std::unique_ptr<Device>> make_cpu_device(int threads) {
    auto device = std::make_unique<cpu::CpuDevice>(threads);
    if (!device->ready())
        return Error{ErrorKind::OutOfMemory, "No memory for the working buffers of the processor's threads."};
    return std::unique_ptr<Device>(std::move(device));
}

}  // namespace vitrine
