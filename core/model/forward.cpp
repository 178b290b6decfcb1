#include "core/model/forward.h"

namespace vitrine {

std::uint64_t Workspace::bytes(const ModelConfig& c, std::int32_t max_rows, std::int32_t max_outputs) {
    const auto rows = static_cast<std::uint64_t>(max_rows);
    const auto attention = static_cast<std::uint64_t>(c.heads) * static_cast<std::uint64_t>(c.head_dim);
    return sizeof(float) * (rows * (static_cast<std::uint64_t>(c.embedding) + 2 * attention +
                                    static_cast<std::uint64_t>(c.feed_forward)) +
                            static_cast<std::uint64_t>(max_outputs) * static_cast<std::uint64_t>(c.vocab));
}

Result<Workspace> Workspace::make(Device& device, const ModelConfig& c, std::int32_t max_rows,
                                  std::int32_t max_outputs) {
    const auto rows = static_cast<std::size_t>(max_rows);
    const auto attention = static_cast<std::size_t>(c.heads) * static_cast<std::size_t>(c.head_dim);
    Workspace w;
    w.max_rows = max_rows;
    w.max_outputs = max_outputs;
    VITRINE_TRY(w.x, device.allocate(rows * static_cast<std::size_t>(c.embedding)));
    VITRINE_TRY(w.q, device.allocate(rows * attention));
    VITRINE_TRY(w.attended, device.allocate(rows * attention));
    VITRINE_TRY(w.hidden, device.allocate(rows * static_cast<std::size_t>(c.feed_forward)));
    VITRINE_TRY(w.logits,
                device.allocate(static_cast<std::size_t>(max_outputs) * static_cast<std::size_t>(c.vocab)));
    return w;
}

Status forward(Device& device, const ModelConfig& c, const Weights& weights, KvStorage& kv, Workspace& w,
               const StepInput& step, std::span<const SampleRow> samples) {
    device.begin_step(step);
    device.embed({.table = weights.embedding.get(), .scale = c.embedding_scale, .x = w.x.get()});
    for (std::int32_t i = 0; i < c.layers; ++i) {
        const LayerWeights& l = weights.layers[static_cast<std::size_t>(i)];
        const ModelConfig::Layer& shape = c.layer[static_cast<std::size_t>(i)];
        device.qkv({.x = w.x.get(),
                    .norm = l.attn_norm.get(),
                    .eps = c.norm_eps,
                    .wq = l.wq.get(),
                    .wk = l.wk.get(),
                    .wv = l.wv.get(),
                    .bq = l.bq.get(),
                    .bk = l.bk.get(),
                    .bv = l.bv.get(),
                    .q_norm = l.q_norm.get(),
                    .k_norm = l.k_norm.get(),
                    .heads = c.heads,
                    .rope = shape.rope,
                    .layer = i,
                    .kv = &kv,
                    .q = w.q.get()});
        device.attention({.q = w.q.get(),
                          .kv = &kv,
                          .layer = i,
                          .heads = c.heads,
                          .scale = c.attention_scale,
                          .window = shape.window,
                          .softcap = c.attention_softcap,
                          .out = w.attended.get()});
        device.project({.in = w.attended.get(),
                        .w = l.wo.get(),
                        .bias = l.bo.get(),
                        .post_norm = l.attn_post_norm.get(),
                        .eps = c.norm_eps,
                        .x = w.x.get()});
        device.feed_forward({.x = w.x.get(),
                             .norm = l.ffn_norm.get(),
                             .eps = c.norm_eps,
                             .gate = l.gate.get(),
                             .up = l.up.get(),
                             .down = l.down.get(),
                             .gate_bias = l.gate_bias.get(),
                             .up_bias = l.up_bias.get(),
                             .down_bias = l.down_bias.get(),
                             .post_norm = l.ffn_post_norm.get(),
                             .activation = c.activation,
                             .hidden = w.hidden.get()});
    }
    if (!step.output_rows.empty())
        device.logits({.x = w.x.get(),
                       .norm = weights.output_norm.get(),
                       .eps = c.norm_eps,
                       .w = weights.output.get(),
                       .softcap = c.logit_softcap,
                       .out = w.logits.get()});
    if (!samples.empty()) device.sample({.logits = w.logits.get(), .width = c.vocab, .rows = samples});
    return device.finish_step();
}

}  // namespace vitrine
