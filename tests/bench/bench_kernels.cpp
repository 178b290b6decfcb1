// What the kernels reach on this machine, on random weights of the shape of a 135-million-weight model.
//
//   bench_kernels [--device cpu|reference] [--threads N] [--format Q4_1] [--output Q8_0] [--rounds N]
//                 [--context N] [--prompt N] [--layers N]
//
// One line per measurement: time, tokens per second, bytes of weights read per second and their share of the
// read bandwidth measured beside it in the same round, multiply-adds per second and their share of the
// integer dot product's peak. All weights of a round lie far apart in memory (about 100 MB), so each token
// reads them from memory again, or from a shared last-level cache where that is larger.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/peak.h"
#include "kernels/device.h"
#include "tests/kernels/random_tensor.h"

namespace vitrine {
namespace {

struct Options {
    std::string device = "cpu";
    int threads = 0;
    DType format = DType::Q4_1;
    DType output = DType::Q8_0;
    int rounds = 5;
    int context = 128;
    int prompt = 256;
    int layers = 30;
};

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class T>
T need(Result<T> r) {
    if (!r.ok()) {
        std::fprintf(stderr, "%s\n", r.error().message.c_str());
        std::exit(1);
    }
    return std::move(r).value();
}

constexpr std::int32_t kD = 576, kH = 9, kG = 3, kC = 64, kF = 1536, kV = 49152;

struct Layer {
    Weight norm, wq, wk, wv, wo, norm2, gate, up, down;
};

struct Model {
    std::unique_ptr<Device> device;
    std::vector<Layer> layers;
    Weight norm, embedding;
    Buffer x, q, attended, hidden, logits;
    KvCache kv;
    std::vector<std::int32_t> blocks;
    RopeSpec rope;
    std::uint64_t layer_bytes = 0;
    PhaseTimes times;

