// The rate of single kernels on one thread with everything in the second-level cache: what the arithmetic
// gives when memory does not hold it back. The best of many runs of a few microseconds, so other processes on
// the machine hardly matter.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/attention_kernels.h"
#include "kernels/cpu/matrix_kernels.h"
#include "kernels/cpu/peak.h"
#include "kernels/cpu/weight_layout.h"
#include "kernels/host/host_device.h"
#include "tests/kernels/random_tensor.h"

namespace vitrine {
namespace {

template <class Run>
double best_seconds(const Run& run) {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 500; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

void products(double peak) {
    std::mt19937 random(3);
    const cpu::MatrixKernels kernels = cpu::matrix_kernels();
    for (const DType type : {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::IQ4_NL,
                             DType::Q2_K, DType::Q3_K, DType::Q4_K, DType::Q5_K, DType::Q6_K, DType::IQ4_XS,
                             DType::I8, DType::F8_E4M3, DType::F16, DType::BF16, DType::F32}) {
        const std::int64_t cols = info_of(type).block == 256 ? 512 : 576;
        const bool codes = cpu::is_quantized(type);
        const std::int64_t groups = codes ? 48 : 24;
        const std::int64_t bytes = cpu::group_bytes(type, cols, has_outside_scales(type) ? 1 : 0);
        const test::OwnedTensor tensor = test::random_tensor(type, groups * cpu::kGroup, cols, 0.1F, random);
        const auto stride = row_bytes(type, cols).value_or(0);
        const auto weights = make_aligned<std::byte>(static_cast<std::size_t>(bytes * groups));
        const double regrouped = best_seconds([&] {
            for (std::int64_t g = 0; g < groups; ++g)
                cpu::regroup(type, tensor.bytes.data() + static_cast<std::uint64_t>(g * cpu::kGroup) * stride,
                             stride, cpu::kGroup, cols, weights.get() + g * bytes);
        });
        if (has_outside_scales(type)) {
            const std::vector<float> ones(cpu::kGroup, 0.01F);
            for (std::int64_t g = 0; g < groups; ++g)
                std::memcpy(weights.get() + g * bytes + cpu::outside_scale_offset(type, cols), ones.data(),
                            64);
        }
        std::printf("%-7s regrouped at %.1f GB/s of the file\n", info_of(type).name.data(),
                    static_cast<double>(tensor.bytes.size()) / regrouped * 1e-9);
        for (int rows = 1; rows <= kernels.max_tile; ++rows) {
            const std::vector<float> x =
                test::random_floats(static_cast<std::size_t>(cols * rows), 1.0F, random);
            const auto panel = make_aligned<std::byte>(static_cast<std::size_t>(cols * rows) * 4 + 4096);
            if (codes) {
                for (int t = 0; t < rows; ++t)
                    kernels.quantize(x.data() + t * cols, cols / cpu::kBlock, panel.get(), rows, t);
            } else {
                std::memcpy(panel.get(), x.data(), x.size() * sizeof(float));
            }
            std::vector<float> out(static_cast<std::size_t>(groups * cpu::kGroup * rows));
            cpu::GroupProduct p;
            p.groups = weights.get();
            p.group_stride = bytes;
            p.count = groups;
            p.cols = cols;
            p.tile = cols;
            p.panel = panel.get();
            p.rows = rows;
            p.out = out.data();
            p.out_stride = groups * cpu::kGroup;
            const auto index = static_cast<std::size_t>(type);
            const double s = best_seconds([&] {
                if (index < std::size(kernels.multiply))
                    kernels.multiply[index][rows](p.groups, bytes, groups, p.panel, cols, p.out,
                                                  p.out_stride);
                else
                    kernels.multiply_groups[index][rows](p);
            });
            const double rate = static_cast<double>(groups * cpu::kGroup * cols * rows) / s;
            std::printf("%-7s %2d rows  %7.2f us  %6.1f GB/s  %6.1f GMAC/s", info_of(type).name.data(), rows,
                        s * 1e6, static_cast<double>(bytes * groups) / s * 1e-9, rate * 1e-9);
            if (codes) std::printf("  %3.0f %% of peak", 100 * rate / peak);
            std::printf("\n");
        }
    }
}

void attention() {
    std::mt19937 random(5);
    const std::int32_t c = 64;
    const std::int32_t block = 16;
    const std::size_t elements = std::size_t{cpu::kPiece} * c;
    const test::OwnedTensor keys =
        test::random_tensor(DType::F16, 1, static_cast<std::int64_t>(elements), 1.0F, random);
    std::vector<std::int32_t> blocks(cpu::kPiece / block);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::int32_t>(i);
    const auto scores = make_aligned<float>(std::size_t{cpu::kMaxQueries} * cpu::kPiece);
    for (int rows = 1; rows <= cpu::kMaxQueries; ++rows) {
        const std::vector<float> q = test::random_floats(static_cast<std::size_t>(c * rows), 0.1F, random);
        std::vector<float> out(static_cast<std::size_t>(rows * (c + 2)));
        cpu::KeyValues kv;
        kv.keys = keys.bytes.data();
        kv.values = keys.bytes.data();
        kv.block_stride = std::size_t{block} * c * 2;
        kv.blocks = blocks.data();
        kv.block_size = block;
        kv.head_dim = c;
        cpu::Queries queries;
        queries.count = rows;
        queries.q = q.data();
        for (int m = 0; m < rows; ++m) {
            queries.from[m] = 0;
            queries.to[m] = cpu::kPiece;
        }
        const cpu::Partial partial{out.data(), out.data() + rows, out.data() + 2 * rows};
        const double s =
            best_seconds([&] { cpu::attention_kernels().piece(kv, queries, 0, scores.get(), partial); });
        std::printf("attention over 256 keys, head of 64, F16: %2d query rows %6.2f us  %6.1f GMAC/s\n", rows,
                    s * 1e6, 2.0 * cpu::kPiece * c * rows / s * 1e-9);
    }
}

}  // namespace
}  // namespace vitrine

int main() {
    const double peak = vitrine::integer_dot_peak(1);
    std::printf("%s, one thread, integer dot product peak %.0f GMAC/s\n", vitrine::cpu::matrix_kernels().name,
                peak * 1e-9);
    vitrine::products(peak);
    vitrine::attention();
    return 0;
}
