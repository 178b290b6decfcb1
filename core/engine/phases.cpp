#include "core/engine/phases.h"

namespace vitrine {
namespace {

double bytes_of(std::initializer_list<const Weight*> weights) {
    double sum = 0;
    for (const Weight* w : weights)
        if (*w) sum += static_cast<double>((*w)->bytes);
    return sum;
}

}  // namespace

PhaseTimes weight_bytes_by_phase(const Weights& w) {
    PhaseTimes bytes;
    if (w.embedding && w.embedding->rows > 0)
        bytes.embed = static_cast<double>(w.embedding->bytes) / static_cast<double>(w.embedding->rows);
    bytes.logits = bytes_of({&w.output_norm, &w.output});
    for (const LayerWeights& l : w.layers) {
        bytes.qkv += bytes_of({&l.attn_norm, &l.wq, &l.wk, &l.wv, &l.bq, &l.bk, &l.bv, &l.q_norm, &l.k_norm});
        bytes.project += bytes_of({&l.wo, &l.bo, &l.attn_post_norm});
        bytes.feed_forward += bytes_of(
            {&l.ffn_norm, &l.gate, &l.up, &l.down, &l.gate_bias, &l.up_bias, &l.down_bias, &l.ffn_post_norm});
    }
    return bytes;
}

std::vector<PhaseFigure> phases_of(const PhaseFigures& f) {
    std::vector<PhaseFigure> phases;
    const auto add = [&](const char* name, double seconds, double bytes) {
        if (seconds > 0) phases.push_back({name, seconds, bytes});
    };
    add("embed", f.seconds.embed, f.bytes.embed);
    add("qkv", f.seconds.qkv, f.bytes.qkv);
    add("attention", f.seconds.attention, f.bytes.attention);
    add("project", f.seconds.project, f.bytes.project);
    add("feed_forward", f.seconds.feed_forward, f.bytes.feed_forward);
    add("logits", f.seconds.logits, f.bytes.logits);
    add("sample", f.seconds.sample, f.bytes.sample);
    add("host", f.host, 0);
    return phases;
}

}  // namespace vitrine