    double step(int start, int rows, bool with_logits) {
        std::vector<std::int32_t> tokens, positions, outputs;
        for (int i = 0; i < rows; ++i) {
            tokens.push_back((start * 31 + i * 17) % kV);
            positions.push_back(start + i);
        }
        if (with_logits) outputs.push_back(rows - 1);
        const SequenceSlice slice{0, rows, start, blocks};
        const double begin = seconds();
        device->begin_step({tokens, positions, {&slice, 1}, outputs, {&rope, 1}});
        device->embed({embedding.get(), 1.0F, x.get()});
        for (std::size_t l = 0; l < layers.size(); ++l) {
            const Layer& w = layers[l];
            QkvArgs qkv;
            qkv.x = x.get(), qkv.norm = w.norm.get(), qkv.wq = w.wq.get(), qkv.wk = w.wk.get(),
            qkv.wv = w.wv.get();
            qkv.heads = kH, qkv.layer = static_cast<std::int32_t>(l), qkv.kv = kv.get(), qkv.q = q.get();
            device->qkv(qkv);
            AttentionArgs attention;
            attention.q = q.get(), attention.kv = kv.get(), attention.layer = static_cast<std::int32_t>(l);
            attention.heads = kH, attention.scale = 0.125F, attention.out = attended.get();
            device->attention(attention);
            ProjectArgs project;
            project.in = attended.get(), project.w = w.wo.get(), project.x = x.get();
            device->project(project);
            FeedForwardArgs ffn;
            ffn.x = x.get(), ffn.norm = w.norm2.get(), ffn.gate = w.gate.get(), ffn.up = w.up.get();
            ffn.down = w.down.get(), ffn.hidden = hidden.get();
            device->feed_forward(ffn);
        }
        if (with_logits) {
            LogitsArgs args;
            args.x = x.get(), args.norm = norm.get(), args.w = embedding.get(), args.out = logits.get();
            device->logits(args);
        }
        const Status status = device->finish_step();
        const double taken = seconds() - begin;
        if (!status.ok()) {
            std::fprintf(stderr, "%s\n", status.error().message.c_str());
            std::exit(1);
        }
        times = device->phase_times();
        return taken;
    }
};

Model make_model(const Options& o) {
    Model m;
    m.device = need(o.device == "reference" ? make_reference_device(o.threads) : make_cpu_device(o.threads));
    std::mt19937 random(7);
    const auto matrix = [&](DType type, std::int64_t rows, std::int64_t cols) {
        const Weight w = need(m.device->upload(test::random_tensor(type, rows, cols, 0.02F, random).view()));
        m.layer_bytes += w->bytes;
        return w;
    };
    const auto norm = [&] {
        return need(m.device->upload(test::vector_tensor(std::vector<float>(kD, 1.0F)).view()));
    };
    for (int l = 0; l < o.layers; ++l) {
        Layer w;
        w.norm = norm();
        w.wq = matrix(o.format, kH * kC, kD);
        w.wk = matrix(o.format, kG * kC, kD);
        w.wv = matrix(o.format, kG * kC, kD);
        w.wo = matrix(o.format, kD, kH * kC);
        w.norm2 = norm();
        w.gate = matrix(o.format, kF, kD);
        w.up = matrix(o.format, kF, kD);
        w.down = matrix(o.format, kD, kF);
        m.layers.push_back(w);
    }
    const std::uint64_t layers_only = m.layer_bytes;
    m.norm = norm();
    m.embedding = matrix(o.output, kV, kD);
    m.layer_bytes = layers_only;
    const auto rows = static_cast<std::size_t>(std::max(o.prompt, 16));
    m.x = need(m.device->allocate(rows * kD));
    m.q = need(m.device->allocate(rows * kH * kC));
    m.attended = need(m.device->allocate(rows * kH * kC));
    m.hidden = need(m.device->allocate(rows * kF));
    m.logits = need(m.device->allocate(rows * kV));
    KvShape shape{o.layers, kG, kC, 16, 1, DType::F16};
    shape.blocks = (std::max(o.context, o.prompt) + 256) / 16 + 1;
    m.kv = need(m.device->make_kv(shape));
    for (std::int32_t b = 0; b < shape.blocks; ++b) m.blocks.push_back(b);
    m.rope.rotary_dim = kC;
    for (int i = 0; i < kC / 2; ++i)
        m.rope.inv_freq.push_back(std::pow(10000.0, -2.0 * static_cast<double>(i) / kC));
    return m;
}

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

void bench(const Options& o) {
    Model m = make_model(o);
    const DeviceInfo info = m.device->info();
    std::printf("%s, %d layers %s, output %s, %d tokens of context\n", info.description.c_str(), o.layers,
                info_of(o.format).name.data(), info_of(o.output).name.data(), o.context);
    const double peak = integer_dot_peak(info.threads);
    std::printf("integer dot product peak: %.0f GMAC/s\n", peak * 1e-9);
    const std::uint64_t area = 256U << 20U;
    need(m.device->read_pass(area));

    const double layer_macs =
        static_cast<double>(o.layers) * (2.0 * kD * kH * kC + 2.0 * kD * kG * kC + 3.0 * kD * kF);
    const double output_macs = static_cast<double>(kD) * kV;
    const double weight_bytes = static_cast<double>(m.layer_bytes + m.embedding->bytes);
    // Fill the context once.
    for (int at = 0; at < o.context;) {
        const int rows = std::min(o.prompt, o.context - at);
        m.step(at, rows, false);
        at += rows;
    }
    std::vector<double> decode, prefill, bandwidth, attention, matrix, prefill_attention;
    std::map<int, std::vector<double>> batches;
    for (int round = 0; round < o.rounds; ++round) {
        const double pass = need(m.device->read_pass(area));
        bandwidth.push_back(static_cast<double>(area) / pass);
        for (int i = 0; i < 24; ++i) {
            const double taken = m.step(o.context + i, 1, true);
            if (i < 4) continue;
            decode.push_back(taken);
            attention.push_back(m.times.attention);
            matrix.push_back(m.times.matrix());
        }
        prefill.push_back(m.step(0, o.prompt, true));
        prefill_attention.push_back(m.times.attention);
        for (const int rows : {2, 3, 4, 5, 8, 16})
            for (int i = 0; i < 3; ++i) batches[rows].push_back(m.step(o.context, rows, true));
    }
    const double bw = median(bandwidth);
    std::printf("read bandwidth %.1f GB/s (%.1f to %.1f)\n", bw * 1e-9,
                *std::min_element(bandwidth.begin(), bandwidth.end()) * 1e-9,
                *std::max_element(bandwidth.begin(), bandwidth.end()) * 1e-9);
    const double d = median(decode);
    const double fastest = *std::min_element(decode.begin(), decode.end());
    const double top = *std::max_element(bandwidth.begin(), bandwidth.end());
    std::printf(
        "best of all: decode %.3f ms, %.0f tok/s, %.0f %% of the best bandwidth; prefill %.2f ms, %.0f "
        "tok/s\n",
        fastest * 1e3, 1 / fastest, 100 * weight_bytes / fastest / top,
        *std::min_element(prefill.begin(), prefill.end()) * 1e3,
        o.prompt / *std::min_element(prefill.begin(), prefill.end()));
    std::printf(
        "decode    %8.3f ms %8.0f tok/s %7.1f GB/s %4.0f %% of bandwidth %6.0f GMAC/s   (matrix %.3f ms, "
        "attention %.3f ms)\n",
        d * 1e3, 1 / d, weight_bytes / d * 1e-9, 100 * weight_bytes / d / bw,
        (layer_macs + output_macs) / d * 1e-9, median(matrix) * 1e3, median(attention) * 1e3);
    for (const auto& [rows, times] : batches) {
        const double t = median(times);
        std::printf("%3d rows  %8.3f ms %8.0f tok/s %7.1f GB/s %32.0f GMAC/s %4.0f %% of peak\n", rows,
                    t * 1e3, rows / t, weight_bytes / t * 1e-9, (layer_macs * rows + output_macs) / t * 1e-9,
                    100 * (layer_macs * rows + output_macs) / t / peak);
    }
    const double p = median(prefill);
    std::printf("prefill %4d rows %8.2f ms %8.0f tok/s %6.0f GMAC/s %4.0f %% of peak   (attention %.2f ms)\n",
                o.prompt, p * 1e3, o.prompt / p, layer_macs * o.prompt / p * 1e-9,
                100 * layer_macs * o.prompt / p / peak, median(prefill_attention) * 1e3);
}

DType format_of(const char* name) {
    for (int i = 0; i < kDTypes; ++i) {
        const auto type = static_cast<DType>(i);
        if (info_of(type).name != name) continue;
        if (kD % info_of(type).block == 0) return type;
        std::fprintf(stderr, "rows of %d weights hold no blocks of %s: bench_kernels_cached has it\n", kD,
                     name);
        std::exit(2);
    }
    std::fprintf(stderr, "unknown format %s\n", name);
    std::exit(2);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
    vitrine::Options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string key = argv[i];
        const char* value = argv[i + 1];
        if (key == "--device") o.device = value;
        if (key == "--threads") o.threads = std::atoi(value);
        if (key == "--format") o.format = vitrine::format_of(value);
        if (key == "--output") o.output = vitrine::format_of(value);
        if (key == "--rounds") o.rounds = std::atoi(value);
        if (key == "--context") o.context = std::atoi(value);
        if (key == "--prompt") o.prompt = std::atoi(value);
        if (key == "--layers") o.layers = std::atoi(value);
    }
    vitrine::bench(o);
    return 0;
}
